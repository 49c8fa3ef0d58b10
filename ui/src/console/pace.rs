//! The intervals between snapshots: as short as visible changes need.

use std::time::{Duration, Instant};

use crate::layout::Panel;
use crate::model::Model;
use crate::panels;

/// The interval between full snapshots during changes.
const LOOK: Duration = Duration::from_millis(100);
/// The interval without changes. The runtime's timer wakes up twice for a wait of more than 64 ms,
/// so there are fewer than two wake-ups per second.
const IDLE: Duration = Duration::from_millis(1200);
/// The time after the last change during which further changes are expected.
const CALM: Duration = Duration::from_secs(1);

/// The part of the session's state to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// Spans and the time.
    Spans,
    /// The whole state as well.
    Everything,
}

/// The time and the kind of the next snapshot.
#[derive(Debug)]
pub(crate) struct Pace {
    next: Instant,
    /// The minimum interval between frames, as configured.
    frame: Duration,
    /// The time of the last full snapshot.
    looked: Option<Instant>,
    /// The time of the last change of the picture, or of the last key.
    changed: Instant,
}

impl Pace {
    /// Creates a pace whose first snapshot is due at once.
    pub(crate) fn new(now: Instant) -> Self {
        Pace {
            next: now,
            frame: LOOK,
            looked: None,
            changed: now,
        }
    }

    /// Returns the time of the next snapshot.
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// Returns the part of the session's state to read now.
    pub(crate) fn due(&mut self, now: Instant) -> Due {
        // Half a frame early is better than a frame late.
        let half = self.frame / 2;
        let fresh = |at: Instant| now.saturating_duration_since(at) + half < LOOK;
        if self.looked.is_some_and(fresh) {
            return Due::Spans;
        }
        self.looked = Some(now);
        Due::Everything
    }

    /// Schedules the next snapshot after one that did or did not change the picture.
    pub(crate) fn schedule(&mut self, now: Instant, changed: bool, model: &Model) {
        if changed {
            self.changed = now;
        }
        self.frame = Duration::from_secs(1) / model.settings.config.frames.max(1);
        let calm = now.saturating_duration_since(self.changed) >= CALM;
        let wait = match column_time(model) {
            _ if calm => IDLE,
            Some(cell) => cell.min(LOOK).max(self.frame),
            None => LOOK.max(self.frame),
        };
        // A late snapshot does not delay the next one.
        self.next = (self.next + wait).max(now);
    }

    /// Handles a key press, whose effects may soon show.
    pub(crate) fn touched(&mut self, now: Instant) {
        self.changed = now;
        self.next = self.next.min(now + LOOK);
    }
}

/// Returns the time of a column of the streams while they move: a span is still in the picture or
/// a batch is running, and the picture is on the screen and not frozen.
fn column_time(model: &Model) -> Option<Duration> {
    let shown = model.streams.length() + Duration::from_secs(1);
    let newest = model.timeline.newest();
    let seen = newest.is_some_and(|n| n + shown >= model.snapshot.now);
    let moves = seen || !model.snapshot.under_way.is_empty();
    let live = moves && model.streams.frozen.is_none() && shows_streams(model);
    live.then(|| column(model))
}

/// Returns whether the streams look different at `now`, with or without new spans.
pub(super) fn streams_differ(model: &Model, now: Duration, spans: bool) -> bool {
    if model.streams.frozen.is_some() || !shows_streams(model) {
        return false;
    }
    let at = |time: Duration| time.as_nanos() / column(model).as_nanos();
    spans || (column_time(model).is_some() && at(now) != at(model.snapshot.now))
}

/// Returns the narrowest cell of the picture.
fn column(model: &Model) -> Duration {
    let columns = u32::from(model.area.width.max(1));
    (model.streams.length() / columns).max(Duration::from_nanos(100))
}

/// Returns whether the streams are on the screen.
fn shows_streams(model: &Model) -> bool {
    shows(model, Panel::Streams)
}

/// Returns whether a panel is on the screen.
pub(super) fn shows(model: &Model, panel: Panel) -> bool {
    let screen = panels::arrange(model.area, model);
    screen.is_some_and(|s| s.panels.iter().any(|(p, _)| *p == panel))
}
