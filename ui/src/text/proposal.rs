//! The proposed change of a matrix in words.

use divisi_model::allocation::{Difference, EntryChange, Matrix, WorkerChange};
use divisi_session::{Proposal, Snapshot};

/// Describes the proposed change, if there is one: `move resnet152 to sim:v100:3 at 16`.
pub(crate) fn words(shown: &Snapshot) -> Option<String> {
    let proposal = shown.proposal.as_ref()?;
    let difference = Difference::between(&shown.matrix, &proposal.matrix);
    let changed: Vec<&EntryChange> = difference.changed().collect();
    let moved = moved(&changed, proposal, shown);
    let steps = || changed.iter().map(|c| step(c, shown)).collect::<Vec<_>>();
    moved.or_else(|| (!changed.is_empty()).then(|| steps().join(", ")))
}

/// Describes a move: a worker stops and one of the same member starts elsewhere.
fn moved(changed: &[&EntryChange], proposal: &Proposal, shown: &Snapshot) -> Option<String> {
    let stops =
        |c: &&EntryChange| c.cell == proposal.cell && matches!(c.change, WorkerChange::Stop(_));
    let (from, others): (Vec<&EntryChange>, Vec<_>) = changed.iter().partition(|c| stops(c));
    match (from.as_slice(), others.as_slice()) {
        ([from], [to]) if to.cell.member == from.cell.member => {
            let size = to.change.starts()?;
            let (device, member) = names(to, &shown.matrix);
            Some(format!("move {member} to {device} at {size}"))
        }
        _ => None,
    }
}

fn step(entry: &EntryChange, shown: &Snapshot) -> String {
    let (device, member) = names(entry, &shown.matrix);
    match entry.change {
        WorkerChange::Keep(size) => format!("keep {device} × {member} at {size}"),
        WorkerChange::Start(size) => format!("start {device} × {member} at {size}"),
        WorkerChange::Stop(_) => format!("stop {device} × {member}"),
        WorkerChange::Resize { from, to } => format!("{device} × {member} {from} → {to}"),
        WorkerChange::Rebuild(size) => format!("rebuild {device} × {member} at {size}"),
    }
}

/// Returns the names of an entry's device and member.
pub(crate) fn names<'a>(entry: &EntryChange, matrix: &'a Matrix) -> (&'a str, &'a str) {
    let frame = matrix.frame();
    let device = frame.device(entry.cell.device);
    let member = frame.member(entry.cell.member);
    (device.unwrap_or(""), member.unwrap_or(""))
}
