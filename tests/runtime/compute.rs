//! A lowered network answers as plain Candle operations do.

use std::sync::Arc;

use candle_core::{Device, Tensor};
use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::compute::{
    CpuPredictor, Lowered, NetworkOp, Predictor, host_rows, read_rows, reference, write_rows,
};
use divisi_runtime::device::ThreadTeam;
use divisi_runtime::network::builders::{Builder, Convnet, Densenet, Perceptron, Resnet};
use divisi_runtime::network::{
    Activation, Conv2d, Graph, GraphBuilder, NodeId, Op, Pool, Shape, Sides, Weights,
};
use proptest::prelude::*;

use crate::emulated::Emulated;

pub(crate) fn samples(n: usize, shape: Shape) -> Vec<f32> {
    (0..n * shape.elements())
        .map(|i| ((i * 7919 + 13) % 1009) as f32 / 504.5 - 1.0)
        .collect()
}

/// Random weights with batch-norm statistics that are not the identity.
pub(crate) fn weights(graph: &Graph) -> Weights {
    let synthetic = Weights::synthetic(graph, 7);
    let shaken = synthetic
        .iter()
        .map(|(name, values)| {
            let shift = if name.ends_with("running_var") {
                0.5
            } else {
                0.1
            };
            let values = values
                .iter()
                .enumerate()
                .map(|(i, v)| v + shift * ((i % 5) as f32 / 5.0))
                .collect();
            (name.to_owned(), values)
        })
        .collect();
    Weights::from_values(shaken, graph).expect("same shapes")
}

/// Of the processor's kernels, and of the plan for GPUs as emulated.
pub(crate) fn largest_difference(graph: &Graph, batch: usize) -> f32 {
    let weights = weights(graph);
    let on_gpu = gpu_difference(graph, &weights, batch, Precision::F32);
    difference(graph, &weights, batch).max(on_gpu)
}

/// As [`difference`], of the plan that GPUs run.
fn gpu_difference(graph: &Graph, weights: &Weights, batch: usize, precision: Precision) -> f32 {
    let emulated = Emulated::new(graph, weights, precision);
    let found = emulated.answer(&samples(batch, graph.input()));
    apart(&plain(graph, weights, batch), &found)
}

/// Returns the answers of plain Candle.
fn plain(graph: &Graph, weights: &Weights, batch: usize) -> Vec<f32> {
    let samples = samples(batch, graph.input());
    let x =
        Tensor::from_vec(samples, (batch, graph.input().elements()), &Device::Cpu).expect("tensor");
    let weights = &mut reference::Fixed::new(graph, weights);
    let plain = reference::run(graph, weights, &x).expect("plain");
    plain
        .flatten_all()
        .and_then(|t| t.to_vec1())
        .expect("plain")
}

/// The largest difference as a share of the largest value; NaN counts as the largest.
fn apart(plain: &[f32], found: &[f32]) -> f32 {
    assert_eq!(plain.len(), found.len());
    let scale = plain.iter().fold(1e-3f32, |m, v| m.max(v.abs()));
    let differences = plain.iter().zip(found).map(|(a, b)| (a - b).abs() / scale);
    differences.max_by(f32::total_cmp).unwrap_or(0.0)
}

/// The largest difference between what the lowered network and plain Candle answer, as
/// a share of the largest answer.
pub(crate) fn difference(graph: &Graph, weights: &Weights, batch: usize) -> f32 {
    let x = Tensor::from_vec(
        samples(batch, graph.input()),
        (batch, graph.input().elements()),
        &Device::Cpu,
    )
    .expect("tensor");
    let lowered = Arc::new(Lowered::new(graph, weights).expect("lowers"));
    let op = NetworkOp::new(lowered, batch, None).expect("op");
    let fused = x.apply_op1_no_bwd(&op).and_then(|t| t.flatten_all());
    let fused: Vec<f32> = fused.and_then(|t| t.to_vec1()).expect("fused");
    apart(&plain(graph, weights, batch), &fused)
}

#[test]
fn every_builder_answers_as_plain_candle() {
    let input = Shape::image(1, 8, 8);
    let builders = [
        Builder::Perceptron(Perceptron {
            hidden: vec![32, 16],
        }),
        Builder::Convnet(Convnet {
            channels: vec![8, 12],
            depth: 2,
            upscale: Some(12),
        }),
        Builder::Resnet(Resnet {
            channels: vec![8, 16],
            blocks: vec![2, 1],
            upscale: Some(16),
        }),
        Builder::Densenet(Densenet {
            growth: 6,
            blocks: vec![3, 2],
            upscale: None,
        }),
    ];
    for builder in builders {
        let graph = builder.build(input, 10).expect("builds");
        let difference = largest_difference(&graph, 3);
        assert!(difference < 1e-4, "{builder:?}: {difference}");
    }
}

