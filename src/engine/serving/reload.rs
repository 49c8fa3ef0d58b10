//! Reload: the change from one matrix to another while serving, planned with the ledger.
//!
//! If both fit, new workers are ready before old ones drain. Otherwise the workers in the way drain
//! first. If a new worker then does not start, they are restored.

use std::collections::VecDeque;

use divisi_model::allocation::{
    Cell, Difference, DoesNotFit, EntryChange, Footprints, Matrix, WorkerChange,
};
use divisi_model::ensemble::BatchSize;
use divisi_runtime::device::{Devices, MemberIndex};

/// The steps of a reload, determined before anything changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReloadPlan {
    /// The differing entries.
    pub difference: Difference,
    /// Workers to remove before the new ones have room.
    pub early: Vec<(Cell, BatchSize)>,
    /// New workers.
    pub starts: Vec<(Cell, BatchSize)>,
    /// Workers to remove after the new ones serve.
    pub late: Vec<(Cell, BatchSize)>,
}

impl ReloadPlan {
    /// Plans a reload from `old` to `new` with unchanged precisions.
    ///
    /// # Errors
    /// `new` does not fit even alone.
    pub fn new(
        old: &Matrix,
        new: &Matrix,
        footprints: &Footprints,
        devices: &Devices,
    ) -> Result<Self, DoesNotFit> {
        ReloadPlan::rebuilding(old, footprints, new, footprints, devices, |_| false)
    }

    /// Plans a reload from `old` to `new`, whose workers take `before` and `after`. Workers in cells
    /// with `is_rebuilt` are built again, because the precision of their members changes.
    ///
    /// # Errors
    /// See [`ReloadPlan::new`].
    pub fn rebuilding(
        old: &Matrix,
        before: &Footprints,
        new: &Matrix,
        after: &Footprints,
        devices: &Devices,
        is_rebuilt: impl Fn(Cell) -> bool,
    ) -> Result<Self, DoesNotFit> {
        after.book(new, devices)?;
        let difference = Difference::between(old, new).rebuilding(&is_rebuilt);
        let changed: Vec<EntryChange> = difference.changed().copied().collect();
        let starts: Vec<_> = changed
            .iter()
            .filter_map(|e| e.change.starts().map(|s| (e.cell, s)))
            .collect();
        let mut late: Vec<_> = changed
            .iter()
            .filter_map(|e| e.change.stops().map(|s| (e.cell, s)))
            .collect();
        // The largest go first, because they free the most memory, so that as few as possible go
        // early.
        late.sort_by_key(|(cell, size)| {
            std::cmp::Reverse(before.booking(*cell, *size).activation_bytes)
        });
        let mut late = VecDeque::from(late);
        let mut early = Vec::new();
        let beside = OverlappingWorkers {
            devices,
            before,
            after,
            is_rebuilt: &is_rebuilt,
        };
        while !beside.fits(old, &starts, &early) {
            match late.pop_front() {
                Some(stop) => early.push(stop),
                None => break,
            }
        }
        Ok(ReloadPlan {
            difference,
            early,
            starts,
            late: late.into(),
        })
    }

    /// Also starts the retired workers of kept entries.
    pub fn revive(&mut self, retired: &[Cell]) {
        let kept = self.difference.entries.iter();
        let again = kept.filter_map(|entry| match entry.change {
            WorkerChange::Keep(size) if retired.contains(&entry.cell) => Some((entry.cell, size)),
            _ => None,
        });
        self.starts.extend(again);
    }

    /// Returns whether the plan changes nothing.
    pub fn is_empty(&self) -> bool {
        self.difference.is_empty() && self.starts.is_empty()
    }

    /// Returns the members without a worker between the early drains and the start of the new
    /// workers.
    pub fn paused_members(&self, old: &Matrix) -> Vec<MemberIndex> {
        let gone = |member: MemberIndex| {
            let mut workers = old.workers().filter(|(c, _)| c.member == member);
            workers.all(|w| self.early.contains(&w))
        };
        MemberIndex::all(old.frame().members.len())
            .filter(|&m| gone(m))
            .collect()
    }
}

/// Old and new workers that exist at the same time.
struct OverlappingWorkers<'a> {
    devices: &'a Devices,
    before: &'a Footprints,
    after: &'a Footprints,
    is_rebuilt: &'a dyn Fn(Cell) -> bool,
}

