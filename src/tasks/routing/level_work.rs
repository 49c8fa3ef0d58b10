//! The work of a device for queries ordered by the urgency of their level.

use std::collections::BTreeMap;

/// The work in nanoseconds, by urgency: negative for more urgent levels than usual.
#[derive(Clone, Debug, Default)]
pub(super) struct LevelWork {
    levels: BTreeMap<i16, OneLevel>,
}

#[derive(Clone, Copy, Debug, Default)]
struct OneLevel {
    waits: u64,
    /// The total work ever added.
    entered: u64,
}

impl LevelWork {
    pub(super) fn add(&mut self, urgency: i16, work: u64) {
        let level = self.levels.entry(urgency).or_default();
        level.waits += work;
        level.entered += work;
    }

    /// Removes work that was added.
    pub(super) fn remove(&mut self, urgency: i16, work: u64) {
        if let Some(level) = self.levels.get_mut(&urgency) {
            level.waits = level.waits.saturating_sub(work);
        }
    }

    /// Returns the work ahead of a new query of a level.
    pub(super) fn work_before(&self, urgency: i16) -> u64 {
        self.levels.range(..=urgency).map(|(_, l)| l.waits).sum()
    }

    /// Returns the total work ever added that goes ahead of a waiting query of a level.
    pub(super) fn entered_before(&self, urgency: i16) -> u64 {
        self.levels.range(..urgency).map(|(_, l)| l.entered).sum()
    }
}

#[cfg(test)]
#[path = "../../../tests/tasks/units/routing/level_work.rs"]
mod tests;
