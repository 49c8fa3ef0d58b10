//! A question answered by `y`, which is no key that opens one.

use crossterm::event::{KeyCode, KeyEvent};
use divisi::session::Command;

use super::{DialogBody, DialogReply};
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;

/// The action that `y` confirms.
#[derive(Clone, Debug)]
pub enum Then {
    /// Sends a command.
    Send(Command),
    /// Drops staged changes.
    DropEdit,
    /// Ends the program.
    Quit,
}

/// A question.
#[derive(Clone, Debug)]
pub struct Confirm {
    title: &'static str,
    text: String,
    then: Then,
}

impl Confirm {
    /// The question `text`.
    pub fn new(title: &'static str, text: impl Into<String>, then: Then) -> Self {
        let text = text.into();
        Confirm { title, text, then }
    }
}

impl DialogBody for Confirm {
    /// `y` does it, `n` and `Esc` go back.
    fn on_key(&mut self, key: &KeyEvent, _: &mut Model) -> DialogReply {
        match (key.code, &self.then) {
            (KeyCode::Esc | KeyCode::Char('n' | 'q'), _) => DialogReply::Close,
            (KeyCode::Char('y'), Then::Send(command)) => DialogReply::Send(command.clone()),
            (KeyCode::Char('y'), Then::DropEdit) => DialogReply::DropEdit,
            (KeyCode::Char('y'), Then::Quit) => DialogReply::Quit,
            _ => DialogReply::Stay,
        }
    }

    /// Draws it in the middle.
    fn draw(&self, pen: &mut Painter<'_>, _: &Model) {
        let width = pen.width().saturating_sub(4).min(64);
        let lines = format::wrap(&self.text, width.saturating_sub(4));
        let mut window = pen.centred(width, lines.len() as u16 + 4);
        let mut inside = window.framed(self.title, true);
        for (y, line) in lines.iter().enumerate() {
            inside.text(1, y as u16, line, Role::Text);
        }
        let keys = [
            ("y", Role::Accent),
            (" yes   ", Role::Dim),
            ("Esc", Role::Accent),
            (" no", Role::Dim),
        ];
        inside.pieces(1, inside.height().saturating_sub(1), &keys);
    }

    fn is_of_frame(&self) -> bool {
        true
    }

    fn leaves_by(&self) -> Option<char> {
        matches!(self.then, Then::Quit).then_some('y')
    }
}
