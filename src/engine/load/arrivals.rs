//! The arrivals of an open pattern: a seeded sequence, or the times of a recording.

use std::f64::consts::TAU;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use thiserror::Error;

use divisi_runtime::reading::{self, ReadError};

use super::pattern::LoadPattern;

/// Requests in the slow half of a burst (Ebird, section VI.B).
const SLOW: u64 = 150;
/// Requests in the fast half of a burst.
const FAST: u64 = 250;
/// The rate of the slow half as a share of the fast half's rate.
const SLOW_SHARE: f64 = 0.25;

/// The lowest rate of a day as a share of the highest.
const NIGHT_SHARE: f64 = 0.1;

/// The endless sequence of gaps between one-sample requests.
pub struct Arrivals {
    pattern: LoadPattern,
    random: ChaCha8Rng,
    sent: u64,
    /// Seconds since the first request.
    at: f64,
    recorded: Option<Gaps>,
}

impl Arrivals {
    /// Returns the arrivals of an open pattern, or `None` for a closed loop.
    ///
    /// # Errors
    /// A recording cannot be read.
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

    /// Returns the time from the last request to the next.
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

    /// Draws arrivals at the highest rate and drops some of them according to the time of day.
    fn diurnal_gap(&mut self, rate: f64, period: f64) -> f64 {
        let mut gap = 0.0;
        loop {
            gap += self.random_gap(rate);
            let hour = (self.at + gap) / period;
            // The day begins at night.
            let day = 0.5 - 0.5 * (TAU * hour).cos();
            if self.random.random::<f64>() < NIGHT_SHARE + (1.0 - NIGHT_SHARE) * day {
                return gap;
            }
        }
    }

    fn recorded_gap(&self) -> f64 {
        match &self.recorded {
            None => 0.0,
            // The first request comes at once.
            Some(_) if self.sent == 0 => 0.0,
            Some(gaps) => gaps[(self.sent % gaps.len() as u64) as usize],
        }
    }
}

/// The reason why a load cannot start.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LoadError {
    /// A recording cannot be read, or has no gaps.
    #[error("{}: {reason}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason, as shown to the user.
        reason: String,
    },
    /// A line of a recording is wrong.
    #[error("{}:{line}: {reason}", .path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The error.
        reason: ReadError,
    },
    /// The generator's thread could not be started.
    #[error("the load generator's thread could not be started: {0}")]
    Thread(String),
}

/// Seconds between requests. The first request comes at once.
type Gaps = Arc<[f64]>;

/// The most bytes of a recording.
const MOST_BYTES: u64 = 64 << 20;
/// The longest gap in seconds: a week.
const MOST_GAP: f64 = 604_800.0;

/// Reads the gaps from a CSV file of arrival times. The first column holds ascending times in
/// seconds, or in the unit of its header (`ms`, `milliseconds`, `time_ms`, …).
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
    gaps(&times).ok_or_else(|| wrong("expected at least two different arrival times".into()))
}

/// Reads times in seconds, or returns the first wrong line with its error.
fn times(text: &str) -> Result<Vec<f64>, (usize, ReadError)> {
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
            Err(_) => return Err((index + 1, wrong("a time", cell))),
        };
        let last = times.last().copied().unwrap_or(time);
        if !time.is_finite() || time < last {
            return Err((index + 1, ReadError::expected("ascending times", cell)));
        }
        if time - last > MOST_GAP {
            let expected = "times at most a week apart";
            return Err((index + 1, ReadError::expected(expected, cell)));
        }
        times.push(time);
    }
    Ok(times)
}

/// Returns the seconds of the unit that a column's name contains.
fn header(name: &str) -> Result<f64, ReadError> {
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
        () => Err(wrong(
            "a column of arrival times (`seconds`, `ms`, …)",
            &name,
        )),
    }
}

fn wrong(expected: &str, found: &str) -> ReadError {
    ReadError::expected(expected, format_args!("`{found}`"))
}

/// Returns the gaps, or `None` if there are fewer than two different times.
fn gaps(times: &[f64]) -> Option<Gaps> {
    let between: Vec<f64> = times.windows(2).map(|w| w[1] - w[0]).collect();
    let length: f64 = between.iter().sum();
    if length <= 0.0 {
        return None;
    }
    // The gap before a repetition is the mean of the other gaps.
    let again = length / between.len() as f64;
    Some(std::iter::once(again).chain(between).collect())
}
