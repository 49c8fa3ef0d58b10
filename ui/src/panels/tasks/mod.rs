//! Tasks: their goals, the policy for loading variants with its decisions and reasons, the results
//! of other policies, and batch jobs.

mod decisions;
mod goals;
mod policies;

use divisi_session::{JobView, ScalingView};

use super::body::{PanelBody, PanelNews, height_for};
use super::frame::{headed, hidden, inner, note_with_hidden};
use crate::layout::Panel;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;

/// A row of the panel: pieces of text, from the left.
type TaskLine = Vec<(String, Role)>;

/// The panel.
pub(super) static PANEL: PanelBody = PanelBody {
    height: |model, _| height_for(rows_in(model, model.area.width.saturating_sub(2)) + 1, 8),
    scroll_end: |model, columns, rows| rows_in(model, columns).saturating_sub(rows),
    least_width: |_| 40,
    news,
    ..PanelBody::new(draw)
};

/// Returns the policy that decides.
fn news(model: &Model) -> PanelNews {
    match &model.snapshot.scaling {
        Some(scaling) => PanelNews::open(&scaling.policy[..]),
        None => PanelNews::quiet("none"),
    }
}

/// Draws the panel.
fn draw(painter: &mut Painter<'_>, model: &Model) {
    let (width, height) = inner(painter, model);
    let lines = lines(model, width);
    let room = usize::from(height);
    let first = model
        .scrolled(Panel::Tasks)
        .min(lines.len().saturating_sub(room));
    let below = lines.len().saturating_sub(first + room);
    let what = match &model.snapshot.scaling {
        Some(scaling) => format!("{} decides", scaling.policy),
        None => String::new(),
    };
    let note = note_with_hidden(Panel::Tasks, what, hidden(first, below), painter.width());
    let mut inside = headed(painter, Panel::Tasks, &note, model);
    for (y, line) in lines.iter().skip(first).take(room).enumerate() {
        let pieces: Vec<(&str, Role)> = line.iter().map(|(text, role)| (&**text, *role)).collect();
        inside.pieces(1, y as u16, &pieces);
    }
}

/// Returns the total number of rows of a panel with this many columns.
fn rows_in(model: &Model, columns: u16) -> usize {
    lines(model, columns).len()
}

fn lines(model: &Model, width: u16) -> Vec<TaskLine> {
    let Some(scaling) = &model.snapshot.scaling else {
        let text = "no tasks are served: start `divisi --task TASK`";
        return vec![vec![(text.to_owned(), Role::Dim)]];
    };
    let width = width.saturating_sub(2);
    let mut lines = policies::head(model, scaling, width);
    // A requested comparison is visible without scrolling.
    lines.extend(policies::comparison(scaling, width));
    for task in &scaling.tasks {
        lines.extend(goals::lines(task, width));
    }
    lines.extend(decisions::loaded(scaling, width));
    lines.extend(decisions::changes(scaling, width));
    lines.extend(decisions::considered(scaling, width));
    lines.extend(jobs(scaling, width));
    lines
}

fn jobs(scaling: &ScalingView, width: u16) -> Vec<TaskLine> {
    if scaling.jobs.is_empty() {
        return Vec::new();
    }
    let rows = scaling.jobs.iter().flat_map(|job| self::job(job, width));
    heading("batch jobs").into_iter().chain(rows).collect()
}

/// Returns the line of a job, with its state on a second line if it is too long.
fn job(job: &JobView, width: u16) -> Vec<TaskLine> {
    let share = job.written as f64 / job.rows.max(1) as f64;
    let text = format!(
        "  {:>3}  {:<12} {:<14} {:>5.1} %  {} of {} rows  ",
        job.number,
        job.task,
        job.goals,
        100.0 * share,
        job.written,
        job.rows,
    );
    if format::width(&text) + format::width(&job.state) <= width {
        return wrapped(vec![(text, Role::Text)], &job.state, Role::Text, width);
    }
    let indent = vec![(" ".repeat(7), Role::Text)];
    let state = wrapped(indent, &job.state, Role::Text, width);
    std::iter::once(row(text.trim_end(), Role::Text, width))
        .chain(state)
        .collect()
}

/// Returns a line of one text, cut to the width.
fn row(text: &str, role: Role, width: u16) -> TaskLine {
    vec![(format::fit(text, width), role)]
}

/// Returns the lines of pieces with a text after them, which continues below itself if it is too
/// wide.
fn wrapped(pieces: TaskLine, text: &str, role: Role, width: u16) -> Vec<TaskLine> {
    let used: u16 = pieces.iter().map(|(piece, _)| format::width(piece)).sum();
    let mut texts = format::wrap(text, width.saturating_sub(used)).into_iter();
    let mut first = pieces;
    first.extend(texts.next().map(|text| (text, role)));
    let indent = " ".repeat(used.into());
    let others = texts.map(|text| vec![(format!("{indent}{text}"), role)]);
    std::iter::once(first).chain(others).collect()
}

/// Returns a blank line and a heading.
fn heading(text: &str) -> [TaskLine; 2] {
    [Vec::new(), vec![(text.to_owned(), Role::Dim)]]
}
