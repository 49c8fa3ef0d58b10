//! The exit code of a command.

use std::io::{self, Write};
use std::process::ExitCode;

use divisi_runtime::words::one_line;
use thiserror::Error;

/// The exit code if a goal cannot be met.
const GOAL_NOT_MET: u8 = 3;

/// The command succeeded, with the result that a goal cannot be met.
#[derive(Debug, Error)]
#[error("{0}")]
pub(crate) struct GoalNotMet(pub String);

/// Returns the exit code for an error, or success if the reader of a pipe closed it early (`| head`).
pub(crate) fn exit_code(error: &anyhow::Error) -> ExitCode {
    match error {
        closed if is_closed_pipe(closed) => ExitCode::SUCCESS,
        missed if missed.is::<GoalNotMet>() => ExitCode::from(GOAL_NOT_MET),
        _ => ExitCode::FAILURE,
    }
}

/// Returns whether the reader closed the pipe early.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
}

/// Writes an error to standard error, with the name of the program.
pub(super) fn complain(error: &anyhow::Error) {
    let text = format!("divisi: {error:#}");
    let mut lines = text.lines();
    // If even the error cannot be written, nothing is left to do.
    let _ = lines.try_for_each(|line| writeln!(io::stderr(), "{}", one_line(line)));
}
