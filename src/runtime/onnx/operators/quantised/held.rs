//! Quantised values, computed as the numbers that they represent.
//!
//! If all readers of a quantised value convert it back to numbers by its own scale and zero point,
//! the integers are never computed. The value is held as the numbers that they represent.

use std::ops::RangeInclusive;

use crate::network::{Activation as Function, NodeId, Op, TensorOp};
use crate::onnx::activation::{Activation, Value};
use crate::onnx::node::Node;
use crate::onnx::operators::inputs::Added;
use crate::onnx::partial::PartialNetwork;

/// A scale and a zero point: an integer represents `(integer − zero) · scale`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Quantisation {
    scale: f32,
    zero: f32,
}

/// The most values to examine in the search for a value's readers.
const MOST_FOLLOWED: usize = 64;

/// Returns the first input of a node that holds integers, and the distance to the next one. The
/// scale and the zero point are the two inputs after it.
fn reads_integers(node: Node<'_>) -> Option<(usize, usize)> {
    Some(match node.operator().or(node.contrib())? {
        "DequantizeLinear" => (0, usize::MAX),
        "QLinearConcat" => (2, 3),
        "QLinearWhere" => (1, 3),
        "QGemm" => (0, usize::MAX),
        "QLinearConv" | "QLinearMatMul" | "QLinearAdd" | "QLinearMul" => (0, 3),
        "QLinearGlobalAveragePool"
        | "QLinearAveragePool"
        | "QLinearSigmoid"
        | "QLinearLeakyRelu"
        | "QLinearSoftmax" => (0, usize::MAX),
        _ => return None,
    })
}

/// The most operations to examine between a value and its rounding.
const MOST_MOVES: usize = 16;

/// Returns whether an operation answers only values of its inputs.
fn answers_values_of_its_inputs(op: Op) -> bool {
    match op {
        Op::MaxPool(_) | Op::Concat | Op::Flatten | Op::ChannelShuffle { .. } => true,
        Op::Channels { .. } => true,
        Op::Tensor(op) => op.moves_values() || matches!(op, TensorOp::Join { .. }),
        _ => false,
    }
}

/// Returns whether a node answers some of the values of its first input, in any order.
fn passes_on(node: Node<'_>) -> bool {
    matches!(
        node.operator(),
        Some(
            "MaxPool"
                | "Identity"
                | "Flatten"
                | "Reshape"
                | "Squeeze"
                | "Unsqueeze"
                | "Transpose"
                | "Slice"
                | "Split"
                | "DepthToSpace"
                | "SpaceToDepth"
        )
    )
}

impl<'a> PartialNetwork<'a> {
    /// Returns the scale in input `at` of a node and the zero point after it, or `None` unless each
    /// is a single constant.
    fn quantisation(&self, node: Node<'a>, at: usize) -> Option<Quantisation> {
        let number = |n: usize| match self.value(node.inputs().get(n)?) {
            Ok(Value::Constant(constant)) => constant.as_scalar(),
            _ => None,
        };
        let is_left_out = node.inputs().get(at + 1).is_none_or(String::is_empty);
        Some(Quantisation {
            scale: number(at)?,
            zero: if is_left_out { 0.0 } else { number(at + 1)? },
        })
    }

    /// Returns the values with the same content as the value `name`, or `None` if a node reads one
    /// of them in another way than by `by`.
    fn held_by(&self, name: &'a str, by: Quantisation) -> Option<Vec<&'a str>> {
        let mut held = vec![name];
        let mut next = 0;
        while let Some(&name) = held.get(next) {
            next += 1;
            if self.outputs.contains(&name) || next > MOST_FOLLOWED {
                return None;
            }
            for reader in self.readers_of(name) {
                match passes_on(reader) {
                    true => held.extend(self.passed_on(reader, name)?),
                    false => self.reads_by(reader, name, by).then_some(())?,
                }
            }
        }
        Some(held)
    }

    /// Returns the answers of a node that passes on the value `name`, or `None` if it also reads
    /// the value in another way.
    fn passed_on(&self, reader: Node<'a>, name: &str) -> Option<impl Iterator<Item = &'a str>> {
        let (first, others) = reader.inputs().split_first()?;
        let is_only = first == name && !others.iter().any(|other| other == name);
        let answers = reader.outputs().iter().map(String::as_str);
        is_only.then(|| answers.filter(|answer| !answer.is_empty()))
    }

    /// Returns whether a node converts the value `name` back to numbers by `by` at all inputs that
    /// read it.
    fn reads_by(&self, reader: Node<'a>, name: &str, by: Quantisation) -> bool {
        let Some((first, step)) = reads_integers(reader) else {
            return false;
        };
        let inputs = reader.inputs().iter().enumerate();
        let mut places = inputs.filter(|(_, input)| *input == name);
        places.all(|(at, _)| {
            let is_place = at >= first && (at - first).is_multiple_of(step);
            is_place && self.quantisation(reader, at + 1) == Some(by)
        })
    }

    /// Returns whether a rounding function leaves a value unchanged, because the value was already
    /// rounded by it and at most moved since.
    fn is_rounded_by(&self, value: NodeId, function: Op, moves: &mut usize) -> bool {
        let Some((maker, left)) = self.maker(value).zip(moves.checked_sub(1)) else {
            return false;
        };
        *moves = left;
        let mut inputs = maker.inputs.iter();
        maker.op == function
            || answers_values_of_its_inputs(maker.op)
                && inputs.all(|&input| self.is_rounded_by(input, function, moves))
    }

    /// Returns whether input `at` of a node is held as the numbers that its integers represent.
    pub(super) fn is_held_as_numbers(&self, node: Node<'a>, at: usize) -> bool {
        let name = node.inputs().get(at);
        name.is_some_and(|name| self.numbers_held.contains(name.as_str()))
    }

    /// Adds the answer of a node that quantises `x` by the scale in input `at` and the zero point
    /// after it, as numbers. Returns `None` if a node reads its integers.
    pub(super) fn held_as_numbers(
        &mut self,
        node: Node<'a>,
        x: &Activation,
        at: usize,
        bounds: &RangeInclusive<f32>,
    ) -> Option<Added> {
        let by = self.quantisation(node, at)?;
        let is_usual = by.scale.is_normal() && by.scale > 0.0 && by.scale.recip().is_normal();
        if !is_usual || !bounds.contains(&by.zero) {
            return None;
        }
        let held = self.held_by(node.outputs().first()?, by)?;
        self.numbers_held.extend(held);
        let function = Op::from(Function::FakeQuantise {
            scale: by.scale,
            least: bounds.start() - by.zero,
            most: bounds.end() - by.zero,
        });
        let mut moves = MOST_MOVES;
        Some(match self.is_rounded_by(x.id, function, &mut moves) {
            true => Ok(x.clone()),
            false => self.each(node, function, x),
        })
    }
}
