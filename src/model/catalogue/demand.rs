//! The demand on the models of a catalogue: a mix of its entries, and the share of each entry's
//! rows that reaches each of its steps.

use std::sync::Arc;

use crate::dataflow::StepWork;
use crate::ensemble::{Ensemble, PolicyKind};
use divisi_runtime::device::MemberIndex;

use super::{Catalogue, CatalogueEntry, Mix};

/// The shares of rows of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepShare {
    reached: f64,
    passed: f64,
}

impl StepShare {
    /// All rows, which is the assumption for a step that never ran.
    pub const ALL: StepShare = StepShare {
        reached: 1.0,
        passed: 1.0,
    };

    /// Returns the shares of a step that ran for `rows` rows, was skipped for `skipped` rows, and
    /// has a result for `made` rows.
    pub fn from_rows(rows: u64, skipped: u64, made: u64) -> Self {
        let share = |part: u64, of: u64| match of {
            0 => 1.0,
            of => part.min(of) as f64 / of as f64,
        };
        StepShare {
            reached: share(rows, rows + skipped),
            passed: share(made, rows),
        }
    }

    /// Returns the share of its entry's rows for which it runs.
    pub fn reached(self) -> f64 {
        self.reached
    }

    /// Returns the share of its rows for which it has a result.
    pub fn passed(self) -> f64 {
        self.passed
    }
}

/// The demand on the models of a catalogue. A single ensemble is also a demand.
#[derive(Clone, Debug)]
pub struct Demand {
    catalogue: Arc<Catalogue>,
    mix: Mix,
    /// The shares of steps by entry; empty if no rows were counted.
    steps: Vec<Vec<StepShare>>,
}

/// The minimum number of rows of a member per sample of the mix. Members without requests also need
/// workers.
const LEAST: f64 = 1e-6;

/// A step reached by a smaller share of rows does not affect the 99th percentile.
const RARE: f64 = 0.01;

impl Demand {
    /// Creates the demand of a mix of the entries of a catalogue. All rows reach all steps.
    pub fn new(catalogue: Arc<Catalogue>, mix: Mix) -> Self {
        Demand {
            steps: vec![Vec::new(); catalogue.entries().len()],
            catalogue,
            mix,
        }
    }

    /// Creates the demand of a single ensemble.
    pub fn from_ensemble(ensemble: Arc<Ensemble>) -> Self {
        Demand::new(
            Arc::new(Catalogue::from_ensemble(ensemble)),
            Mix::equal_shares(1),
        )
    }

    /// Returns the demand with these shares of rows for the steps of each entry, in execution
    /// order.
    #[must_use]
    pub fn with_steps(self, steps: Vec<Vec<StepShare>>) -> Self {
        Demand { steps, ..self }
    }

    /// Returns the demand with the models served under another policy and segment size.
    #[must_use]
    pub fn with_policy(self, policy: PolicyKind, segment_size: usize) -> Self {
        Demand {
            catalogue: Arc::new(self.catalogue.with_policy(policy, segment_size)),
            ..self
        }
    }

    /// Returns the catalogue.
    pub fn catalogue(&self) -> &Arc<Catalogue> {
        &self.catalogue
    }

    /// Returns the members of all entries side by side, one per column of the matrix.
    pub fn models(&self) -> &Arc<Ensemble> {
        self.catalogue.models()
    }

    /// Returns the shares of the entries.
    pub fn mix(&self) -> &Mix {
        &self.mix
    }

    /// Returns the shares of the entries as text: `75 % digits, 25 % imn4`.
    pub fn in_words(&self) -> String {
        let entries = self.catalogue.entries();
        let word = |(entry, share): (usize, f64)| {
            let percent = (share * 1e5).round() / 1e3;
            format!("{percent} % {}", entries[entry].name())
        };
        self.mix
            .requested()
            .map(word)
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// Returns the shares of a step of an entry.
    pub fn step(&self, entry: usize, step: usize) -> StepShare {
        let steps = self.steps.get(entry);
        let share = steps.and_then(|steps| steps.get(step));
        share.copied().unwrap_or(StepShare::ALL)
    }

    /// Returns the rows that each member runs for a sample of the mix: above 0, and 1 for each
    /// member of a single ensemble.
    pub fn by_member(&self) -> Vec<f64> {
        let mut rows = vec![0.0; self.models().members.len()];
        for (entry, share) in self.mix.requested() {
            for (member, reached) in self.model_steps(entry) {
                rows[member] += share * reached;
            }
        }
        rows.iter_mut().for_each(|rows| *rows = rows.max(LEAST));
        rows
    }

    /// Iterates over the members that determine the latency of requests: those reached by more than
    /// 1 % of an entry's rows.
    pub fn latency_members(&self) -> impl Iterator<Item = MemberIndex> + '_ {
        let entries = self.mix.requested().map(|(entry, _)| entry);
        let runs = entries.flat_map(|entry| self.model_steps(entry));
        runs.filter(|(_, reached)| *reached > RARE)
            .map(|(member, _)| member)
    }

    /// Returns the column of each model step of an entry, with the share of rows that reach it.
    fn model_steps(&self, entry: usize) -> Vec<(MemberIndex, f64)> {
        let of = &self.catalogue.entries()[entry];
        let flow = of.ensemble().dataflow();
        let run = |step: StepWork, at: usize| match step {
            StepWork::Model { member, .. } => {
                Some((of.columns()[member.get()], self.step(entry, at).reached))
            }
            StepWork::Host | StepWork::Fold => None,
        };
        let steps = flow.steps();
        steps
            .filter_map(|(at, step)| run(step.work, at.get()))
            .collect()
    }

    /// Returns the first entry with a share in the mix that holds the member of a column, with the
    /// member's number in the entry, or `None` if no such entry holds it.
    pub fn requested_entry(&self, column: MemberIndex) -> Option<(&CatalogueEntry, MemberIndex)> {
        let asked = self
            .mix
            .requested()
            .map(|(entry, _)| &self.catalogue.entries()[entry]);
        let mut asked = asked.filter_map(|entry| Some((entry, entry.member_at(column)?)));
        asked.next()
    }

    /// Returns the demand on the member of a column alone, with the samples of a requested entry.
    #[must_use]
    pub fn for_column(&self, column: MemberIndex) -> Self {
        let asked = self.requested_entry(column);
        let holder = asked.or_else(|| self.catalogue.entry_with(column));
        let alone = holder.map(|(entry, member)| entry.ensemble().single_member(member));
        let models = self.models();
        Demand::from_ensemble(Arc::new(Ensemble {
            batch_sizes: models.batch_sizes.clone(),
            policy: models.policy,
            segment_size: models.segment_size,
            ..alone.unwrap_or_else(|| models.single_member(column))
        }))
    }
}

impl From<Arc<Ensemble>> for Demand {
    fn from(ensemble: Arc<Ensemble>) -> Self {
        Demand::from_ensemble(ensemble)
    }
}
