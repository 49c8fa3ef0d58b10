//! Functions of one byte: the network's computations on each value that it rounded to bytes become
//! a lookup in a table of 256 answers.
//!
//! Quantisers round after each operation: a GELU is five operations with five roundings, and
//! together they are one function of the byte at their beginning.

use std::collections::{BTreeMap, BTreeSet};

use super::fuse::{FusedStep, StepKernel, ValueId};
use super::kernels::activate_plainly;
use super::precision::CpuPrecision;
use super::reduced::{ByteNumbers, ReducedNumbers};
use super::reference;
use super::value_numbers::value_numbers;
use crate::network::{Activation, Binary, Dims, Graph, Op, Shape, TensorOp, Unary, Weights};

/// The answers of a table.
pub(super) const ANSWERS: usize = 256;

/// The most steps of one function.
const MOST_STEPS: usize = 16;

/// Returns the steps, with functions of one byte as tables.
pub(super) fn tabulated(graph: &Graph, steps: Vec<FusedStep>) -> Vec<FusedStep> {
    // The plan may add a value after those of the nodes.
    let values = graph.nodes().len() + 2;
    let numbers = value_numbers(values, &steps, CpuPrecision::F32, None);
    if numbers.iter().all(Option::is_none) {
        return steps;
    }
    let functions = StepsByValue::new(graph, &steps, &numbers);
    let mut tables: BTreeMap<usize, FusedStep> = BTreeMap::new();
    let mut removed: BTreeSet<usize> = BTreeSet::new();
    for at in (0..steps.len()).rev() {
        if removed.contains(&at) {
            continue;
        }
        if let Some(found) = functions.ending_with(at) {
            removed.extend(&found.steps);
            tables.insert(at, found.table(&steps[at]));
        }
    }
    let kept = steps.into_iter().enumerate().filter_map(|(at, step)| {
        let table = tables.remove(&at);
        table.or_else(|| (!removed.contains(&at)).then_some(step))
    });
    kept.collect()
}

/// Steps that are together a function of one value.
struct ByteFunction {
    input: ValueId,
    numbers: ByteNumbers,
    steps: BTreeSet<usize>,
}

impl ByteFunction {
    /// Returns the step that looks the function up and has the answer of `last`.
    fn table(&self, last: &FusedStep) -> FusedStep {
        FusedStep {
            kernel: StepKernel::Table(self.numbers),
            weights: None,
            norm: None,
            inputs: vec![self.input],
            scale: 1.0,
            rounding: None,
            residual: None,
            // Only names the rounding of the answers; the table has already applied it.
            activation: last.activation,
            tensors: None,
            output: last.output,
        }
    }
}

/// The steps of a network, with the data to find functions among them.
struct StepsByValue<'a> {
    graph: &'a Graph,
    steps: &'a [FusedStep],
    numbers: &'a [Option<ReducedNumbers>],
    makers: Vec<Option<usize>>,
    readers: Vec<usize>,
}

impl<'a> StepsByValue<'a> {
    fn new(
        graph: &'a Graph,
        steps: &'a [FusedStep],
        numbers: &'a [Option<ReducedNumbers>],
    ) -> Self {
        let (mut makers, mut readers) = (vec![None; numbers.len()], vec![0; numbers.len()]);
        for (at, step) in steps.iter().enumerate() {
            makers[step.output] = Some(at);
            step.reads().for_each(|value| readers[value] += 1);
        }
        // The caller reads the answer.
        readers[graph.nodes().len()] += 1;
        StepsByValue {
            graph,
            steps,
            numbers,
            makers,
            readers,
        }
    }

    /// Returns the longest function of one byte whose last step is `at`.
    fn ending_with(&self, at: usize) -> Option<ByteFunction> {
        let is_view = matches!(
            self.steps[at].kernel,
            StepKernel::Tensor(TensorOp::View { .. })
        );
        if is_view || !self.is_by_value(at) {
            return None;
        }
        let channels = |value: ValueId| self.shape(value).map(|shape| shape.channels());
        let answers = channels(self.steps[at].output);
        let mut inside = BTreeSet::from([at]);
        let mut open: BTreeSet<ValueId> = self.steps[at].reads().collect();
        let mut longest = None;
        loop {
            if let [&input] = open.iter().collect::<Vec<_>>()[..]
                && let Some(ReducedNumbers::Bytes(numbers)) = self.numbers[input]
                && channels(input) == answers
            {
                let steps = inside.clone();
                longest = Some(ByteFunction {
                    input,
                    numbers,
                    steps,
                });
            }
            let made = open.iter().filter_map(|&value| self.makers[value]);
            let Some(maker) = made.max() else { break };
            let value = self.steps[maker].output;
            let readers = inside.iter().map(|&step| self.steps[step].reads());
            let own = readers.flatten().filter(|&read| read == value).count();
            let is_full = inside.len() == MOST_STEPS;
            if is_full || own < self.readers[value] || !self.is_by_value(maker) {
                break;
            }
            open.remove(&value);
            open.extend(self.steps[maker].reads());
            inside.insert(maker);
        }
        longest
    }

