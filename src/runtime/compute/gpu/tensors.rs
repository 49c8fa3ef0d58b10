//! Steps on tensors of any rank on GPUs: the place of each operand, and the kernel that reads them.
//! Operations that move values become one copy for each part.

use crate::compute::buffers::{TensorView, ValuePlace};
use crate::compute::tensors::{AttentionForm, MaskSource, ShareGuard, Strided, TensorForm};
use crate::network::{Dims, Reduction, TensorOp};

use super::functions::MapFunction;
use super::moves::{copy, plain};

/// A value, and whether it is held in float32 whatever the plan's precision.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlacedValue {
    pub view: TensorView,
    pub wide: bool,
}

/// The place of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandSource {
    /// A value in the arena.
    Value(ValuePlace),
    /// The parameters of the step, which are float32.
    Parameters,
}

/// An operand of a step on tensors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TensorOperand {
    /// The memory that holds it.
    pub source: OperandSource,
    /// The places of the values, relative to the source's first value in a row.
    pub at: Strided,
    /// Values from one row to the next.
    pub row: usize,
    /// Whether they are float32 in every precision.
    pub wide: bool,
}

impl TensorOperand {
    /// Returns only some positions along an axis.
    pub(super) fn sliced(self, axis: usize, start: usize, count: usize) -> Option<Self> {
        let at = self.at.sliced(axis, start, count, 1)?;
        Some(TensorOperand { at, ..self })
    }

    /// Returns the step's parameters that lie at `at`.
    pub(super) fn parameters(at: Strided) -> Self {
        TensorOperand {
            source: OperandSource::Parameters,
            at,
            row: 0,
            wide: true,
        }
    }
}

impl PlacedValue {
    /// Returns the operand at `of` in the value, or `None` if its distances are not even.
    fn operand(&self, of: Strided) -> Option<TensorOperand> {
        let view = self.view;
        let at = of.pitched(view.channels.max(1), view.pitch)?;
        Some(TensorOperand {
            source: OperandSource::Value(view.place),
            at: at.moved(view.first),
            row: view.sample_stride(),
            wide: self.wide,
        })
    }

    /// Returns the operand as rows of channels.
    fn rows(&self) -> Option<TensorOperand> {
        let dims = Dims::new(&[self.view.pixels(), self.view.channels]).ok()?;
        self.operand(Strided::whole(dims))
    }
}

/// The work of one launch.
#[derive(Clone, Debug, PartialEq)]
pub enum TensorWork {
    /// A function of its operands, all of the answer's dimensions.
    Map {
        /// The function.
        function: MapFunction,
        /// Its operands.
        from: Vec<TensorOperand>,
        /// The answer.
        to: TensorOperand,
    },
    /// Reduces the values at `along`, relative to each position of `from`, to one value.
    Reduce {
        /// The reduction.
        kind: Reduction,
        /// The first value of each answer.
        from: TensorOperand,
        /// The places of the values that become one.
        along: Strided,
        /// The answer.
        to: TensorOperand,
    },
    /// Sums or products of all values up to each.
    Scan(ScanWork),
    /// Positions of a table.
    Lookup(LookupWork),
    /// Matrices on the last two axes.
    Product {
        /// `[lines, depth]`.
        left: TensorOperand,
        /// `[depth, columns]`.
        right: TensorOperand,
        /// `[lines, columns]`.
        to: TensorOperand,
    },
    /// Queries, keys and values.
    Attention(AttentionWork),
}

/// Sums or products of all values up to each of `count` along an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanWork {
    /// The first value of each line.
    pub from: TensorOperand,
    /// The first answer of each line.
    pub to: TensorOperand,
    /// The values of a line.
    pub count: usize,
    /// Values from one of a line to the next, of the input and the answer.
    pub steps: [usize; 2],
    /// Whether an answer leaves out the value at its own place.
    pub exclusive: bool,
    /// Whether the last value of a line comes first.
    pub reverse: bool,
    /// Whether values are multiplied instead of added.
    pub product: bool,
}

