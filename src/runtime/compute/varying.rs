//! Networks whose samples vary in length: lowered once for each used length, with shared weights,
//! and run in one arena.
//!
//! A batch runs in groups of samples of one length. If an input masks padding, a sample is padded
//! to the next of a few lengths, and all of these are lowered at the start. Otherwise each length
//! is lowered at its first use, and the most recently used ones are kept.

use std::fmt;
use std::sync::{Arc, Mutex};

use candle_core::{CpuStorage, InplaceOp2, Layout, Tensor};

use super::ComputeError;
use super::batch_arenas::BatchArenas;
use super::groups::{LengthCost, LengthGroup, length_groups};
use super::lowered::Lowered;
use super::precision::CpuKernels;
use super::predictor::{Predictor, contiguous, contiguous_mut, zeroed};
use super::shared::KnownWeights;
use crate::device::ThreadTeam;
use crate::lock::lock;
use crate::network::{Graph, GraphError, NetworkByLength, Weights};
use crate::tensor::{Lengths, Signature};

/// The most lengths kept if samples are not padded.
const KEPT: usize = 256;

/// The operations that take as long as reading a weight from memory: a core does about 40 while
/// four bytes arrive.
const FLOPS_PER_WEIGHT: f64 = 40.0;

/// A network for samples of any of its lengths. All workers of a member in a memory space share it.
pub struct VaryingNetwork {
    signature: Signature,
    lengths: Lengths,
    by_length: Arc<dyn NetworkByLength>,
    /// Whether a softmax follows the network of each length.
    softmax: bool,
    /// The network for the largest length, with which the others share weights.
    graph: Graph,
    weights: Arc<Weights>,
    largest: Arc<Lowered>,
    /// The lengths that are lowered, the last one used last.
    kept: Mutex<Vec<(usize, Arc<Lowered>)>>,
}

impl fmt::Debug for VaryingNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths = &self.lengths;
        f.debug_struct("VaryingNetwork")
            .field("lengths", lengths)
            .finish_non_exhaustive()
    }
}

impl VaryingNetwork {
    /// Lowers `graph`, the network for the largest length, and the networks for the lengths that
    /// samples are padded to, which `by_length` makes. With `softmax`, each ends in a softmax.
    ///
    /// # Errors
    /// [`ComputeError::OutOfMemory`], [`ComputeError::Padding`], or no network exists for a length.
    pub fn new(
        graph: &Graph,
        weights: Arc<Weights>,
        by_length: Arc<dyn NetworkByLength>,
        softmax: bool,
        kernels: impl Into<CpuKernels>,
    ) -> Result<Self, ComputeError> {
        let signature = graph.signature();
        let most = signature.largest_length();
        let missing = || failed(most, "the network's samples do not vary in length".into());
        let lengths = signature.lengths.clone().ok_or_else(missing)?;
        let graph = finished(graph.clone(), softmax).map_err(|e| failed(most, e.into()))?;
        let largest = Arc::new(Lowered::with(&graph, &weights, kernels)?);
        let network = VaryingNetwork {
            signature,
            by_length,
            softmax,
            graph,
            weights,
            kept: Mutex::new(vec![(most, Arc::clone(&largest))]),
            largest,
            lengths,
        };
        for &length in network.lengths.buckets() {
            network.at(length)?;
        }
        network.check_padding()?;
        Ok(network)
    }

    pub(super) fn signature(&self) -> &Signature {
        &self.signature
    }

    pub(super) fn lengths(&self) -> &Lengths {
        &self.lengths
    }

    /// Returns the number of values of one sample.
    pub fn inputs(&self) -> usize {
        self.largest.inputs()
    }

    /// Returns the number of values of one answer.
    pub fn outputs(&self) -> usize {
        self.largest.outputs()
    }

