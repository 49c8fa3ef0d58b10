//! What a console can ask for.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::allocation::{Difference, Matrix};
use crate::ensemble::PolicyKind;

/// A request to the engine behind the console.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Replace the running matrix while serving.
    Apply(Matrix),
    /// Bring back the matrix that ran before the last change.
    Undo,
    /// Run again what the last undo took back.
    Redo,
    SetPolicy(PolicyKind),
    StartLoad(LoadPattern),
    StopLoad,
    StartSearch(SearchOrder),
    PauseSearch,
    ResumeSearch,
    CancelSearch,
    /// Apply the best matrix the search has found so far.
    ApplyBest,
    /// Forget latencies so far, to see what comes.
    ClearLatency,
}

/// A search as asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchOrder {
    pub kind: SearchKind,
    pub seed: u64,
    pub max_iter: usize,
    pub max_neighs: usize,
}

/// The algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchKind {
    WorstFit,
    BestBatch,
    Greedy,
}

impl SearchKind {
    /// Its name on the command line and the screen.
    pub fn name(self) -> &'static str {
        match self {
            SearchKind::WorstFit => "worst-fit",
            SearchKind::BestBatch => "best-batch",
            SearchKind::Greedy => "greedy",
        }
    }
}

/// What applying a matrix would change.
#[derive(Clone, Debug, PartialEq)]
pub struct EditPreview {
    pub difference: Difference,
    /// Booked bytes of each device's memory now and after.
    pub memory: Vec<(u64, u64)>,
    /// Whether new workers are ready before old ones drain; otherwise members
    /// named here have no worker for a moment and their requests wait.
    pub paused_members: Vec<String>,
}

/// How requests arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LoadPattern {
    /// `clients` that each send a request as soon as the last is answered.
    Closed { clients: usize, samples: usize },
    /// One-sample requests at random moments, `rate` a second on average.
    Poisson { rate: f64 },
    /// Ebird's burst: 150 requests slowly, then 250 fast (seed 002, section 6).
    Burst,
}

/// A command was not taken; says why.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct Refusal(pub String);

impl fmt::Display for LoadPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadPattern::Closed { clients, samples } => write!(f, "closed:{clients}x{samples}"),
            LoadPattern::Poisson { rate } => write!(f, "poisson:{rate}"),
            LoadPattern::Burst => f.write_str("burst"),
        }
    }
}

impl FromStr for LoadPattern {
    type Err = String;

    /// `closed`, `closed:8`, `closed:8x32`, `poisson:800`, `burst`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once(':').unwrap_or((text, ""));
        let wrong = || {
            format!(
                "expected closed[:CLIENTS[xSAMPLES]], poisson:RATE or burst, found `{text}`"
            )
        };
        match name {
            "closed" => {
                let (clients, samples) = value.split_once('x').unwrap_or((value, ""));
                let number = |t: &str, default: usize, most: usize| match t {
                    "" => Some(default),
                    t => t.parse().ok().filter(|n| (1..=most).contains(n)),
                };
                let clients = number(clients, 16, 4096).ok_or_else(wrong)?;
                let samples = number(samples, 32, 65_536).ok_or_else(wrong)?;
                Ok(LoadPattern::Closed { clients, samples })
            }
            "poisson" => value
                .parse::<f64>()
                .ok()
                .filter(|r| *r > 0.0 && *r <= 1e6)
                .map(|rate| LoadPattern::Poisson { rate })
                .ok_or_else(wrong),
            "burst" if value.is_empty() => Ok(LoadPattern::Burst),
            _ => Err(wrong()),
        }
    }
}
