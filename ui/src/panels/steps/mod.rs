//! The graphs of served steps, from their inputs to their outputs, with the figures of each step.
//! The steps that requests wait for most are highlighted.

mod columns;
mod rails;

use divisi_engine::serving::{GraphStep, StepGraph};

use super::body::{PanelBody, PanelNews, height_for};
use super::columns::{figures, heads as figure_heads};
use super::frame::{edges, headed, hidden, note_with_hidden, note_with_windows};
use crate::layout::Panel;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;

use columns::{StepColumn, fitting, words};
use rails::{CriticalPath, RailRow, rails};

/// The time windows of the figures.
const WINDOWS: &str = "rows/s of 1 s, means since the start";

/// A row of the panel.
enum StepRow<'a> {
    /// The name of a model, if there are several.
    Title(&'a str),
    /// A step.
    Step {
        step: &'a GraphStep,
        rail: RailRow,
        is_critical: bool,
        /// The number of answered requests.
        requests: u64,
    },
}

/// The panel.
pub(super) static PANEL: PanelBody = PanelBody {
    least_width: |_| 44,
    // The title, the headings, and a blank row.
    height: |model, _| height_for(row_count(model) + 3, 6),
    scroll_end: |model, _, rows| row_count(model).saturating_sub(rows.saturating_sub(1)),
    news,
    ..PanelBody::new(draw)
};

/// Returns the number of steps. An ensemble's graph has no more than its members.
fn news(model: &Model) -> PanelNews {
    let count = row_count(model).to_string();
    match model.snapshot.pipeline {
        true => PanelNews::open(count),
        false => PanelNews::quiet(count),
    }
}

/// Draws the panel.
fn draw(painter: &mut Painter<'_>, model: &Model) {
    let rows = rows(model);
    let room = usize::from(painter.height().saturating_sub(1 + edges(model)));
    let first = model
        .scrolled(Panel::Steps)
        .min(rows.len().saturating_sub(room));
    let below = rows.len().saturating_sub(first + room);
    let width = painter.width();
    let note = note_with_hidden(Panel::Steps, what(model), hidden(first, below), width);
    let note = note_with_windows(Panel::Steps, note, WINDOWS, width);
    let mut inside = headed(painter, Panel::Steps, &note, model);
    if rows.is_empty() {
        inside.text(1, 0, "no served steps yet", Role::Dim);
        return;
    }
    let widths = Widths::for_rows(&rows, inside.width());
    let columns = fitting(widths.room(inside.width()));
    heads(&mut inside, &widths, &columns);
    for (y, row) in rows.iter().skip(first).take(room).enumerate() {
        draw_row(&mut inside, y as u16 + 1, row, &widths, &columns);
    }
}

/// Returns the number of its rows.
fn row_count(model: &Model) -> usize {
    let graphs = &model.snapshot.graphs;
    let titles = if graphs.len() > 1 { graphs.len() } else { 0 };
    graphs.iter().map(|graph| graph.steps.len()).sum::<usize>() + titles
}

fn what(model: &Model) -> String {
    match &model.snapshot.graphs[..] {
        [] => String::new(),
        [graph] => format!("{} · {}", graph.model, counted(graph.steps.len(), "step")),
        graphs => counted(graphs.len(), "model"),
    }
}

fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

fn rows(model: &Model) -> Vec<StepRow<'_>> {
    let graphs = &model.snapshot.graphs;
    let each = graphs.iter().flat_map(|graph| {
        let title = (graphs.len() > 1).then_some(StepRow::Title(&graph.model));
        title.into_iter().chain(rows_of_graph(graph))
    });
    each.collect()
}

fn rows_of_graph(graph: &StepGraph) -> impl Iterator<Item = StepRow<'_>> {
    let path = CriticalPath::through(graph);
    let requests = graph.steps.iter().map(|step| step.stats.last).sum();
    rails(graph).into_iter().map(move |rail| StepRow::Step {
        step: &graph.steps[rail.step],
        is_critical: path.has(rail.step),
        rail,
        requests,
    })
}

/// The first columns of the rows' parts.
struct Widths {
    rails: u16,
    names: u16,
}

impl Widths {
    fn for_rows(rows: &[StepRow<'_>], width: u16) -> Self {
        let steps = || {
            rows.iter().filter_map(|row| match row {
                StepRow::Step { step, rail, .. } => Some((step, rail)),
                StepRow::Title(_) => None,
            })
        };
        let rails = steps().map(|(_, rail)| rail.signs.len() as u16).max();
        let names = steps().map(|(step, _)| format::width(&step.name)).max();
        Widths {
            rails: rails.unwrap_or(0).min(width / 3),
            names: names.unwrap_or(0).clamp(4, (width / 4).max(4)),
        }
    }

    fn room(&self, width: u16) -> u16 {
        width.saturating_sub(self.end() + 1)
    }

    fn end(&self) -> u16 {
        1 + self.rails + self.names
    }
}

fn heads(inside: &mut Painter<'_>, widths: &Widths, columns: &[&StepColumn]) {
    inside.text(1 + widths.rails, 0, "step", Role::Dim);
    figure_heads(inside, widths.end(), columns);
}

fn draw_row(
    inside: &mut Painter<'_>,
    y: u16,
    row: &StepRow<'_>,
    widths: &Widths,
    columns: &[&StepColumn],
) {
    let StepRow::Step {
        step,
        rail,
        is_critical,
        requests,
    } = row
    else {
        if let StepRow::Title(model) = row {
            inside.text(1, y, model, Role::Strong);
        }
        return;
    };
    for (x, (sign, lit)) in (0..widths.rails).zip(&rail.signs) {
        let role = if *lit { Role::Accent } else { Role::Dim };
        inside.text(1 + x, y, sign, role);
    }
    let role = if *is_critical {
        Role::Accent
    } else {
        Role::Text
    };
    let name = format::fit_name(&step.name, widths.names);
    inside.text(1 + widths.rails, y, &name, role);
    let end = figures(inside, widths.end(), y, columns, *step, requests);
    let room = inside.width().saturating_sub(end + 3);
    if room >= 6 {
        inside.text(end + 2, y, &format::fit(&words(step), room), Role::Dim);
    }
}
