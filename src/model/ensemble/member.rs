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
    /// Its network: that for the largest length, where lengths vary.
    pub graph: Arc<Graph>,
    /// The origin of its networks for other lengths, where they vary.
    pub by_length: Option<Arc<dyn NetworkByLength>>,
    /// The network's weights.
    pub weights: Arc<Weights>,
    /// The network's input: the ensemble's, or the member's own.
    pub input: Input,
    /// The numbers that it is computed in.
    pub precision: MemberPrecision,
    /// The ranges of its values, where its manifest names them.
    pub(super) calibration: Option<Arc<Calibration>>,
    /// The kind of numbers that the network returns.
    pub outputs: OutputKind,
    /// The probabilities in which its network ends, if its manifest names no outputs.
    pub ends_in: Option<Probabilities>,
    /// Its weight in `weighted-average`; `None` for a member that does not vote at first.
    pub vote_weight: Option<VoteWeight>,
    /// The temperature at which its probabilities are taken.
    pub temperature: Temperature,
}

impl Member {
    /// Whether `other` has the same network, with the same weights, computed and answered the same
    /// way.
    pub fn has_network_of(&self, other: &Member) -> bool {
        self.has_weights_of(other) && self.precision == other.precision
    }

    /// Whether `other` has the same network, with the same weights and answered the same way, in
    /// whatever numbers it is computed.
    pub fn has_weights_of(&self, other: &Member) -> bool {
        Arc::ptr_eq(&self.graph, &other.graph)
            && Arc::ptr_eq(&self.weights, &other.weights)
            && self.outputs == other.outputs
            && self.calibration == other.calibration
    }

    /// Returns the kernels that processors compute its network by.
    pub fn kernels(&self) -> CpuKernels {
        self.precision.kernels()
    }

    /// Returns what processors lower its network by, for some kernels.
    pub fn lowered_by(&self, kernels: CpuKernels) -> CpuLowering<'_> {
        CpuLowering {
            kernels,
            calibration: self.calibration.as_deref(),
        }
    }

    /// Returns the calibration by which processors compute its network in bytes, or `None` where
    /// they find ranges as values come.
    pub fn calibration(&self) -> Option<&Arc<Calibration>> {
        self.calibration.as_ref()
    }

    /// Returns the number of numbers that its network returns for a sample.
    pub fn row_width(&self) -> usize {
        self.graph.output().elements()
    }

    /// Checks by a trial that its answers stay where samples are padded to buckets; they do where
    /// none is padded.
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

/// The kind of numbers that a member's network returns, and what an answer makes of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputKind {
    /// Numbers that a softmax turns into probabilities of classes.
    #[default]
    Logits,
    /// Numbers from 0 to 1 that sum to 1, one a class.
    Probabilities,
    /// Numbers that are no probabilities and are taken as they are.
    Values,
    /// Numbers that a sigmoid turns into probabilities, each that of a label.
    LabelLogits,
    /// Numbers from 0 to 1, each the probability of a label.
    LabelProbabilities,
    /// Numbers that a softmax at each position turns into probabilities of its classes.
    PositionLogits,
    /// Numbers from 0 to 1, those of each position the probabilities of its classes.
    PositionProbabilities,
    /// Candidates of boxes.
    Boxes(BoxOutputs),
}

impl OutputKind {
    /// Whether the manifest promises that rows are probabilities already.
    pub fn is_declared(self) -> bool {
        matches!(
            self,
            OutputKind::Probabilities
                | OutputKind::LabelProbabilities
                | OutputKind::PositionProbabilities
        )
    }

    /// Whether a temperature means something: there are probabilities, or become some.
    pub fn has_temperature(self) -> bool {
        !matches!(self, OutputKind::Values | OutputKind::Boxes(_))
    }

    /// Whether rows are the probabilities of classes, by themselves or by a softmax.
    pub fn is_distribution(self) -> bool {
        matches!(self, OutputKind::Logits | OutputKind::Probabilities)
    }
}
