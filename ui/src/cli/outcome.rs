//! The exit code of a command.

use std::fmt;
use std::io;
use std::process::ExitCode;

/// The exit code if a goal cannot be met.
const GOAL_NOT_MET: u8 = 3;

/// The command succeeded, with the result that a goal cannot be met.
#[derive(Debug)]
pub(crate) struct GoalNotMet(pub String);

impl fmt::Display for GoalNotMet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for GoalNotMet {}

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
