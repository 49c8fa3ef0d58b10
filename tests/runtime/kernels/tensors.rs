//! Operations on tensors of any rank, whatever their dimensions, batch and threads.

use std::collections::BTreeMap;

use divisi_runtime::compute::Family;
use divisi_runtime::compute::gpu::{self, Precision};
use divisi_runtime::network::{
    Binary, Border, Dims, Graph, GraphBuilder, NodeId, Op, Reduction, Shape, TensorOp, Unary,
    Weights,
};
use proptest::prelude::*;

use super::{TOLERANCE, answer, cases, difference, input, lowered, plain, values};
use crate::compute::weights;
use crate::emulated::Emulated;

pub(super) fn dims(sizes: &[usize]) -> Dims {
    Dims::new(sizes).expect("few")
}

/// A graph whose input row holds tensors of these dimensions one after another.
pub(super) fn parts(inputs: &[Vec<usize>]) -> (GraphBuilder, Vec<NodeId>) {
    let shapes: Vec<Shape> = inputs.iter().map(|d| Shape::tensor(dims(d))).collect();
    let all = shapes.iter().map(|s| s.elements()).sum();
    let mut b = GraphBuilder::new(Shape::vector(all));
    let mut first = 0;
    let mut parts = Vec::new();
    for (at, &shape) in shapes.iter().enumerate() {
        let part = Op::Tensor(TensorOp::Part { first, shape });
        parts.push(
            b.add(format!("part{at}"), part, &[NodeId::INPUT])
                .expect("part"),
        );
        first += shape.elements();
    }
    (b, parts)
}

/// Weights whose constants are neither 0 nor all alike.
pub(super) fn with_constants(graph: &Graph, constant: impl Fn(usize) -> f32) -> Weights {
    let all = weights(graph);
    let values = all.iter().map(|(name, values)| {
        let is_constant = name.ends_with(".value") || name.ends_with(".indices");
        let values = match is_constant {
            true => (0..values.len()).map(&constant).collect(),
            false => values.to_vec(),
        };
        (name.to_owned(), values)
    });
    Weights::from_values(values.collect::<BTreeMap<_, _>>(), graph).expect("same shapes")
}

/// The most work for a sample that is emulated as a GPU does it, value by value.
const EMULATED: u64 = 1_000_000;

/// Every family answers as plain Candle does, and so does the plan for GPUs as emulated.
pub(super) fn check_with(
    graph: &Graph,
    weights: &Weights,
    batch: usize,
    threads: usize,
) -> Result<(), TestCaseError> {
    let x = input(graph, batch);
    let plain = plain(graph, weights, &x);
    for family in Family::available() {
        let found = answer(&lowered(graph, weights, family), &x, threads);
        let off = difference(&plain, &found);
        prop_assert!(off < TOLERANCE, "{family}: off by {off}");
    }
    if graph.flops() < EMULATED && gpu::check(graph, Precision::F32).is_ok() {
        let emulated = Emulated::new(graph, weights, Precision::F32);
        let off = difference(&plain, &emulated.answer(&values(&x)));
        prop_assert!(off < TOLERANCE, "for GPUs: off by {off}");
    }
    Ok(())
}

fn check_op(
    op: TensorOp,
    inputs: &[Vec<usize>],
    batch: usize,
    threads: usize,
) -> Result<(), TestCaseError> {
    let (mut b, parts) = parts(inputs);
    if b.add("op", Op::Tensor(op), &parts).is_err() {
        return Ok(());
    }
    let graph = b.build().expect("graph");
    let weights = with_constants(&graph, |i| (i % 7) as f32 / 2.0 + 0.5);
    check_with(&graph, &weights, batch, threads)
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    let size = prop_oneof![4 => 1usize..9, 1 => 9usize..70];
    prop::collection::vec(size, 1..4)
}

/// The same dimensions with some of size 1, or missing before the others.
fn repeated(sizes: &[usize], ones: u8, missing: usize) -> Vec<usize> {
    let each = sizes.iter().enumerate();
    let each = each.map(|(at, &size)| if ones >> at & 1 == 1 { 1 } else { size });
    let all: Vec<usize> = each.collect();
    all[missing.min(all.len() - 1)..].to_vec()
}

/// The axes in the order of random keys.
pub(super) fn order(keys: &[u8], rank: usize) -> Dims {
    let mut axes: Vec<usize> = (0..rank).collect();
    axes.sort_by_key(|&axis| keys[axis]);
    dims(&axes)
}

// Pow, Sqrt and Log have NaN below 0, and IntegerDiv and Mod jump where rounding differs.
const PAIRS: [Binary; 17] = [
    Binary::Add,
    Binary::Sub,
    Binary::Mul,
    Binary::Div,
    Binary::Min,
    Binary::Max,
    Binary::Equal,
    Binary::Less,
    Binary::LessOrEqual,
    Binary::Greater,
    Binary::GreaterOrEqual,
    Binary::And,
    Binary::Xor,
    Binary::BitAnd,
    Binary::BitOr,
    Binary::BitXor,
    Binary::Remainder,
];

const ONES: [Unary; 15] = [
    Unary::Abs,
    Unary::Neg,
    Unary::Sign,
    Unary::Exp,
    Unary::Erf,
    Unary::Sin,
    Unary::Cos,
    Unary::Atan,
    Unary::Floor,
    Unary::Ceil,
    Unary::Round,
    Unary::Not,
    Unary::NotZero,
    Unary::ToF16,
    Unary::ToBf16,
];

