//! The accuracy of ensembles and their sub-ensembles, counted on labelled rows.
//!
//! It is never computed from the members' own accuracies: members err on the same rows, so assuming
//! independence would overestimate it. [`count_all`] counts every sub-ensemble of up to
//! [`MOST_COUNTED_MEMBERS`] members, [`count_chains`] those of two greedy chains for more members.

mod chains;
mod estimate;
mod members;
mod paired;
mod rules;
mod scores;
mod subsets;
mod tally;

pub use chains::count_chains;
pub use estimate::{AccuracyEstimate, AccuracyInterval, EstimateError};
pub use members::MemberSet;
pub use paired::{PairedRows, ReferenceRows};
pub use rules::{ClassRule, RuleError};
pub use scores::{ScoreTable, ScoreTableError};
pub use subsets::{MOST_COUNTED_MEMBERS, SubEnsembleCounts, TooManyMembers, count_all};
