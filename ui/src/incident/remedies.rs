//! The commands that help against an incident.

use divisi_session::Snapshot;

use super::Remedy;
use crate::commands as c;
use crate::layout::Panel;
use crate::text::proposal;

/// A change that is not older than this may be the cause of an incident.
const RECENT: std::time::Duration = std::time::Duration::from_secs(120);

/// Returns the proposed move, if there is one.
pub(super) fn proposal(shown: &Snapshot) -> Option<Remedy> {
    let words = proposal::words(shown)?;
    Some(Remedy::new(&c::APPLY_PROPOSAL, words))
}

/// Returns the undo of the last change, if it is recent.
pub(super) fn undo(shown: &Snapshot) -> Option<Remedy> {
    let mark = shown.marks.last().filter(|_| shown.can_undo)?;
    let age = shown.now.saturating_sub(mark.at);
    let words = format!("undo: {}", mark.text);
    (age <= RECENT).then(|| Remedy::new(&c::UNDO, words))
}

/// Returns the change of the built-in load, if it runs.
pub(super) fn load(shown: &Snapshot) -> Option<Remedy> {
    let runs = shown.load.pattern.is_some();
    runs.then(|| Remedy::new(&c::LOAD, "lower the built-in load"))
}

/// Returns a search for a faster allocation.
pub(super) fn search() -> Remedy {
    Remedy::new(&c::SEARCH, "search a faster allocation")
}

/// Returns a change of the allocation by hand.
pub(super) fn edit(words: &str) -> Remedy {
    Remedy::new(&c::EDIT, words)
}

/// Returns a look at a panel.
pub(super) fn look(panel: Panel, words: &str) -> Remedy {
    Remedy::new(c::focus(panel), words)
}
