//! The goal of a search.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::device::format_bytes;
use crate::load::Rate;
use crate::ranged::{FieldOutOfRange, within};

/// The figure that a search optimises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// Samples a second, whatever they wait.
    #[default]
    Throughput,
    /// The 99th percentile of latency under load.
    Latency,
}

impl Objective {
    /// Returns its name on the command line and the screen.
    pub fn name(self) -> &'static str {
        match self {
            Objective::Throughput => "throughput",
            Objective::Latency => "latency",
        }
    }
}

impl FromStr for Objective {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Objective::Throughput, Objective::Latency]
            .into_iter()
            .find(|o| o.name() == text)
            .ok_or_else(|| format!("expected throughput or latency, found `{text}`"))
    }
}

/// An objective and what has to hold beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// The figure to optimise.
    pub objective: Objective,
    /// 99 of 100 requests are answered within this time.
    pub p99: Option<Duration>,
    /// Requests of one sample a second that have to be served.
    pub rate: Option<f64>,
    /// Bytes that stay free in the memory of every device.
    pub spare_memory: u64,
}

impl Goal {
    /// Checks its numbers.
    ///
    /// # Errors
    /// A number is outside of its range.
    pub fn check(&self) -> Result<(), FieldOutOfRange> {
        let day = Duration::from_secs(86_400);
        if let Some(p99) = self.p99 {
            within("p99", p99, Duration::from_nanos(1), day)?;
        }
        match self.rate {
            Some(rate) => within("rate", rate, Rate::LEAST.get(), Rate::MOST.get()),
            None => Ok(()),
        }
    }

    /// Whether latencies matter, which only a simulation under load tells.
    pub fn needs_latency(&self) -> bool {
        self.objective == Objective::Latency || self.p99.is_some()
    }

    /// Whether it is the plain one: throughput and nothing else.
    pub fn is_plain(&self) -> bool {
        *self == Goal::default()
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.objective.name())?;
        if let Some(p99) = self.p99 {
            write!(f, ", p99 ≤ {} ms", p99.as_secs_f64() * 1e3)?;
        }
        if let Some(rate) = self.rate {
            write!(f, ", {rate} samples/s")?;
        }
        if self.spare_memory > 0 {
            write!(f, ", {} spare", format_bytes(self.spare_memory))?;
        }
        Ok(())
    }
}

/// Latencies under Poisson arrivals of one sample each, in virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, serde::Deserialize)]
pub struct LoadedLatency {
    /// Requests a second.
    pub rate: f64,
    /// The median.
    pub p50: Duration,
    /// The 99th percentile.
    pub p99: Duration,
}
