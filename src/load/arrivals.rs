//! When requests of an open pattern arrive. No clock inside: a seeded sequence.

use std::f64::consts::TAU;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::pattern::LoadPattern;
use super::replay::{Gaps, LoadError, read};

/// Requests in the slow and in the fast half of a burst (Ebird, section VI.B).
const SLOW: u64 = 150;
const FAST: u64 = 250;
/// The slow half's rate over the fast half's.
const SLOW_SHARE: f64 = 0.25;

/// The least of a day's rates over its peak.
const NIGHT_SHARE: f64 = 0.1;

/// Gaps between one-sample requests; endless.
pub struct Arrivals {
    pattern: LoadPattern,
    random: ChaCha8Rng,
    sent: u64,
    /// Seconds since the first.
    at: f64,
    recorded: Option<Gaps>,
}

impl Arrivals {
    /// The arrivals of an open pattern; none for a closed loop.
    ///
    /// # Errors
    /// A recording that is to be replayed cannot be read; names file and line.
    pub fn new(pattern: &LoadPattern, seed: u64) -> Result<Option<Self>, LoadError> {
        let recorded = match pattern {
            LoadPattern::Closed { .. } => return Ok(None),
            LoadPattern::Replay { file, .. } => Some(read(file)?),
            _ => None,
        };
        Ok(Some(Arrivals {
            pattern: pattern.clone(),
            random: ChaCha8Rng::seed_from_u64(seed),
            sent: 0,
            at: 0.0,
            recorded,
        }))
    }

    /// Time from the last request to the next.
    pub fn next_gap(&mut self) -> Duration {
        let gap = match self.pattern {
            LoadPattern::Closed { .. } => 0.0,
            LoadPattern::Poisson { rate } => self.random_gap(rate.get()),
            LoadPattern::Steady { rate } => 1.0 / rate.get(),
            LoadPattern::Burst { rate } => {
                let slow = self.sent % (SLOW + FAST) < SLOW;
                let rate = rate.get();
                1.0 / if slow { rate * SLOW_SHARE } else { rate }
            }
            LoadPattern::Diurnal { rate, period } => {
                self.diurnal_gap(rate.get(), period.get().as_secs_f64())
            }
            LoadPattern::Replay { speed, .. } => self.recorded_gap() / speed.get(),
        };
        self.sent += 1;
        self.at += gap;
        Duration::from_secs_f64(gap)
    }

    fn random_gap(&mut self, rate: f64) -> f64 {
        let uniform: f64 = self.random.random();
        -(1.0 - uniform).ln() / rate
    }

    /// Arrivals at the peak's rate, of which as many are left out as the hour asks for.
    fn diurnal_gap(&mut self, rate: f64, period: f64) -> f64 {
        let mut gap = 0.0;
        loop {
            gap += self.random_gap(rate);
            let hour = (self.at + gap) / period;
            // It begins at night.
            let day = 0.5 - 0.5 * (TAU * hour).cos();
            if self.random.random::<f64>() < NIGHT_SHARE + (1.0 - NIGHT_SHARE) * day {
                return gap;
            }
        }
    }

    fn recorded_gap(&self) -> f64 {
        match &self.recorded {
            None => 0.0,
            // The first comes at once.
            Some(_) if self.sent == 0 => 0.0,
            Some(gaps) => gaps[(self.sent % gaps.len() as u64) as usize],
        }
    }
}
