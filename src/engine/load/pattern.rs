//! The arrival pattern of requests, as a value.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use divisi_model::ranged::ranged;

ranged! {
    /// Requests per second, at least one in a thousand seconds. Beyond the maximum the load would
    /// be indistinguishable from a saturating one.
    Rate(f64) = 1e-3, 1e9, "{} to {} a second"
}

ranged! {
    /// The length of a day in which the rate rises and falls.
    Period(Duration) = Duration::from_millis(100), Duration::from_secs(604_800), "{} to {}"
}

ranged! {
    /// The playback speed of a recording, relative to the recorded speed.
    Speed(f64) = 1e-3, 1e3, "{} to {} times"
}

ranged! {
    /// The number of concurrent clients.
    #[derive(Eq)]
    Clients(u32) = 1, 4096, "{} to {} clients"
}

ranged! {
    /// The number of samples of one request.
    #[derive(Eq)]
    RequestSize(u32) = 1, 65_536, "{} to {} samples"
}

/// A pattern of arrivals.
///
/// All patterns except the closed loop are open: requests arrive at their due times, independent of
/// earlier answers, and their latencies count from the due times. In the closed loop a client sends
/// its next request after the last answer, and latencies count from the sending.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum LoadPattern {
    /// Clients that each send a request as soon as the last one is answered.
    Closed {
        /// The number of clients.
        clients: Clients,
        /// The samples of a request.
        samples: RequestSize,
    },
    /// One-sample requests at random moments.
    Poisson {
        /// The mean rate.
        rate: Rate,
    },
    /// One-sample requests at even intervals.
    Steady {
        /// The rate.
        rate: Rate,
    },
    /// One-sample requests, 150 at a quarter of `rate`, then 250 at `rate`, repeated (the
    /// numbers of Ebird, section VI.B; its rates are not stated).
    Burst {
        /// The rate of the fast half.
        rate: Rate,
    },
    /// One-sample requests at random moments. Their rate follows a day: from a tenth of `rate` to
    /// `rate` and back in each `period`.
    Diurnal {
        /// The highest rate.
        rate: Rate,
        /// The length of a day.
        period: Period,
    },
    /// One-sample requests at the times of a recording, repeated.
    Replay {
        /// The file.
        file: PathBuf,
        /// The playback speed.
        speed: Speed,
    },
}

impl LoadPattern {
    /// Returns whether the pattern is open: arrivals do not depend on answers.
    pub fn is_open(&self) -> bool {
        !matches!(self, LoadPattern::Closed { .. })
    }

    /// Returns the moment from which latencies count, in words.
    pub fn measured_from(&self) -> &'static str {
        match self.is_open() {
            true => "from each due time",
            false => "from each sending",
        }
    }
}

/// The default period of a day.
const DEFAULT_PERIOD: Duration = Duration::from_secs(60);

/// The default rate of a burst, in requests per second.
const DEFAULT_BURST: f64 = 400.0;

/// Patterns from plain numbers. A number outside its range becomes the nearest number inside.
impl LoadPattern {
    /// Returns a closed loop.
    pub fn closed(clients: usize, samples: usize) -> Self {
        let narrow = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        LoadPattern::Closed {
            clients: Clients::nearest(narrow(clients)),
            samples: RequestSize::nearest(narrow(samples)),
        }
    }

    /// Returns random arrivals.
    pub fn poisson(rate: f64) -> Self {
        let rate = Rate::nearest(rate);
        LoadPattern::Poisson { rate }
    }

    /// Returns even arrivals.
    pub fn steady(rate: f64) -> Self {
        let rate = Rate::nearest(rate);
        LoadPattern::Steady { rate }
    }

    /// Returns alternately slow and fast arrivals.
    pub fn burst(rate: f64) -> Self {
        let rate = Rate::nearest(rate);
        LoadPattern::Burst { rate }
    }

    /// Returns arrivals whose rate follows a day.
    pub fn diurnal(rate: f64, period: Duration) -> Self {
        let (rate, period) = (Rate::nearest(rate), Period::nearest(period));
        LoadPattern::Diurnal { rate, period }
    }

    /// Returns the arrivals of a recording.
    pub fn replay(file: PathBuf, speed: f64) -> Self {
        let speed = Speed::nearest(speed);
        LoadPattern::Replay { file, speed }
    }
}

