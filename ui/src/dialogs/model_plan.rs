//! The plan of a change of models, applied with `y`, on probation with `g`, or with the old engine
//! ended first with `f` if both engines do not fit together.

use crossterm::event::{KeyCode, KeyEvent};
use divisi_engine::deployment::{CataloguePreview, Handover, MemoryChange};
use divisi_session::{Command, ModelChangeState, ModelChangeView};

use super::{DialogBody, DialogReply};
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::panels::what_if::{StyledLine, wrapped};
use crate::text::format;

/// The plan of a change, by its number.
#[derive(Clone, Debug)]
pub struct ModelPlan {
    number: u64,
    scroll: usize,
}

impl ModelPlan {
    /// Creates the plan of the change with a number.
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
        let mut lines = lines(preview, width.saturating_sub(4));
        if lines.len() > usize::from(painter.height().saturating_sub(4)) {
            // Blank lines are dropped before any text.
            lines.retain(|line| !line.is_empty());
        }
        let height = (lines.len() as u16).saturating_add(4).min(painter.height());
        let mut window = painter.centred(width, height);
        let mut inside = window.framed(&change.change.to_string(), true);
        let room = usize::from(inside.height().saturating_sub(2));
        let hidden = lines.len().saturating_sub(room);
        let first = self.scroll.min(hidden);
        for (y, line) in lines.iter().skip(first).take(room).enumerate() {
            inside.line(1, y as u16, line);
        }
        scrolls(&mut inside, first, hidden - first);
        keys(&mut inside, preview, model);
    }

    fn is_of_frame(&self) -> bool {
        true
    }
}

/// Draws the number of hidden lines above the keys, and how to see them.
fn scrolls(inside: &mut Painter<'_>, above: usize, below: usize) {
    if above + below == 0 {
        return;
    }
    let y = inside.height().saturating_sub(2);
    let text = format!(" {above} lines above, {below} below");
    inside.pieces(1, y, &[("↑ ↓", Role::Accent), (&text, Role::Dim)]);
}

/// Draws the last line. The length of the probation is shown if it fits.
fn keys(inside: &mut Painter<'_>, preview: &CataloguePreview, model: &Model) {
    let y = inside.height().saturating_sub(1);
    let (key, word) = match preview.not_beside {
        None => ("y", "apply"),
        Some(_) => ("f", "old first"),
    };
    let lasts = format::duration(model.change.terms.lasts);
    let whole = format!("probation of {lasts}");
    let keys = |watched| [(key, word), ("g", watched), ("Esc", "drop")];
    // Each key has a gap before its word, and two columns follow it unless it is the last.
    let widths = keys(&whole).map(|(key, word)| format::width(key) + 1 + format::width(word));
    let fits = widths.iter().sum::<u16>() + 4 < inside.width();
    let watched = if fits { &*whole } else { "probation" };
    inside.keys(1, y, 2, &keys(watched));
}

fn lines(preview: &CataloguePreview, width: u16) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    for (sign, role, names, what) in [
        ("+", Role::Good, &preview.came, ""),
        ("−", Role::Warn, &preview.went, ""),
        ("+", Role::Good, &preview.columns_came, "column "),
        ("−", Role::Warn, &preview.columns_went, "column "),
        ("~", Role::Accent, &preview.moved, "moved: column "),
    ] {
        lines.extend(names.iter().map(|name| {
            let text = format::fit(&format!(" {what}{name}"), width.saturating_sub(1));
            vec![(sign.to_owned(), role), (text, Role::Text)]
        }));
    }
    lines.push(Vec::new());
    lines.extend(match width {
        0..TABLE => memory_in_words(preview, width),
        _ => memory(preview),
    });
    lines.push(Vec::new());
    let (text, role) = handover(preview);
    lines.extend(wrapped(&text, width, role));
    lines
}

/// Describes how the new engine takes over, and the effect on requests.
fn handover(preview: &CataloguePreview) -> (String, Role) {
    match &preview.not_beside {
        None => (
            "✓ both engines fit: the new models take over at one instant".to_owned(),
            Role::Good,
        ),
        Some(why) => (
            format!(
                "! both engines do not fit: {why}. Old first: the old engine answers its requests and \
                 ends; new requests wait, within their deadlines, until the new engine has started"
            ),
            Role::Warn,
        ),
    }
}

/// The width of a figure in columns.
const EACH: usize = 11;

/// The width of the table of memory in columns.
const TABLE: u16 = 54;

/// Returns the devices, each memory space once.
fn memories(preview: &CataloguePreview) -> Vec<&MemoryChange> {
    let mut memories: Vec<&MemoryChange> = preview.memory.iter().collect();
    memories.dedup_by_key(|device| (device.now, device.during, device.after, device.bytes));
    memories
}

/// Returns the memory of both engines together, and its role.
fn both(device: &MemoryChange) -> (String, Role) {
    match device.during {
        Some(bytes) => (format::bytes(bytes), Role::Text),
        None => ("no room".to_owned(), Role::Bad),
    }
}

/// Returns the memory of each device: now, with both engines, and after.
fn memory(preview: &CataloguePreview) -> Vec<StyledLine> {
    let head = format!(
        "{:<10}{:>EACH$}{:>EACH$}{:>EACH$}{:>EACH$}",
        "memory", "now", "both", "after", "of"
    );
    let devices = memories(preview).into_iter().map(|device| {
        let (both, role) = both(device);
        let (now, after) = (format::bytes(device.now), format::bytes(device.after));
        let name = format::fit_name(&device.device, 9);
        vec![
            (format!("{name:<10}{now:>EACH$}"), Role::Text),
            (format!("{both:>EACH$}"), role),
            (format!("{after:>EACH$}"), Role::Strong),
            (format!("{:>EACH$}", format::bytes(device.bytes)), Role::Dim),
        ]
    });
    let head = vec![(head, Role::Dim)];
    std::iter::once(head).chain(devices).collect()
}

/// Returns the memory in words, for screens without room for the table.
fn memory_in_words(preview: &CataloguePreview, width: u16) -> Vec<StyledLine> {
    let told = memories(preview).into_iter().flat_map(|device| {
        let (both, role) = both(device);
        let [now, after, of] = [device.now, device.after, device.bytes].map(format::bytes);
        let name = &device.device;
        [
            (format!("{name}: now {now}, both {both}"), role),
            (format!("after {after} of {of}"), Role::Strong),
        ]
    });
    told.flat_map(|(text, role)| wrapped(&text, width, role))
        .collect()
}
