//! What a member brings to its ensemble.

use serde::{Deserialize, Serialize};

/// Over the answers that were weighed: a bounded sample of those given lately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemberContribution {
    /// Samples weighed.
    pub weighed: u64,
    /// Share of samples whose likeliest class was the ensemble's, 0 to 1.
    pub agreement: f64,
    /// Share whose label was met, where labels are known.
    pub accuracy: Option<f64>,
    /// Mean distance of its probabilities from the ensemble's (total variation), 0 to 1;
    /// none where members give values that are no probabilities.
    pub disagreement: Option<f64>,
    /// Mean entropy of its probabilities, over the most there can be, 0 to 1; likewise.
    pub entropy: Option<f64>,
    /// Share of all members' device time that it took, 0 to 1.
    pub cost: f64,
    /// Share of samples whose answer would be another class without it (with it, where it
    /// does not vote), 0 to 1.
    pub flips: f64,
    /// Change of the ensemble's accuracy without this member (with it, where it does not
    /// vote), where labels are known.
    pub accuracy_change: Option<f64>,
}
