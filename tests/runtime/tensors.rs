//! Tensors of any rank: what each operation answers, that the batch changes nothing, and how
//! named tensors become rows.

use divisi_runtime::compute::{Lowered, NetworkOp};
use divisi_runtime::network::{
    Binary, Border, Conv2d, Dims, Graph, GraphBuilder, NodeId, Op, Reduction, Shape, TensorOp,
    Unary, Weights,
};
use divisi_runtime::tensor::{DataType, Signature, SignatureError, TensorSpec, TensorValue};

use candle_core::{Device, Tensor};
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::compute::{difference, samples};

fn dims(sizes: &[usize]) -> Dims {
    Dims::new(sizes).expect("few")
}

/// A graph that applies `op` to tensors of `inputs`, which lie in a row one after another.
fn applied(op: TensorOp, inputs: &[&[usize]]) -> Graph {
    let shapes: Vec<Shape> = inputs.iter().map(|d| Shape::tensor(dims(d))).collect();
    let all = shapes.iter().map(|s| s.elements()).sum();
    let mut b = GraphBuilder::new(Shape::vector(all));
    let mut first = 0;
    let mut parts = Vec::new();
    for (at, &shape) in shapes.iter().enumerate() {
        let part = Op::Tensor(TensorOp::Part { first, shape });
        let name = format!("part{at}");
        parts.push(b.add(name, part, &[NodeId::INPUT]).expect("part"));
        first += shape.elements();
    }
    b.add("op", Op::Tensor(op), &parts).expect("fits");
    b.build().expect("builds")
}

fn answer(graph: &Graph, weights: &Weights, row: &[f32]) -> Vec<f32> {
    let batch = row.len() / graph.input().elements();
    let x = Tensor::from_slice(row, (batch, graph.input().elements()), &Device::Cpu);
    let lowered = Arc::new(Lowered::new(graph, weights).expect("lowers"));
    let op = NetworkOp::new(lowered, batch, None).expect("op");
    let answer = x.and_then(|x| x.apply_op1_no_bwd(&op)).expect("runs");
    answer.flatten_all().and_then(|t| t.to_vec1()).expect("row")
}

