//! The changes tried and accepted by the search: the neighbours of this iteration over the matrix,
//! and the accepted steps.

use divisi_engine::search::{Accepted, Tried};
use divisi_model::allocation::Cell;
use divisi_model::ensemble::BatchSize;
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_session::SearchView;

use crate::layout::Panel;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;

/// Gains from this on have the darkest shade.
const DEEP: f64 = 0.10;

/// The best score of each entry's neighbours, relative to the current matrix.
pub(super) struct Heat {
    best: Vec<Option<Tried>>,
    members: usize,
    /// The reference score of gains.
    from: f64,
}

impl Heat {
    /// Returns `None` before the first neighbour of this iteration.
    pub(super) fn new(search: &SearchView, model: &Model) -> Option<Self> {
        let frame = model.snapshot.matrix.frame();
        let (devices, members) = (frame.devices.len(), frame.members.len());
        let from = current(search)?;
        let mut best: Vec<Option<Tried>> = vec![None; devices * members];
        for tried in &search.progress.tried {
            let Cell { device, member } = tried.cell;
            if device.get() >= devices || member.get() >= members {
                continue;
            }
            match best.get_mut(tried.cell.index_in(members)) {
                Some(held) if held.is_none_or(|h| h.score < tried.score) => *held = Some(*tried),
                _ => {}
            }
        }
        let any = best.iter().any(Option::is_some);
        any.then_some(Heat {
            best,
            members,
            from,
        })
    }

    /// Returns the change with the largest gain: `cpu:1 × res-m 0 → 16 (+9 %)`.
    pub(super) fn best(&self, model: &Model) -> Option<String> {
        let tried = self.best.iter().flatten();
        let best = tried.max_by(|a, b| a.score.total_cmp(&b.score))?;
        let gain = format::gain(self.from, best.score)?;
        let steps = &model.snapshot.search.as_ref()?.progress.accepted;
        let before = set_before(steps, best.cell).unwrap_or_else(|| running(model, best.cell));
        let size = |size: Option<BatchSize>| size.map_or(0, BatchSize::get);
        let (before, after) = (size(before), size(best.to));
        let place = place(model, best.cell);
        Some(format!("{place} {before} → {after} ({gain})"))
    }

    /// Returns the number of rows.
    pub(super) fn rows(&self) -> u16 {
        let devices = self.best.len() / self.members.max(1);
        u16::try_from(devices).unwrap_or(u16::MAX).saturating_add(1)
    }

    /// Draws a row per device as far as there is room, and returns the number of rows used.
    pub(super) fn draw(&self, inside: &mut Painter<'_>, model: &Model) -> u16 {
        let rows = self.rows().min(inside.height());
        let grid = HeatGrid::new(model, inside.width(), self.members);
        grid.names(inside, model);
        let first = (model.cursor.device.get() + 2).saturating_sub(usize::from(rows));
        for row in 1..rows {
            let device = DeviceIndex::new(first + usize::from(row) - 1);
            self.device(inside, row, device, model, &grid);
        }
        rows
    }

    fn device(
        &self,
        inside: &mut Painter<'_>,
        y: u16,
        device: DeviceIndex,
        model: &Model,
        grid: &HeatGrid,
    ) {
        let Some(view) = model.snapshot.device(device) else {
            return;
        };
        let name = format::device_name(&view.name, true);
        let name = format::fit_name(name, grid.label.saturating_sub(1));
        inside.text(0, y, &name, Role::Text);
        for place in 0..grid.shown {
            let member = MemberIndex::new(grid.first + place);
            let end = grid.label + grid.cell * (place as u16 + 1);
            let tried = self
                .best
                .get(Cell { device, member }.index_in(self.members));
            match tried.copied().flatten() {
                None => inside.sign(end - 1, y, "·", Role::Dim),
                Some(tried) => self.cell(inside, end, y, tried.score, grid.cell),
            }
        }
    }

    /// Draws a sign and a shade, or a percentage if there is room.
    fn cell(&self, inside: &mut Painter<'_>, end: u16, y: u16, score: f64, width: u16) {
        let gain = score / self.from - 1.0;
        let shade = match gain.abs() / DEEP {
            s if s < 0.1 => "░",
            s if s < 0.4 => "▒",
            s if s < 1.0 => "▓",
            _ => "█",
        };
        let (sign, role) = match gain {
            g if g > 0.0005 => ("+", Role::Good),
            g if g < -0.0005 => ("−", Role::Warn),
            _ => ("=", Role::Dim),
        };
        if width < 5 {
            inside.sign(end.saturating_sub(2), y, sign, role);
        } else {
            let percent = (gain.abs() * 100.0).round().min(99.0);
            inside.text_right(end - 1, y, &format!("{sign}{percent:.0}"), role);
        }
        inside.sign(end - 1, y, shade, role);
    }
}

/// The columns of the members.
struct HeatGrid {
    label: u16,
    cell: u16,
    first: usize,
    shown: usize,
}

