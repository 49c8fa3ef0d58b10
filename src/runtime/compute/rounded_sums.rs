//! Sums of values that the network rounds before it adds them, computed at the end of the product
//! that makes the later operand.
//!
//! A quantised network rounds the answers of each product, adds, and rounds again. The product of
//! bytes does all three while its sums are in registers.

use super::forms::ValueForms;
use super::fuse::{FusedStep, Rounding, StepKernel, ValueId};
use super::kernels::StepReads;
use super::reduced::{ByteNumbers, ReducedNumbers};
use super::tensors::is_affine;
use crate::network::{Activation, Binary, Graph, Op, TensorOp};

/// Steps with such sums, and how many of the steps before are left out.
pub(super) struct RoundedSums {
    pub steps: Vec<FusedStep>,
    removed: Vec<usize>,
}

impl RoundedSums {
    /// Returns the steps with their rounded sums fused, or `None` if there are none.
    pub(super) fn new(graph: &Graph, steps: &[FusedStep], forms: &ValueForms) -> Option<Self> {
        let mut ends = ProductEnds::new(graph, steps, forms);
        let removed: Vec<usize> = (0..steps.len()).filter(|&at| ends.absorb(at)).collect();
        let left = |(at, step): (usize, FusedStep)| (!removed.contains(&at)).then_some(step);
        let steps = ends.steps.into_iter().enumerate().filter_map(left);
        let steps = steps.collect();
        (!removed.is_empty()).then_some(RoundedSums { steps, removed })
    }

    /// Returns the position of former step `at` among these steps.
    pub(super) fn place(&self, at: usize) -> usize {
        at - self.removed.iter().filter(|&&removed| removed < at).count()
    }
}

/// Steps with the makers of their values.
struct ProductEnds<'a> {
    graph: &'a Graph,
    steps: Vec<FusedStep>,
    forms: &'a ValueForms,
    /// The step that makes each value, and how many read it.
    makers: Vec<Option<usize>>,
    readers: Vec<usize>,
}

impl<'a> ProductEnds<'a> {
    fn new(graph: &'a Graph, steps: &[FusedStep], forms: &'a ValueForms) -> Self {
        let values = forms.values.len();
        let (mut makers, mut readers) = (vec![None; values], vec![0; values]);
        for (at, step) in steps.iter().enumerate() {
            makers[step.output] = Some(at);
            step.reads().for_each(|value| readers[value] += 1);
        }
        // The caller reads the answer.
        readers[graph.nodes().len()] += 1;
        ProductEnds {
            graph,
            steps: steps.to_vec(),
            forms,
            makers,
            readers,
        }
    }

    /// Makes a step part of the product before it, if it can be.
    fn absorb(&mut self, at: usize) -> bool {
        self.absorb_sum(at) || self.absorb_constants(at) || self.absorb_activation(at)
    }

    /// Absorbs a sum of two values into the product that makes the later one.
    fn absorb_sum(&mut self, at: usize) -> bool {
        let step = &self.steps[at];
        let (one, Some(other)) = (step.inputs[0], step.residual) else {
            return false;
        };
        // The later of the two: the other has been made when it comes.
        let (later, earlier) = match self.makers[one] > self.makers[other] {
            true => (one, other),
            false => (other, one),
        };
        if step.kernel != StepKernel::Copy || one == other {
            return false;
        }
        let activation = step.activation;
        self.end(at, later, |product, function| {
            product.rounding = Some(Rounding {
                function,
                shift: None,
            });
            product.activation = activation;
            product.residual = Some(earlier);
        })
    }

    /// Absorbs a sum with a constant for each channel.
    fn absorb_constants(&mut self, at: usize) -> bool {
        let step = &self.steps[at];
        let node = match step.kernel {
            StepKernel::ScaleShift if step.scale == 1.0 => step.norm,
            StepKernel::Tensor(_) => step.weights,
            _ => None,
        };
        let Some(node) = node.filter(|&node| self.adds_to_channels(node)) else {
            return false;
        };
        if step.residual.is_some() {
            return false;
        }
        let (input, activation) = (step.inputs[0], step.activation);
        self.end(at, input, |product, function| {
            product.rounding = Some(Rounding {
                function,
                shift: Some(node),
            });
            product.activation = activation;
        })
    }

    /// Absorbs the activation of such a sum.
    fn absorb_activation(&mut self, at: usize) -> bool {
        let step = &self.steps[at];
        let (input, activation, output) = (step.inputs[0], step.activation, step.output);
        let is_plain = step.kernel == StepKernel::Copy && step.residual.is_none();
        let Some(maker) = self.makers[input].filter(|_| is_plain && self.readers[input] == 1)
        else {
            return false;
        };
        let product = &mut self.steps[maker];
        let shifts = product
            .rounding
            .is_some_and(|rounding| rounding.shift.is_some());
        if !shifts || product.activation.is_some() {
            return false;
        }
        product.activation = activation;
        product.output = output;
        self.makers[output] = Some(maker);
        true
    }

    /// Makes the product of `value` end with step `at`, the only reader of `value`. `change`
    /// receives the function that rounds the product's answer.
    fn end(
        &mut self,
        at: usize,
        value: ValueId,
        change: impl FnOnce(&mut FusedStep, Activation),
    ) -> bool {
        let output = self.steps[at].output;
        let maker = self.makers[value].filter(|_| self.readers[value] == 1);
        let Some(maker) = maker.filter(|&maker| self.is_rounded_product(maker)) else {
            return false;
        };
        let product = &mut self.steps[maker];
        let Some(function) = product.activation else {
            return false;
        };
        change(product, function);
        product.output = output;
        self.makers[output] = Some(maker);
        true
    }

    /// Returns whether a node adds a constant to each channel.
    fn adds_to_channels(&self, node: usize) -> bool {
        let node = &self.graph.nodes()[node];
        let Op::Tensor(TensorOp::With { kind, .. }) = node.op else {
            return false;
        };
        let alike = self.graph.shape(node.inputs[0]).elements() == node.shape.elements();
        kind == Binary::Add && alike && is_affine(node.op, node.shape.channels())
    }

    /// Returns whether a step is a product of bytes whose answer is rounded to bytes.
    fn is_rounded_product(&self, at: usize) -> bool {
        let step = &self.steps[at];
        let is_grouped = matches!(step.kernel, StepKernel::Convolution(conv) if conv.groups > 1);
        let reads = self.forms.values[step.inputs[0]].reduced;
        let is_of_bytes = matches!(reads, Some(ReducedNumbers::Bytes(_)));
        let rounds = ByteNumbers::from_activation(step.activation).is_some();
        let is_product = self.forms.reads[at] == StepReads::Reduced && !is_grouped;
        let is_open = step.residual.is_none() && step.rounding.is_none();
        is_product && is_of_bytes && rounds && is_open
    }
}
