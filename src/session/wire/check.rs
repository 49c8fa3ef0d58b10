//! A snapshot that was read must be one that an engine could have shown: whoever draws
//! it looks entries up by their place.

use crate::allocation::{Cell, Matrix};
use crate::session::{SearchView, Snapshot};

use super::WireError;

/// No engine runs for so many seconds; what is added to such times fits.
const END_OF_TIME: u64 = 1 << 40;

/// More than any engine keeps.
const MOST_LINES: usize = 4096;

/// Whether its parts fit together.
pub(super) fn check(shown: &Snapshot) -> Result<(), WireError> {
    if shown.now.as_secs() >= END_OF_TIME {
        return Err(WireError::Damaged("a time that never comes".into()));
    }
    bounded("lines of log", shown.log.len())?;
    bounded("marks", shown.marks.len())?;
    bounded("setups that ran", shown.history.len())?;
    let frame = shown.matrix.frame();
    let (devices, members) = (frame.devices.len(), frame.members.len());
    same("devices", shown.devices.len(), devices)?;
    same("members", shown.members.len(), members)?;
    same("entries", shown.entries.len(), devices * members)?;
    let combination = shown.combination.check(members);
    combination.map_err(|e| WireError::Damaged(e.to_string()))?;
    let shares = shown.devices.iter().filter_map(|d| d.shares_memory_of);
    if shares.into_iter().any(|of| of >= devices) {
        return Err(WireError::Damaged("memory of no device".into()));
    }
    let fits = |cell: &Cell| cell.device < devices && cell.member < members;
    let alike = |matrix: &Matrix| {
        let other = matrix.frame();
        (other.devices.len(), other.members.len()) == (devices, members)
    };
    let proposal = shown.proposal.as_ref();
    let search = shown.search.as_ref();
    let whole = proposal.is_none_or(|p| fits(&p.cell) && alike(&p.matrix))
        && shown.history.iter().all(|r| alike(&r.setup.matrix))
        && shown
            .probation
            .as_ref()
            .is_none_or(|p| alike(&p.fallback.matrix))
        && search.is_none_or(|s| search_fits(s, &fits, &alike));
    match whole {
        true => Ok(()),
        false => Err(WireError::Damaged("an entry outside of the matrix".into())),
    }
}

fn search_fits(
    search: &SearchView,
    fits: &impl Fn(&Cell) -> bool,
    alike: &impl Fn(&Matrix) -> bool,
) -> bool {
    let progress = &search.progress;
    progress.best.as_ref().is_none_or(alike)
        && progress.tried.iter().all(|t| fits(&t.cell))
        && progress
            .accepted
            .iter()
            .all(|a| a.changes.iter().all(|(cell, _)| fits(cell)))
}

/// Lists that grow line by line are cut by whoever shows them.
fn bounded(what: &str, found: usize) -> Result<(), WireError> {
    match found <= MOST_LINES {
        true => Ok(()),
        false => Err(WireError::Damaged(format!(
            "{found} {what}, expected at most {MOST_LINES}"
        ))),
    }
}

fn same(what: &str, found: usize, expected: usize) -> Result<(), WireError> {
    match found == expected {
        true => Ok(()),
        false => Err(WireError::Damaged(format!(
            "{found} {what}, expected {expected}"
        ))),
    }
}
