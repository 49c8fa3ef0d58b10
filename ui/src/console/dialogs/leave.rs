//! Leaving: what becomes of the engine is asked, never decided silently.

use crossterm::event::{KeyCode, KeyEvent};
use divisi::session::Command;

use super::Answer;
use crate::console::format;
use crate::console::pen::Pen;
use crate::console::theme::Role;

/// The question.
#[derive(Clone, Copy, Debug)]
pub struct Leave;

const TEXT: &str = "Leave. Stop serving, or let it go on in the background? From there \
                    `divisi attach` joins it and `divisi stop` ends it.";

impl Leave {
    /// `s` stops, `b` lets it go on, `Esc` stays. A second `q` is as good as `s`.
    pub fn on_key(self, key: &KeyEvent) -> Answer {
        match key.code {
            KeyCode::Char('s' | 'q') => Answer::Quit,
            KeyCode::Char('b') => Answer::Send(Command::KeepServing),
            KeyCode::Esc | KeyCode::Char('n') => Answer::Close,
            _ => Answer::Stay,
        }
    }

    /// Draws it in the middle.
    pub fn draw(self, pen: &mut Pen<'_>) {
        let width = pen.width().saturating_sub(4).min(64);
        let lines = format::wrap(TEXT, width.saturating_sub(4));
        let mut window = pen.centred(width, lines.len() as u16 + 4);
        let mut inside = window.framed("leave", true);
        for (y, line) in lines.iter().enumerate() {
            inside.text(1, y as u16, line, Role::Text);
        }
        let keys = [
            ("s", Role::Accent),
            (" stop   ", Role::Dim),
            ("b", Role::Accent),
            (" background   ", Role::Dim),
            ("Esc", Role::Accent),
            (" stay", Role::Dim),
        ];
        inside.pieces(1, inside.height().saturating_sub(1), &keys);
    }
}