/// A table `[before, count, after]` and the positions that are taken of its middle axis.
#[derive(Clone, Debug, PartialEq)]
pub struct LookupWork {
    /// The table, or `None` if it is the step's filters.
    pub table: Option<TensorOperand>,
    /// The positions, of which negative ones count from the end.
    pub indices: TensorOperand,
    /// `[before, indices, after]`.
    pub to: TensorOperand,
    /// The size of the axes before the middle one.
    pub before: usize,
    /// The size of the middle axis.
    pub count: usize,
    /// The size of the axes after the middle one.
    pub after: usize,
}

/// Attention of matrices on the last two axes; the scale is the step's.
#[derive(Clone, Debug, PartialEq)]
pub struct AttentionWork {
    /// `[queries, depth]`.
    pub query: TensorOperand,
    /// `[depth, keys]`.
    pub key: TensorOperand,
    /// `[keys, features]`.
    pub value: TensorOperand,
    /// `[queries, features]`.
    pub to: TensorOperand,
    /// Each `[queries, keys]`.
    pub masks: Vec<TensorOperand>,
    /// The shares of queries that see no key.
    pub guard: ShareGuard,
}

/// The most masks that are added to scores.
pub(in crate::compute) const MOST_MASKS: usize = 3;

impl TensorWork {
    /// Returns the operand that is written.
    pub fn output(&self) -> &TensorOperand {
        match self {
            TensorWork::Map { to, .. }
            | TensorWork::Reduce { to, .. }
            | TensorWork::Product { to, .. } => to,
            TensorWork::Scan(scan) => &scan.to,
            TensorWork::Lookup(lookup) => &lookup.to,
            TensorWork::Attention(attention) => &attention.to,
        }
    }
}

/// Returns the work of a step, one launch after the other, or `None` if no kernel does it.
pub(super) fn lower(
    op: TensorOp,
    form: &TensorForm,
    inputs: &[PlacedValue],
    output: PlacedValue,
) -> Option<Vec<TensorWork>> {
    match form {
        TensorForm::Product {
            left,
            right,
            output: to,
        } => Some(vec![TensorWork::Product {
            left: inputs.first()?.operand(*left)?,
            right: inputs.get(1)?.operand(*right)?,
            to: output.operand(*to)?,
        }]),
        TensorForm::Attention(form) => attention(form, inputs, output).map(|work| vec![work]),
        TensorForm::Plain {
            inputs: places,
            output: dims,
        } => {
            let to = output.operand(Strided::whole(*dims))?;
            let from = inputs.iter().zip(places).map(|(v, at)| v.operand(*at));
            plain(op, from.collect::<Option<Vec<_>>>()?, to)
        }
    }
}

/// Returns a copy of a value into part of another, rows of channels both.
pub(super) fn copied(from: PlacedValue, to: PlacedValue) -> Option<TensorWork> {
    Some(copy(from.rows()?, to.rows()?))
}

fn attention(
    form: &AttentionForm,
    inputs: &[PlacedValue],
    output: PlacedValue,
) -> Option<TensorWork> {
    let input = |at: usize, of: Strided| inputs.get(at)?.operand(of);
    let mut constants = 0;
    let masks = form.masks.iter().map(|mask| match mask.source {
        MaskSource::Input(at) => input(at, mask.at),
        MaskSource::Parameter { values, .. } => {
            let at = mask.at.moved(constants);
            constants += values;
            Some(TensorOperand::parameters(at))
        }
    });
    let masks: Vec<TensorOperand> = masks.collect::<Option<_>>()?;
    (masks.len() <= MOST_MASKS).then_some(())?;
    Some(TensorWork::Attention(AttentionWork {
        query: input(0, form.query)?,
        key: input(1, form.key)?,
        value: input(2, form.value)?,
        to: output.operand(form.output)?,
        masks,
        guard: form.guard,
    }))
}
