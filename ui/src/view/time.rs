//! The visible part of the figures over time, and the cursor.

use std::time::Duration;

/// The zoom levels in seconds. After the last one comes the whole session.
const ZOOMS: [u64; 12] = [
    30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400, 604_800,
];

/// The initial zoom level: ten minutes.
const FIRST_ZOOM: usize = 4;

/// The view of the figures over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeView {
    /// Index into [`ZOOMS`]; its length is the whole session.
    zoom: usize,
    /// The time at the right edge, or `None` to follow the present.
    end: Option<Duration>,
    /// The time at the cursor, or `None` without a cursor.
    cursor: Option<Duration>,
}

impl Default for TimeView {
    fn default() -> Self {
        TimeView {
            zoom: FIRST_ZOOM,
            end: None,
            cursor: None,
        }
    }
}

/// A part of the session's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeSpan {
    /// The start of the session's figures.
    pub from: Duration,
    /// The present.
    pub now: Duration,
}

impl TimeView {
    /// Returns the visible time.
    pub fn length(&self, whole: TimeSpan) -> Duration {
        let all = whole.now.saturating_sub(whole.from);
        let zoom = ZOOMS.get(self.zoom).copied().map(Duration::from_secs);
        // A session that began a moment ago fills the panel.
        zoom.unwrap_or(all)
            .min(all)
            .max(Duration::from_secs(ZOOMS[0]))
    }

    /// Returns the time at the right edge.
    pub fn end(&self, whole: TimeSpan) -> Duration {
        self.end.unwrap_or(whole.now)
    }

    /// Returns whether the whole session is visible.
    pub fn is_whole(&self) -> bool {
        self.zoom >= ZOOMS.len()
    }

    /// Returns whether the picture follows the present.
    pub fn is_live(&self) -> bool {
        self.end.is_none()
    }

    /// Returns the time at the cursor.
    pub fn cursor(&self) -> Option<Duration> {
        self.cursor
    }

    /// Shows less or more time. The cursor keeps its column, or else the middle of a picture that
    /// does not follow the present.
    pub fn zoom(&mut self, by: isize, whole: TimeSpan) {
        let (before, end) = (self.length(whole), self.end(whole));
        // Levels longer than the session look the same.
        let all = whole.now.saturating_sub(whole.from).as_secs();
        let longest = ZOOMS.iter().position(|zoom| *zoom >= all);
        let at = match by < 0 {
            true => self.zoom.min(longest.unwrap_or(ZOOMS.len())),
            false => self.zoom,
        };
        self.zoom = at.saturating_add_signed(by).min(ZOOMS.len());
        if self.is_live() {
            return self.keep_cursor_visible(whole);
        }
        let anchor = self.cursor.unwrap_or(end.saturating_sub(before / 2));
        let right = end.saturating_sub(anchor).as_secs_f64() / before.as_secs_f64();
        let after = self.length(whole);
        self.hold(anchor + after.mul_f64(right.min(1.0)), whole);
    }

    /// Moves by a part of the picture, forward or backward.
    pub fn pan(&mut self, pictures: f64, whole: TimeSpan) {
        let step = self.length(whole).mul_f64(pictures.abs());
        let end = self.end(whole);
        let end = match pictures < 0.0 {
            true => end.saturating_sub(step),
            false => end + step,
        };
        self.hold(end, whole);
    }

    /// Shows the start of the session.
    pub fn oldest(&mut self, whole: TimeSpan) {
        self.hold(Duration::ZERO, whole);
    }

    /// Follows the present, without a cursor.
    pub fn go_live(&mut self) {
        (self.end, self.cursor) = (None, None);
    }

    /// Removes the cursor. Returns `false` if there was none.
    pub fn leave_cursor(&mut self) -> bool {
        self.cursor.take().is_some()
    }

    /// Moves the cursor by `columns` of the length `column`; without a cursor, it begins at the
    /// right edge.
    pub fn step(&mut self, columns: isize, column: Duration, whole: TimeSpan) {
        let first = self.end(whole).saturating_sub(column / 2);
        let Some(at) = self.cursor else {
            return self.set_cursor(first, whole);
        };
        let step = column.saturating_mul(u32::try_from(columns.unsigned_abs()).unwrap_or(u32::MAX));
        let at = match columns < 0 {
            true => at.saturating_sub(step),
            false => at.saturating_add(step),
        };
        self.set_cursor(at, whole);
    }

    /// Sets the cursor to a time of the session.
    pub fn set_cursor(&mut self, at: Duration, whole: TimeSpan) {
        self.cursor = Some(at.clamp(whole.from.min(whole.now), whole.now));
        self.keep_cursor_visible(whole);
    }

    fn keep_cursor_visible(&mut self, whole: TimeSpan) {
        let Some(at) = self.cursor else { return };
        let (end, length) = (self.end(whole), self.length(whole));
        if at > end {
            self.hold(at, whole);
        } else if at < end.saturating_sub(length) {
            self.hold(at + length, whole);
        }
    }

    /// Stops the picture with its right edge at a time of the session, or follows the present there.
    fn hold(&mut self, end: Duration, whole: TimeSpan) {
        let least = (whole.from + self.length(whole)).min(whole.now);
        self.end = Some(end.max(least)).filter(|end| *end < whole.now);
    }
}