    /// Returns whether each value of a step's answer depends only on the values at its position, in
    /// the same way at all positions.
    fn is_by_value(&self, at: usize) -> bool {
        let step = &self.steps[at];
        // Equal numbers of values have the same order, whatever their shape.
        let count = |value: ValueId| self.shape(value).map(|shape| shape.elements());
        let alike = |value: ValueId| count(value) == count(step.output);
        let one = |dims: Dims| dims.elements() == 1;
        let by_value = match step.kernel {
            StepKernel::Copy | StepKernel::Paired(_) => true,
            StepKernel::ScaleShift => step.norm.is_none_or(|node| {
                let op = self.graph.nodes()[node].op;
                matches!(op, Op::Tensor(TensorOp::With { dims, .. }) if one(dims))
            }),
            StepKernel::Tensor(TensorOp::Unary { kind }) => is_always_number(kind),
            StepKernel::Tensor(TensorOp::Binary { .. } | TensorOp::View { .. }) => true,
            StepKernel::Tensor(TensorOp::With { dims, .. }) => one(dims),
            _ => false,
        };
        by_value && step.reads().all(alike)
    }

    fn shape(&self, value: ValueId) -> Option<Shape> {
        let node = value
            .checked_sub(1)
            .and_then(|at| self.graph.nodes().get(at));
        node.map(|node| node.shape)
    }
}

/// Returns whether a table is worthwhile for a function: of numbers, not of indices and booleans.
fn is_always_number(kind: Unary) -> bool {
    !matches!(
        kind,
        Unary::Not | Unary::NotZero | Unary::IsNaN | Unary::NanToZero
    )
}

/// Returns the answers of a table for the bytes from 0, with NaN where the network answers NaN.
pub(super) fn answers(graph: &Graph, weights: &Weights, step: &FusedStep) -> Vec<f32> {
    let StepKernel::Table(numbers) = step.kernel else {
        return Vec::new();
    };
    let bytes = (0..ANSWERS).map(|byte| (byte as f32 - numbers.zero_point) * numbers.scale);
    let mut table = Evaluation {
        graph,
        weights,
        known: BTreeMap::from([(step.inputs[0], bytes.collect())]),
    };
    let answers = table.answers_of(step.output);
    answers.unwrap_or_else(|| vec![f32::NAN; ANSWERS])
}

/// The known answers of nodes for all bytes.
struct Evaluation<'a> {
    graph: &'a Graph,
    weights: &'a Weights,
    known: BTreeMap<ValueId, Vec<f32>>,
}

impl Evaluation<'_> {
    fn answers_of(&mut self, value: ValueId) -> Option<Vec<f32>> {
        if let Some(known) = self.known.get(&value) {
            return Some(known.clone());
        }
        let index = value.checked_sub(1)?;
        let node = self.graph.nodes().get(index)?;
        let inputs = node
            .inputs
            .iter()
            .map(|input| self.answers_of(input.index()));
        let inputs: Vec<Vec<f32>> = inputs.collect::<Option<_>>()?;
        let answers = self.apply(index, &inputs)?;
        self.known.insert(value, answers.clone());
        Some(answers)
    }

    fn apply(&self, index: usize, inputs: &[Vec<f32>]) -> Option<Vec<f32>> {
        let op = self.graph.nodes()[index].op;
        let first = inputs.first()?;
        match (op, inputs) {
            (Op::Relu, _) => Some(activated(Activation::Relu, first)),
            (Op::Relu6, _) => Some(activated(Activation::Relu6, first)),
            (Op::Activation(function), _) => Some(activated(function, first)),
            (Op::Scale { by }, _) => Some(first.iter().map(|x| x * by).collect()),
            (Op::Add, [a, b]) => reference::of_two(Binary::Add, a, b),
            (Op::Mul, [a, b]) => reference::of_two(Binary::Mul, a, b),
            (Op::Tensor(TensorOp::View { .. }), _) => Some(first.clone()),
            (Op::Tensor(TensorOp::Unary { kind }), _) => reference::of_one(kind, first),
            (Op::Tensor(TensorOp::Binary { kind }), [a, b]) => reference::of_two(kind, a, b),
            (
                Op::Tensor(TensorOp::With {
                    kind,
                    first: is_first,
                    ..
                }),
                [x],
            ) => {
                let constant = self.graph.values_of(index, "value", self.weights);
                let constant = vec![*constant.first()?; x.len()];
                match is_first {
                    true => reference::of_two(kind, &constant, x),
                    false => reference::of_two(kind, x, &constant),
                }
            }
            _ => None,
        }
    }
}

fn activated(function: Activation, values: &[f32]) -> Vec<f32> {
    let mut values = values.to_vec();
    activate_plainly(function, &mut values);
    values
}
