//! Every command with its keys, to be searched by typing.

use crossterm::event::{KeyCode, KeyEvent};

use super::{Answer, field};
use crate::console::commands::{Entry, Scope, TABLE};
use crate::console::format;
use crate::console::model::Model;
use crate::console::pen::Pen;
use crate::console::theme::Role;

/// The help's state.
#[derive(Clone, Debug, Default)]
pub struct Help {
    query: String,
    scroll: usize,
}

impl Help {
    /// Typing searches, arrows scroll, `Esc` closes.
    pub fn on_key(&mut self, key: &KeyEvent) -> Answer {
        match key.code {
            KeyCode::Esc | KeyCode::Enter => return Answer::Close,
            KeyCode::Char('?') => return Answer::Close,
            KeyCode::Char('q') if self.query.is_empty() => return Answer::Close,
            KeyCode::Down => self.scroll = (self.scroll + 1).min(TABLE.len() - 1),
            KeyCode::Up => self.scroll = self.scroll.saturating_sub(1),
            KeyCode::PageDown => self.scroll = (self.scroll + 10).min(TABLE.len() - 1),
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(10),
            _ if field::typed(&mut self.query, key) => self.scroll = 0,
            _ => {}
        }
        Answer::Stay
    }

    /// Draws it over most of the screen.
    pub fn draw(&self, pen: &mut Pen<'_>, model: &Model) {
        let (width, height) = (pen.width().saturating_sub(2).min(96), pen.height().saturating_sub(2));
        let found = self.found();
        let height = height.min((TABLE.len() + 4) as u16);
        let mut window = pen.centred(width, height);
        let mut inside = window.framed("help", true);
        let at = inside.pieces(1, 0, &[("search ", Role::Dim), (&self.query, Role::Strong)]);
        inside.text(at, 0, " ", Role::Cursor);
        let room = inside.height().saturating_sub(3);
        let most = found.len().saturating_sub(usize::from(room));
        let shown = found.iter().skip(self.scroll.min(most)).take(usize::from(room));
        for (y, entry) in shown.enumerate() {
            draw_entry(&mut inside, y as u16 + 1, entry, model);
        }
        if found.is_empty() {
            inside.text(1, 1, "no command matches", Role::Dim);
        }
        let keys = [("Esc", Role::Accent), (" close   ", Role::Dim), ("↑ ↓", Role::Accent), (" scroll", Role::Dim)];
        inside.pieces(1, inside.height().saturating_sub(1), &keys);
    }

    fn found(&self) -> Vec<&'static Entry> {
        TABLE.iter().filter(|e| e.matches(&self.query)).collect()
    }
}

fn draw_entry(inside: &mut Pen<'_>, y: u16, entry: &Entry, model: &Model) {
    let (keys, title) = if inside.width() < 60 { (9, 20) } else { (14, 28) };
    let role = if entry.reachable(model) { Role::Accent } else { Role::Dim };
    inside.text(1, y, &format::fit(&entry.key_labels(), keys - 1), role);
    inside.text(1 + keys, y, &format::fit(entry.title, title - 1), Role::Strong);
    let place = match entry.scope {
        Scope::Edit => "editing: ",
        Scope::In(_) => "in its panel: ",
        Scope::Always | Scope::Main => "",
    };
    let room = inside.width().saturating_sub(2 + keys + title);
    let help = format::fit(&format!("{place}{}", entry.help), room);
    inside.text(1 + keys + title, y, &help, Role::Dim);
}
