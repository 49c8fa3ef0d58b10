//! A curve of dots over recent time, its axes, and signs at changes.

use std::ops::Range;
use std::time::Duration;

use divisi_session::{Mark, MarkKind};

use crate::look::{Dots, Painter, Role};
use crate::model::Model;
use crate::text::format;

/// The minimum width of the axis's numbers.
pub(super) const AXIS: u16 = 6;

/// Values over time, the newest at the right edge.
pub(super) struct Curve {
    series: Vec<f64>,
    moment: Duration,
    /// The number of moments averaged in a dot.
    each: usize,
    /// The first column of the curve, and the number of columns.
    left: u16,
    width: u16,
}

impl Curve {
    /// Returns a curve of all moments in a panel of `width` columns. If there are more moments than
    /// dots, a dot is the mean of several. The axis takes `left` columns.
    pub(super) fn new(series: &[f64], moment: Duration, width: u16, left: u16) -> Self {
        let width = width.saturating_sub(left);
        let most = usize::from(width).max(1) * 2;
        let each = series.len().div_ceil(most).max(1);
        Curve {
            series: means(series, each),
            moment: moment.saturating_mul(each as u32),
            each,
            left,
            width,
        }
    }

    /// Returns another series over the same time and columns, one value per column of dots, `None`
    /// before its start.
    pub(super) fn aligned(&self, series: &[f64]) -> impl Iterator<Item = Option<f64>> + use<> {
        let means = means(series, self.each);
        let length = self.series.len();
        let missing = length.saturating_sub(means.len());
        let over = means.len().saturating_sub(length);
        let dots = self.width * 2;
        (0..dots).map(move |dot| between(&means[over..], dot, dots, length, missing))
    }

    /// Returns the columns of the curve.
    pub(super) fn columns(&self) -> Range<u16> {
        self.left..self.left + self.width
    }

    /// Returns the time from its left to its right edge.
    fn length(&self) -> Duration {
        let gaps = self.series.len().saturating_sub(1);
        self.moment
            .saturating_mul(u32::try_from(gaps).unwrap_or(u32::MAX))
    }

    /// Returns the column of a time in the past, if it is on the axis.
    fn column(&self, ago: Duration) -> Option<u16> {
        let length = self.length().as_secs_f64();
        let share = 1.0 - ago.as_secs_f64() / length.max(f64::MIN_POSITIVE);
        let column = (share * f64::from(self.width.saturating_sub(1))).round();
        (share >= 0.0).then_some(self.left + column as u16)
    }

    /// Returns the value at a column of dots, interpolated between moments.
    fn at(&self, dot: u16, dots: u16) -> Option<f64> {
        between(&self.series, dot, dots, self.series.len(), 0)
    }

    /// Draws the curve in `height` rows, with its time axis below.
    pub(super) fn draw(&self, inside: &mut Painter<'_>, y: u16, height: u16, model: &Model) {
        let top = nice(self.series.iter().copied().fold(0.0, f64::max));
        let mut dots = Dots::new(self.width, height);
        let count = dots.columns();
        dots.curve((0..count).map(|x| self.at(x, count).map(|v| v / top)));
        self.axes(inside, y, height, top);
        self.changes(inside, y, height, model);
        dots.draw(inside, self.left, y, Role::Accent);
        self.letters(inside, y, model);
    }

    fn axes(&self, inside: &mut Painter<'_>, y: u16, height: u16, top: f64) {
        let bottom = y + height - 1;
        let end = self.left - 1;
        inside.text_right(end, y, &format::short(top), Role::Dim);
        if height > 5 {
            let middle = format::short(top / 2.0);
            inside.text_right(end, y + height / 2, &middle, Role::Dim);
        }
        inside.text_right(end, bottom, "0", Role::Dim);
        let length = format!("−{}", format::seconds(self.length()));
        inside.text(self.left, bottom + 1, &length, Role::Dim);
        inside.text_right(inside.width(), bottom + 1, "now", Role::Dim);
        let half = format!("−{}", format::seconds(self.length() / 2));
        if self.width > 50 {
            inside.text(self.left + self.width / 2, bottom + 1, &half, Role::Dim);
        }
    }