const REDUCTIONS: [Reduction; 10] = [
    Reduction::Sum,
    Reduction::Mean,
    Reduction::Max,
    Reduction::Min,
    Reduction::Product,
    Reduction::L1,
    Reduction::L2,
    Reduction::SumOfSquares,
    Reduction::ArgMax,
    Reduction::ArgMin,
];

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn functions_of_two_values(
        sizes in sizes(), kind in 0..PAIRS.len(), ones: [u8; 2], missing in 0usize..3,
        constant: bool, first: bool, batch in 1usize..5, threads in 0usize..4,
    ) {
        let kind = PAIRS[kind];
        let (a, b) = (repeated(&sizes, ones[0], 0), repeated(&sizes, ones[1], missing));
        if constant {
            check_op(TensorOp::With { kind, dims: dims(&b), first }, &[a], batch, threads)?;
        } else {
            check_op(TensorOp::Binary { kind }, &[a, b], batch, threads)?;
        }
    }

    #[test]
    fn functions_of_one_and_three_values(
        sizes in sizes(), kind in 0..ONES.len(), ones: [u8; 3], missing in 0usize..3,
        batch in 1usize..5, threads in 0usize..4,
    ) {
        let three = [0, missing, 1].into_iter().zip(ones);
        let three: Vec<_> = three.map(|(missing, ones)| repeated(&sizes, ones, missing)).collect();
        check_op(TensorOp::Where, &three, batch, threads)?;
        check_op(TensorOp::Unary { kind: ONES[kind] }, &[sizes], batch, threads)?;
    }

    #[test]
    fn moves(
        sizes in sizes(), keys: [u8; 4], axis in 0usize..3, start in 0usize..5, count in 1usize..7,
        step in prop::sample::select(vec![1isize, 2, 3, -1, -2]), kind in 0usize..6,
        ones: u8, batch in 1usize..5, threads in 0usize..4,
    ) {
        let rank = sizes.len();
        let axis = axis % rank;
        let of = |at: usize| usize::from(keys[at % 4] % 3);
        let border = [Border::Constant(2.5), Border::Edge][usize::from(ones % 2)];
        let (op, inputs) = match kind {
            0 => (TensorOp::Transpose { order: order(&keys, rank) }, vec![sizes]),
            1 => (TensorOp::Slice { axis, start, count, step }, vec![sizes]),
            2 => {
                let mut other = sizes.clone();
                other[axis] = count;
                (TensorOp::Join { axis }, vec![sizes.clone(), other, sizes])
            }
            3 => {
                let [before, after] = [0, 2].map(|first| {
                    dims(&(0..rank).map(|axis| of(first + axis)).collect::<Vec<_>>())
                });
                (TensorOp::Pad { before, after, border }, vec![sizes])
            }
            4 => (TensorOp::Expand { dims: dims(&sizes) }, vec![repeated(&sizes, ones, start)]),
            _ => (TensorOp::Row, vec![sizes.clone(), vec![3], sizes]),
        };
        check_op(op, &inputs, batch, threads)?;
    }

    #[test]
    fn reductions(
        sizes in sizes(), kind in 0..REDUCTIONS.len(), axes in 1u8..8, keep: bool,
        batch in 1usize..5, threads in 0usize..4,
    ) {
        let axes: Vec<usize> = (0..sizes.len()).filter(|axis| axes >> axis & 1 == 1).collect();
        let op = TensorOp::Reduce { kind: REDUCTIONS[kind], axes: dims(&axes), keep };
        check_op(op, &[sizes], batch, threads)?;
    }

    #[test]
    fn running_sums_and_products(
        sizes in sizes(), axis in 0usize..3, product: bool, exclusive: bool, reverse: bool,
        batch in 1usize..5, threads in 0usize..4,
    ) {
        let axis = axis % sizes.len();
        let op = match product {
            true => TensorOp::CumProd { axis, exclusive, reverse },
            false => TensorOp::CumSum { axis, exclusive, reverse },
        };
        check_op(op, &[sizes], batch, threads)?;
    }

    /// Indices are from -1 to 1, so the last row, the first and the second are taken.
    #[test]
    fn lookups(
        sizes in sizes(), listed in prop::collection::vec(1usize..6, 0..3), axis in 0usize..3,
        kind in 0usize..3, batch in 1usize..5, threads in 0usize..4,
    ) {
        let axis = axis % sizes.len();
        let mut table = sizes;
        table[axis] += 4;
        let (op, inputs) = match kind {
            0 => (TensorOp::Take { axis, indices: dims(&listed) }, vec![table]),
            1 => (TensorOp::Gather { axis }, vec![table, [&listed[..], &[2]].concat()]),
            _ => (TensorOp::Embedding { rows: 5, features: table[0] }, vec![table]),
        };
        check_op(op, &inputs, batch, threads)?;
    }
}

/// An index that is no number or lies outside makes its own sample NaN, and no other.
#[test]
fn an_index_outside_of_its_table_makes_its_sample_nan() {
    let graph = {
        let mut b = GraphBuilder::new(Shape::vector(2));
        let op = Op::Tensor(TensorOp::Embedding {
            rows: 3,
            features: 2,
        });
        b.add("rows", op, &[NodeId::INPUT]).expect("embedding");
        b.build().expect("graph")
    };
    let weights = weights(&graph);
    let x = [0.0, 3.0, f32::NAN, -3.0, -1.0, 2.0, -4.0, 2.0, 1.0, 1e9];
    let x = super::rows(x.to_vec(), 5);
    for family in Family::available() {
        let found = answer(&lowered(&graph, &weights, family), &x, 0);
        let rows = found.chunks(4).map(|row| row.iter().all(|v| v.is_nan()));
        let expected = [true, true, false, true, true];
        assert_eq!(rows.collect::<Vec<_>>(), expected, "{family}");
    }
}
