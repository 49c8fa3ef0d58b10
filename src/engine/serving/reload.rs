//! Reload: from one matrix to another while serving, planned against the ledger.
//!
//! Where both fit, new workers are ready before old ones drain. Where they do not,
//! entries in the way drain first; if a new worker then cannot start, those come back.

use std::collections::VecDeque;

use divisi_model::allocation::{
    Cell, Difference, DoesNotFit, EntryChange, Footprints, Matrix, WorkerChange,
};
use divisi_model::ensemble::BatchSize;
use divisi_runtime::device::{Devices, MemberIndex};

/// The steps of a reload, decided before anything moves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReloadPlan {
    /// The entries that differ.
    pub difference: Difference,
    /// Workers that must go before new ones have room.
    pub early: Vec<(Cell, BatchSize)>,
    /// Workers that are new.
    pub starts: Vec<(Cell, BatchSize)>,
    /// Workers that go once the new ones serve.
    pub late: Vec<(Cell, BatchSize)>,
}

impl ReloadPlan {
    /// Plans the way from `old` to `new` where members are computed as they are.
    ///
    /// # Errors
    /// `new` does not fit even alone.
    pub fn new(
        old: &Matrix,
        new: &Matrix,
        footprints: &Footprints,
        devices: &Devices,
    ) -> Result<Self, DoesNotFit> {
        ReloadPlan::rebuilding((old, footprints), (new, footprints), devices, |_| false)
    }

    /// Plans the way from `old` to `new`, each with the memory of its workers; those at the places
    /// that `is_rebuilt` says are built again, since their members are computed in other numbers.
    ///
    /// # Errors
    /// As for [`ReloadPlan::new`].
    pub fn rebuilding(
        (old, before): (&Matrix, &Footprints),
        (new, after): (&Matrix, &Footprints),
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
        // The largest go first: they make the most room, so the fewest have to.
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

    /// Starts kept entries again whose worker was retired.
    pub fn revive(&mut self, retired: &[Cell]) {
        let kept = self.difference.entries.iter();
        let again = kept.filter_map(|entry| match entry.change {
            WorkerChange::Keep(size) if retired.contains(&entry.cell) => Some((entry.cell, size)),
            _ => None,
        });
        self.starts.extend(again);
    }

    /// Whether the plan does nothing.
    pub fn is_empty(&self) -> bool {
        self.difference.is_empty() && self.starts.is_empty()
    }

    /// Members that have no worker between the early drains and the new workers.
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

/// Old and new workers beside each other, for a moment.
struct OverlappingWorkers<'a> {
    devices: &'a Devices,
    before: &'a Footprints,
    after: &'a Footprints,
    is_rebuilt: &'a dyn Fn(Cell) -> bool,
}

impl OverlappingWorkers<'_> {
    /// Whether the old workers but for `early` fit beside the new ones.
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
                // In other numbers it has other weights: it shares none with the old workers.
                booking.member = MemberIndex::new(members + cell.member.get());
            }
            booking
        });
        old.chain(new).all(|booking| ledger.book(&booking).is_ok())
    }
}

/// The next thing to be done for a reload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReloadAction {
    /// Drain the worker at a cell and drop it.
    Drain(Cell),
    /// Build a worker; it serves nobody yet.
    Build(Cell, BatchSize),
    /// Let all new workers serve.
    Activate,
    /// Drop what was built.
    Discard,
    /// Build an old worker again and let it serve.
    Restore(Cell, BatchSize),
    /// The new matrix runs.
    Done,
    /// The old matrix runs again.
    Failed(String),
}

/// The end of the last action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReloadEvent {
    /// The reload begins.
    Start,
    /// It was done.
    Done,
    /// It failed; says why.
    Failed(String),
}

/// A reload under way: `step(event) → action`.
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
    /// Ready for [`ReloadEvent::Start`].
    pub fn new(plan: ReloadPlan) -> Self {
        Reload {
            plan,
            stage: ReloadStage::Early(0),
        }
    }

    /// The plan it follows.
    pub fn plan(&self) -> &ReloadPlan {
        &self.plan
    }

    /// Returns what to do after `event`. [`ReloadAction::Done`] and [`ReloadAction::Failed`]
    /// are the last.
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
