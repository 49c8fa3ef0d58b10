//! The plan of a network: its steps, and the place of every intermediate value, fixed before
//! anything runs.
//!
//! Values are channels-last, as views into slots of the arena. The inputs of a concatenation are
//! written directly into its slot if that is safe, and slots are reused after their last reader.
//! Early steps, with large images, take a few samples at a time, so that values are still in cache
//! when the next step reads them. Later steps take all samples together, so that weights are read
//! once for all of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::buffers::{ReducedView, Slots, TensorView, ValueBuffers, ValuePlace};
use super::calibration::Calibration;
use super::dynamic::in_bytes;
use super::formed::FormedSteps;
use super::forms::LoweringFacts;
use super::fuse::{FusedStep, StepKernel, ValueId, fuse, fused};
use super::kernels::{
    ArenaLayout, KernelTarget, LINE, PlacedStep, PlannedStep, ReducedOperands, Scratch, StepMethod,
};
use super::reduced::{ByteNumbers, ReducedNumbers};
use super::rounded_samples::RoundedSamples;
use super::shared::twins;
use super::tables::tabulated;
use super::tensors::arranged;
use crate::network::{Graph, Shape};

/// The plan of one network, independent of the batch.
#[derive(Clone, Debug)]
pub(super) struct ArenaPlan {
    pub steps: Vec<PlannedStep>,
    /// For each step, the earlier step with the same folded weights.
    pub twins: Vec<Option<usize>>,
    /// Floats per sample of each slot.
    pub slots: Vec<usize>,
    /// Whether only steps before the cut use each slot.
    pub early: Vec<bool>,
    pub chunks: Chunks,
    /// View of the network's answer.
    pub answer: TensorView,
    /// Floats of zeros that steps read for taps outside of an image.
    pub zeros: usize,
    /// Floats of other bytes that represent 0 there, by byte.
    pub borders: BTreeMap<u8, usize>,
}

impl ArenaPlan {
    /// Plans `graph` for kernels, using the known ranges of its values.
    pub(super) fn calibrated(
        graph: &Graph,
        target: KernelTarget,
        calibration: Option<&Calibration>,
    ) -> Self {
        let target = match calibration {
            Some(_) => target.calibrated(),
            None => target,
        };
        let steps = arranged(graph, tabulated(graph, fused(graph)));
        let steps = match target.multiplies_bytes() {
            true => in_bytes(graph, steps),
            false => steps,
        };
        let facts = LoweringFacts {
            graph,
            target,
            calibration,
            samples: None,
            entry: None,
        };
        let FormedSteps {
            steps,
            buffers,
            forms,
            ..
        } = formed(steps, facts);
        let answer = graph.nodes().len();
        let chunks = Chunks::new(graph, &buffers, &steps);
        let slots = Slots::of_forms(&buffers, &forms.values, &steps, answer, chunks.cut);
        let view = |value: ValueId| match forms.values[value].float {
            true => buffers.view(&slots, value),
            false => buffers.placed(value, ValuePlace::Nowhere),
        };
        let reduced = |value: ValueId| buffers.reduced_view(&slots, value, forms.values[value]);
        let planned: Vec<PlannedStep> = steps
            .iter()
            .enumerate()
            .filter(|(_, fused)| !buffers.is_free(fused))
            .map(|(at, fused)| {
                let mut inputs: Vec<TensorView> = fused.inputs.iter().map(|&v| view(v)).collect();
                let output = view(fused.output);
                if let StepKernel::Channels(first) = fused.kernel {
                    inputs[0] = inputs[0].part(first, output.channels);
                }
                let operands = ReducedOperands {
                    inputs: fused.inputs.iter().map(|&v| reduced(v)).collect(),
                    residual: fused.residual.and_then(reduced),
                    output: reduced(fused.output),
                    correction: calibration
                        .zip(fused.weights)
                        .and_then(|(known, node)| known.correction(node))
                        .map(Arc::from),
                };
                let fused = &rounded_by_its_numbers(fused, output, operands.output);
                let reads = forms.reads[at];
                PlannedStep {
                    method: StepMethod::new(fused, &inputs, &operands, output, reads, target),
                    placed: PlacedStep {
                        fused: fused.clone(),
                        residual: fused.residual.map(view),
                        inputs,
                        output,
                        reduced: operands,
                    },
                }
            })
            .collect();
        ArenaPlan {
            borders: borders(&planned),
            zeros: planned.iter().map(|s| s.method.zeros()).max().unwrap_or(0),
            twins: twins(graph, &planned),
            steps: planned,
            answer: view(answer),
            slots: slots.sizes,
            early: slots.early,
            chunks: chunks.without_free_steps(|at| buffers.is_free(&steps[at])),
        }
    }

