//! The comparison of a setup with the running one, applied with `y`, or on probation with `g`; the
//! same comparison for undo and redo; then the steps of the running reload.

use crossterm::event::{KeyCode, KeyEvent};
use divisi_session::{
    Command, EditPreview, Refusal, ReloadState, ReloadView, Setup, WhatIf, WhatIfAnswer,
    WhatIfReply,
};

use super::{DialogBody, DialogReply};
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::panels::what_if::{self, StyledLine};
use crate::text::format;

/// A comparison on the screen.
#[derive(Clone, Debug)]
pub struct Compare {
    title: String,
    subject: ComparedSetup,
    scroll: usize,
    /// The session's preview of the setup, once it has arrived.
    preview: Option<Result<EditPreview, Refusal>>,
    /// The predicted effects, once they have arrived.
    outlook: Option<Result<Box<WhatIfAnswer>, String>>,
    is_asked: bool,
}

/// The compared setup.
#[derive(Clone, Debug)]
enum ComparedSetup {
    /// A setup, independent of later changes.
    Setup(Box<Setup>),
    /// The setup before the last change.
    Undo,
    /// The setup before the last undo.
    Redo,
}

impl Compare {
    /// Creates a comparison of `setup`.
    pub fn new(title: impl Into<String>, setup: Setup) -> Self {
        Compare::about(title.into(), ComparedSetup::Setup(Box::new(setup)))
    }

    /// Creates the comparison of an undo.
    pub fn undo() -> Self {
        let title = "undo the last change of matrix and settings?";
        Compare::about(title.into(), ComparedSetup::Undo)
    }

    /// Creates the comparison of a redo.
    pub fn redo() -> Self {
        Compare::about("redo the undone change?".into(), ComparedSetup::Redo)
    }

    fn about(title: String, subject: ComparedSetup) -> Self {
        Compare {
            title,
            subject,
            scroll: 0,
            preview: None,
            outlook: None,
            is_asked: false,
        }
    }

    fn question(&self) -> WhatIf {
        match &self.subject {
            ComparedSetup::Setup(setup) => WhatIf::Apply(setup.clone()),
            ComparedSetup::Undo => WhatIf::Undo,
            ComparedSetup::Redo => WhatIf::Redo,
        }
    }

    /// Returns whether the comparison can be confirmed now. Undo and redo need no prediction.
    fn is_possible(&self) -> bool {
        match self.subject {
            ComparedSetup::Setup(_) => matches!(self.preview, Some(Ok(_))),
            ComparedSetup::Undo | ComparedSetup::Redo => true,
        }
    }

    fn command(&self) -> Command {
        match &self.subject {
            ComparedSetup::Setup(setup) => Command::Apply(setup.clone(), None),
            ComparedSetup::Undo => Command::Undo,
            ComparedSetup::Redo => Command::Redo,
        }
    }

    fn draw_keys(&self, inside: &mut Painter<'_>, scrolls: bool) {
        let y = inside.height().saturating_sub(1);
        let is_setup = matches!(self.subject, ComparedSetup::Setup(_));
        let does = match self.subject {
            ComparedSetup::Setup(_) => "apply",
            ComparedSetup::Undo => "undo",
            ComparedSetup::Redo => "redo",
        };
        let possible = self.is_possible();
        let mut keys = Vec::new();
        keys.extend(possible.then_some(("y", does)));
        keys.extend((possible && is_setup).then_some(("g", "probation")));
        keys.push(("Esc", "back"));
        let x = inside.keys(1, y, 2, &keys);
        if scrolls {
            inside.pieces(x + 2, y, &[("↑ ↓", Role::Accent)]);
        }
    }

    /// Returns the preview: the session's own, or that of the predicted effects.
    fn shown(&self) -> Option<Result<&EditPreview, String>> {
        match (&self.preview, &self.outlook) {
            (Some(Ok(preview)), _) => Some(Ok(preview)),
            (Some(Err(why)), _) => Some(Err(format!("cannot be applied: {why}"))),
            (None, Some(Err(why))) => Some(Err(why.clone())),
            (None, Some(Ok(answer))) => Some(match (&answer.preview, &answer.after) {
                (Some(preview), _) => Ok(preview),
                (None, Err(why)) => Err(format!("the effects are not predicted: {why}")),
                (None, Ok(_)) => Err("the effects are not predicted".into()),
            }),
            (None, None) => None,
        }
    }

