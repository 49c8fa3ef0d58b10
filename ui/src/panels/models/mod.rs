//! The catalogue: models, pipelines and ensembles by name and version, with their rates, callers
//! and latencies; models that are not served are listed with the reason.

mod asked;
mod columns;
mod widths;
mod words;

use std::ops::Range;

use divisi_session::{CatalogueView, ModelKind};

use super::body::{PanelBody, PanelNews, height_for};
use super::columns::{figures, heads as figure_heads};
use super::frame::{headed, hidden, inner, note_with_hidden, note_with_windows};
use crate::layout::Panel;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;

use asked::AskedModel;
use columns::{ModelColumn, fitting};
use widths::{ModelWidths, SIGNS};
use words::{ModelWords, refusal_of};

/// The time windows of the figures.
const WINDOWS: &str = "rates of 1 s, latencies of 10 s, counts since the start";

/// The panel.
pub(super) static PANEL: PanelBody = PanelBody {
    height: |model, _| height_for(rows_needed(model), 6),
    least_width: |_| 100,
    news,
    ..PanelBody::new(draw)
};

/// Returns the number of models. A single one is in the header.
fn news(model: &Model) -> PanelNews {
    match model.snapshot.models.len() {
        few @ 0..2 => PanelNews::quiet(few.to_string()),
        many => PanelNews::open(many.to_string()),
    }
}

/// Draws the panel.
fn draw(painter: &mut Painter<'_>, model: &Model) {
    let view = model.snapshot.models.get(cursor(model));
    let asked = AskedModel::for_model(model, view);
    let (width, height) = inner(painter, model);
    let widths = ModelWidths::for_models(&model.snapshot.models, width);
    let words = ModelWords::for_model(model, view, width, widths.reason(width));
    let said = words_rows(model, &words, height);
    // The row above the words is blank, or shows the callers.
    let under = if said > 0 { said + 1 } else { 0 };
    let below = rows_below(model, asked.as_ref(), height.saturating_sub(1 + under));
    let listed = height - under - below;
    let note = note(model, listed, painter.width());
    let mut inside = headed(painter, Panel::Models, &note, model);
    list(&mut inside.part(0, 0, width, listed), model, &widths);
    if said == 0 {
        return;
    }
    match asked {
        Some(asked) if below > 0 => {
            asked.draw(&mut inside.part(0, listed, width, below));
        }
        Some(asked) => asked.draw_line(&mut inside, height - under),
        None => {}
    }
    words.draw(&mut inside.part(0, height - said, width, said), model, view);
}

/// Returns the rows of the words below the list: at least one, and otherwise the rows without
/// models, or up to half.
fn words_rows(model: &Model, words: &ModelWords, height: u16) -> u16 {
    match height {
        0..=3 => 0,
        height => 1 + spare(model, height - 3).min(words.rows() - 1),
    }
}

/// Returns the rows below the headings that are free for other contents: those without models, or
/// half.
fn spare(model: &Model, rows: u16) -> u16 {
    let models = u16::try_from(model.snapshot.models.len()).unwrap_or(u16::MAX);
    rows.saturating_sub(models).max(rows / 2)
}

/// Returns the rows of callers below the headings: those without models, or up to half; 0 if that
/// is too little.
fn rows_below(model: &Model, asked: Option<&AskedModel<'_>>, rows: u16) -> u16 {
    let needed = asked.map_or(0, AskedModel::needed);
    let needed = u16::try_from(needed).unwrap_or(u16::MAX);
    let rows = needed.min(spare(model, rows));
    match asked.is_some_and(|asked| rows >= asked.least()) {
        true => rows,
        false => 0,
    }
}

