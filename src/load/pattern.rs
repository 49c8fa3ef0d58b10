//! How requests arrive, as a value.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// A pattern of arrivals.
///
/// All but the closed loop are open: requests come when they are due, whatever became of
/// those before, and their latencies count from then. In the closed loop a client sends
/// once it was answered, and latencies count from the sending.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum LoadPattern {
    /// `clients` that each send a request as soon as the last is answered.
    Closed { clients: usize, samples: usize },
    /// One-sample requests at random moments, `rate` a second on average.
    Poisson { rate: f64 },
    /// One-sample requests at even intervals, `rate` a second.
    Steady { rate: f64 },
    /// One-sample requests, 150 at a quarter of `rate`, then 250 at `rate`, and again
    /// (the numbers of Ebird, section VI.B; its rates are not stated).
    Burst { rate: f64 },
    /// One-sample requests at random moments whose rate rises and falls as over a day:
    /// from a tenth of `rate` to `rate` and back in each `period`.
    Diurnal { rate: f64, period: Duration },
    /// One-sample requests at the times that a file recorded, `speed` times as fast, over
    /// and over.
    Replay { file: PathBuf, speed: f64 },
}

impl LoadPattern {
    /// Whether requests come at times of their own.
    pub fn is_open(&self) -> bool {
        !matches!(self, LoadPattern::Closed { .. })
    }

    /// From when latencies under it count, in words.
    pub fn measured_from(&self) -> &'static str {
        match self.is_open() {
            true => "from when each was due",
            false => "from each sending",
        }
    }
}

/// A day where no period is given.
const DEFAULT_PERIOD: Duration = Duration::from_secs(60);

/// Requests a second in a burst where none are given.
const DEFAULT_BURST: f64 = 400.0;

impl fmt::Display for LoadPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadPattern::Closed { clients, samples } => write!(f, "closed:{clients}x{samples}"),
            LoadPattern::Poisson { rate } => write!(f, "poisson:{rate}"),
            LoadPattern::Steady { rate } => write!(f, "steady:{rate}"),
            LoadPattern::Burst { rate } => write!(f, "burst:{rate}"),
            LoadPattern::Diurnal { rate, period } => {
                write!(f, "diurnal:{rate}:{}s", period.as_secs_f64())
            }
            LoadPattern::Replay { file, speed: 1.0 } => write!(f, "replay:{}", file.display()),
            LoadPattern::Replay { file, speed } => write!(f, "replay:{}:{speed}", file.display()),
        }
    }
}

impl FromStr for LoadPattern {
    type Err = String;

    /// `closed`, `closed:8`, `closed:8x32`, `poisson:800`, `steady:800`, `burst`, `burst:400`,
    /// `diurnal:800:60s`, `replay:arrivals.csv`, `replay:arrivals.csv:2`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once(':').unwrap_or((text, ""));
        let parsed = match name {
            "closed" => closed(value),
            "poisson" => rate(value).map(|rate| LoadPattern::Poisson { rate }),
            "steady" => rate(value).map(|rate| LoadPattern::Steady { rate }),
            "burst" if value.is_empty() => Some(LoadPattern::Burst {
                rate: DEFAULT_BURST,
            }),
            "burst" => rate(value).map(|rate| LoadPattern::Burst { rate }),
            "diurnal" => diurnal(value),
            "replay" => replay(value),
            _ => None,
        };
        parsed.ok_or_else(|| {
            format!(
                "expected closed[:CLIENTS[xSAMPLES]], poisson:RATE, steady:RATE, burst[:RATE], diurnal:RATE[:PERIOD] or replay:FILE[:SPEED], found `{text}`"
            )
        })
    }
}

fn closed(value: &str) -> Option<LoadPattern> {
    let (clients, samples) = value.split_once('x').unwrap_or((value, ""));
    let number = |text: &str, default: usize, most: usize| match text {
        "" => Some(default),
        text => text.parse().ok().filter(|n| (1..=most).contains(n)),
    };
    Some(LoadPattern::Closed {
        clients: number(clients, 16, 4096)?,
        samples: number(samples, 32, 65_536)?,
    })
}

fn diurnal(value: &str) -> Option<LoadPattern> {
    let (peak, length) = value.split_once(':').unwrap_or((value, ""));
    Some(LoadPattern::Diurnal {
        rate: rate(peak)?,
        period: match length {
            "" => DEFAULT_PERIOD,
            length => period(length)?,
        },
    })
}

/// `60s`, `90`, `500ms`, `10m`, `24h`; from 0.1 s to a week.
fn period(text: &str) -> Option<Duration> {
    let units = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let (number, unit) = units
        .iter()
        .find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)))
        .unwrap_or((text, 1.0));
    let seconds = number.trim().parse::<f64>().ok()? * unit;
    (0.1..=604_800.0)
        .contains(&seconds)
        .then(|| Duration::from_secs_f64(seconds))
}

/// A file's name may have colons: only a number after the last one is a speed.
fn replay(value: &str) -> Option<LoadPattern> {
    let speed = |text: &str| text.parse::<f64>().ok();
    let (file, speed) = match value.rsplit_once(':') {
        Some((file, last)) if speed(last).is_some() => (file, speed(last)?),
        _ => (value, 1.0),
    };
    let sensible = !file.is_empty() && (1e-3..=1e3).contains(&speed);
    sensible.then(|| LoadPattern::Replay {
        file: PathBuf::from(file),
        speed,
    })
}

fn rate(value: &str) -> Option<f64> {
    let rate = value.parse::<f64>().ok()?;
    (1e-3..=1e6).contains(&rate).then_some(rate)
}
