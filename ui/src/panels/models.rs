//! The catalogue: models, pipelines and ensembles by name and version, how often they are asked and how
//! they answer; those that are not served with the reason.

use divisi::metrics::LatencySummary;
use divisi::session::{CatalogueView, ModelChangeView, ModelKind, Refusal};

use super::frame::headed;
use super::keys;
use crate::commands::{LOAD_MODEL, UNLOAD_MODEL};
use crate::layout::Panel;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;

/// A column: its head, the columns of the screen that it takes with the gap before it, and its text.
struct ModelColumn {
    name: &'static str,
    width: u16,
    text: fn(&CatalogueView, &Model) -> String,
}

/// In the order of the screen; where not all fit, the first ones are shown.
static COLUMNS: [ModelColumn; 8] = [
    ModelColumn {
        name: "req/s",
        width: 8,
        text: |m, _| format::short(m.figures.requests_per_s),
    },
    ModelColumn {
        name: "p50 ms",
        width: 9,
        text: |m, _| latency(m, |l| l.p50),
    },
    ModelColumn {
        name: "p99 ms",
        width: 9,
        text: |m, _| latency(m, |l| l.p99),
    },
    ModelColumn {
        name: "failed",
        width: 8,
        text: |m, _| format::grouped(m.figures.failed),
    },
    ModelColumn {
        name: "smp/s",
        width: 8,
        text: |m, _| format::short(m.figures.samples_per_s),
    },
    ModelColumn {
        name: "run/s",
        width: 8,
        text: |m, model| run(m, model).map_or("–".into(), format::short),
    },
    ModelColumn {
        name: "answered",
        width: 12,
        text: |m, _| format::grouped(m.figures.answered),
    },
    ModelColumn {
        name: "members",
        width: 9,
        text: |m, _| m.members.len().to_string(),
    },
];

/// Columns for the signs before a name.
const SIGNS: u16 = 3;
/// Columns of a version and of a kind, each with the gap before it.
const VERSION: u16 = 4;
const KIND: u16 = 10;

/// Draws the panel.
pub(super) fn draw(painter: &mut Painter<'_>, model: &Model) {
    let mut inside = headed(painter, Panel::Models, &note(model), model);
    let models = &model.snapshot.models;
    let label = label(models, inside.width());
    let columns = fitting(
        inside
            .width()
            .saturating_sub(SIGNS + label + VERSION + KIND),
    );
    heads(&mut inside, label, columns);
    let under = u16::from(inside.height() > 3) * 2;
    let room = usize::from(inside.height().saturating_sub(1 + under)).max(1);
    let at = cursor(model);
    let first = (at + 1).saturating_sub(room);
    let rows = models.iter().enumerate().skip(first).take(room);
    for (row, (number, view)) in rows.enumerate() {
        let y = row as u16 + 1;
        one(&mut inside, y, (view, model), label, columns);
        if refusal_of(model, view).is_some() {
            inside.text(1, y, "✗", Role::Bad);
        }
        if model.focus == Panel::Models && number == at {
            inside.text(0, y, "▸", Role::Accent);
            inside.restyle(SIGNS, y, label, Role::Cursor);
        }
    }
    if under > 0 {
        let y = inside.height().saturating_sub(1);
        words(&mut inside, y, model, models.get(at));
    }
}

/// Returns the place of the model under the cursor.
pub(crate) fn cursor(model: &Model) -> usize {
    let last = model.snapshot.models.len().saturating_sub(1);
    model.model_at.min(last)
}

/// Rows that show all models.
pub(super) fn rows_needed(model: &Model) -> usize {
    model.snapshot.models.len() + 5
}

fn note(model: &Model) -> String {
    let models = &model.snapshot.models;
    let served = models.iter().filter(|m| m.unserved.is_none()).count();
    match models.len() - served {
        0 => format!("{served} served"),
        others => format!("{served} served · {others} not"),
    }
}

/// Returns a latency of the last seconds, if there was any.
fn latency(view: &CatalogueView, of: fn(&LatencySummary) -> u64) -> String {
    match view.figures.latency.count {
        0 => "–".into(),
        _ => format::millis(of(&view.figures.latency)),
    }
}

