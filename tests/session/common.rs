//! Ensembles, engines, sessions and other values that several tests begin with.

use divisi_model::allocation::Matrix;
use divisi_session::{Command, LiveSession, Refusal, Session, Snapshot};

pub use crate::devices::*;
pub use crate::engines::*;
pub use crate::sample::*;
use crate::wait::wait_for;

/// Applies `matrix` and changes nothing else.
pub fn apply(session: &mut LiveSession, matrix: &Matrix) -> Result<(), Refusal> {
    let setup = session.snapshot().setup().with_matrix(matrix.clone());
    session.command(Command::Apply(Box::new(setup), None))
}

/// Looks at a session until what it shows is `there`, and returns that: what a session
/// is told happens in threads of its own.
#[track_caller]
pub fn until(session: &mut dyn Session, there: impl Fn(&Snapshot) -> bool) -> Snapshot {
    wait_for(|| {
        let snapshot = session.snapshot();
        if there(&snapshot) {
            Ok(snapshot)
        } else {
            Err(Box::new(snapshot))
        }
    })
}
