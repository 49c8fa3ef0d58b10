//! The panels.

use serde::{Deserialize, Serialize};

/// The panels, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Panel {
    /// 1
    Allocation,
    /// 2
    Search,
    /// 3
    Streams,
    /// 4
    Latency,
    /// 5
    Throughput,
    /// 6
    Log,
    /// 7
    Members,
}

impl Panel {
    /// In the order of the focus.
    pub const ALL: [Panel; 7] = [
        Panel::Allocation,
        Panel::Search,
        Panel::Streams,
        Panel::Latency,
        Panel::Throughput,
        Panel::Log,
        Panel::Members,
    ];

    /// As its title and a layout write it.
    pub fn name(self) -> &'static str {
        match self {
            Panel::Allocation => "allocation",
            Panel::Search => "search",
            Panel::Streams => "streams",
            Panel::Latency => "latency",
            Panel::Throughput => "throughput",
            Panel::Log => "log",
            Panel::Members => "members",
        }
    }

    /// Its place in the order, from 0.
    pub fn index(self) -> usize {
        Panel::ALL.iter().position(|p| *p == self).unwrap_or(0)
    }
}
