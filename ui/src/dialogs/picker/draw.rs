//! Drawing the picker: the folder, the typed text, the files and the keys.

use super::{FolderItem, Picker, PickerState};
use crate::look::{Painter, Role};
use crate::text::format;

impl Picker {
    /// Draws the dialog in the middle.
    pub(super) fn paint(&self, painter: &mut Painter<'_>) {
        let width = painter.width().saturating_sub(2).min(76);
        // The height depends on the whole folder, so that typing does not make the window jump.
        let files = self.folder.as_ref().map_or(0, |f| f.items.len());
        let height = u16::try_from(files).unwrap_or(u16::MAX).clamp(6, 14) + 6;
        let height = height.min(painter.height());
        let mut window = painter.centred(width, height);
        let title = if self.saves() {
            "write the setup"
        } else {
            "open a setup"
        };
        let mut inside = window.framed(title, true);
        let room = inside.width().saturating_sub(2);
        self.draw_head(&mut inside, room);
        let rows = usize::from(inside.height().saturating_sub(4)).max(1);
        self.draw_rows(&mut inside, rows);
        let last = inside.height().saturating_sub(1);
        self.draw_words(&mut inside, last.saturating_sub(1), room);
        self.draw_keys(&mut inside, last);
    }

    fn draw_head(&self, inside: &mut Painter<'_>, room: u16) {
        let path = self.folder.as_ref().map(|f| f.path.display().to_string());
        let path = path.unwrap_or_else(|| "…".to_owned());
        inside.text(1, 0, &format::fit_name(&path, room), Role::Dim);
        let word = if self.saves() { "name " } else { "find " };
        let typed = format::fit_name(&self.typed, room.saturating_sub(6));
        let x = inside.pieces(1, 1, &[(word, Role::Dim), (&typed, Role::Strong)]);
        inside.text(x, 1, " ", Role::Cursor);
    }

    fn draw_rows(&self, inside: &mut Painter<'_>, room: usize) {
        // When saving, the name is the first row.
        let above = usize::from(self.saves());
        let rows = self.rows();
        let first = (self.chosen + 1).saturating_sub(room + above);
        for (y, (i, item)) in rows.iter().enumerate().skip(first).take(room).enumerate() {
            draw_row(inside, y as u16 + 2, item, self.chosen == i + above);
        }
        if rows.is_empty() && self.folder.is_some() {
            let text = if self.saves() {
                "an empty folder"
            } else {
                "no file matches"
            };
            inside.text(3, 2, text, Role::Dim);
        }
    }

    fn draw_words(&self, inside: &mut Painter<'_>, y: u16, room: u16) {
        let left_out = self.folder.as_ref().map_or(0, |f| f.left_out);
        let (text, role) = match (&self.state, &self.error) {
            (PickerState::Asking(path), _) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                (format!("! {name} exists: replace it? y"), Role::Warn)
            }
            (PickerState::Elsewhere, _) => (
                "› choose a file in the desktop's dialog".to_owned(),
                Role::Accent,
            ),
            (_, Some(error)) => return self.draw_error(inside, y, error, room),
            (_, None) if left_out > 0 => (format!("{left_out} more: type a name"), Role::Dim),
            _ => return,
        };
        inside.text(1, y, &format::fit(&text, room), role);
    }

    /// Draws the whole error, over the last files if needed.
    fn draw_error(&self, inside: &mut Painter<'_>, y: u16, error: &str, room: u16) {
        let lines = format::wrap(&format!("✗ {error}"), room);
        let top = (y + 1).saturating_sub(lines.len() as u16).max(2);
        let width = inside.width();
        inside.part(0, top, width, y + 1 - top).erase();
        for (i, line) in lines.iter().enumerate() {
            inside.text(1, top + i as u16, line, Role::Bad);
        }
    }

    fn draw_keys(&self, inside: &mut Painter<'_>, y: u16) {
        let action = match (&self.state, self.saves()) {
            (PickerState::Elsewhere, _) => {
                inside.keys(1, y, 2, &[("Esc", "close it")]);
                return;
            }
            (_, true) => "write",
            (_, false) => "open",
        };
        let hidden = if self.hidden { "less" } else { "hidden" };
        let mut keys = vec![("Enter", action), ("Esc", "back"), ("Ctrl-t", hidden)];
        if self.folder.as_ref().is_some_and(|f| f.desktop) {
            keys.push(("Ctrl-o", "desktop"));
        }
        inside.keys(1, y, 2, &keys);
    }
}

fn draw_row(inside: &mut Painter<'_>, y: u16, item: &FolderItem, chosen: bool) {
    let sign = if chosen { "▸ " } else { "  " };
    let end = inside.width().saturating_sub(2);
    let x = inside.text(1, y, sign, Role::Accent);
    let size = item.bytes.map_or(String::new(), format::bytes);
    let room = end.saturating_sub(x + 10);
    let name = match item.folder {
        true => format!("{}/", format::fit_name(&item.name, room.saturating_sub(1))),
        false => format::fit_name(&item.name, room),
    };
    let role = if item.folder {
        Role::Strong
    } else {
        Role::Text
    };
    inside.text(x, y, &name, role);
    inside.text_right(end, y, &size, Role::Dim);
    if chosen {
        inside.restyle(x, y, end.saturating_sub(x), Role::Cursor);
    }
}