    /// Returns the scratch that suffices for every step.
    pub(super) fn scratch(&self, samples: usize, threads: usize) -> Scratch {
        let (early, late) = self.steps.split_at(self.chunks.cut);
        let of = |samples| move |step: &PlannedStep| step.scratch(samples, threads);
        let early = early.iter().map(of(self.chunks.most(samples)));
        let each = early.chain(late.iter().map(of(samples)));
        each.fold(Scratch::default(), Scratch::or)
    }

    /// Returns the layout of one allocation for up to `batch` samples run together on `threads`.
    pub(super) fn layout(&self, batch: usize, threads: usize) -> ArenaLayout {
        let scratch = self.scratch(batch, threads);
        let mut end = 0;
        let mut take = |floats: usize| {
            let start = end;
            end = (start + floats).next_multiple_of(LINE);
            start..start + floats
        };
        // Zeros for values outside of an image come first.
        take(self.zeros);
        let borders = self.borders.iter();
        let borders = borders
            .map(|(&byte, &floats)| (byte, take(floats)))
            .collect();
        let slots = (0..self.slots.len()).map(|s| take(self.slot_floats(s, batch)));
        let slots = slots.collect();
        let shared = take(scratch.shared);
        let own = (0..threads).map(|_| take(scratch.own)).collect();
        ArenaLayout {
            slots,
            borders,
            early: self.early.clone(),
            shared,
            own,
            offsets: scratch.offsets,
            floats: end,
        }
    }

    /// Returns the floats of a slot for `samples` samples.
    fn slot_floats(&self, slot: usize, samples: usize) -> usize {
        let samples = if self.early[slot] {
            self.chunks.most(samples)
        } else {
            samples
        };
        self.slots[slot] * samples
    }

    /// Returns the samples of a batch that run together if `beside` arenas run the same number
    /// concurrently.
    pub(super) fn samples_together(&self, batch: usize, beside: usize) -> usize {
        let late = (0..self.slots.len()).filter(|&s| !self.early[s]);
        samples_together(batch, beside, late.map(|s| self.slots[s]).sum())
    }

    /// Returns the floats of the weights that are multiplied with every sample, without tables, of
    /// which a sample reads only some rows.
    pub(super) fn multiplied_floats(&self) -> usize {
        self.steps.iter().map(|s| s.method.weight_floats()).sum()
    }

    /// Returns the floats of all folded weights in their layout.
    pub(super) fn weight_floats(&self) -> usize {
        self.own_steps().map(super::fold::floats).sum()
    }

    /// Returns the steps whose folded weights are not shared with an earlier step.
    pub(super) fn own_steps(&self) -> impl Iterator<Item = &PlannedStep> {
        let steps = self.steps.iter().zip(&self.twins);
        steps
            .filter(|(_, twin)| twin.is_none())
            .map(|(step, _)| step)
    }
}

/// Returns the bytes other than zero that represent 0 outside of images, and the floats of each.
fn borders(steps: &[PlannedStep]) -> BTreeMap<u8, usize> {
    let mut borders = BTreeMap::new();
    for (byte, floats) in steps.iter().filter_map(|step| step.method.border()) {
        let most: &mut usize = borders.entry(byte).or_default();
        *most = floats.max(*most);
    }
    borders
}

/// Returns the step without the function that rounds its answer, if it only writes reduced numbers
/// and these are the function's numbers.
fn rounded_by_its_numbers(
    fused: &FusedStep,
    output: TensorView,
    reduced: Option<ReducedView>,
) -> FusedStep {
    let numbers = reduced.map(|view| view.numbers);
    let own = ByteNumbers::from_activation(fused.activation).map(ReducedNumbers::Bytes);
    let rounds = output.place == ValuePlace::Nowhere && own.is_some() && own == numbers;
    FusedStep {
        activation: fused.activation.filter(|_| !rounds),
        ..fused.clone()
    }
}

/// The most channels of samples that the convolution which reads them transposes itself.
const ENTRY_CHANNELS: usize = 4;

/// Returns the floats of one sample in an arena that holds every value for a whole batch.
pub(super) fn whole_arena(graph: &Graph) -> usize {
    let mut steps = fuse(graph);
    if channels_first(graph) {
        turn(graph, &mut steps);
    }
    let buffers = ValueBuffers::new(graph, &steps);
    let slots = Slots::assign(&buffers, &steps, graph.nodes().len(), 0);
    slots.sizes.iter().sum()
}

/// Returns whether the order of a sample's values changes when channels come last.
fn channels_first(graph: &Graph) -> bool {
    matches!(graph.input(), Shape::Image { channels, height, width }
        if channels > 1 && height * width > 1)
}

