//! Which panels are shown: a list to tick.

use crossterm::event::{KeyCode, KeyEvent};

use super::{DialogBody, DialogReply};
use crate::layout::Panel;
use crate::look::{Painter, Role};
use crate::model::Model;

/// The list's state.
#[derive(Clone, Debug, Default)]
pub struct PanelList {
    chosen: usize,
}

impl PanelList {
    fn toggle(&self, model: &mut Model) {
        model.arrangement.toggle(Panel::ALL[self.chosen]);
        model.expanded = false;
        model.settle();
    }
}

impl DialogBody for PanelList {
    /// Arrows or numbers choose, space hides or shows, `Esc` closes.
    fn on_key(&mut self, key: &KeyEvent, model: &mut Model) -> DialogReply {
        let last = Panel::ALL.len() - 1;
        match key.code {
            KeyCode::Esc | KeyCode::Char('q' | 'H') => return DialogReply::Close,
            KeyCode::Down | KeyCode::Char('j') => self.chosen = (self.chosen + 1).min(last),
            KeyCode::Up | KeyCode::Char('k') => self.chosen = self.chosen.saturating_sub(1),
            KeyCode::Char(' ') | KeyCode::Enter => self.toggle(model),
            KeyCode::Char(c @ '1'..='9') => {
                let at = c as usize - '1' as usize;
                if at <= last {
                    self.chosen = at;
                    self.toggle(model);
                }
            }
            _ => {}
        }
        DialogReply::Stay
    }

    /// Draws it in the middle.
    fn draw(&self, pen: &mut Painter<'_>, model: &Model) {
        let count = Panel::ALL.len() as u16;
        let mut window = pen.centred(36, count + 4);
        let title = format!("panels of {}", model.arrangement.name());
        let mut inside = window.framed(&title, true);
        for (y, panel) in Panel::ALL.into_iter().enumerate() {
            let shown = model.arrangement.shows(panel);
            let (sign, role) = match shown {
                true => ("✓", Role::Good),
                false => (" ", Role::Dim),
            };
            let name = format!(" {} {:<12}", y + 1, panel.name());
            let text = if shown { Role::Text } else { Role::Dim };
            let y = y as u16;
            inside.pieces(2, y, &[(sign, role), (&name, text)]);
            if usize::from(y) == self.chosen {
                inside.text(0, y, "▸", Role::Accent);
                inside.restyle(3, y, 16, Role::Cursor);
            }
        }
        let keys = [
            ("space", Role::Accent),
            (" hide or show   ", Role::Dim),
            ("Esc", Role::Accent),
            (" close", Role::Dim),
        ];
        inside.pieces(1, count + 1, &keys);
    }
}