/// An operation, the dimensions of its inputs, their values and the answer.
type Known<'a> = (TensorOp, &'a [&'a [usize]], &'a [f32], &'a [f32]);

#[test]
fn every_operation_answers_as_its_definition_says() {
    use TensorOp as T;
    let two = |kind| T::Binary { kind };
    let one = |kind| T::Unary { kind };
    let reduce = |kind, axis, keep| T::Reduce {
        kind,
        axes: dims(&[axis]),
        keep,
    };
    let nan = f32::NAN;
    let cases: &[Known<'_>] = &[
        (
            two(Binary::Sub),
            &[&[2], &[2]],
            &[5., 7., 1., 2.],
            &[4., 5.],
        ),
        (
            two(Binary::Add),
            &[&[2, 1], &[1, 2]],
            &[1., 2., 10., 20.],
            &[11., 21., 12., 22.],
        ),
        (two(Binary::Pow), &[&[2], &[1]], &[-2., 3., 2.], &[4., 9.]),
        (
            two(Binary::IntegerDiv),
            &[&[2], &[1]],
            &[-7., 7., 2.],
            &[-3., 3.],
        ),
        (two(Binary::Mod), &[&[2], &[1]], &[-7., 7., 3.], &[2., 1.]),
        (two(Binary::Less), &[&[2], &[1]], &[1., 3., 2.], &[1., 0.]),
        (
            two(Binary::And),
            &[&[2], &[2]],
            &[1., 5., 0., 2.],
            &[0., 1.],
        ),
        (
            two(Binary::Xor),
            &[&[2], &[2]],
            &[1., 5., 0., 2.],
            &[1., 0.],
        ),
        (
            one(Unary::Round),
            &[&[3]],
            &[0.5, 1.5, -2.5],
            &[0., 2., -2.],
        ),
        (one(Unary::Truncate), &[&[2]], &[-1.7, 1.7], &[-1., 1.]),
        (
            two(Binary::BitAnd),
            &[&[2], &[2]],
            &[6., -1., 3., 5.],
            &[2., 5.],
        ),
        (
            T::TopK {
                count: 2,
                largest: true,
                positions: false,
            },
            &[&[2, 3]],
            &[1., 3., 3., 2., 0., 5.],
            &[3., 3., 5., 2.],
        ),
        (
            T::TopK {
                count: 2,
                largest: false,
                positions: true,
            },
            &[&[2, 3]],
            &[1., 3., 3., 2., 0., 5.],
            &[0., 1., 1., 0.],
        ),
        (one(Unary::Not), &[&[2]], &[0., 3.], &[1., 0.]),
        (
            T::Transpose {
                order: dims(&[1, 0]),
            },
            &[&[2, 3]],
            &[1., 2., 3., 4., 5., 6.],
            &[1., 4., 2., 5., 3., 6.],
        ),
        (
            T::Where,
            &[&[2], &[2], &[1]],
            &[1., 0., 5., 6., 9.],
            &[5., 9.],
        ),
        (
            T::MatMul,
            &[&[1, 2], &[2, 2]],
            &[1., 2., 3., 4., 5., 6.],
            &[13., 16.],
        ),
        (
            reduce(Reduction::Sum, 0, false),
            &[&[2, 2]],
            &[1., 2., 3., 4.],
            &[4., 6.],
        ),
        (
            reduce(Reduction::L2, 1, true),
            &[&[2, 2]],
            &[3., 4., 6., 8.],
            &[5., 10.],
        ),
        (
            reduce(Reduction::ArgMax, 1, false),
            &[&[2, 2]],
            &[3., 4., 6., 2.],
            &[1., 0.],
        ),
        (
            T::Slice {
                axis: 0,
                start: 3,
                count: 2,
                step: -2,
            },
            &[&[4]],
            &[1., 2., 3., 4.],
            &[4., 2.],
        ),
        (
            T::Join { axis: 0 },
            &[&[1, 2], &[2, 2]],
            &[1., 2., 3., 4., 5., 6.],
            &[1., 2., 3., 4., 5., 6.],
        ),
        (
            T::Gather { axis: 0 },
            &[&[3], &[2]],
            &[7., 8., 9., -1., 0.],
            &[9., 7.],
        ),
        (T::Gather { axis: 0 }, &[&[2], &[1]], &[7., 8., 2.], &[nan]),
        (
            T::Pad {
                before: dims(&[1]),
                after: dims(&[1]),
                border: Border::Constant(9.),
            },
            &[&[2]],
            &[1., 2.],
            &[9., 1., 2., 9.],
        ),
        (
            T::Pad {
                before: dims(&[2]),
                after: dims(&[1]),
                border: Border::Reflect,
            },
            &[&[3]],
            &[1., 2., 3.],
            &[3., 2., 1., 2., 3., 2.],
        ),
        (
            T::Expand {
                dims: dims(&[2, 2]),
            },
            &[&[2]],
            &[1., 2.],
            &[1., 2., 1., 2.],
        ),
        (
            T::CumSum {
                axis: 0,
                exclusive: false,
                reverse: false,
            },
            &[&[3]],
            &[1., 2., 3.],
            &[1., 3., 6.],
        ),
        (
            T::CumSum {
                axis: 0,
                exclusive: true,
                reverse: true,
            },
            &[&[3]],
            &[1., 2., 3.],
            &[5., 3., 0.],
        ),
    ];
    for (op, inputs, row, expected) in cases {
        let graph = applied(*op, inputs);
        let none = Weights::from_values(BTreeMap::new(), &graph).expect("none");
        let found = answer(&graph, &none, row);
        let alike = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-6 || a.is_nan() && b.is_nan();
        let same = found.len() == expected.len() && found.iter().zip(*expected).all(alike);
        assert!(same, "{op:?}: expected {expected:?}, found {found:?}");
    }
}

#[test]
fn dimensions_that_do_not_fit_are_refused() {
    let cases: &[(TensorOp, &[&[usize]])] = &[
        (TensorOp::MatMul, &[&[2, 3], &[2, 3]]),
        (TensorOp::Binary { kind: Binary::Add }, &[&[2], &[3]]),
        (
            TensorOp::Transpose {
                order: dims(&[0, 0]),
            },
            &[&[2, 3]],
        ),
        (
            TensorOp::Slice {
                axis: 0,
                start: 1,
                count: 2,
                step: 1,
            },
            &[&[2]],
        ),
        (TensorOp::Join { axis: 1 }, &[&[2, 2], &[3, 2]]),
        (
            TensorOp::View {
                shape: Shape::vector(5),
            },
            &[&[2, 2]],
        ),
        (TensorOp::Expand { dims: dims(&[3]) }, &[&[2]]),
    ];
    for (op, inputs) in cases {
        let shapes: Vec<Shape> = inputs.iter().map(|d| Shape::tensor(dims(d))).collect();
        let refused = Op::Tensor(*op).output(&shapes);
        assert!(refused.is_err(), "{op:?} of {inputs:?}");
    }
}

/// An image cut into patches, seen as tokens, joined with a constant one, and mixed.
fn patches() -> (Graph, Weights) {
    let mut b = GraphBuilder::new(Shape::image(3, 8, 8));
    let conv = Conv2d {
        stride: 4,
        bias: true,
        ..Conv2d::new(6, 4)
    };
    let x = b
        .add("patches", Op::Conv2d(conv), &[NodeId::INPUT])
        .expect("conv");
    let view = |sizes: &[usize]| {
        Op::Tensor(TensorOp::View {
            shape: Shape::tensor(dims(sizes)),
        })
    };
    let tokens = b.add("tokens", view(&[4, 6]), &[x]).expect("view");
    let first = Op::Tensor(TensorOp::Constant {
        dims: dims(&[1, 6]),
    });
    let first = b.add("first", first, &[NodeId::INPUT]).expect("constant");
    let all = b
        .add(
            "all",
            Op::Tensor(TensorOp::Join { axis: 0 }),
            &[first, tokens],
        )
        .expect("join");
    let mixed = b
        .add(
            "mixed",
            Op::Linear {
                features: 6,
                bias: true,
            },
            &[all],
        )
        .expect("linear");
    let heads = b.add("heads", view(&[5, 2, 3]), &[mixed]).expect("view");
    let order = Op::Tensor(TensorOp::Transpose {
        order: dims(&[1, 0, 2]),
    });
    let q = b.add("q", order, &[heads]).expect("order");
    let order = Op::Tensor(TensorOp::Transpose {
        order: dims(&[1, 2, 0]),
    });
    let k = b.add("k", order, &[heads]).expect("order");
    let scores = b
        .add("scores", Op::Tensor(TensorOp::MatMul), &[q, k])
        .expect("product");
    let shares = b.add("shares", Op::Softmax, &[scores]).expect("softmax");
    let heads = b
        .add("read", Op::Tensor(TensorOp::MatMul), &[shares, q])
        .expect("product");
    let order = Op::Tensor(TensorOp::Transpose {
        order: dims(&[1, 0, 2]),
    });
    let back = b.add("back", order, &[heads]).expect("order");
    let rows = b.add("rows", view(&[5, 6]), &[back]).expect("view");
    let sum = b.add("sum", Op::Add, &[rows, all]).expect("sum");
    b.add(
        "end",
        Op::Linear {
            features: 4,
            bias: false,
        },
        &[sum],
    )
    .expect("linear");
    let graph = b.build().expect("builds");
    let weights = crate::compute::weights(&graph);
    (graph, weights)
}

#[test]
fn a_network_of_tensors_answers_as_plain_candle_in_every_batch() {
    let (graph, weights) = patches();
    for batch in [1, 2, 7] {
        let apart = difference(&graph, &weights, batch);
        assert!(apart < 1e-5, "batch {batch}: {apart}");
    }
}

#[test]
fn a_sample_is_answered_the_same_alone_and_among_others() {
    let (graph, weights) = patches();
    let rows = samples(5, graph.input());
    let all = answer(&graph, &weights, &rows);
    let width = graph.output().elements();
    for (at, row) in rows.chunks_exact(graph.input().elements()).enumerate() {
        let alone = answer(&graph, &weights, row);
        for (a, b) in alone.iter().zip(&all[at * width..]) {
            assert!(
                (a - b).abs() < 1e-5,
                "sample {at}: {a} alone, {b} among others"
            );
        }
    }
}

fn text() -> Signature {
    Signature {
        inputs: vec![
            TensorSpec::fixed("ids", DataType::Int64, &[3]),
            TensorSpec::fixed("mask", DataType::Bool, &[3]),
        ],
        outputs: vec![
            TensorSpec::fixed("scores", DataType::Fp32, &[2]),
            TensorSpec::fixed("class", DataType::Int64, &[]),
        ],
        lengths: None,
    }
}

fn ids(dims: &[usize], values: &[i64]) -> (String, TensorValue) {
    let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let value = TensorValue::new(DataType::Int64, dims.to_vec(), bytes).expect("whole");
    ("ids".to_owned(), value)
}

fn mask(dims: &[usize], values: &[u8]) -> (String, TensorValue) {
    let value = TensorValue::new(DataType::Bool, dims.to_vec(), values.to_vec()).expect("whole");
    ("mask".to_owned(), value)
}

#[test]
fn tensors_of_a_sample_lie_in_its_row_in_the_order_of_the_signature() {
    let tensors = [
        mask(&[2, 3], &[1, 1, 0, 1, 0, 0]),
        ids(&[2, 3], &[7, 8, 9, -1, 2, 16_777_216]),
    ];
    let (rows, batch) = text().rows(&tensors).expect("fits");
    assert_eq!(batch, 2);
    assert_eq!(
        rows,
        [7., 8., 9., 1., 1., 0., -1., 2., 16_777_216., 1., 0., 0.]
    );
}

#[test]
fn answers_come_out_of_their_rows_by_name_and_type() {
    let answers = text()
        .answers(&[0.5, 0.25, 3.0, 1.5, 2.5, 4.0], 2)
        .expect("whole");
    let expected = [
        ("scores", DataType::Fp32, vec![2, 2]),
        ("class", DataType::Int64, vec![2]),
    ];
    for ((name, value), (expected, data_type, dims)) in answers.iter().zip(expected) {
        assert_eq!((name.as_str(), value.data_type()), (expected, data_type));
        assert_eq!(value.dims(), dims);
    }
    assert_eq!(answers[0].1.floats(), Ok(vec![0.5, 0.25, 1.5, 2.5]));
    assert_eq!(answers[1].1.floats(), Ok(vec![3.0, 4.0]));
}

#[test]
fn tensors_that_do_not_fit_the_signature_are_refused_by_name() {
    let good = || mask(&[1, 3], &[1, 1, 1]);
    let cases = [
        (vec![good()], "input `ids` is missing, expected INT64 [3]"),
        (
            vec![good(), ids(&[1, 3], &[1, 2, 3]), ids(&[1, 3], &[1, 2, 3])],
            "input `ids` appears twice",
        ),
        (
            vec![good(), ("id".to_owned(), ids(&[1, 3], &[1, 2, 3]).1)],
            "no input is named `id`, expected ids, mask",
        ),
        (
            vec![good(), ("ids".to_owned(), good().1)],
            "input `ids`: expected INT64, found BOOL",
        ),
        (
            vec![good(), ids(&[1, 2], &[1, 2])],
            "input `ids`: expected samples of INT64 [3] along a first dimension, found [1, 2]",
        ),
        (
            vec![good(), ids(&[0, 3], &[])],
            "input `ids`: expected samples of INT64 [3] along a first dimension, found [0, 3]",
        ),
        (
            vec![good(), ids(&[2, 3], &[1, 2, 3, 4, 5, 6])],
            "input `mask` has 1 samples, `ids` has 2",
        ),
        (
            vec![good(), ids(&[1, 3], &[1, 2, 16_777_217])],
            "input `ids`: value 2: expected an integer from -16777216 to 16777216, found 16777217",
        ),
    ];
    for (tensors, expected) in cases {
        let refused = text()
            .rows(&tensors)
            .map_err(|e: SignatureError| e.to_string());
        assert_eq!(refused, Err(expected.to_owned()));
    }
}

#[test]
fn bytes_that_are_no_tensor_are_refused() {
    let cut = TensorValue::new(DataType::Fp32, vec![2], vec![0; 7]);
    let huge = TensorValue::new(DataType::Fp64, vec![usize::MAX, 2], Vec::new());
    let strings = TensorValue::new(DataType::Bytes, vec![0], Vec::new());
    for (made, expected) in [
        (cut, "FP32 of [2] has 8 bytes, found 7"),
        (
            huge,
            "dimensions of [18446744073709551615, 2] hold too many values",
        ),
        (strings, "networks take numbers, not BYTES"),
    ] {
        assert_eq!(made.map_err(|e| e.to_string()), Err(expected.to_owned()));
    }
}
