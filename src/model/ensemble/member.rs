//! A member of an ensemble, and the kind of numbers that its network returns.

use std::sync::Arc;

use divisi_runtime::compute::calibration::Calibration;
use divisi_runtime::compute::{ComputeError, CpuKernels, CpuLowering, check_padding};
use divisi_runtime::network::{Graph, NetworkByLength, Probabilities, Weights};

use super::box_outputs::BoxOutputs;
use super::input::Input;
use super::precision::MemberPrecision;
use super::rule::{Temperature, VoteWeight};

/// A member of an ensemble: its network, weights and part in the vote.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its name, unique in the ensemble.
    pub name: String,
    /// Its network, for the largest length if lengths vary.
    pub graph: Arc<Graph>,
    /// The source of its networks for other lengths, if lengths vary.
    pub by_length: Option<Arc<dyn NetworkByLength>>,
    /// The network's weights.
    pub weights: Arc<Weights>,
    /// The network's input: the ensemble's, or the member's own.
    pub input: Input,
    /// Its precision.
    pub precision: MemberPrecision,
    /// The ranges of its values, if its manifest names a calibration.
    pub(super) calibration: Option<Arc<Calibration>>,
    /// The kind of numbers that the network returns.
    pub outputs: OutputKind,
    /// The kind of probabilities in which its network ends, if its manifest does not name the
    /// outputs.
    pub ends_in: Option<Probabilities>,
    /// Its weight in `weighted-average`, or `None` for a member that does not vote at first.
    pub vote_weight: Option<VoteWeight>,
    /// The temperature of its probabilities.
    pub temperature: Temperature,
}

impl Member {
    /// Returns whether `other` has the same network with the same weights, precision and outputs.
    pub fn has_network_of(&self, other: &Member) -> bool {
        self.has_weights_of(other) && self.precision == other.precision
    }

    /// Returns whether `other` has the same network with the same weights and outputs, in any
    /// precision.
    pub fn has_weights_of(&self, other: &Member) -> bool {
        Arc::ptr_eq(&self.graph, &other.graph)
            && Arc::ptr_eq(&self.weights, &other.weights)
            && self.outputs == other.outputs
            && self.calibration == other.calibration
    }

    /// Returns the kernels with which processors compute its network.
    pub fn kernels(&self) -> CpuKernels {
        self.precision.kernels()
    }

    /// Returns the options with which processors lower its network for these kernels.
    pub fn lowered_by(&self, kernels: CpuKernels) -> CpuLowering<'_> {
        CpuLowering {
            kernels,
            calibration: self.calibration.as_deref(),
        }
    }

    /// Returns the calibration with which processors compute its network in int8, or `None` if they
    /// determine ranges at run time.
    pub fn calibration(&self) -> Option<&Arc<Calibration>> {
        self.calibration.as_ref()
    }

    /// Returns the number of numbers that its network returns for a sample.
    pub fn row_width(&self) -> usize {
        self.graph.output().elements()
    }

    /// Checks by a trial that padding samples to buckets does not change its answers. Succeeds if
    /// samples are not padded.
    ///
    /// # Errors
    /// As for [`check_padding`](divisi_runtime::compute::check_padding).
    pub fn check_padding(&self) -> Result<(), ComputeError> {
        let by_length = self.by_length.as_deref();
        by_length.map_or(Ok(()), |made| {
            check_padding(&self.graph, &self.weights, made)
        })
    }
}

/// The kind of numbers that a member's network returns, and their use in an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputKind {
    /// Numbers that a softmax turns into class probabilities.
    #[default]
    Logits,
    /// Numbers from 0 to 1 that sum to 1, one per class.
    Probabilities,
    /// Numbers that are not probabilities and are used unchanged.
    Values,
    /// Numbers that a sigmoid turns into label probabilities.
    LabelLogits,
    /// Numbers from 0 to 1, each the probability of a label.
    LabelProbabilities,
    /// Numbers that a softmax at each position turns into class probabilities.
    PositionLogits,
    /// Numbers from 0 to 1 that are class probabilities at each position.
    PositionProbabilities,
    /// Candidates of boxes.
    Boxes(BoxOutputs),
}

impl OutputKind {
    /// Returns whether the manifest declares that rows are already probabilities.
    pub fn is_declared(self) -> bool {
        matches!(
            self,
            OutputKind::Probabilities
                | OutputKind::LabelProbabilities
                | OutputKind::PositionProbabilities
        )
    }

    /// Returns whether a temperature applies: the rows are probabilities or become probabilities.
    pub fn has_temperature(self) -> bool {
        !matches!(self, OutputKind::Values | OutputKind::Boxes(_))
    }

    /// Returns whether rows are class probabilities, directly or after a softmax.
    pub fn is_distribution(self) -> bool {
        matches!(self, OutputKind::Logits | OutputKind::Probabilities)
    }
}
