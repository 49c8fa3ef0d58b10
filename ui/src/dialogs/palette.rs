//! A command by typing a part of its name.

use crossterm::event::{KeyCode, KeyEvent};

use super::{DialogBody, DialogReply, field};
use crate::commands::{BINDINGS, Binding, DOWN, LEFT, PALETTE, RIGHT, UP};
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;

/// The palette's state.
#[derive(Clone, Debug, Default)]
pub struct Palette {
    query: String,
    chosen: usize,
}

impl Palette {
    fn found(&self, model: &Model) -> Vec<&'static Binding> {
        let now = model.key_context();
        let movement = |b: &Binding| [&UP, &DOWN, &LEFT, &RIGHT, &PALETTE].contains(&b.command);
        let matches = |b: &Binding| b.matches(&self.query, &model.settings.keys);
        let mut found: Vec<&'static Binding> = BINDINGS
            .iter()
            .filter(|b| b.scope.is_offered(now) && !movement(b) && matches(b))
            .collect();
        // A name that begins with what was typed is what was meant, then one that has it;
        // what only the help says comes last.
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

    /// Pasted text filters, and runs nothing.
    fn on_paste(&mut self, line: &str) -> bool {
        self.chosen = 0;
        field::pasted(&mut self.query, line)
    }

    /// Draws it near the top.
    fn draw(&self, pen: &mut Painter<'_>, model: &Model) {
        let found = self.found(model);
        let width = pen.width().saturating_sub(2).min(72);
        let height = (found.len() as u16).clamp(1, 12) + 3;
        let mut window = pen.centred(width, height);
        let mut inside = window.framed("command", true);
        let at = inside.pieces(1, 0, &[(": ", Role::Accent), (&self.query, Role::Strong)]);
        inside.text(at, 0, " ", Role::Cursor);
        let room = usize::from(inside.height().saturating_sub(1));
        let first = (self.chosen + 1).saturating_sub(room);
        for (i, entry) in found.iter().enumerate().skip(first).take(room) {
            let y = (i - first) as u16 + 1;
            draw_entry(&mut inside, y, entry, i == self.chosen, model);
        }
        if found.is_empty() {
            inside.text(1, 1, "no command matches", Role::Dim);
        }
    }
}

fn draw_entry(inside: &mut Painter<'_>, y: u16, entry: &Binding, chosen: bool, model: &Model) {
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
