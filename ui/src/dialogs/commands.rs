//! Commands found by a part of their name: the help lists all with their keys, the palette runs
//! one.

use crossterm::event::{KeyCode, KeyEvent};

use super::{DialogBody, DialogReply, field};
use crate::commands::{
    BINDINGS, BOTTOM, Binding, CommandInfo, DOWN, LEFT, PAGE_DOWN, PAGE_UP, PALETTE, RIGHT, Scope,
    TOP, UP,
};
use crate::config::HangUp;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;

/// The help's state.
#[derive(Clone, Debug, Default)]
pub struct Help {
    query: String,
    scroll: usize,
}

impl Help {
    /// Returns the bindings that match the query, the currently active ones first.
    fn found(&self, model: &Model) -> Vec<&'static Binding> {
        let keys = &model.settings.keys;
        let found = BINDINGS.iter().filter(|e| e.matches(&self.query, keys));
        let mut found: Vec<&'static Binding> = found.collect();
        found.sort_by_key(|e| !model.reaches(e));
        found
    }
}

impl DialogBody for Help {
    /// Typing searches, arrows scroll, `Esc` closes.
    fn on_key(&mut self, key: &KeyEvent, _: &mut Model) -> DialogReply {
        match key.code {
            KeyCode::Esc | KeyCode::Enter => return DialogReply::Close,
            KeyCode::Char('?') => return DialogReply::Close,
            KeyCode::Char('q') if self.query.is_empty() => return DialogReply::Close,
            KeyCode::Down => self.scroll = (self.scroll + 1).min(BINDINGS.len() - 1),
            KeyCode::Up => self.scroll = self.scroll.saturating_sub(1),
            KeyCode::PageDown => self.scroll = (self.scroll + 10).min(BINDINGS.len() - 1),
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(10),
            _ if field::typed(&mut self.query, key) => self.scroll = 0,
            _ => {}
        }
        DialogReply::Stay
    }

    /// Pastes text into the search.
    fn on_paste(&mut self, line: &str) -> bool {
        self.scroll = 0;
        field::pasted(&mut self.query, line)
    }

    /// Draws the dialog over most of the screen.
    fn draw(&self, painter: &mut Painter<'_>, model: &Model) {
        let (width, height) = (
            painter.width().saturating_sub(2).min(124),
            painter.height().saturating_sub(2),
        );
        let found = self.found(model);
        let each = if width < 122 { 2 } else { 1 };
        let height = height.min(BINDINGS.len() as u16 * each + 5);
        let mut window = painter.centred(width, height);
        let mut inside = window.framed("help", true);
        let at = inside.pieces(1, 0, &[("search ", Role::Dim), (&self.query, Role::Strong)]);
        inside.text(at, 0, " ", Role::Cursor);
        let room = inside.height().saturating_sub(3) / each;
        let most = found.len().saturating_sub(usize::from(room));
        let shown = found
            .iter()
            .skip(self.scroll.min(most))
            .take(usize::from(room));
        for (y, entry) in shown.enumerate() {
            draw_explained(&mut inside, y as u16 * each + 1, entry, each > 1, model);
        }
        if found.is_empty() {
            inside.text(1, 1, "no command matches", Role::Dim);
        }
        let last = inside.height().saturating_sub(1);
        let x = inside.keys(1, last, 3, &[("Esc", "close"), ("↑ ↓", "scroll")]);
        let hint = model.hang_up().map_or("", HangUp::hint);
        inside.text(x + 3, last, hint, Role::Dim);
    }
}

/// Draws an entry on one line, or its explanation on a second line.
fn draw_explained(inside: &mut Painter<'_>, y: u16, entry: &Binding, two: bool, model: &Model) {
    let (keys, title) = (14, 28);
    let role = if model.reaches(entry) {
        Role::Accent
    } else {
        Role::Dim
    };
    let labels = entry.key_labels(&model.settings.keys);
    inside.text(1, y, &format::fit(&labels, keys - 1), role);
    inside.text(1 + keys, y, entry.title, Role::Strong);
    let place = match entry.scope {
        Scope::Edit => "editing: ",
        Scope::Replay => "in a recording: ",
        Scope::Demo => "in a demonstration: ",
        Scope::In(_) => "in its panel: ",
        Scope::Always | Scope::Main => "",
    };
    let (x, y) = if two {
        (3, y + 1)
    } else {
        (1 + keys + title, y)
    };
    let room = inside.width().saturating_sub(x + 1);
    inside.text(
        x,
        y,
        &format::fit(&format!("{place}{}", entry.help), room),
        Role::Dim,
    );
}