    fn lines(&self, model: &Model, width: u16) -> Vec<StyledLine> {
        match self.shown() {
            None => vec![vec![("comparing …".to_owned(), Role::Dim)]],
            Some(Err(reason)) => {
                let text = format!("✗ {reason}");
                what_if::wrapped(&text, width, Role::Bad).collect()
            }
            Some(Ok(preview)) => self.preview_lines(preview, model, width),
        }
    }

    fn preview_lines(&self, preview: &EditPreview, model: &Model, width: u16) -> Vec<StyledLine> {
        let mut lines = what_if::prediction(preview, width);
        lines.extend(self.outlook_lines(width));
        lines.push(Vec::new());
        let mut changes = what_if::changes(preview, &model.snapshot.matrix, width);
        changes.extend(what_if::settings(&preview.settings, width));
        match changes.is_empty() {
            true => changes.push(vec![("nothing changes".to_owned(), Role::Dim)]),
            false => changes.extend(what_if::unchanged(preview)),
        }
        lines.append(&mut changes);
        lines.extend(what_if::remarks(preview, width));
        lines.push(Vec::new());
        lines.extend(what_if::memory(preview, model, width));
        let (text, role) = what_if::pauses(preview);
        lines.extend(what_if::wrapped(&text, width, role));
        lines
    }

    /// Returns the predicted latency and the load of devices.
    fn outlook_lines(&self, width: u16) -> Vec<StyledLine> {
        match &self.outlook {
            None => vec![vec![("p99        computing …".to_owned(), Role::Dim)]],
            Some(Err(why)) => {
                let text = format!("p99        unknown: {why}");
                vec![vec![(format::fit(&text, width), Role::Dim)]]
            }
            Some(Ok(answer)) => what_if::effects(answer, width),
        }
    }
}

impl DialogBody for Compare {
    /// `y` applies the setup if possible, `g` first asks for the terms of a probation.
    fn on_key(&mut self, key: &KeyEvent, _: &mut Model) -> DialogReply {
        let possible = self.is_possible();
        match key.code {
            KeyCode::Esc | KeyCode::Char('n' | 'q') => return DialogReply::Close,
            KeyCode::Char('y') if possible => return DialogReply::Send(self.command()),
            KeyCode::Char('g') if possible && self.compared().is_some() => {
                return DialogReply::AskTerms;
            }
            KeyCode::Down | KeyCode::Char('j') => self.scroll += 1,
            KeyCode::Up | KeyCode::Char('k') => self.scroll = self.scroll.saturating_sub(1),
            _ => {}
        }
        DialogReply::Stay
    }

    /// Draws the dialog in the middle.
    fn draw(&self, painter: &mut Painter<'_>, model: &Model) {
        let width = painter.width().saturating_sub(2).min(76);
        let mut lines = self.lines(model, width.saturating_sub(4));
        if lines.len() > usize::from(painter.height().saturating_sub(4)) {
            // Blank lines are dropped before any text.
            lines.retain(|line| !line.is_empty());
        }
        let height = (lines.len() as u16).saturating_add(4).min(painter.height());
        let mut window = painter.centred(width, height);
        let mut inside = window.framed(&self.title, true);
        let room = usize::from(inside.height().saturating_sub(2));
        let most = lines.len().saturating_sub(room);
        let shown = lines.iter().skip(self.scroll.min(most)).take(room);
        for (y, line) in (0..).zip(shown) {
            inside.line(1, y, line);
        }
        self.draw_keys(&mut inside, most > 0);
    }

    fn is_of_frame(&self) -> bool {
        true
    }

    fn compared(&self) -> Option<&Setup> {
        match &self.subject {
            ComparedSetup::Setup(setup) => Some(setup),
            ComparedSetup::Undo | ComparedSetup::Redo => None,
        }
    }

    fn previewed(&mut self, about: &Setup, preview: &Result<EditPreview, Refusal>) {
        if self.compared() == Some(about) {
            self.preview = Some(preview.clone());
        }
    }

    fn questions(&mut self, again: bool) -> Vec<WhatIf> {
        let asks = self.outlook.is_none() && (again || !self.is_asked);
        self.is_asked = true;
        asks.then(|| self.question()).into_iter().collect()
    }

    fn answered(&mut self, about: &WhatIf, reply: &Result<WhatIfReply, Refusal>) {
        if *about != self.question() {
            return;
        }
        self.outlook = match reply {
            Ok(WhatIfReply::Computing) => return,
            Ok(WhatIfReply::Answer(answer)) => Some(Ok(answer.clone())),
            Err(why) => Some(Err(why.to_string())),
        };
    }

    fn renew(&mut self) {
        (self.outlook, self.is_asked) = (None, false);
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
