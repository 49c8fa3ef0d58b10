//! How requests arrive, as a value.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A pattern of arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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
}

/// Requests a second in a burst where none are given.
const DEFAULT_BURST: f64 = 400.0;

impl fmt::Display for LoadPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadPattern::Closed { clients, samples } => write!(f, "closed:{clients}x{samples}"),
            LoadPattern::Poisson { rate } => write!(f, "poisson:{rate}"),
            LoadPattern::Steady { rate } => write!(f, "steady:{rate}"),
            LoadPattern::Burst { rate } => write!(f, "burst:{rate}"),
        }
    }
}

impl FromStr for LoadPattern {
    type Err = String;

    /// `closed`, `closed:8`, `closed:8x32`, `poisson:800`, `steady:800`, `burst`, `burst:400`.
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
            _ => None,
        };
        parsed.ok_or_else(|| {
            format!(
                "expected closed[:CLIENTS[xSAMPLES]], poisson:RATE, steady:RATE or burst[:RATE], found `{text}`"
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

fn rate(value: &str) -> Option<f64> {
    let rate = value.parse::<f64>().ok()?;
    (1e-3..=1e6).contains(&rate).then_some(rate)
}
