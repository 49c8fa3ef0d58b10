//! The plan of a change of the models, to be applied by `y`, on probation by `g`, or with the old
//! engine ended first by `f`, where both do not fit beside each other.

use crossterm::event::{KeyCode, KeyEvent};
use divisi::deployment::{CataloguePreview, Handover};
use divisi::session::{Command, ModelChangeState, ModelChangeView};

use super::{DialogBody, DialogReply};
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::panels::what_if::StyledLine;
use crate::text::format;

/// The plan of a change, by its number.
#[derive(Clone, Debug)]
pub struct ModelPlan {
    number: u64,
    scroll: usize,
}

impl ModelPlan {
    /// The plan of the change with a number.
    pub fn new(number: u64) -> Self {
        ModelPlan { number, scroll: 0 }
    }

    fn planned<'a>(&self, model: &'a Model) -> Option<(&'a ModelChangeView, &'a CataloguePreview)> {
        let change = model.snapshot.model_change.as_ref();
        let change = change.filter(|change| change.number == self.number)?;
        match &change.state {
            ModelChangeState::Planned(preview) => Some((change, preview)),
            _ => None,
        }
    }

    fn apply(&self, handover: Handover, model: &Model, watched: bool) -> DialogReply {
        DialogReply::Send(Command::ApplyModels {
            number: self.number,
            handover,
            terms: watched.then_some(model.change.terms),
        })
    }
}

impl DialogBody for ModelPlan {
    fn on_key(&mut self, key: &KeyEvent, model: &mut Model) -> DialogReply {
        let Some((_, preview)) = self.planned(model) else {
            return DialogReply::Close;
        };
        let handover = match preview.not_beside {
            None => Handover::Beside,
            Some(_) => Handover::OldFirst,
        };
        match (key.code, handover) {
            (KeyCode::Esc | KeyCode::Char('n' | 'q'), _) => {
                DialogReply::Send(Command::DropModelsPlan(self.number))
            }
            (KeyCode::Char('y'), Handover::Beside) | (KeyCode::Char('f'), Handover::OldFirst) => {
                self.apply(handover, model, false)
            }
            (KeyCode::Char('g'), _) => self.apply(handover, model, true),
            (KeyCode::Down | KeyCode::Char('j'), _) => {
                self.scroll += 1;
                DialogReply::Stay
            }
            (KeyCode::Up | KeyCode::Char('k'), _) => {
                self.scroll = self.scroll.saturating_sub(1);
                DialogReply::Stay
            }
            _ => DialogReply::Stay,
        }
    }

    fn draw(&self, painter: &mut Painter<'_>, model: &Model) {
        let Some((change, preview)) = self.planned(model) else {
            return;
        };
        let width = painter.width().saturating_sub(2).min(76);
        let lines = lines(preview, width.saturating_sub(4));
        let height = (lines.len() as u16).saturating_add(4).min(painter.height());
        let mut window = painter.centred(width, height);
        let mut inside = window.framed(&change.change.to_string(), true);
        let room = usize::from(inside.height().saturating_sub(2));
        let first = self.scroll.min(lines.len().saturating_sub(room));
        for (y, line) in lines.iter().skip(first).take(room).enumerate() {
            let mut x = 1;
            for (text, role) in line {
                x = inside.text(x, y as u16, text, *role);
            }
        }
        keys(&mut inside, preview, model, lines.len() > room);
    }

    fn is_of_frame(&self) -> bool {
        true
    }
}

fn keys(inside: &mut Painter<'_>, preview: &CataloguePreview, model: &Model, scrolls: bool) {
    let y = inside.height().saturating_sub(1);
    let (key, word) = match preview.not_beside {
        None => ("y", " apply  "),
        Some(_) => ("f", " old first  "),
    };
    let lasts = format::duration(model.change.terms.lasts);
    let watched = format!(" probation of {lasts}  ");
    let keys = [
        (key, Role::Accent),
        (word, Role::Dim),
        ("g", Role::Accent),
        (&watched, Role::Dim),
        ("Esc", Role::Accent),
        (" drop  ", Role::Dim),
    ];
    let x = inside.pieces(1, y, &keys);
    if scrolls {
        inside.text(x, y, "↑ ↓", Role::Accent);
    }
}

fn lines(preview: &CataloguePreview, width: u16) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    for (sign, role, names, what) in [
        ("+", Role::Good, &preview.came, ""),
        ("−", Role::Warn, &preview.went, ""),
        ("+", Role::Good, &preview.columns_came, "column "),
        ("−", Role::Warn, &preview.columns_went, "column "),
        ("~", Role::Accent, &preview.moved, "other places: column "),
    ] {
        lines.extend(names.iter().map(|name| {
            let text = format::fit(&format!(" {what}{name}"), width.saturating_sub(1));
            vec![(sign.to_owned(), role), (text, Role::Text)]
        }));
    }
    lines.push(Vec::new());
    lines.extend(memory(preview));
    lines.push(Vec::new());
    let (text, role) = handover(preview);
    let wrapped = format::wrap(&text, width);
    lines.extend(wrapped.into_iter().map(|line| vec![(line, role)]));
    lines
}

/// How the new engine takes over, and what that means for requests.
fn handover(preview: &CataloguePreview) -> (String, Role) {
    match &preview.not_beside {
        None => (
            "✓ both fit beside each other: the new models take over at one instant".to_owned(),
            Role::Good,
        ),
        Some(why) => (
            format!(
                "! both do not fit: {why}. The old one first: it answers what it has and ends, and \
                 requests wait, as long as their deadlines let them, until the new one has started"
            ),
            Role::Warn,
        ),
    }
}

/// Columns of a figure.
const EACH: usize = 11;

/// The memory of each device: now, while both are there, and after; devices of one memory say the same
/// and are told once.
fn memory(preview: &CataloguePreview) -> Vec<StyledLine> {
    let head = format!(
        "{:<10}{:>EACH$}{:>EACH$}{:>EACH$}{:>EACH$}",
        "memory", "now", "both", "after", "of"
    );
    let mut lines = vec![vec![(head, Role::Dim)]];
    let mut before = None;
    for device in &preview.memory {
        let figures = (device.now, device.during, device.after, device.bytes);
        if before.replace(figures) == Some(figures) {
            continue;
        }
        let during = device.during.map_or("no room".to_owned(), format::bytes);
        let role = if device.during.is_none() {
            Role::Bad
        } else {
            Role::Text
        };
        let (now, after) = (format::bytes(device.now), format::bytes(device.after));
        let name = format::fit_name(&device.device, 9);
        lines.push(vec![
            (format!("{name:<10}{now:>EACH$}"), Role::Text),
            (format!("{during:>EACH$}"), role),
            (format!("{after:>EACH$}"), Role::Strong),
            (format!("{:>EACH$}", format::bytes(device.bytes)), Role::Dim),
        ]);
    }
    lines
}
