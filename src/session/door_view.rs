//! The network server as a console shows it: addresses and clients.

use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The network server at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DoorView {
    /// The addresses that accept connections; empty while it is closed.
    pub addresses: Vec<DoorAddress>,
    /// Open HTTP connections.
    pub http_connections: usize,
    /// Open gRPC connections.
    pub grpc_connections: usize,
    /// The maximum number of connections of each protocol.
    pub connection_limit: usize,
    /// The time over which calls are counted.
    pub window: Duration,
    /// The time over which rates are computed, the last part of the window.
    pub rate_window: Duration,
    /// The time that one value of a series covers.
    pub moment: Duration,
    /// The busiest clients within the window, busiest first.
    pub callers: Vec<CallerView>,
    /// The number and total figures of the clients that are not listed.
    pub other_callers: Option<(usize, CallerFigures)>,
}

impl DoorView {
    /// Returns whether connections are accepted.
    pub fn is_open(&self) -> bool {
        !self.addresses.is_empty()
    }
}

/// An address that accepts connections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoorAddress {
    /// The protocol at the address.
    pub protocol: DoorProtocol,
    /// The address.
    pub address: SocketAddr,
    /// Whether connections use TLS.
    pub tls: bool,
    /// Whether clients need a key.
    pub keys: bool,
}

impl DoorAddress {
    /// Returns whether other machines can reach the address.
    pub fn is_remote(&self) -> bool {
        !self.address.ip().is_loopback()
    }

    /// Returns the missing protection if other machines can reach the address.
    pub fn lacks(&self) -> Option<&'static str> {
        match (self.is_remote(), self.keys, self.tls) {
            (false, _, _) | (true, true, true) => None,
            (true, false, false) => Some("no keys, no TLS"),
            (true, false, true) => Some("no keys"),
            (true, true, false) => Some("no TLS"),
        }
    }
}

/// The protocol at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DoorProtocol {
    /// The Open Inference Protocol over HTTP.
    Http,
    /// The Open Inference Protocol over gRPC.
    Grpc,
    /// Metrics only, over HTTP.
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

/// A client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallerView {
    /// The name of its key, or its address if it has no key.
    pub name: String,
    /// Whether the name is that of a key.
    pub has_key: bool,
    /// The figures of its calls.
    pub figures: CallerFigures,
}

/// The call counts of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CallerFigures {
    /// Calls a second, over the rate window.
    pub per_second: f64,
    /// Calls within the window.
    pub calls: u64,
    /// Calls within the window that were refused or failed.
    pub failed: u64,
}

/// The clients of a version of a model within the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelCallers {
    /// The busiest clients, busiest first.
    pub callers: Vec<CallerView>,
    /// The number and total figures of the clients that are not listed.
    pub others: Option<(usize, CallerFigures)>,
}