#[test]
fn every_builder_answers_nearly_the_same_in_half_precision() {
    let input = Shape::image(3, 8, 8);
    let builders = [
        Builder::Resnet(Resnet {
            channels: vec![8, 16],
            blocks: vec![2, 1],
            upscale: None,
        }),
        Builder::Densenet(Densenet {
            growth: 6,
            blocks: vec![3, 2],
            upscale: Some(12),
        }),
    ];
    for builder in builders {
        let graph = builder.build(input, 10).expect("builds");
        for (precision, most) in [(Precision::Bf16, 2e-2), (Precision::F16, 4e-3)] {
            let difference = gpu_difference(&graph, &weights(&graph), 2, precision);
            // What is not rounded at all was not computed in that precision.
            assert!(
                difference > 1e-6 && difference < most,
                "{builder:?} in {precision}: {difference}"
            );
        }
    }
}

#[test]
fn concatenations_of_shared_values_are_not_overwritten() {
    // relu(x) and x itself end up in one buffer; each must keep its values.
    for order in [[0, 1], [1, 0]] {
        let mut b = GraphBuilder::new(Shape::image(3, 5, 5));
        let x = b
            .add(
                "c",
                Op::Conv2d(Conv2d::new(4, 3).padded(1)),
                &[NodeId::INPUT],
            )
            .expect("conv");
        let r = b.add("r", Op::Relu, &[x]).expect("relu");
        let both = [x, r];
        let cat = b
            .add("cat", Op::Concat, &order.map(|i| both[i]))
            .expect("concat");
        let twice = b.add("twice", Op::Concat, &[cat, cat, x]).expect("concat");
        b.add("flat", Op::Flatten, &[twice]).expect("flatten");
        assert!(largest_difference(&b.build().expect("graph"), 2) < 1e-5);
    }
}

#[test]
fn a_nan_in_one_sample_reaches_its_answer_and_no_other() {
    let net = Resnet {
        channels: vec![4, 8],
        blocks: vec![1, 1],
        upscale: None,
    };
    let graph = Builder::Resnet(net)
        .build(Shape::image(1, 8, 8), 10)
        .expect("builds");
    let lowered = Arc::new(Lowered::new(&graph, &weights(&graph)).expect("lowers"));
    let mut predictor = CpuPredictor::new(lowered, 2, None).expect("predictor");
    let (input, output) = (
        host_rows(2, 64).expect("rows"),
        host_rows(2, 10).expect("rows"),
    );
    write_rows(&input, |rows| rows[5] = f32::NAN).expect("write");
    predictor.predict(2, &input, &output).expect("predict");
    let rows = read_rows(&output, |r| r.to_vec()).expect("read");
    assert!(rows[..10].iter().all(|v| v.is_nan()), "{rows:?}");
    assert!(rows[10..].iter().all(|v| v.is_finite()), "{rows:?}");
}

#[test]
fn a_pool_of_threads_gives_the_same_answers_for_any_batch() {
    let graph = Builder::Convnet(Convnet {
        channels: vec![4],
        depth: 1,
        upscale: None,
    })
    .build(Shape::image(1, 8, 8), 10)
    .expect("builds");
    let lowered = Arc::new(Lowered::new(&graph, &weights(&graph)).expect("lowers"));
    let pool = Arc::new(ThreadTeam::start(3, || {}).expect("threads"));
    for batch in [1, 2, 3, 5, 7] {
        let x =
            Tensor::from_vec(samples(batch, graph.input()), (batch, 64), &Device::Cpu).expect("x");
        let run = |pool| {
            let op = NetworkOp::new(Arc::clone(&lowered), 7, pool).expect("op");
            x.apply_op1_no_bwd(&op)
                .and_then(|t| t.to_vec2::<f32>())
                .expect("runs")
        };
        assert_eq!(run(None), run(Some(Arc::clone(&pool))));
    }
}

fn image() -> impl Strategy<Value = Shape> {
    (1usize..4, 3usize..9, 3usize..9).prop_map(|(c, h, w)| Shape::image(2 * c, h, w))
}

/// Pixels past the padding, mostly none.
pub fn overhang() -> impl Strategy<Value = Sides> {
    prop_oneof![
        2 => Just(Sides::square(0)),
        1 => sides(0..3),
    ]
}

/// A kernel or padding, square or not.
fn sides(most: std::ops::Range<usize>) -> impl Strategy<Value = Sides> {
    (most.clone(), most).prop_map(Sides::from)
}