    /// Returns the network for samples of `length`.
    pub(super) fn at(&self, length: usize) -> Result<Arc<Lowered>, ComputeError> {
        let mut kept = lock(&self.kept);
        if let Some(at) = kept.iter().position(|(of, _)| *of == length) {
            let found = kept.remove(at);
            kept.push(found);
            return Ok(Arc::clone(&kept[kept.len() - 1].1));
        }
        let lowered = Arc::new(self.lower(length)?);
        // The largest is held anyway.
        let most = KEPT.max(self.lengths.buckets().len());
        if kept.len() >= most {
            kept.remove(0);
        }
        kept.push((length, Arc::clone(&lowered)));
        Ok(lowered)
    }

    pub(super) fn lower(&self, length: usize) -> Result<Lowered, ComputeError> {
        let made = self.by_length.network(length, &self.weights);
        let (graph, weights) = made.map_err(|reason| failed(length, reason))?;
        let graph = finished(graph, self.softmax).map_err(|e| failed(length, e.into()))?;
        let (inputs, outputs) = (graph.input().elements(), graph.output().elements());
        let expected = (
            self.signature.input_width(length),
            self.signature.output_width(length),
        );
        if (inputs, outputs) != expected {
            let reason = format!("{inputs} values in and {outputs} out, expected {expected:?}");
            return Err(failed(length, reason.into()));
        }
        let known = KnownWeights::from_lowered(&self.graph, &self.weights, &self.largest);
        Lowered::sharing(&graph, &weights, self.largest.kernels().into(), &known)
    }

    /// Returns the costs of groups at a lowered length; groups at other lengths never pay.
    fn cost(&self, length: usize) -> LengthCost {
        let kept = lock(&self.kept);
        let known = kept.iter().find(|(of, _)| *of == length);
        let flops = known.map_or(f64::MAX.sqrt(), |(_, lowered)| lowered.flops());
        LengthCost {
            group: FLOPS_PER_WEIGHT * self.largest.plan().multiplied_floats() as f64,
            sample: flops,
        }
    }

    /// Returns the samples of rows by groups, and the samples whose first value is not a length.
    fn groups(&self, rows: &[f32]) -> (Vec<LengthGroup>, Vec<usize>) {
        let (mut fitting, mut wrong) = (Vec::new(), Vec::new());
        for (at, row) in rows.chunks_exact(self.inputs()).enumerate() {
            let length = self.lengths.row_length(row);
            match length.and_then(|length| self.lengths.bucket(length)) {
                Some(length) => fitting.push((at, length)),
                None => wrong.push(at),
            }
        }
        let groups = match self.lengths.mask() {
            Some(_) => length_groups(&fitting, |length| self.cost(length)),
            // Nothing may be padded: every length is a group.
            None => length_groups(&fitting, |_| LengthCost {
                group: 0.0,
                sample: f64::INFINITY,
            }),
        };
        (groups, wrong)
    }
}

pub(super) fn failed(length: usize, reason: crate::network::LengthError) -> ComputeError {
    ComputeError::Length { length, reason }
}

fn finished(graph: Graph, softmax: bool) -> Result<Graph, GraphError> {
    match softmax {
        true => graph.with_softmax(),
        false => Ok(graph),
    }
}

/// A network of several lengths on a CPU partition, with its own arena.
pub struct VaryingPredictor {
    op: VaryingOp,
}

impl VaryingPredictor {
    /// Takes memory for batches of up to `batch` samples on the partition's threads.
    ///
    /// # Errors
    /// [`ComputeError::OutOfMemory`].
    pub fn new(
        network: Arc<VaryingNetwork>,
        batch: usize,
        team: Option<Arc<ThreadTeam>>,
    ) -> Result<Self, ComputeError> {
        let threads = team.as_ref().map_or(1, |team| team.threads());
        let mut arenas = BatchArenas::new(&network.largest, batch, threads)?;
        let kept = lock(&network.kept).clone();
        for (_, lowered) in kept {
            arenas.fit(&lowered)?;
        }
        let run = VaryingRun {
            arenas,
            rows: zeroed(batch * network.inputs())?,
            answers: zeroed(batch * network.outputs())?,
        };
        Ok(VaryingPredictor {
            op: VaryingOp {
                network,
                batch,
                team,
                run: Mutex::new(run),
            },
        })
    }
}