/// Returns the samples that the network of a model ran a second, for whoever asked: also those of
/// pipelines that use it. Several networks have no rate in common.
fn run(view: &CatalogueView, model: &Model) -> Option<f64> {
    let &[member] = &view.members[..] else {
        return None;
    };
    let member = model.snapshot.members.get(member.get())?;
    Some(member.samples_per_s)
}

/// Columns for names.
fn label(models: &[CatalogueView], width: u16) -> u16 {
    let names = models.iter().map(|m| format::width(&m.name));
    names.max().unwrap_or(0).clamp(6, (width / 3).max(6))
}

fn fitting(mut room: u16) -> &'static [ModelColumn] {
    let fits = |column: &&ModelColumn| {
        let fits = column.width <= room;
        room = room.saturating_sub(column.width);
        fits
    };
    let count = COLUMNS.iter().take_while(fits).count();
    &COLUMNS[..count]
}

fn heads(inside: &mut Painter<'_>, label: u16, columns: &[ModelColumn]) {
    inside.text(SIGNS, 0, "model", Role::Dim);
    inside.text(SIGNS + label + 1, 0, "ver", Role::Dim);
    inside.text(SIGNS + label + VERSION + 1, 0, "kind", Role::Dim);
    let mut end = SIGNS + label + VERSION + KIND;
    for column in columns {
        end += column.width;
        inside.text_right(end, 0, column.name, Role::Dim);
    }
}

fn one(
    inside: &mut Painter<'_>,
    y: u16,
    (view, model): (&CatalogueView, &Model),
    label: u16,
    columns: &[ModelColumn],
) {
    let (sign, role) = match (&view.unserved, &view.failure) {
        (Some(_), None) => ("○", Role::Dim),
        (Some(_), Some(_)) => ("✗", Role::Bad),
        (None, Some(_)) => ("!", Role::Warn),
        (None, None) => ("●", Role::Good),
    };
    inside.text(1, y, sign, role);
    let role = match view.unserved {
        Some(_) => Role::Dim,
        None => Role::Text,
    };
    inside.text(SIGNS, y, &format::fit_name(&view.name, label), role);
    let after = SIGNS + label + 1;
    if let Some(version) = view.version {
        inside.text(after, y, &format!("{version:>3}"), role);
    }
    if let Some(reason) = &view.unserved {
        let room = inside.width().saturating_sub(after + VERSION);
        inside.text(after + VERSION, y, &format::fit(reason, room), Role::Dim);
        return;
    }
    let kind = view.kind.map_or("", ModelKind::name);
    inside.text(after + VERSION, y, kind, Role::Dim);
    let mut end = SIGNS + label + VERSION + KIND;
    for column in columns {
        end += column.width;
        inside.text_right(end, y, &(column.text)(view, model), role);
    }
}

/// Returns the last change of the models, where it was refused and is about this one.
fn refusal_of<'a>(model: &'a Model, view: &CatalogueView) -> Option<&'a ModelChangeView> {
    let change = model.snapshot.model_change.as_ref();
    let refused = change.filter(|change| change.refusal().is_some());
    refused.filter(|change| change.change.model() == Some(view.name.as_str()))
}

/// The last line: why a change of the model was refused, why the newest files are not those that are served, or the keys.
fn words(inside: &mut Painter<'_>, y: u16, model: &Model, view: Option<&CatalogueView>) {
    let Some(view) = view else {
        return;
    };
    if let Some(change) = refusal_of(model, view) {
        let why = change.refusal().map_or("", Refusal::text);
        let room = inside.width().saturating_sub(1);
        let text = format!("{} was refused: {why}", change.change);
        inside.text(1, y, &format::fit(&text, room), Role::Bad);
        return;
    }
    if let (Some(failure), None) = (&view.failure, &view.unserved) {
        let text = format!("its newest files cannot be served: {failure}");
        let room = inside.width().saturating_sub(1);
        inside.text(1, y, &format::fit(&text, room), Role::Warn);
        return;
    }
    if !model.snapshot.can_load {
        return;
    }
    let hints = match &view.unserved {
        Some(_) => &[(&LOAD_MODEL, "load it")][..],
        None => &[(&LOAD_MODEL, "load it again"), (&UNLOAD_MODEL, "unload it")],
    };
    keys::draw(inside, 1, y, model, hints);
}
