//! `divisi replay`: a recording in the console.

use anyhow::{Context, Result};
use divisi::session::replay::ReplaySession;

use super::args::ReplayArgs;
use super::start;

pub fn run(args: &ReplayArgs) -> Result<()> {
    let opened = ReplaySession::open(&args.file);
    let session = opened.with_context(|| args.file.display().to_string())?;
    let options = start::options(false, !args.no_mouse);
    start::show(Box::new(session), options, start::way(args.linear)?, None)
}
