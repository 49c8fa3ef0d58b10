//! The comparison of a setup with the running one, applied with `y`, or on probation with `g`; then
//! the steps of the running reload.

use crossterm::event::{KeyCode, KeyEvent};
use divisi_session::{Command, EditPreview, Refusal, ReloadState, ReloadView, Setup};

use super::{DialogBody, DialogReply};
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::panels::what_if::{self, StyledLine};
use crate::text::format;

/// A comparison on the screen.
#[derive(Clone, Debug)]
pub struct Compare {
    title: String,
    /// The compared setup, independent of later changes.
    pub setup: Setup,
    scroll: usize,
    /// The session's preview of the setup, once it has arrived.
    pub preview: Option<Result<EditPreview, Refusal>>,
}

impl Compare {
    /// Creates a comparison of `setup`.
    pub fn new(title: impl Into<String>, setup: Setup) -> Self {
        Compare {
            title: title.into(),
            setup,
            scroll: 0,
            preview: None,
        }
    }

    fn draw_keys(&self, inside: &mut Painter<'_>, scrolls: bool) {
        let y = inside.height().saturating_sub(1);
        let keys = [("y", "apply"), ("g", "probation"), ("Esc", "back")];
        let first = match self.preview {
            Some(Ok(_)) => 0,
            _ => 2,
        };
        let x = inside.keys(1, y, 2, &keys[first..]);
        if scrolls {
            inside.pieces(x + 2, y, &[("↑ ↓", Role::Accent)]);
        }
    }

    fn lines(&self, model: &Model, width: u16) -> Vec<StyledLine> {
        match &self.preview {
            None => vec![vec![("comparing …".to_owned(), Role::Dim)]],
            Some(Err(reason)) => {
                let text = format!("✗ cannot be applied: {reason}");
                what_if::wrapped(&text, width, Role::Bad).collect()
            }
            Some(Ok(preview)) => self.preview_lines(preview, model, width),
        }
    }

    fn preview_lines(&self, preview: &EditPreview, model: &Model, width: u16) -> Vec<StyledLine> {
        let mut lines = vec![what_if::counts(preview, width)];
        lines.extend(what_if::prediction(preview, width));
        lines.push(Vec::new());
        let mut changes = what_if::changes(preview, &self.setup.matrix, width);
        changes.extend(what_if::settings(&preview.settings, width));
        if changes.is_empty() {
            changes.push(vec![("nothing changes".to_owned(), Role::Dim)]);
        }
        lines.append(&mut changes);
        lines.extend(what_if::remarks(preview, width));
        lines.push(Vec::new());
        lines.extend(what_if::memory(preview, model, width));
        lines.push(Vec::new());
        let (text, role) = what_if::pauses(preview);
        lines.extend(what_if::wrapped(&text, width, role));
        lines
    }
}

impl DialogBody for Compare {
    /// `y` applies the setup if possible, `g` first asks for the terms of a probation.
    fn on_key(&mut self, key: &KeyEvent, _: &mut Model) -> DialogReply {
        let possible = matches!(self.preview, Some(Ok(_)));
        match key.code {
            KeyCode::Esc | KeyCode::Char('n' | 'q') => return DialogReply::Close,
            KeyCode::Char('y') if possible => {
                return DialogReply::Send(Command::Apply(Box::new(self.setup.clone()), None));
            }
            KeyCode::Char('g') if possible => return DialogReply::AskTerms,
            KeyCode::Down | KeyCode::Char('j') => self.scroll += 1,
            KeyCode::Up | KeyCode::Char('k') => self.scroll = self.scroll.saturating_sub(1),
            _ => {}
        }
        DialogReply::Stay
    }

    /// Draws the dialog in the middle.
    fn draw(&self, painter: &mut Painter<'_>, model: &Model) {
        let width = painter.width().saturating_sub(2).min(76);
        let lines = self.lines(model, width.saturating_sub(4));
        let height = (lines.len() as u16).saturating_add(4).min(painter.height());
        let mut window = painter.centred(width, height);
        let mut inside = window.framed(&self.title, true);
        let room = inside.height().saturating_sub(2);
        let most = lines.len().saturating_sub(usize::from(room));
        for (y, line) in lines
            .iter()
            .skip(self.scroll.min(most))
            .take(usize::from(room))
            .enumerate()
        {
            inside.line(1, y as u16, line);
        }
        self.draw_keys(&mut inside, most > 0);
    }

    fn is_of_frame(&self) -> bool {
        true
    }

    fn compared(&self) -> Option<&Setup> {
        Some(&self.setup)
    }

    fn previewed(&mut self, about: &Setup, preview: &Result<EditPreview, Refusal>) {
        if self.setup == *about {
            self.preview = Some(preview.clone());
        }
    }
}

/// The steps of a requested reload.
#[derive(Clone, Debug)]
pub struct ReloadSteps {
    /// The reload shown before this one was requested.
    pub before: Option<ReloadView>,
}

impl DialogBody for ReloadSteps {
    fn on_key(&mut self, key: &KeyEvent, _: &mut Model) -> DialogReply {
        match key.code {
            KeyCode::Esc => DialogReply::Close,
            _ => DialogReply::Pass,
        }
    }

    fn draw(&self, painter: &mut Painter<'_>, model: &Model) {
        paint(painter, model, self.before.as_ref());
    }
}

/// Draws the steps. `before` is the reload shown when this one was requested.
fn paint(painter: &mut Painter<'_>, model: &Model, before: Option<&ReloadView>) {
    let width = painter.width().saturating_sub(4).min(70);
    let current = model
        .snapshot
        .reload
        .as_ref()
        .filter(|r| Some(*r) != before);
    let lines = match current {
        None => vec![("› requested".to_owned(), Role::Dim)],
        Some(reload) => lines(reload, width.saturating_sub(4)),
    };
    let height = (lines.len() as u16).saturating_add(4).min(painter.height());
    let title = current.map_or("reload".to_owned(), |r| {
        format!("reload · {}", format::duration(r.elapsed))
    });
    let mut window = painter.centred(width, height);
    let mut inside = window.framed(&title, true);
    let room = usize::from(inside.height().saturating_sub(2));
    let first = lines.len().saturating_sub(room);
    for (y, (text, role)) in lines.iter().skip(first).enumerate() {
        inside.text(1, y as u16, text, *role);
    }
    inside.keys(1, inside.height().saturating_sub(1), 2, &[("Esc", "close")]);
}

/// Returns the steps in words with their signs, then the outcome.
fn lines(reload: &ReloadView, width: u16) -> Vec<(String, Role)> {
    let last = reload.steps.len().saturating_sub(1);
    let mut lines: Vec<(String, Role)> = Vec::new();
    for (i, step) in reload.steps.iter().enumerate() {
        let (sign, role) = match &reload.state {
            ReloadState::Running if i == last => ("›", Role::Accent),
            ReloadState::Failed(_) if i == last => ("✗", Role::Text),
            _ => ("✓", Role::Text),
        };
        lines.push((format::fit(&format!("{sign} {step}"), width), role));
    }
    let end = match &reload.state {
        ReloadState::Running => return lines,
        ReloadState::Done => ("✓ done".to_owned(), Role::Good),
        ReloadState::Failed(why) => (format!("✗ failed: {why}"), Role::Bad),
    };
    let wrapped = format::wrap(&end.0, width);
    lines.extend(wrapped.into_iter().map(|l| (l, end.1)));
    lines
}
