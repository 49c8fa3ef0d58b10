//! What commands ask of the session, whichever way they are given.

use divisi::allocation::Matrix;
use divisi::ensemble::PolicyKind;
use divisi::session::{Command, LoadPattern, Setup, Snapshot, Terms};

/// Asks for a setup, on probation where there are terms.
pub(crate) fn apply(setup: Setup, terms: Option<Terms>) -> Command {
    Command::Apply(Box::new(setup), terms)
}

/// Asks for another matrix, all settings as they are.
pub(crate) fn matrix(shown: &Snapshot, matrix: Matrix) -> Command {
    apply(shown.setup().with_matrix(matrix), None)
}

/// Asks for another policy, all else as it is.
pub(crate) fn policy(shown: &Snapshot, policy: PolicyKind) -> Command {
    let setup = Setup {
        policy,
        ..shown.setup()
    };
    apply(setup, None)
}

/// Asks for another load, or none.
pub(crate) fn load(pattern: Option<LoadPattern>) -> Command {
    pattern.map_or(Command::StopLoad, Command::StartLoad)
}

/// Returns the best matrix that the search has found.
pub(crate) fn best(shown: &Snapshot) -> Option<&Matrix> {
    shown.search.as_ref()?.progress.best.as_ref()
}