impl HeatGrid {
    fn new(model: &Model, width: u16, members: usize) -> Self {
        let devices = model.snapshot.devices.iter();
        let names = devices.map(|d| format::width(format::device_name(&d.name, true)));
        let label = (names.max().unwrap_or(5) + 1).clamp(6, (width / 4).max(6));
        let room = width.saturating_sub(label);
        let members = members.max(1);
        let cell = (room / members as u16).clamp(3, 9);
        let shown = usize::from(room / cell).clamp(1, members);
        let first = (model.cursor.member.get() + 1).saturating_sub(shown);
        HeatGrid {
            label,
            cell,
            first,
            shown,
        }
    }

    fn names(&self, inside: &mut Painter<'_>, model: &Model) {
        inside.text(0, 0, "gain %", Role::Dim);
        let members = model.snapshot.members.iter().skip(self.first);
        for (place, member) in members.take(self.shown).enumerate() {
            let end = self.label + self.cell * (place as u16 + 1);
            let name = format::fit_name(&member.name, self.cell - 1);
            inside.text_right(end, 0, &name, Role::Dim);
        }
    }
}

/// Returns the score of the matrix whose neighbours are tried.
fn current(search: &SearchView) -> Option<f64> {
    let seen = &search.progress;
    let last = seen.accepted.last().map(|a| a.score);
    let score = last.or(seen.history.last().copied()).or(seen.start_score);
    score.filter(|s| *s > 0.0)
}

/// Returns the batch size last set at `cell` by the search's steps, or `None` if no step changed
/// it. The inner `None` means no worker.
fn set_before(steps: &[Accepted], cell: Cell) -> Option<Option<BatchSize>> {
    let changes = steps.iter().rev().flat_map(|s| s.changes.iter().rev());
    let mut here = changes.filter(|c| c.0 == cell);
    here.next().map(|c| c.1)
}

fn running(model: &Model, cell: Cell) -> Option<BatchSize> {
    let mut workers = model.snapshot.matrix.workers();
    workers.find(|w| w.0 == cell).map(|w| w.1)
}

/// Returns a place: `cpu:1 × res-m`.
fn place(model: &Model, cell: Cell) -> String {
    let frame = model.snapshot.matrix.frame();
    let device = frame.device(cell.device).unwrap_or("");
    let member = frame.member(cell.member).unwrap_or("");
    format!("{device} × {member}")
}

/// Draws as many steps as fit, scrolled back by the user.
pub(super) fn draw_steps(area: &mut Painter<'_>, search: &SearchView, model: &Model) {
    let steps = &search.progress.accepted;
    let rows = usize::from(area.height().saturating_sub(1));
    if rows == 0 || steps.is_empty() {
        return;
    }
    let least = rows.min(steps.len());
    let last = steps
        .len()
        .saturating_sub(model.scrolled(Panel::Search))
        .max(least);
    let first = last.saturating_sub(rows);
    let hidden = match steps.len() > rows {
        true => format!(" · {}–{last} of {} · ↑ ↓", first + 1, steps.len()),
        false => String::new(),
    };
    let head = format!("steps taken, by evaluations{hidden}");
    let head = match format::width(&head) <= area.width() {
        true => head,
        false => format!("steps taken{hidden}"),
    };
    area.text(0, 0, &format::fit(&head, area.width()), Role::Dim);
    for (row, at) in (first..last).enumerate() {
        let before = at.checked_sub(1).and_then(|b| steps.get(b));
        line(area, row as u16 + 1, &steps[at], before, model);
    }
}

fn line(area: &mut Painter<'_>, y: u16, step: &Accepted, before: Option<&Accepted>, model: &Model) {
    let evaluations = format!("{:>7}", format::grouped(step.evaluations as u64));
    let score = format!("{:>8}", format::grouped(step.score.max(0.0).round() as u64));
    // Predictions and runs are not comparable.
    let like = before.filter(|b| b.run == step.run);
    let gain = like.and_then(|b| format::gain(b.score, step.score));
    let gain = format!("{:>7}  ", gain.unwrap_or_default());
    let x = area.pieces(
        0,
        y,
        &[
            (&evaluations, Role::Dim),
            (&score, Role::Text),
            (&gain, Role::Good),
        ],
    );
    let changes = match step.changes.as_slice() {
        [] if step.run => "run of the best found".to_owned(),
        [] => "start".to_owned(),
        [(cell, to)] => change(model, *cell, *to),
        [(cell, to), rest @ ..] => format!("{}, {} more", change(model, *cell, *to), rest.len()),
    };
    let changes = match step.run && !step.changes.is_empty() {
        true => format!("run: {changes}"),
        false => changes,
    };
    let room = area.width().saturating_sub(x);
    area.text(x, y, &format::fit(&changes, room), Role::Text);
}

/// Describes a change by its new batch size. The old one is left out, since it may have changed.
fn change(model: &Model, cell: Cell, to: Option<BatchSize>) -> String {
    let size = to.map_or(0, BatchSize::get);
    format!("{} → {size}", place(model, cell))
}