    /// Returns the changes on the axis with their columns.
    fn marked<'a>(&'a self, model: &'a Model) -> impl Iterator<Item = (u16, MarkKind)> + 'a {
        let shown = &model.snapshot;
        let place =
            |mark: &Mark| Some((self.column(shown.now.saturating_sub(mark.at))?, mark.kind));
        shown.marks.iter().filter_map(place)
    }

    /// Draws a line for each change, behind the curve.
    fn changes(&self, inside: &mut Painter<'_>, y: u16, height: u16, model: &Model) {
        for (x, _) in self.marked(model) {
            for row in 0..height {
                inside.sign(x, y + row, "┊", Role::Dim);
            }
        }
    }

    /// Draws their letters, in front of the curve.
    fn letters(&self, inside: &mut Painter<'_>, y: u16, model: &Model) {
        for (x, kind) in self.marked(model) {
            inside.sign(x, y, letter(kind), Role::Warn);
        }
    }
}

/// Returns means of `each` values, from the newest on; the oldest mean may have fewer.
fn means(series: &[f64], each: usize) -> Vec<f64> {
    let mean = |few: &[f64]| few.iter().sum::<f64>() / few.len() as f64;
    let mut means: Vec<f64> = series.rchunks(each).map(mean).collect();
    means.reverse();
    means
}

/// Returns the place of a column of dots among the moments: the moment before it, and the fraction
/// after that.
fn place(dot: u16, dots: u16, moments: usize) -> Option<(usize, f64)> {
    let last = moments.checked_sub(1)?;
    let place = f64::from(dot) / f64::from(dots.saturating_sub(1).max(1)) * last as f64;
    Some((place.floor() as usize, place.fract()))
}

/// Returns the value at that place for a series without the first moments.
fn between(series: &[f64], dot: u16, dots: u16, moments: usize, missing: usize) -> Option<f64> {
    let (low, part) = place(dot, dots, moments)?;
    let low = low.checked_sub(missing)?;
    let from = series.get(low)?;
    let to = series.get(low + 1).unwrap_or(from);
    Some(from + (to - from) * part)
}

/// Returns the next of 1, 2, 5, 10, …, so that the axis does not change with every value.
pub(in crate::panels) fn nice(value: f64) -> f64 {
    if value <= 1.0 || !value.is_finite() {
        return 1.0;
    }
    let decade = 10f64.powf(value.log10().floor());
    let steps = [1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0];
    let fitting = steps
        .iter()
        .map(|s| s * decade)
        .find(|s| *s >= value * 0.9999);
    fitting.unwrap_or(decade * 10.0)
}

/// Returns the sign of a kind of change.
pub(in crate::panels) fn letter(kind: MarkKind) -> &'static str {
    match kind {
        MarkKind::Reload => "R",
        MarkKind::Policy => "P",
        MarkKind::Combination => "C",
        MarkKind::Load => "L",
        MarkKind::Device => "D",
        MarkKind::Rollback => "B",
        MarkKind::Models => "M",
    }
}

/// Returns the rows for the latest changes out of `room`.
pub(super) fn legend_rows(room: u16, model: &Model) -> u16 {
    let marks = u16::try_from(model.snapshot.marks.len()).unwrap_or(u16::MAX);
    marks.min(room.div_ceil(3)).min(4)
}

/// Writes the latest changes, newest first, in `rows` rows.
pub(super) fn legend(inside: &mut Painter<'_>, y: u16, rows: u16, model: &Model) {
    let latest = model.snapshot.marks.iter().rev();
    for (row, mark) in latest.take(usize::from(rows)).enumerate() {
        line(inside, y + row as u16, mark, model);
    }
}

fn line(inside: &mut Painter<'_>, y: u16, mark: &Mark, model: &Model) {
    let ago = model.snapshot.now.saturating_sub(mark.at);
    let ago = format!("{} ago", format::seconds(ago));
    let end = inside.width();
    inside.text_right(end, y, &ago, Role::Dim);
    let x = inside.pieces(0, y, &[(letter(mark.kind), Role::Warn), (" ", Role::Dim)]);
    let room = end.saturating_sub(x + 1 + format::width(&ago));
    inside.text(x, y, &format::fit(&mark.text, room), Role::Text);
}
