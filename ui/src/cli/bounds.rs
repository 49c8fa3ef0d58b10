//! The bounds of what clients over the network may send, as options of commands.

use std::time::Duration;

use divisi_door::limits::ServerLimits;
use divisi_runtime::device::parse_bytes;

use super::args::{at_least_one, parse_seconds};

/// The bounds; those that are not named have their defaults.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct BoundOptions {
    /// Take bodies and gRPC messages of up to SIZE, such as 1GiB (default: 257MiB)
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    max_body: Option<u64>,
    /// Refuse a body that pauses for longer, or is slower than 128 KiB/s after that (default: 60)
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    body_timeout: Option<Duration>,
    /// Keep up to NUMBER connections open at each address (default: 8192)
    #[arg(long, value_name = "NUMBER", value_parser = at_least_one)]
    max_connections: Option<usize>,
    /// Close a connection that is idle for longer (default: 120)
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    idle_timeout: Option<Duration>,
}

impl BoundOptions {
    /// Returns the bounds.
    pub(super) fn limits(&self) -> ServerLimits {
        let usual = ServerLimits::default();
        let limits = ServerLimits {
            body_time: self.body_timeout.unwrap_or(usual.body_time),
            connections: self.max_connections.unwrap_or(usual.connections),
            idle_time: self.idle_timeout.unwrap_or(usual.idle_time),
            ..usual
        };
        match self.max_body {
            Some(most) => limits.with_body(usize::try_from(most).unwrap_or(usize::MAX)),
            None => limits,
        }
    }
}
