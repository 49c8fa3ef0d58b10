//! All that can be staged, compared, applied and rolled back together.

use serde::{Deserialize, Serialize};

use crate::allocation::Matrix;
use crate::ensemble::{Combination, PolicyKind};
use crate::ranged::checked_when_read;

/// How an ensemble is served.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Setup {
    /// Which member runs where, with which batch size.
    pub matrix: Matrix,
    /// When a free worker starts a batch.
    pub policy: PolicyKind,
    /// Who votes, and how votes are combined.
    pub combination: Combination,
    /// Samples in a segment at most, under `segment`.
    pub segment_size: usize,
}

checked_when_read!(Setup);

impl Setup {
    /// Samples in a segment at most, as in a manifest.
    pub const MOST_SEGMENT: usize = 1 << 20;

    /// Whether its parts belong together. What an engine can hold of it is the engine's
    /// to say.
    ///
    /// # Errors
    /// Which part is wrong and what was expected.
    pub fn check(&self) -> Result<(), String> {
        let frame = self.matrix.frame();
        let policy = self.policy.check(&frame.batch_sizes);
        policy.map_err(|why| format!("policy: {why}"))?;
        let combination = self.combination.check(frame.members.len());
        combination.map_err(|why| format!("combination: {why}"))?;
        let (found, most) = (self.segment_size, Self::MOST_SEGMENT);
        match (1..=most).contains(&found) {
            true => Ok(()),
            false => Err(format!(
                "segment size: expected 1 to {most} samples, found {found}"
            )),
        }
    }

    /// The same with another policy.
    #[must_use]
    pub fn with_policy(&self, policy: PolicyKind) -> Self {
        Setup {
            policy,
            ..self.clone()
        }
    }

    /// The same with another matrix.
    #[must_use]
    pub fn with_matrix(&self, matrix: Matrix) -> Self {
        Setup {
            matrix,
            ..self.clone()
        }
    }
}