fn activation() -> impl Strategy<Value = Option<Op>> {
    let others = [
        Activation::Silu,
        Activation::HardSwish,
        Activation::Gelu,
        Activation::Tanh,
    ];
    let mut all = vec![None, Some(Op::Relu), Some(Op::Relu6)];
    all.extend(others.map(|activation| Some(Op::from(activation))));
    prop::sample::select(all)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn convolutions_of_any_geometry(
        input in image(), kernel in sides(1..4), stride in 1usize..4, padding in sides(0..3),
        dilation in 1usize..3, groups in 0usize..3, bias: bool, norm in prop::option::of(1e-5f32..0.1),
        scale in prop::option::of(-2f32..8.0), residual: bool, activation in activation(),
    ) {
        let Shape::Image { channels, .. } = input else { unreachable!() };
        let groups = [1, 2, channels][groups];
        let conv = Conv2d { channels, kernel, stride, padding, dilation, groups, bias };
        let mut b = GraphBuilder::new(input);
        let Ok(mut x) = b.add("conv", Op::Conv2d(conv), &[NodeId::INPUT]) else { return Ok(()) };
        if let Some(eps) = norm { x = b.add("bn", Op::BatchNorm { eps }, &[x]).expect("bn"); }
        if let Some(by) = scale { x = b.add("scale", Op::Scale { by }, &[x]).expect("scale"); }
        if residual && b.shape(x) == input { x = b.add("add", Op::Add, &[x, NodeId::INPUT]).expect("add"); }
        if let Some(op) = activation { x = b.add("act", op, &[x]).expect("activation"); }
        b.add("flat", Op::Flatten, &[x]).expect("flatten");
        prop_assert!(largest_difference(&b.build().expect("graph"), 2) < 1e-4);
    }

    /// Every order in which norms, scales, sums and activations may follow a layer, with
    /// and without somebody else reading a value between them.
    #[test]
    fn what_is_fused_answers_as_what_is_not(
        input in image(), linear: bool, ops in prop::collection::vec(0usize..8, 1..6), spied in 0usize..8,
    ) {
        let mut b = GraphBuilder::new(input);
        let first = if linear {
            let flat = b.add("flatten", Op::Flatten, &[NodeId::INPUT]).expect("flatten");
            b.add("fc", Op::Linear { features: 5, bias: true }, &[flat]).expect("linear")
        } else {
            let conv = Conv2d::new(3, (1, 3)).same().biased();
            b.add("conv", Op::Conv2d(conv), &[NodeId::INPUT]).expect("conv")
        };
        let (mut x, mut values) = (first, vec![first]);
        for (i, op) in ops.into_iter().enumerate() {
            let op = [
                Op::BatchNorm { eps: 1e-3 }, Op::Scale { by: 3.0 }, Op::Add, Op::Relu, Op::Relu6,
                Op::LayerNorm { eps: 1e-3 }, Op::Mul, Activation::Silu.into(),
            ][op];
            let inputs = if op.arity().0 == 2 { vec![x, values[i / 2]] } else { vec![x] };
            x = b.add(format!("op{i}"), op, &inputs).expect("same shape");
            values.push(x);
        }
        if let Some(&value) = values.get(spied) {
            x = b.add("both", Op::Concat, &[x, value]).expect("concat");
        }
        b.add("flat", Op::Flatten, &[x]).expect("flatten");
        prop_assert!(largest_difference(&b.build().expect("graph"), 2) < 1e-4);
    }

    #[test]
    fn pools_and_resizes_of_any_geometry(
        input in image(), kernel in 1usize..4, stride in 1usize..4, padding in 0usize..2,
        count_include_pad: bool, overhang in overhang(), kind in 0usize..5, side in 1usize..12,
    ) {
        let pool = Pool { kernel, stride, padding, count_include_pad, overhang };
        let op = [
            Op::MaxPool(pool),
            Op::AvgPool(pool),
            Op::GlobalAvgPool,
            Op::AdaptiveAvgPool { height: side, width: 12 - side },
            Op::Upscale { height: side, width: side + 1 },
        ][kind];
        let mut b = GraphBuilder::new(input);
        let Ok(x) = b.add("pool", op, &[NodeId::INPUT]) else { return Ok(()) };
        if matches!(b.shape(x), Shape::Image { .. }) { b.add("flat", Op::Flatten, &[x]).expect("flatten"); }
        b.add("soft", Op::Softmax, &[b.last()]).expect("softmax");
        prop_assert!(largest_difference(&b.build().expect("graph"), 2) < 1e-4);
    }
}