/// Draws the models, a row each, including the one at the cursor.
fn list(inside: &mut Painter<'_>, model: &Model, widths: &ModelWidths) {
    let models = &model.snapshot.models;
    let columns = fitting(models, inside.width().saturating_sub(widths.kind_end()));
    heads(inside, widths, &columns);
    let at = cursor(model);
    let shown = shown(model, inside.height());
    let rows = models.iter().enumerate();
    let rows = rows.skip(shown.start).take(shown.len());
    for (row, (number, view)) in rows.enumerate() {
        let y = row as u16 + 1;
        one(inside, y, view, model, widths, &columns);
        if refusal_of(model, view).is_some() {
            inside.text(1, y, "✗", Role::Bad);
        }
        if model.focus == Panel::Models && number == at {
            inside.text(0, y, "▸", Role::Accent);
            inside.restyle(SIGNS, y, widths.name, Role::Cursor);
        }
    }
}

/// Returns the models shown by a list of this many rows, including the one at the cursor.
fn shown(model: &Model, listed: u16) -> Range<usize> {
    let room = usize::from(listed.saturating_sub(1)).max(1);
    let first = (cursor(model) + 1).saturating_sub(room);
    first..(first + room).min(model.snapshot.models.len())
}

/// Returns the place of the model at the cursor.
pub(crate) fn cursor(model: &Model) -> usize {
    model.model_cursor.place(&model.snapshot.models)
}

/// Returns the rows that show all models, the callers of any of them, and the words on any.
fn rows_needed(model: &Model) -> usize {
    let models = &model.snapshot.models;
    let asked = models
        .iter()
        .filter_map(|view| AskedModel::for_model(model, Some(view)));
    let callers = asked.map(|asked| asked.needed()).max();
    models.len() + callers.unwrap_or(0) + words_needed(model) + 4
}

/// Returns the rows of the longest words on a model, for a panel of the whole width.
fn words_needed(model: &Model) -> usize {
    let models = &model.snapshot.models;
    let width = model.area.width.saturating_sub(2);
    let reason = ModelWidths::for_models(models, width).reason(width);
    let longest = models.iter().max_by_key(|view| {
        let why = view.unserved.as_ref().or(view.failure.as_ref());
        why.map_or(0, |why| why.len())
    });
    let views = [models.get(cursor(model)), longest];
    let rows = views.map(|view| ModelWords::for_model(model, view, width, reason).rows());
    usize::from(rows[0].max(rows[1]))
}

/// Returns the number of models that are served, not served, and hidden.
fn note(model: &Model, listed: u16, width: u16) -> String {
    let models = &model.snapshot.models;
    let served = models.iter().filter(|m| m.unserved.is_none()).count();
    let what = match models.len() - served {
        0 => format!("{served} served"),
        others => format!("{served} served · {others} not"),
    };
    let shown = shown(model, listed);
    let hidden = hidden(shown.start, models.len() - shown.end);
    let note = note_with_hidden(Panel::Models, what, hidden, width);
    note_with_windows(Panel::Models, note, WINDOWS, width)
}

fn heads(inside: &mut Painter<'_>, widths: &ModelWidths, columns: &[&ModelColumn]) {
    inside.text(SIGNS, 0, "model", Role::Dim);
    inside.text_right(widths.version_end(), 0, "ver", Role::Dim);
    inside.text(widths.version_end() + 1, 0, "kind", Role::Dim);
    figure_heads(inside, widths.kind_end(), columns);
}

fn one(
    inside: &mut Painter<'_>,
    y: u16,
    view: &CatalogueView,
    model: &Model,
    widths: &ModelWidths,
    columns: &[&ModelColumn],
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
    inside.text(SIGNS, y, &format::fit_name(&view.name, widths.name), role);
    if let Some(version) = view.version {
        let version = format::fit_end(&version.to_string(), widths.version);
        inside.text_right(widths.version_end(), y, &version, role);
    }
    let after = widths.version_end() + 1;
    if let Some(reason) = &view.unserved {
        let room = widths.reason(inside.width());
        inside.text(after, y, &format::fit(reason, room), Role::Dim);
        return;
    }
    let kind = view.kind.map_or("", ModelKind::name);
    inside.text(after, y, kind, Role::Dim);
    figures(inside, widths.kind_end(), y, columns, view, model);
}