impl Predictor for VaryingPredictor {
    fn predict(
        &mut self,
        batch: usize,
        input: &Tensor,
        output: &Tensor,
    ) -> Result<(), ComputeError> {
        let (input, output) = (input.narrow(0, 0, batch)?, output.narrow(0, 0, batch)?);
        output.inplace_op2(&input, &self.op)?;
        Ok(())
    }
}

/// A network of several lengths as a Candle operation, which writes answers into a tensor.
struct VaryingOp {
    network: Arc<VaryingNetwork>,
    batch: usize,
    team: Option<Arc<ThreadTeam>>,
    // A worker runs one batch at a time, so the lock is always free.
    run: Mutex<VaryingRun>,
}

/// The memory of a worker.
struct VaryingRun {
    arenas: BatchArenas,
    /// The samples of a group, and their answers.
    rows: Vec<f32>,
    answers: Vec<f32>,
}

impl InplaceOp2 for VaryingOp {
    fn name(&self) -> &'static str {
        "divisi-varying-network"
    }

    fn cpu_fwd(
        &self,
        output: &mut CpuStorage,
        output_layout: &Layout,
        input: &CpuStorage,
        input_layout: &Layout,
    ) -> candle_core::Result<()> {
        let input = contiguous(input.as_slice::<f32>()?, input_layout)?;
        let output = contiguous_mut(output, output_layout)?;
        self.run(input, output).map_err(candle_core::Error::wrap)
    }
}

impl VaryingOp {
    /// Runs a batch by groups. A sample of a length that cannot be run has the answer NaN, which
    /// fails only its own request.
    fn run(&self, input: &[f32], output: &mut [f32]) -> Result<(), ComputeError> {
        let found = input.len() / self.network.inputs().max(1);
        if found > self.batch {
            let most = self.batch;
            return Err(ComputeError::BatchTooLarge { found, most });
        }
        let width = self.network.outputs();
        let (groups, mut wrong) = self.network.groups(input);
        for group in groups {
            match self.network.at(group.length) {
                Ok(lowered) => self.run_group(&lowered, &group, input, output)?,
                Err(ComputeError::Length { .. }) => wrong.extend(group.samples),
                Err(error) => return Err(error),
            }
        }
        for sample in wrong {
            output[sample * width..][..width].fill(f32::NAN);
        }
        Ok(())
    }

    fn run_group(
        &self,
        lowered: &Lowered,
        group: &LengthGroup,
        input: &[f32],
        output: &mut [f32],
    ) -> Result<(), ComputeError> {
        let network = &self.network;
        let VaryingRun {
            arenas,
            rows,
            answers,
        } = &mut *lock(&self.run);
        let samples = group.samples.len();
        let (inputs, outputs) = (lowered.inputs(), lowered.outputs());
        let of = |at: &usize| &input[at * network.inputs()..][..network.inputs()];
        for (at, row) in group.samples.iter().zip(rows.chunks_exact_mut(inputs)) {
            network.signature.narrow(of(at), group.length, row);
        }
        let answers = &mut answers[..samples * outputs];
        arenas.fit(lowered)?;
        let rows = &rows[..samples * inputs];
        arenas.run(lowered, self.team.as_deref(), samples, rows, answers)?;
        for (at, answer) in group.samples.iter().zip(answers.chunks_exact(outputs)) {
            let to = &mut output[at * network.outputs()..][..network.outputs()];
            let length = network.lengths.row_length(of(at)).unwrap_or(group.length);
            network.signature.widen(answer, length, group.length, to);
        }
        Ok(())
    }
}
