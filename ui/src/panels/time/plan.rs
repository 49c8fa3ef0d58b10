//! The columns of the figures over time: the time of each, and its figures.

use std::time::Duration;

use divisi_session::{FigureHistory, FigureRecord};

use crate::model::Model;

/// The columns before the curves: the name, and the value with its unit.
const NAME: u16 = 14;
const VALUE: u16 = 11;
/// The columns after the curves: the scale.
const SCALE: u16 = 11;
/// The width from which scales are shown.
const WIDE: u16 = 60;

/// The columns of the panel and their time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimePlan {
    /// The column after values.
    pub value_end: u16,
    /// The first column of the curves.
    pub left: u16,
    /// The number of columns of the curves.
    pub cells: u16,
    /// Whether scales are shown after the curves.
    pub has_scale: bool,
    /// The time at the left edge, in seconds since the engine's start; negative before it.
    from: f64,
    /// The visible seconds.
    seconds: f64,
}

impl TimePlan {
    /// Returns the columns inside a panel of `width` columns.
    pub(crate) fn new(model: &Model, width: u16) -> Self {
        let has_scale = width >= WIDE;
        let left = NAME + VALUE + 1;
        let right = if has_scale { SCALE } else { 0 };
        let whole = model.recorded_time();
        let seconds = model.time.length(whole).as_secs_f64();
        TimePlan {
            value_end: NAME + VALUE,
            left,
            cells: width.saturating_sub(left + right).max(1),
            has_scale,
            from: model.time.end(whole).as_secs_f64() - seconds,
            seconds,
        }
    }

    /// Returns the time of a column.
    pub(crate) fn column_length(&self) -> Duration {
        Duration::from_secs_f64(self.seconds / f64::from(self.cells))
    }

    /// Returns the time in the middle of a column, counted from the left of the curves.
    pub(crate) fn middle_of(&self, cell: u16) -> Duration {
        let part = (f64::from(cell) + 0.5) / f64::from(self.cells);
        seconds(self.from + self.seconds * part)
    }

    /// Returns the column at `x` inside the panel, counted from the left of the curves.
    pub(crate) fn cell_at(&self, x: u16) -> Option<u16> {
        let cell = x.checked_sub(self.left)?;
        (cell < self.cells).then_some(cell)
    }

    /// Returns the column of a time, or `None` outside of the picture.
    pub(super) fn cell_of(&self, at: Duration) -> Option<u16> {
        let part = (at.as_secs_f64() - self.from) / self.seconds;
        let cell = (part * f64::from(self.cells)).floor();
        (cell >= 0.0 && cell < f64::from(self.cells)).then_some(cell as u16)
    }

    /// Returns the start and the end of the picture.
    pub(super) fn bounds(&self) -> (Duration, Duration) {
        (seconds(self.from), seconds(self.from + self.seconds))
    }

    /// Returns the start and the end of a column.
    pub(super) fn bounds_of(&self, cell: u16) -> (Duration, Duration) {
        let each = self.seconds / f64::from(self.cells);
        let from = self.from + each * f64::from(cell);
        (seconds(from), seconds(from + each))
    }

    /// Returns the figures of each column of dots, two for each column, or `None` if nothing is
    /// recorded.
    pub(super) fn dots(&self, history: &FigureHistory) -> Vec<Option<FigureRecord>> {
        let mut dots: Vec<Option<FigureRecord>> = vec![None; usize::from(self.cells) * 2];
        let each = self.seconds / dots.len() as f64;
        let (from, until) = self.bounds();
        let visible = history.records();
        for record in visible.filter(|r| r.until() > from && r.from() < until) {
            let place = |at: Duration| ((at.as_secs_f64() - self.from) / each).max(0.0);
            // A dot that is shorter than a second shows the second of its start, and no mixture.
            let first = match each < 1.0 {
                true => place(record.from()).ceil() as usize,
                false => place(record.from()).floor() as usize,
            };
            // A record covers at least the dot of its start.
            let last = (place(record.until()).ceil() as usize).max(first + 1);
            for dot in dots.iter_mut().take(last).skip(first) {
                match dot {
                    Some(dot) => dot.merge(record),
                    None => *dot = Some(record.clone()),
                }
            }
        }
        dots
    }
}

fn seconds(time: f64) -> Duration {
    Duration::from_secs_f64(time.max(0.0))
}
