//! The catalogue: models, pipelines and ensembles by name and version, how often they are asked, by whom
//! and how they answer; those that are not served with the reason.

mod asked;
mod columns;

use divisi::session::{CatalogueView, ModelChangeView, ModelKind, Refusal};

use super::frame::headed;
use super::keys;
use crate::commands::{LOAD_MODEL, UNLOAD_MODEL};
use crate::layout::Panel;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;

use asked::AskedModel;
use columns::{ModelColumn, fitting};

/// The rows that callers of a model have at least, with a gap and a head.
const LEAST_BELOW: u16 = 3;

/// Columns for the signs before a name.
const SIGNS: u16 = 3;
/// Columns of a version and of a kind, each with the gap before it.
const VERSION: u16 = 4;
const KIND: u16 = 9;

/// Draws the panel.
pub(super) fn draw(painter: &mut Painter<'_>, model: &Model) {
    let mut inside = headed(painter, Panel::Models, &note(model), model);
    let view = model.snapshot.models.get(cursor(model));
    let asked = AskedModel::of(model, view);
    let (width, height) = (inside.width(), inside.height());
    let under = u16::from(height > 3) * 2;
    let below = rows_below(model, asked.as_ref(), height.saturating_sub(1 + under));
    list(&mut inside.part(0, 0, width, height - under - below), model);
    if under == 0 {
        return;
    }
    match asked {
        Some(asked) if below > 0 => {
            let y = height - under - below;
            asked.draw(&mut inside.part(0, y, width, below));
        }
        Some(asked) => asked.draw_line(&mut inside, height - under),
        None => {}
    }
    words(&mut inside, height - 1, model, view);
}

/// Returns the rows that callers have of those below the heads: what models leave, or up to half; 0
/// where that is too little.
fn rows_below(model: &Model, asked: Option<&AskedModel<'_>>, rows: u16) -> u16 {
    let models = u16::try_from(model.snapshot.models.len()).unwrap_or(u16::MAX);
    let needed = asked.map_or(0, AskedModel::needed);
    let needed = u16::try_from(needed).unwrap_or(u16::MAX);
    match needed.min(rows.saturating_sub(models).max(rows / 2)) {
        0..LEAST_BELOW => 0,
        rows => rows,
    }
}

/// The models, a row each, with the one under the cursor among them.
fn list(inside: &mut Painter<'_>, model: &Model) {
    let models = &model.snapshot.models;
    let label = label(models, inside.width());
    let before = SIGNS + label + VERSION + KIND;
    let columns = fitting(inside.width().saturating_sub(before));
    heads(inside, label, columns);
    let room = usize::from(inside.height().saturating_sub(1)).max(1);
    let at = cursor(model);
    let first = (at + 1).saturating_sub(room);
    let rows = models.iter().enumerate().skip(first).take(room);
    for (row, (number, view)) in rows.enumerate() {
        let y = row as u16 + 1;
        one(inside, y, (view, model), label, columns);
        if refusal_of(model, view).is_some() {
            inside.text(1, y, "✗", Role::Bad);
        }
        if model.focus == Panel::Models && number == at {
            inside.text(0, y, "▸", Role::Accent);
            inside.restyle(SIGNS, y, label, Role::Cursor);
        }
    }
}

/// Returns the place of the model under the cursor.
pub(crate) fn cursor(model: &Model) -> usize {
    model.model_cursor.place(&model.snapshot.models)
}

/// Rows that show all models, and who asks any of them.
pub(super) fn rows_needed(model: &Model) -> usize {
    let models = &model.snapshot.models;
    let asked = models
        .iter()
        .filter_map(|view| AskedModel::of(model, Some(view)));
    let callers = asked.map(|asked| asked.needed()).max();
    models.len() + callers.unwrap_or(0) + 5
}

fn note(model: &Model) -> String {
    let models = &model.snapshot.models;
    let served = models.iter().filter(|m| m.unserved.is_none()).count();
    match models.len() - served {
        0 => format!("{served} served"),
        others => format!("{served} served · {others} not"),
    }
}

/// Columns for names.
fn label(models: &[CatalogueView], width: u16) -> u16 {
    let names = models.iter().map(|m| format::width(&m.name));
    names.max().unwrap_or(0).clamp(6, (width / 3).max(6))
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

/// Returns the last change of the models, where it was refused, is about this one and is still told.
fn refusal_of<'a>(model: &'a Model, view: &CatalogueView) -> Option<&'a ModelChangeView> {
    let refused = model.refusal_sign.change(&model.snapshot);
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
        let text = format!("{} was refused: {why} · Esc hides this", change.change);
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