/// Commands that the palette omits, since their keys suffice.
static MOVEMENTS: [&CommandInfo; 9] = [
    &UP, &DOWN, &LEFT, &RIGHT, &PAGE_UP, &PAGE_DOWN, &TOP, &BOTTOM, &PALETTE,
];

/// The palette's state.
#[derive(Clone, Debug, Default)]
pub struct Palette {
    query: String,
    chosen: usize,
}

impl Palette {
    fn found(&self, model: &Model) -> Vec<&'static Binding> {
        let now = model.key_context();
        let movement = |b: &Binding| MOVEMENTS.contains(&b.command);
        let matches = |b: &Binding| b.matches(&self.query, &model.settings.keys);
        let mut found: Vec<&'static Binding> = BINDINGS
            .iter()
            .filter(|b| b.scope.is_offered(now) && !movement(b) && matches(b))
            .collect();
        // Names that begin with the query come first, then names that contain it, then matches in
        // the help.
        let query = self.query.to_lowercase();
        let named = |e: &Binding| {
            let name = format!("{} {}", e.title.to_lowercase(), e.name());
            query.split_whitespace().all(|word| name.contains(word))
        };
        found.sort_by_cached_key(|e| (!e.title.starts_with(&query), !named(e)));
        found
    }
}

impl DialogBody for Palette {
    /// Typing filters, arrows choose, `Enter` runs.
    fn on_key(&mut self, key: &KeyEvent, model: &mut Model) -> DialogReply {
        let found = self.found(model);
        match key.code {
            KeyCode::Esc => return DialogReply::Close,
            KeyCode::Enter => {
                let chosen = found.get(self.chosen);
                return chosen.map_or(DialogReply::Close, |b| DialogReply::Run(b));
            }
            KeyCode::Down | KeyCode::Tab => {
                self.chosen = (self.chosen + 1).min(found.len().saturating_sub(1))
            }
            KeyCode::Up | KeyCode::BackTab => self.chosen = self.chosen.saturating_sub(1),
            _ if field::typed(&mut self.query, key) => self.chosen = 0,
            _ => {}
        }
        DialogReply::Stay
    }

    /// Pastes text into the filter, without running anything.
    fn on_paste(&mut self, line: &str) -> bool {
        self.chosen = 0;
        field::pasted(&mut self.query, line)
    }

    /// Draws the dialog near the top.
    fn draw(&self, painter: &mut Painter<'_>, model: &Model) {
        let found = self.found(model);
        let width = painter.width().saturating_sub(2).min(72);
        let height = (found.len() as u16).clamp(1, 12) + 3;
        let mut window = painter.centred(width, height);
        let mut inside = window.framed("command", true);
        let at = inside.pieces(1, 0, &[(": ", Role::Accent), (&self.query, Role::Strong)]);
        inside.text(at, 0, " ", Role::Cursor);
        let room = usize::from(inside.height().saturating_sub(1));
        let first = (self.chosen + 1).saturating_sub(room);
        for (i, entry) in found.iter().enumerate().skip(first).take(room) {
            let y = (i - first) as u16 + 1;
            draw_offered(&mut inside, y, entry, i == self.chosen, model);
        }
        if found.is_empty() {
            inside.text(1, 1, "no command matches", Role::Dim);
        }
    }
}

fn draw_offered(inside: &mut Painter<'_>, y: u16, entry: &Binding, chosen: bool, model: &Model) {
    let refusal = model.check(entry).err();
    let role = if refusal.is_some() {
        Role::Dim
    } else {
        Role::Text
    };
    let sign = if chosen { "▸" } else { " " };
    let x = inside.pieces(0, y, &[(sign, Role::Accent), (entry.title, role)]);
    let keys = entry.key_label(&model.settings.keys);
    let end = inside.width().saturating_sub(1);
    inside.text_right(end, y, &keys, Role::Accent);
    if let Some(reason) = refusal {
        let room = end.saturating_sub(x + 4 + format::width(&keys));
        inside.text(x + 2, y, &format::fit(&reason.to_string(), room), Role::Dim);
    }
    if chosen {
        inside.restyle(1, y, end.saturating_sub(1), Role::Cursor);
    }
}
