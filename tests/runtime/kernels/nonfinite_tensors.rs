//! NaN and infinities in tensors reach the answers that they reach in plain Candle.
//!
//! Plain Candle loses a NaN in maxima and minima, where the kernels keep it.

use divisi_runtime::network::{Binary, Dims, Graph, Op, Reduction, Shape, TensorOp, Unary};
use proptest::prelude::*;

use super::attention::attentions;
use super::nonfinite::{check_as_plain, specials};
use super::tensors::dims;
use super::{Net, cases};

fn tokens(sizes: &[usize]) -> Net {
    Net::new(Shape::tensor(dims(sizes)))
}

/// A network of a tensor of 20×20 and its transpose.
fn with_transpose(op: TensorOp) -> Graph {
    let order = Op::Tensor(TensorOp::Transpose {
        order: dims(&[1, 0]),
    });
    let mut net = tokens(&[20, 20]);
    let x = net.0.last();
    let turned = net.add(order, &[x]);
    net.add(Op::Tensor(op), &[x, turned]);
    net.build()
}

fn linear(features: usize) -> Op {
    Op::Linear {
        features,
        bias: true,
    }
}

fn reduced(kind: Reduction, axes: Dims) -> Graph {
    let keep = false;
    let op = TensorOp::Reduce { kind, axes, keep };
    tokens(&[20, 35]).then(Op::Tensor(op)).build()
}

fn layers() -> Vec<(&'static str, Graph)> {
    let added = TensorOp::With {
        kind: Binary::Add,
        dims: dims(&[30]),
        first: false,
    };
    let mut all = vec![
        ("linear", tokens(&[20, 35]).then(linear(30)).build()),
        ("deep", tokens(&[7, 1500]).then(linear(30)).build()),
        (
            "linear with a sum",
            tokens(&[20, 35])
                .then(linear(30))
                .then(Op::Tensor(added))
                .build(),
        ),
        (
            "norm",
            tokens(&[20, 35]).then(Op::LayerNorm { eps: 1e-5 }).build(),
        ),
        ("softmax", tokens(&[20, 35]).then(Op::Softmax).build()),
        ("product", with_transpose(TensorOp::MatMul)),
        (
            "masked softmax",
            tokens(&[20, 35]).then(Op::MaskedSoftmax).build(),
        ),
    ];
    for kind in [
        Binary::Sub,
        Binary::Mul,
        Binary::Div,
        Binary::Less,
        Binary::Or,
    ] {
        all.push(("pairs", with_transpose(TensorOp::Binary { kind })));
    }
    for (axis, reverse) in [(0, false), (1, true)] {
        let exclusive = reverse;
        let [sum, product] = [
            TensorOp::CumSum {
                axis,
                exclusive,
                reverse,
            },
            TensorOp::CumProd {
                axis,
                exclusive,
                reverse,
            },
        ];
        for op in [sum, product] {
            let op = Op::Tensor(op);
            all.push(("running", tokens(&[20, 35]).then(op).build()));
        }
    }
    for kind in [
        Unary::ToF16,
        Unary::ToBf16,
        Unary::Exp,
        Unary::Sign,
        Unary::Reciprocal,
        Unary::Floor,
        Unary::IsNaN,
    ] {
        let op = Op::Tensor(TensorOp::Unary { kind });
        all.push(("function", tokens(&[20, 35]).then(op).build()));
    }
    for kind in [
        Reduction::Sum,
        Reduction::Mean,
        Reduction::Product,
        Reduction::L2,
    ] {
        for axes in [&[0][..], &[1], &[0, 1]] {
            // A product of all values is 0 or not by the order in which they are multiplied.
            if kind != Reduction::Product || axes.len() == 1 {
                all.push(("reduction", reduced(kind, dims(axes))));
            }
        }
    }
    all.extend(attentions());
    all
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn they_reach_what_they_reach_in_plain_candle(specials in specials()) {
        check_as_plain(&layers(), &specials)?;
    }
}
