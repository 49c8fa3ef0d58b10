//! How often to look at the session: as often as something can be seen to happen.

use std::time::{Duration, Instant};

use super::flow;
use crate::model::Model;

/// Between looks at everything else while something happens.
const LOOK: Duration = Duration::from_millis(100);
/// Between looks while nothing does. The runtime's timer wakes up twice on the way to
/// anything that is more than 64 ms off, which makes fewer than two wake-ups a second.
const IDLE: Duration = Duration::from_millis(1200);
/// So long after the last change nothing is taken to happen.
const CALM: Duration = Duration::from_secs(1);

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// Spans and the time.
    Spans,
    /// The whole state as well.
    Everything,
}

/// When the next look is due, and at what.
#[derive(Debug)]
pub struct Pace {
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
    pub fn new(now: Instant) -> Self {
        Pace {
            next: now,
            frame: LOOK,
            looked: None,
            changed: now,
        }
    }

    /// When the next look is due.
    pub fn next(&self) -> Instant {
        self.next
    }

    /// What to look at now.
    pub fn due(&mut self, now: Instant) -> Due {
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
    pub fn after(&mut self, now: Instant, changed: bool, model: &Model) {
        if changed {
            self.changed = now;
        }
        self.frame = Duration::from_secs(1) / model.settings.config.frames.max(1);
        let calm = now.saturating_duration_since(self.changed) >= CALM;
        let wait = match flow::column_time(model) {
            _ if calm => IDLE,
            Some(cell) => cell.min(LOOK).max(self.frame),
            None => LOOK.max(self.frame),
        };
        // A look that came late does not make the next one late.
        self.next = (self.next + wait).max(now);
    }

    /// Somebody is at the keys: what they do may soon show.
    pub fn touched(&mut self, now: Instant) {
        self.changed = now;
        self.next = self.next.min(now + LOOK);
    }
}
