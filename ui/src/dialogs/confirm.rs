//! Questions answered by one key, which differs from the key that opens them. Quitting asks about
//! the engine and never decides silently.

use crossterm::event::{KeyCode, KeyEvent};
use divisi_session::Command;

use super::{DialogBody, DialogReply};
use crate::config::HangUp;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;

/// The action that `y` confirms.
#[derive(Clone, Debug)]
pub enum ConfirmedAction {
    /// Sends a command.
    Send(Command),
    /// Drops staged changes.
    DropEdit,
    /// Writes the timeline to a file.
    ExportTrace,
    /// Ends the program.
    Quit,
}

/// A question.
#[derive(Clone, Debug)]
pub struct Confirm {
    title: &'static str,
    text: String,
    action: ConfirmedAction,
}

impl Confirm {
    /// Creates the question `text`.
    pub fn new(title: &'static str, text: impl Into<String>, action: ConfirmedAction) -> Self {
        let text = text.into();
        Confirm {
            title,
            text,
            action,
        }
    }
}

impl DialogBody for Confirm {
    /// `y` confirms, `n` and `Esc` cancel.
    fn on_key(&mut self, key: &KeyEvent, _: &mut Model) -> DialogReply {
        match (key.code, &self.action) {
            (KeyCode::Esc | KeyCode::Char('n' | 'q'), _) => DialogReply::Close,
            (KeyCode::Char('y'), ConfirmedAction::Send(command)) => {
                DialogReply::Send(command.clone())
            }
            (KeyCode::Char('y'), ConfirmedAction::DropEdit) => DialogReply::DropEdit,
            (KeyCode::Char('y'), ConfirmedAction::ExportTrace) => DialogReply::ExportTrace,
            (KeyCode::Char('y'), ConfirmedAction::Quit) => DialogReply::Quit,
            _ => DialogReply::Stay,
        }
    }

    /// Draws the dialog in the middle.
    fn draw(&self, painter: &mut Painter<'_>, _: &Model) {
        draw_question(
            painter,
            self.title,
            &self.text,
            &[("y", "yes"), ("Esc", "no")],
        );
    }

    fn is_of_frame(&self) -> bool {
        true
    }

    fn leaves_by(&self) -> Option<char> {
        matches!(self.action, ConfirmedAction::Quit).then_some('y')
    }
}

/// Draws a question with the keys that answer it.
fn draw_question(painter: &mut Painter<'_>, title: &str, text: &str, keys: &[(&str, &str)]) {
    let width = painter.width().saturating_sub(4).min(64);
    let lines = format::wrap(text, width.saturating_sub(4));
    let mut window = painter.centred(width, lines.len() as u16 + 4);
    let mut inside = window.framed(title, true);
    for (y, line) in lines.iter().enumerate() {
        inside.text(1, y as u16, line, Role::Text);
    }
    inside.keys(1, inside.height().saturating_sub(1), 3, keys);
}

/// The question on quitting. The key that opens it does not answer it.
#[derive(Clone, Copy, Debug)]
pub struct LeaveDialog {
    /// Whether the engine can continue in the background.
    pub may_stay: bool,
    /// Whether staged changes would be lost.
    pub staged: bool,
    /// The engine's behaviour if the terminal closes, if this console decides it.
    pub hang_up: Option<HangUp>,
}

const STAY: &str = "Quit. Stop serving, or continue in the background? `divisi attach` reopens \
                    the console and `divisi stop` stops the server.";
const STOP: &str = "Quit and stop serving? Requests in progress are answered first.";
const STAGED: &str = " Staged changes are not applied.";
const CLOSED_SERVES: &str = " Serving continues if this terminal closes without an answer.";
const CLOSED_STOPS: &str = " Serving stops if this terminal closes without an answer.";

impl LeaveDialog {
    /// Returns a short form, for screens without room for a dialog.
    pub fn short(self) -> String {
        let keys = self.keys().map(|(key, does)| format!("{key} {does}"));
        format!("Leave? {}.", keys.collect::<Vec<_>>().join(", "))
    }

    fn text(self) -> String {
        let text = if self.may_stay { STAY } else { STOP };
        let staged = if self.staged { STAGED } else { "" };
        let closed = match self.hang_up {
            Some(HangUp::Background) => CLOSED_SERVES,
            Some(HangUp::Stop) => CLOSED_STOPS,
            None => "",
        };
        format!("{text}{staged}{closed}")
    }

    fn keys(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let stay = self.may_stay.then_some(("b", "background"));
        [("s", "stop")]
            .into_iter()
            .chain(stay)
            .chain([("Esc", "stay")])
    }
}

impl DialogBody for LeaveDialog {
    /// `s` stops the engine, `b` continues it in the background, `Esc` returns.
    fn on_key(&mut self, key: &KeyEvent, _: &mut Model) -> DialogReply {
        match key.code {
            KeyCode::Char('s') => DialogReply::Quit,
            KeyCode::Char('b') if self.may_stay => DialogReply::Send(Command::KeepServing),
            KeyCode::Esc | KeyCode::Char('n') => DialogReply::Close,
            _ => DialogReply::Stay,
        }
    }

    /// Draws the dialog in the middle.
    fn draw(&self, painter: &mut Painter<'_>, _: &Model) {
        let keys: Vec<_> = self.keys().collect();
        draw_question(painter, "leave", &self.text(), &keys);
    }

    fn leaves_by(&self) -> Option<char> {
        Some('s')
    }
}
