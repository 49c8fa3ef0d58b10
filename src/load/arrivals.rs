//! When requests of an open pattern arrive. No clock inside: a seeded sequence.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::pattern::LoadPattern;

/// Requests in the slow and in the fast half of a burst (Ebird, section VI.B).
const SLOW: u64 = 150;
const FAST: u64 = 250;
/// The slow half's rate over the fast half's.
const SLOW_SHARE: f64 = 0.25;

/// Gaps between one-sample requests; endless.
pub struct Arrivals {
    pattern: LoadPattern,
    random: ChaCha8Rng,
    sent: u64,
}

impl Arrivals {
    /// The arrivals of an open pattern; none for a closed loop.
    pub fn new(pattern: LoadPattern, seed: u64) -> Option<Self> {
        if matches!(pattern, LoadPattern::Closed { .. }) {
            return None;
        }
        Some(Arrivals {
            pattern,
            random: ChaCha8Rng::seed_from_u64(seed),
            sent: 0,
        })
    }

    /// Time from the last request to the next.
    pub fn next_gap(&mut self) -> Duration {
        let gap = match self.pattern {
            LoadPattern::Closed { .. } => 0.0,
            LoadPattern::Poisson { rate } => {
                let uniform: f64 = self.random.random();
                -(1.0 - uniform).ln() / rate
            }
            LoadPattern::Steady { rate } => 1.0 / rate,
            LoadPattern::Burst { rate } => {
                let slow = self.sent % (SLOW + FAST) < SLOW;
                1.0 / if slow { rate * SLOW_SHARE } else { rate }
            }
        };
        self.sent += 1;
        Duration::from_secs_f64(gap)
    }
}
