//! All that can be staged, compared, applied and rolled back together.

use serde::{Deserialize, Serialize};

use crate::allocation::Matrix;
use crate::ensemble::{Combination, PolicyKind};
use crate::search::model::Batching;

/// How an ensemble is served.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    pub matrix: Matrix,
    pub policy: PolicyKind,
    pub combination: Combination,
    /// Samples in a segment at most, under `segment`.
    pub segment_size: usize,
}

impl Setup {
    /// How it forms batches.
    pub fn batching(&self) -> Batching {
        Batching {
            policy: self.policy,
            segment: self.segment_size,
        }
    }

    /// The same with another matrix.
    pub fn with_matrix(&self, matrix: Matrix) -> Self {
        Setup {
            matrix,
            ..self.clone()
        }
    }
}