impl Clients {
    /// Returns the number.
    pub const fn count(self) -> usize {
        self.0 as usize
    }
}

impl RequestSize {
    /// Returns the number.
    pub const fn count(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for LoadPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadPattern::Closed { clients, samples } => {
                write!(f, "closed:{}x{}", clients.get(), samples.get())
            }
            LoadPattern::Poisson { rate } => write!(f, "poisson:{}", rate.get()),
            LoadPattern::Steady { rate } => write!(f, "steady:{}", rate.get()),
            LoadPattern::Burst { rate } => write!(f, "burst:{}", rate.get()),
            LoadPattern::Diurnal { rate, period } => {
                let period = period.get().as_secs_f64();
                write!(f, "diurnal:{}:{period}s", rate.get())
            }
            LoadPattern::Replay { file, speed } => match speed.get() {
                1.0 => write!(f, "replay:{}", file.display()),
                speed => write!(f, "replay:{}:{speed}", file.display()),
            },
        }
    }
}

/// The text is not an arrival pattern; holds the text.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "expected closed[:CLIENTS[xSAMPLES]], poisson:RATE, steady:RATE, burst[:RATE], \
     diurnal:RATE[:PERIOD] or replay:FILE[:SPEED], found `{0}`"
)]
pub struct PatternError(pub String);

impl FromStr for LoadPattern {
    type Err = PatternError;

    /// Reads `closed`, `closed:8`, `closed:8x32`, `poisson:800`, `steady:800`, `burst`, `burst:400`,
    /// `diurnal:800:60s`, `replay:arrivals.csv`, `replay:arrivals.csv:2`.
    fn from_str(text: &str) -> Result<Self, PatternError> {
        let (name, value) = text.split_once(':').unwrap_or((text, ""));
        let parsed = match name {
            "closed" => closed(value),
            "poisson" => rate(value).map(|rate| LoadPattern::Poisson { rate }),
            "steady" => rate(value).map(|rate| LoadPattern::Steady { rate }),
            "burst" if value.is_empty() => Some(LoadPattern::burst(DEFAULT_BURST)),
            "burst" => rate(value).map(|rate| LoadPattern::Burst { rate }),
            "diurnal" => diurnal(value),
            "replay" => replay(value),
            _ => None,
        };
        parsed.ok_or_else(|| PatternError(text.to_owned()))
    }
}

fn closed(value: &str) -> Option<LoadPattern> {
    let (clients, samples) = value.split_once('x').unwrap_or((value, ""));
    let number = |text: &str, default: u32| match text {
        "" => Some(default),
        text => text.parse().ok(),
    };
    Some(LoadPattern::Closed {
        clients: Clients::new(number(clients, 16)?).ok()?,
        samples: RequestSize::new(number(samples, 32)?).ok()?,
    })
}

fn diurnal(value: &str) -> Option<LoadPattern> {
    let (peak, length) = value.split_once(':').unwrap_or((value, ""));
    Some(LoadPattern::Diurnal {
        rate: rate(peak)?,
        period: match length {
            "" => Period(DEFAULT_PERIOD),
            length => period(length)?,
        },
    })
}

/// Reads `60s`, `90`, `500ms`, `10m`, `24h`; from 0.1 s to a week.
fn period(text: &str) -> Option<Period> {
    let units = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let (number, unit) = units
        .iter()
        .find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)))
        .unwrap_or((text, 1.0));
    let seconds = number.trim().parse::<f64>().ok()? * unit;
    let period = Duration::try_from_secs_f64(seconds).ok()?;
    Period::new(period).ok()
}

/// Reads a file and a speed. File names may contain colons: only a number after the last colon is a
/// speed.
fn replay(value: &str) -> Option<LoadPattern> {
    let speed = |text: &str| text.parse::<f64>().ok();
    let (file, speed) = match value.rsplit_once(':') {
        Some((file, last)) if speed(last).is_some() => (file, speed(last)?),
        _ => (value, 1.0),
    };
    let (file, speed) = (PathBuf::from(file), Speed::new(speed).ok()?);
    (!file.as_os_str().is_empty()).then_some(LoadPattern::Replay { file, speed })
}

fn rate(value: &str) -> Option<Rate> {
    Rate::new(value.parse().ok()?).ok()
}
