//! The limits for network clients, as options of commands.

use std::time::Duration;

use divisi_door::limits::ServerLimits;
use divisi_runtime::device::parse_bytes;

use super::args::at_least_one;
use super::times::parse_seconds;

/// The limits for network clients, each with a default.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Limits")]
pub(super) struct BoundOptions {
    /// Largest request body or gRPC message, such as 1GiB (default: 257MiB)
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    max_body: Option<u64>,
    /// Seconds before a body that stalls or stays below 128 KiB/s is refused (default: 60)
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    body_timeout: Option<Duration>,
    /// Most open connections per address (default: 8192)
    #[arg(long, value_name = "NUMBER", value_parser = at_least_one)]
    max_connections: Option<usize>,
    /// Seconds before an idle connection is closed (default: 120)
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    idle_timeout: Option<Duration>,
}

impl BoundOptions {
    /// Returns the limits.
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
