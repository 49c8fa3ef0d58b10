//! The access log and traces of network requests, as options of commands.

use std::path::PathBuf;

use divisi_door::calls::access::{AccessFormat, AccessOptions};
use divisi_door::calls::traces::{TraceEndpoint, TraceOptions};

use super::args::parse_within;

/// The format of a line of the access log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum LineFormat {
    Json,
    Text,
}

/// The access log and the traces of requests.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Access log and traces")]
pub(super) struct CallOptions {
    /// Append a line per request to FILE, or print it (`-`)
    #[arg(long, value_name = "FILE")]
    access_log: Option<PathBuf>,
    /// Format of access log lines
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "json")]
    access_log_format: LineFormat,
    /// Most access log lines per second; reports the number left out
    #[arg(long, value_name = "LINES", requires = "access_log")]
    access_log_rate: Option<u32>,
    /// Send traces by OTLP to this collector: http://HOST:4318 or grpc://HOST:4317 (with TLS:
    /// https, grpcs)
    #[arg(long, value_name = "URL")]
    otlp: Option<TraceEndpoint>,
    /// Share of requests to trace if `traceparent` does not decide, 0 to 1
    #[arg(long, value_name = "RATIO", default_value = "1", requires = "otlp", value_parser = parse_ratio)]
    trace_ratio: f64,
    /// CA certificates of the collector, a PEM file (default: this machine's)
    #[arg(long, value_name = "FILE", requires = "otlp")]
    otlp_trust: Option<PathBuf>,
}

fn parse_ratio(text: &str) -> Result<f64, String> {
    parse_within(text, &(0.0..=1.0), "a share from 0 to 1")
}

impl CallOptions {
    /// Returns whether the access log is printed.
    pub(super) fn is_on_stdout(&self) -> bool {
        self.access_log
            .as_ref()
            .is_some_and(|path| path.as_os_str() == "-")
    }

    /// Returns the options of the access log, or `None` without one.
    pub(super) fn access(&self) -> Option<AccessOptions> {
        let path = self.access_log.clone()?;
        Some(AccessOptions {
            file: (!self.is_on_stdout()).then_some(path),
            format: match self.access_log_format {
                LineFormat::Json => AccessFormat::Json,
                LineFormat::Text => AccessFormat::Text,
            },
            rate: self.access_log_rate,
        })
    }

    /// Returns the destination of traces, or `None` without one.
    pub(super) fn traces(&self) -> Option<TraceOptions> {
        let to = self.otlp.clone()?;
        Some(TraceOptions {
            to,
            ratio: self.trace_ratio,
            trusted: self.otlp_trust.clone(),
        })
    }
}
