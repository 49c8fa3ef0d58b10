//! When requests of an open pattern arrive. No clock inside: a seeded sequence, or times
//! that a file recorded.

use std::f64::consts::TAU;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use thiserror::Error;

use crate::reading;

use super::pattern::LoadPattern;

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
            LoadPattern::Replay { file, .. } => Some(read_gaps(file)?),
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

/// Why a load does not start.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LoadError {
    #[error("{}: {reason}", .path.display())]
    File { path: PathBuf, reason: String },
    #[error("{}:{line}: {reason}", .path.display())]
    Line {
        path: PathBuf,
        line: usize,
        reason: String,
    },
    #[error("the generator's thread could not be started: {0}")]
    Thread(String),
}

/// Seconds between requests, the first of which comes at once.
type Gaps = Arc<[f64]>;

/// Larger files are no recording of arrivals for this.
const MOST_BYTES: u64 = 64 << 20;
/// No request is waited for longer: a week, in seconds.
const MOST_GAP: f64 = 604_800.0;

/// Reads a file of arrival times: CSV, the first column, ascending, in seconds, or in
/// milliseconds where its header says so (`ms`, `milliseconds`, `time_ms`, …).
fn read_gaps(path: &Path) -> Result<Gaps, LoadError> {
    let wrong = |reason: String| LoadError::File {
        path: path.to_owned(),
        reason,
    };
    let text = reading::text_within(path, MOST_BYTES).map_err(|e| wrong(e.to_string()))?;
    let times = times(&text).map_err(|(line, reason)| LoadError::Line {
        path: path.to_owned(),
        line,
        reason,
    })?;
    gaps(&times).ok_or_else(|| wrong("expected arrival times that are not all the same".into()))
}

/// Seconds, or the line that is wrong and why.
fn times(text: &str) -> Result<Vec<f64>, (usize, String)> {
    let mut unit = 1.0;
    let mut times: Vec<f64> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let cell = line.split(',').next().unwrap_or("").trim();
        if cell.is_empty() || cell.starts_with('#') {
            continue;
        }
        let time = match cell.parse::<f64>() {
            Ok(time) => time * unit,
            Err(_) if times.is_empty() && index == 0 => {
                unit = header(cell).map_err(|reason| (1, reason))?;
                continue;
            }
            Err(_) => return Err((index + 1, format!("expected a time, found `{cell}`"))),
        };
        let last = times.last().copied().unwrap_or(time);
        if !time.is_finite() || time < last {
            let reason = format!("expected times that ascend, found {cell}");
            return Err((index + 1, reason));
        }
        if time - last > MOST_GAP {
            let reason = format!("expected times at most a week apart, found {cell}");
            return Err((index + 1, reason));
        }
        times.push(time);
    }
    Ok(times)
}

/// Seconds in the unit that a column's name gives.
fn header(name: &str) -> Result<f64, String> {
    let name = name.trim_matches('"').to_lowercase();
    let words: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).collect();
    let is = |units: &[&str]| words.iter().any(|word| units.contains(word));
    match () {
        () if is(&["ms", "msec", "millis", "milliseconds"]) => Ok(1e-3),
        () if is(&["us", "µs", "micros", "microseconds"]) => Ok(1e-6),
        () if is(&["ns", "nanos", "nanoseconds"]) => Ok(1e-9),
        () if is(&[
            "s",
            "sec",
            "secs",
            "seconds",
            "time",
            "timestamp",
            "arrival",
            "arrivals",
        ]) =>
        {
            Ok(1.0)
        }
        () => Err(format!(
            "expected a column of arrival times (`seconds`, `ms`, …), found `{name}`"
        )),
    }
}

/// None where there are not two different times.
fn gaps(times: &[f64]) -> Option<Gaps> {
    let between: Vec<f64> = times.windows(2).map(|w| w[1] - w[0]).collect();
    let length: f64 = between.iter().sum();
    if length <= 0.0 {
        return None;
    }
    // From the last to the first when it is played again: as long as the others are.
    let again = length / between.len() as f64;
    Some(std::iter::once(again).chain(between).collect())
}
