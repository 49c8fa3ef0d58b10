//! `divisi completions`: what a shell can complete.

use std::io::{self, Write};

use anyhow::Result;
use clap::CommandFactory;
use clap_complete::{Shell, generate};

use super::args::CommandLine;

pub fn run(shell: Shell) -> Result<()> {
    // Into memory first: the generator cannot tell that its reader has gone.
    let mut script = Vec::new();
    generate(shell, &mut CommandLine::command(), "divisi", &mut script);
    let mut out = io::stdout().lock();
    out.write_all(&script)?;
    Ok(out.flush()?)
}
