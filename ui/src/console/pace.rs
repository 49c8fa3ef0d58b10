//! How often to look at the session: as often as something can be seen to happen.

use std::time::{Duration, Instant};

use crate::layout::Panel;
use crate::model::Model;
use crate::panels;

/// Between looks at everything else while something happens.
const LOOK: Duration = Duration::from_millis(100);
/// Between looks while nothing does. The runtime's timer wakes up twice on the way to
/// anything that is more than 64 ms off, which makes fewer than two wake-ups a second.
const IDLE: Duration = Duration::from_millis(1200);
/// So long after the last change nothing is taken to happen.
const CALM: Duration = Duration::from_secs(1);

/// The part of the session's state to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Spans and the time.
    Spans,
    /// The whole state as well.
    Everything,
}

/// When the next look is due, and at what.
#[derive(Debug)]
pub(super) struct Pace {
    next: Instant,
    /// Between frames at least, as configured.
    frame: Duration,
    /// The last look at everything.
    looked: Option<Instant>,
    /// The last change of the picture, or the last key.
    changed: Instant,
}

impl Pace {
    /// The first look is due at once.
    pub(super) fn new(now: Instant) -> Self {
        Pace {
            next: now,
            frame: LOOK,
            looked: None,
            changed: now,
        }
    }

    /// When the next look is due.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Returns the part of the session's state to look at now.
    pub(super) fn due(&mut self, now: Instant) -> Due {
        // Half a frame early is better than a frame late.
        let half = self.frame / 2;
        let fresh = |at: Instant| now.saturating_duration_since(at) + half < LOOK;
        if self.looked.is_some_and(fresh) {
            return Due::Spans;
        }
        self.looked = Some(now);
        Due::Everything
    }

    /// After a look: whether anything changed, and when to look again.
    pub(super) fn after(&mut self, now: Instant, changed: bool, model: &Model) {
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
        // A look that came late does not make the next one late.
        self.next = (self.next + wait).max(now);
    }

    /// Somebody is at the keys: what they do may soon show.
    pub(super) fn touched(&mut self, now: Instant) {
        self.changed = now;
        self.next = self.next.min(now + LOOK);
    }
}

/// Returns how long a column of the streams is while they move: some span is still in the
/// picture, which is on the screen and not held.
fn column_time(model: &Model) -> Option<Duration> {
    let shown = model.streams.length() + Duration::from_secs(1);
    let newest = model.timeline.newest();
    let seen = newest.is_some_and(|n| n + shown >= model.snapshot.now);
    let live = seen && model.streams.frozen.is_none() && shows_streams(model);
    live.then(|| column(model))
}

/// Returns whether the streams look different once it is `now` and spans came or did not.
pub(super) fn streams_differ(model: &Model, now: Duration, spans: bool) -> bool {
    if model.streams.frozen.is_some() || !shows_streams(model) {
        return false;
    }
    let at = |time: Duration| time.as_nanos() / column(model).as_nanos();
    spans || (column_time(model).is_some() && at(now) != at(model.snapshot.now))
}

/// No cell of the picture is narrower.
fn column(model: &Model) -> Duration {
    let columns = u32::from(model.area.width.max(1));
    (model.streams.length() / columns).max(Duration::from_nanos(100))
}

/// The streams are on the screen.
fn shows_streams(model: &Model) -> bool {
    let screen = panels::arrange(model.area, model);
    screen.is_some_and(|s| s.panels.iter().any(|(p, _)| *p == Panel::Streams))
}
