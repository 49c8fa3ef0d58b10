//! The steps of a reload while it runs, and why it failed where it did.

use super::{DialogBody, DialogReply};
use crossterm::event::{KeyCode, KeyEvent};
use divisi::session::{ReloadState, ReloadView};

use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;

/// The steps of a reload that was asked for.
#[derive(Clone, Debug)]
pub struct ReloadSteps {
    /// The reload that was shown before this one was asked for.
    pub before: Option<ReloadView>,
}

impl DialogBody for ReloadSteps {
    fn on_key(&mut self, key: &KeyEvent, _: &mut Model) -> DialogReply {
        match key.code {
            KeyCode::Esc => DialogReply::Close,
            _ => DialogReply::Pass,
        }
    }

    fn draw(&self, pen: &mut Painter<'_>, model: &Model) {
        paint(pen, model, self.before.as_ref());
    }
}

/// Paints the steps; `before` is the reload that was shown when this one was asked for.
fn paint(pen: &mut Painter<'_>, model: &Model, before: Option<&ReloadView>) {
    let width = pen.width().saturating_sub(4).min(70);
    let current = model
        .snapshot
        .reload
        .as_ref()
        .filter(|r| Some(*r) != before);
    let lines = match current {
        None => vec![("› asked for".to_owned(), Role::Dim)],
        Some(reload) => lines(reload, width.saturating_sub(4)),
    };
    let height = (lines.len() as u16).saturating_add(4).min(pen.height());
    let title = current.map_or("reload".to_owned(), |r| {
        format!("reload · {}", format::duration(r.elapsed))
    });
    let mut window = pen.centred(width, height);
    let mut inside = window.framed(&title, true);
    let room = usize::from(inside.height().saturating_sub(2));
    let first = lines.len().saturating_sub(room);
    for (y, (text, role)) in lines.iter().skip(first).enumerate() {
        inside.text(1, y as u16, text, *role);
    }
    let keys = [("Esc", Role::Accent), (" close", Role::Dim)];
    inside.pieces(1, inside.height().saturating_sub(1), &keys);
}

/// The steps in words with their signs, then how it ended.
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