impl OverlappingWorkers<'_> {
    /// Returns whether the old workers without `early` fit next to the new ones.
    fn fits(
        &self,
        old: &Matrix,
        starts: &[(Cell, BatchSize)],
        early: &[(Cell, BatchSize)],
    ) -> bool {
        let Ok(mut ledger) = self.after.ledger(self.devices) else {
            return false;
        };
        let members = old.frame().members.len();
        let old = old.workers().filter(|w| !early.contains(w));
        let old = old.map(|(cell, size)| self.before.booking(cell, size));
        let new = starts.iter().map(|(cell, size)| {
            let mut booking = self.after.booking(*cell, *size);
            if (self.is_rebuilt)(*cell) {
                // Another precision has other weights, so the worker shares none with the old
                // workers.
                booking.member = MemberIndex::new(members + cell.member.get());
            }
            booking
        });
        old.chain(new).all(|booking| ledger.book(&booking).is_ok())
    }
}

/// The next action of a reload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReloadAction {
    /// Drain the worker at a cell and drop it.
    Drain(Cell),
    /// Build a worker that does not serve yet.
    Build(Cell, BatchSize),
    /// Begin serving with all new workers.
    Activate,
    /// Drop the built workers.
    Discard,
    /// Build an old worker again and serve with it.
    Restore(Cell, BatchSize),
    /// The new matrix is running.
    Done,
    /// The old matrix is running again; holds the reason.
    Failed(String),
}

/// The result of the last action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReloadEvent {
    /// The reload begins.
    Start,
    /// The action succeeded.
    Done,
    /// The action failed; holds the reason.
    Failed(String),
}

/// A reload in progress: `step(event) → action`.
#[derive(Clone, Debug)]
pub struct Reload {
    plan: ReloadPlan,
    stage: ReloadStage,
}

#[derive(Clone, Debug)]
enum ReloadStage {
    Early(usize),
    Build(usize),
    Activated,
    Late(usize),
    Restore { next: usize, reason: String },
    Over(ReloadAction),
}

impl Reload {
    /// Creates a reload that waits for [`ReloadEvent::Start`].
    pub fn new(plan: ReloadPlan) -> Self {
        Reload {
            plan,
            stage: ReloadStage::Early(0),
        }
    }

    /// Returns the plan.
    pub fn plan(&self) -> &ReloadPlan {
        &self.plan
    }

    /// Returns the action after `event`. [`ReloadAction::Done`] and [`ReloadAction::Failed`] are
    /// the last.
    pub fn step(&mut self, event: ReloadEvent) -> ReloadAction {
        match (&mut self.stage, event) {
            (ReloadStage::Build(_), ReloadEvent::Failed(reason)) => {
                self.stage = ReloadStage::Restore { next: 0, reason };
                return ReloadAction::Discard;
            }
            (ReloadStage::Restore { reason, .. }, ReloadEvent::Failed(why)) => {
                reason.push_str("; restarting an old worker failed too: ");
                reason.push_str(&why);
            }
            _ => {}
        }
        self.advance()
    }

    fn advance(&mut self) -> ReloadAction {
        loop {
            match &mut self.stage {
                ReloadStage::Early(next) => match take(&self.plan.early, next) {
                    Some((cell, _)) => return ReloadAction::Drain(cell),
                    None => self.stage = ReloadStage::Build(0),
                },
                ReloadStage::Build(next) => match take(&self.plan.starts, next) {
                    Some((cell, size)) => return ReloadAction::Build(cell, size),
                    None => {
                        self.stage = ReloadStage::Activated;
                        return ReloadAction::Activate;
                    }
                },
                ReloadStage::Activated => self.stage = ReloadStage::Late(0),
                ReloadStage::Late(next) => match take(&self.plan.late, next) {
                    Some((cell, _)) => return ReloadAction::Drain(cell),
                    None => self.stage = ReloadStage::Over(ReloadAction::Done),
                },
                ReloadStage::Restore { next, reason } => match take(&self.plan.early, next) {
                    Some((cell, size)) => return ReloadAction::Restore(cell, size),
                    None => self.stage = ReloadStage::Over(ReloadAction::Failed(reason.clone())),
                },
                ReloadStage::Over(last) => return last.clone(),
            }
        }
    }
}

fn take<T: Copy>(all: &[T], next: &mut usize) -> Option<T> {
    let item = all.get(*next).copied();
    *next += 1;
    item
}
