//! `divisi health`: whether a server is ready, as an exit code for probes of containers.

use std::path::PathBuf;

use anyhow::{Result, bail};
use divisi_door::client::{ClientOptions, HttpClient, ServerAddress};

use super::output::print;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct HealthArgs {
    /// HTTP address of the server
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8000")]
    http: ServerAddress,
    /// Trust only certificates signed by those in this PEM file
    #[arg(long, value_name = "FILE")]
    trust: Option<PathBuf>,
}

pub(crate) fn run(args: &HealthArgs) -> Result<()> {
    let options = ClientOptions {
        trusted: args.trust.clone(),
        ..ClientOptions::default()
    };
    let mut server = HttpClient::connect(&args.http, &options)?;
    match server.is_ready()? {
        true => print(&format!("{} is ready", args.http)),
        false => bail!("{} is not ready: a model is not loaded", args.http),
    }
}
