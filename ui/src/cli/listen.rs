//! The addresses at which others ask over the network, as options of commands.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context, Result};
use divisi::deployment::Deployment;
use divisi_door::ensemble::EnsembleService;
use divisi_door::keys::Keys;
use divisi_door::{Addresses, InferenceServer, ServerOptions};

/// Where to listen, if at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListenAddress {
    Off,
    At(SocketAddr),
}

impl ListenAddress {
    fn at(self) -> Option<SocketAddr> {
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

/// The addresses of a server: it listens unless it is told not to.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ServerAddresses {
    /// Where HTTP clients of the Open Inference Protocol ask, or `off`
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8000")]
    http: ListenAddress,
    /// Where gRPC clients of it ask, or `off`
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8001")]
    grpc: ListenAddress,
    /// Where Prometheus finds metrics (HTTP has them too), or `off`
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8002")]
    metrics: ListenAddress,
    /// Answer only who sends a key of this file (docs/serving.md)
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Allow addresses that other machines reach without keys
    #[arg(long)]
    allow_remote: bool,
}

/// The addresses of a console: it listens to nobody unless it is told to.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ConsoleAddresses {
    /// Answer HTTP clients of the Open Inference Protocol at this address, such as 127.0.0.1:8000
    #[arg(long, value_name = "ADDRESS")]
    http: Option<ListenAddress>,
    /// Answer gRPC clients of it at this address, such as 127.0.0.1:8001
    #[arg(long, value_name = "ADDRESS")]
    grpc: Option<ListenAddress>,
    /// Answer only who sends a key of this file (docs/serving.md)
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Allow addresses that other machines reach without keys
    #[arg(long)]
    allow_remote: bool,
}

impl ServerAddresses {
    pub(crate) fn options(&self) -> Result<ServerOptions> {
        Ok(ServerOptions {
            keys: keys(self.keys.as_deref())?,
            http: self.http.at(),
            grpc: self.grpc.at(),
            metrics: self.metrics.at(),
            allow_remote: self.allow_remote,
            ..ServerOptions::default()
        })
    }
}

impl ConsoleAddresses {
    pub(crate) fn options(&self) -> Result<ServerOptions> {
        Ok(ServerOptions {
            keys: keys(self.keys.as_deref())?,
            http: self.http.and_then(ListenAddress::at),
            grpc: self.grpc.and_then(ListenAddress::at),
            allow_remote: self.allow_remote,
            ..ServerOptions::default()
        })
    }
}

fn keys(file: Option<&Path>) -> Result<Option<Arc<Keys>>> {
    let keys = file.map(Keys::read).transpose().context("--keys")?;
    Ok(keys.map(Arc::new))
}

/// Answers clients with the models that are served, or returns `None` where no address is asked for.
pub(crate) fn serve_clients(
    models: &Arc<Deployment>,
    options: &ServerOptions,
) -> Result<Option<InferenceServer>> {
    if [options.http, options.grpc, options.metrics] == [None; 3] {
        return Ok(None);
    }
    let service = EnsembleService::of_deployment(Arc::clone(models));
    Ok(Some(InferenceServer::start(Arc::new(service), options)?))
}

/// Returns a line for each address, with how it is asked.
pub(crate) fn lines(addresses: Addresses) -> Vec<String> {
    let http = addresses.http.map(|a| format!("HTTP at http://{a}/v2"));
    let grpc = addresses.grpc.map(|a| format!("gRPC at {a}"));
    let metrics = addresses
        .metrics
        .map(|a| format!("metrics at http://{a}/metrics"));
    [http, grpc, metrics].into_iter().flatten().collect()
}