/// Converts samples, which arrive channels-first, to channels-last. If one convolution is their
/// only reader, it transposes them as it reads, and its place is returned. Otherwise an additional
/// first step converts them for all readers.
fn enter(graph: &Graph, steps: &mut Vec<FusedStep>) -> Option<usize> {
    if !channels_first(graph) {
        return None;
    }
    let mut readers = (0..steps.len()).filter(|&i| steps[i].reads().any(|v| v == 0));
    if let (Some(only), None) = (readers.next(), readers.next()) {
        let step = &steps[only];
        let conv = matches!(step.kernel, StepKernel::Convolution(c) if c.groups == 1);
        let few =
            matches!(graph.input(), Shape::Image { channels, .. } if channels <= ENTRY_CHANNELS);
        if conv && step.residual != Some(0) && few {
            return Some(only);
        }
    }
    turn(graph, steps);
    None
}

/// Returns the steps with the forms of their values. The network's rounding of samples is dropped
/// if their readers also round them.
fn formed(steps: Vec<FusedStep>, facts: LoweringFacts<'_>) -> FormedSteps<'_> {
    let entered = |mut steps: Vec<FusedStep>, samples| {
        let entry = enter(facts.graph, &mut steps);
        let facts = LoweringFacts {
            samples,
            entry,
            ..facts
        };
        FormedSteps::new(steps, facts).with_rounded_sums()
    };
    let without = RoundedSamples::new(&steps, facts.graph.nodes().len())
        .map(|rounded| entered(rounded.steps, Some(rounded.numbers)));
    without
        .filter(FormedSteps::rounds_samples)
        .unwrap_or_else(|| entered(steps, None))
}

/// Adds a first step that makes the samples channels-last; all readers read its answer.
pub(super) fn turn(graph: &Graph, steps: &mut Vec<FusedStep>) {
    let entered = graph.nodes().len() + 1;
    for step in steps.iter_mut() {
        for value in step.inputs.iter_mut().chain(&mut step.residual) {
            if *value == 0 {
                *value = entered;
            }
        }
    }
    steps.insert(
        0,
        FusedStep {
            kernel: StepKernel::Enter,
            weights: None,
            norm: None,
            inputs: vec![0],
            scale: 1.0,
            rounding: None,
            residual: None,
            activation: None,
            tensors: None,
            output: entered,
        },
    );
}

/// The most floats that a step reads and writes so that they stay in a shared cache of some
/// 16 MiB.
const CACHED: usize = 2 << 20;

/// An estimate of how much weights grow when they are laid out; Winograd's grow by up to 4.
const LAID_OUT: usize = 2;

/// The expected number of samples that run together.
const USUAL: usize = 8;

/// The fewest samples that run together if there are enough: each layer's weights are read for
/// them.
const LEAST_TOGETHER: usize = 2;

/// The most floats of the arenas for samples that run together; more samples would take memory
/// and gain nothing.
const TOGETHER: usize = 16 << 20;

/// The steps before `cut` run `early` samples at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunks {
    pub cut: usize,
    pub early: usize,
}

impl Chunks {
    /// Chooses the cut that saves most. If the values of a step would not stay in cache for a usual
    /// batch, putting it before the cut keeps them there, but reads its weights again for each
    /// sample.
    fn new(graph: &Graph, buffers: &ValueBuffers, steps: &[FusedStep]) -> Self {
        let floats = |step: &FusedStep| -> usize {
            let values = step.reads().chain([step.output]);
            values.map(|v| buffers.own_floats(v)).sum()
        };
        let weights = |step: &FusedStep| step.weights.map_or(0, |node| graph.node_weights(node));
        let (mut cut, mut best, mut sum) = (0, 0, 0);
        for (at, step) in steps.iter().enumerate() {
            let values = floats(step);
            let saved = if values * USUAL > CACHED { values } else { 0 };
            sum += saved as isize - (LAID_OUT * weights(step)) as isize;
            if sum > best {
                (cut, best) = (at + 1, sum);
            }
        }
        let largest = steps[..cut].iter().map(floats).max().unwrap_or(0);
        Chunks {
            cut,
            early: (CACHED / largest.max(1)).max(1),
        }
    }

    /// Returns the same chunks without the steps that are `free`.
    fn without_free_steps(self, free: impl Fn(usize) -> bool) -> Self {
        Chunks {
            cut: (0..self.cut).filter(|&at| !free(at)).count(),
            ..self
        }
    }

    /// Returns the most samples that steps before the cut take at once for batches of up to
    /// `samples`.
    fn most(&self, samples: usize) -> usize {
        samples.min(self.early)
    }

    /// Returns the samples that steps before the cut take at once.
    pub(super) fn early(&self, samples: usize) -> usize {
        even(samples, self.early)
    }
}

/// Returns the samples of a batch that run together, for one of `beside` arenas of `floats` a sample.
fn samples_together(batch: usize, beside: usize, floats: usize) -> usize {
    let [floats, least] = [TOGETHER / floats.max(1), USUAL].map(|all| all / beside);
    even(batch, floats.max(least).max(LEAST_TOGETHER))
}

/// Returns at most `most` of `all`, such that the parts are even.
fn even(all: usize, most: usize) -> usize {
    all.div_ceil(all.div_ceil(most).max(1)).max(1)
}
