//! The network addresses of a server, as options of commands.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use divisi_door::keys::Keys;
use divisi_door::notices::Notices;
use divisi_door::tls::TlsFiles;
use divisi_door::{Addresses, ServerOptions};
use divisi_runtime::device::parse_bytes;

use super::bounds::BoundOptions;
use super::calls::CallOptions;

/// An address, or `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListenAddress {
    Off,
    At(SocketAddr),
}

impl ListenAddress {
    /// Returns the address, or `None` for `off`.
    pub(super) fn at(self) -> Option<SocketAddr> {
        match self {
            ListenAddress::Off => None,
            ListenAddress::At(address) => Some(address),
        }
    }
}

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(ListenAddress::Off);
        }
        let address = text.replace("localhost:", "127.0.0.1:").parse();
        address.map(ListenAddress::At).map_err(|_| {
            format!(
                "expected an address and a port such as 127.0.0.1:8000, or `off`, found `{text}`"
            )
        })
    }
}

/// Access control and encryption for clients.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Security")]
struct DoorOptions {
    /// Require clients to send a key of this file
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// TLS certificate, a PEM file, optionally followed by its chain
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// Private key of the TLS certificate, a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// Memory for cached answers to equal requests, such as 256MiB (default: none)
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    cache: Option<u64>,
    #[command(flatten)]
    bounds: BoundOptions,
    #[command(flatten)]
    telling: CallOptions,
    /// Let clients upload model files (parameters `file:…`; role `control`)
    #[arg(long)]
    load_files: bool,
    /// Allow addresses reachable by other machines without keys and TLS
    #[arg(long)]
    allow_remote: bool,
}

impl DoorOptions {
    fn options(&self, notices: Notices) -> Result<ServerOptions> {
        let keys = self.keys.as_deref();
        let keys = keys.map(|path| Keys::read(path, notices.clone()));
        let pair = self.tls_certificate.as_ref().zip(self.tls_key.as_ref());
        let tls = pair.map(|(certificate, key)| TlsFiles::read(certificate, key, notices.clone()));
        Ok(ServerOptions {
            keys: keys.transpose().context("--keys")?.map(Arc::new),
            tls: tls.transpose().context("--tls-certificate")?.map(Arc::new),
            cache: self
                .cache
                .and_then(|bytes| NonZeroUsize::new(usize::try_from(bytes).ok()?)),
            access: self.telling.access(),
            load_files: self.load_files,
            traces: self.telling.traces(),
            notices,
            allow_remote: self.allow_remote,
            limits: self.bounds.limits(),
            ..ServerOptions::default()
        })
    }
}

/// The addresses of a server, which listens by default.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Addresses")]
pub(crate) struct ServerAddresses {
    /// HTTP address of the Open Inference Protocol, or `off`
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8000")]
    http: ListenAddress,
    /// gRPC address of the Open Inference Protocol, or `off`
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8001")]
    grpc: ListenAddress,
    /// Address of Prometheus metrics (also at the HTTP address), or `off`
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8002")]
    metrics: ListenAddress,
    #[command(flatten)]
    door: DoorOptions,
}

/// The addresses of a console, which listens only on request.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Addresses")]
pub(crate) struct ConsoleAddresses {
    /// Serve the Open Inference Protocol over HTTP at this address, such as 127.0.0.1:8000
    #[arg(long, value_name = "ADDRESS")]
    http: Option<ListenAddress>,
    /// Serve the Open Inference Protocol over gRPC at this address, such as 127.0.0.1:8001
    #[arg(long, value_name = "ADDRESS")]
    grpc: Option<ListenAddress>,
    #[command(flatten)]
    door: DoorOptions,
}

impl ServerAddresses {
    /// Returns the options of a server; `notices` receives messages for its operator.
    pub(crate) fn options(&self, notices: Notices) -> Result<ServerOptions> {
        Ok(ServerOptions {
            http: self.http.at(),
            grpc: self.grpc.at(),
            metrics: self.metrics.at(),
            ..self.door.options(notices)?
        })
    }
}

impl ConsoleAddresses {
    /// Returns the options of a server; `notices` receives messages for its operator.
    pub(crate) fn options(&self, notices: Notices) -> Result<ServerOptions> {
        if self.door.telling.is_on_stdout() {
            bail!("--access-log -: the console uses standard output; expected a file");
        }
        Ok(ServerOptions {
            http: self.http.and_then(ListenAddress::at),
            grpc: self.grpc.and_then(ListenAddress::at),
            ..self.door.options(notices)?
        })
    }
}

/// Returns a line for each address with its protocol.
pub(crate) fn address_lines(addresses: Addresses) -> Vec<String> {
    let (scheme, how) = match addresses.tls {
        true => ("https", " with TLS"),
        false => ("http", ""),
    };
    let http = addresses.http.map(|a| format!("HTTP at {scheme}://{a}/v2"));
    let grpc = addresses.grpc.map(|a| format!("gRPC at {a}{how}"));
    let metrics = addresses
        .metrics
        .map(|a| format!("metrics at {scheme}://{a}/metrics"));
    [http, grpc, metrics].into_iter().flatten().collect()
}
