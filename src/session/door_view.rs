//! The door to the network as a console shows it: addresses, clients, and refusals.

use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The door to the network at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DoorView {
    /// Where it listens; nowhere while it is closed.
    pub addresses: Vec<DoorAddress>,
    /// Connections of HTTP that are open.
    pub http_connections: usize,
    /// Connections of gRPC that are open.
    pub grpc_connections: usize,
    /// The most connections of each.
    pub connection_limit: usize,
    /// The time over which calls and refusals are counted.
    pub window: Duration,
    /// The time over which rates are taken, the last part of that.
    pub rate_window: Duration,
    /// The time of one value of a series.
    pub moment: Duration,
    /// Who asked within the window: the busiest, busiest first.
    pub callers: Vec<CallerView>,
    /// Those of them that are not listed, all together, and how many they are.
    pub other_callers: Option<(usize, CallerFigures)>,
    /// The refusals and failures since the door was opened, by reason, the most frequent of the
    /// window first.
    pub refusals: Vec<RefusalCount>,
}

impl DoorView {
    /// Whether it listens to anybody.
    pub fn is_open(&self) -> bool {
        !self.addresses.is_empty()
    }
}

/// An address that is listened at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoorAddress {
    /// The protocol that is spoken there.
    pub protocol: DoorProtocol,
    /// The address.
    pub address: SocketAddr,
    /// Connections are under TLS.
    pub tls: bool,
    /// Only who has a key is answered.
    pub keys: bool,
}

impl DoorAddress {
    /// Whether other machines reach it.
    pub fn is_remote(&self) -> bool {
        !self.address.ip().is_loopback()
    }

    /// Returns the protection that it lacks although other machines reach it.
    pub fn lacks(&self) -> Option<&'static str> {
        match (self.is_remote(), self.keys, self.tls) {
            (false, _, _) | (true, true, true) => None,
            (true, false, false) => Some("no keys, no TLS"),
            (true, false, true) => Some("no keys"),
            (true, true, false) => Some("no TLS"),
        }
    }
}

/// The protocol that is spoken at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DoorProtocol {
    /// The Open Inference Protocol over HTTP.
    Http,
    /// The same over gRPC.
    Grpc,
    /// Metrics alone, over HTTP.
    Metrics,
}

impl DoorProtocol {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            DoorProtocol::Http => "http",
            DoorProtocol::Grpc => "grpc",
            DoorProtocol::Metrics => "metrics",
        }
    }
}

/// Somebody who asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallerView {
    /// The name of its key, or its address where it has none.
    pub name: String,
    /// Whether that is the name of a key.
    pub has_key: bool,
    /// The figures of its calls.
    pub figures: CallerFigures,
}

/// The calls of somebody who asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CallerFigures {
    /// Calls a second, over the time of rates.
    pub per_second: f64,
    /// Calls within the window.
    pub calls: u64,
    /// Those of them that were refused or failed.
    pub failed: u64,
}

/// Who asks a version of a model within the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelCallers {
    /// The busiest callers, busiest first.
    pub callers: Vec<CallerView>,
    /// The callers that are not listed, all together, and how many they are.
    pub others: Option<(usize, CallerFigures)>,
    /// The calls that were refused or failed, by reason, in a few words, the most frequent first.
    pub refusals: Vec<(String, u64)>,
}

/// Calls and connections that were refused or failed for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusalCount {
    /// The reason, in a few words.
    pub reason: String,
    /// How many since the door was opened.
    pub total: u64,
    /// How many in each moment of the window, oldest first; the last one is not over.
    pub series: Vec<u32>,
}

impl RefusalCount {
    /// Returns how many within the window.
    pub fn lately(&self) -> u64 {
        self.series.iter().map(|count| u64::from(*count)).sum()
    }
}
