//! `divisi health`: returns the readiness of a server as an exit code, for probes of containers.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use divisi_door::client::{ClientOptions, HttpClient, ServerAddress};
use divisi_runtime::words::one_line;

use super::output::print;
use super::times::parse_seconds;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct HealthArgs {
    /// HTTP address of the server
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8000")]
    http: ServerAddress,
    /// Wait up to this time for the server to be ready, such as 30s
    #[arg(long, value_name = "TIME", value_parser = parse_seconds)]
    wait: Option<Duration>,
    /// CA certificates of the server, a PEM file (default: this machine's)
    #[arg(long, value_name = "FILE")]
    trust: Option<PathBuf>,
}

/// The interval between two checks of a server that is not ready.
const PAUSE: Duration = Duration::from_millis(100);

pub(crate) fn run(args: &HealthArgs) -> Result<()> {
    let until = args.wait.map(|wait| Instant::now() + wait);
    loop {
        match is_ready(args) {
            Ok(true) => return print(&ready(args)),
            _ if until.is_some_and(|until| Instant::now() < until) => thread::sleep(PAUSE),
            Ok(false) => bail!("{} is not ready: a model is not loaded", args.http),
            Err(error) => return Err(error),
        }
    }
}

fn is_ready(args: &HealthArgs) -> Result<bool> {
    Ok(client(args)?.is_ready()?)
}

/// Returns the report on a ready server, with a line for each model that is not served. A server
/// with keys does not list its models.
fn ready(args: &HealthArgs) -> String {
    let listed = client(args).and_then(|mut client| Ok(client.not_served()?));
    let lines = listed.unwrap_or_default().into_iter().map(|(name, why)| {
        let (name, why) = (one_line(&name), one_line(&why));
        format!("\n`{name}`: {why}")
    });
    let lines: String = lines.collect();
    format!("{} is ready{lines}", args.http)
}

fn client(args: &HealthArgs) -> Result<HttpClient> {
    let options = ClientOptions {
        trusted: args.trust.clone(),
        ..ClientOptions::default()
    };
    Ok(HttpClient::connect(&args.http, &options)?)
}
