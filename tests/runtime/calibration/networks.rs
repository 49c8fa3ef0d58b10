//! Networks that are calibrated: ranges, corrections of biases, layers that are kept.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use candle_core::{Device, Tensor};
use divisi_runtime::compute::calibration::{
    CalibratedNetwork, Calibration, CalibrationError, CalibrationOptions, CalibrationRows,
    ComparedAnswers, KeptLayers, NetworkDigest, RangeMethod, SignalAndNoise, ValueRange, calibrate,
    is_weighted,
};
use divisi_runtime::compute::{CpuKernels, CpuLowering, CpuPrecision, Family, Lowered, NetworkOp};
use divisi_runtime::network::builders::{Builder, Densenet, Resnet};
use divisi_runtime::network::{Conv2d, Graph, GraphBuilder, NodeId, Op, Shape, Weights};

use crate::compute::{samples, weights};

/// A convolution, its norm and activation, and a fully connected layer.
pub(super) fn small() -> Graph {
    let mut builder = GraphBuilder::new(Shape::image(2, 6, 6));
    let conv = Op::Conv2d(Conv2d::new(5, 3));
    let x = builder.add("conv", conv, &[NodeId::INPUT]).expect("fits");
    let x = builder
        .add("bn", Op::BatchNorm { eps: 1e-5 }, &[x])
        .expect("fits");
    let x = builder.add("relu", Op::Relu, &[x]).expect("fits");
    let x = builder.add("pool", Op::GlobalAvgPool, &[x]).expect("fits");
    let linear = |features| Op::Linear {
        features,
        bias: true,
    };
    let x = builder.add("hidden", linear(16), &[x]).expect("fits");
    let x = builder.add("hidden.relu", Op::Relu, &[x]).expect("fits");
    builder.add("fc", linear(4), &[x]).expect("fits");
    builder.build().expect("layers")
}

/// Calibrates a network by made-up rows.
pub(super) fn calibrated(graph: &Graph, kept: KeptLayers) -> CalibratedNetwork {
    by_rows(graph, kept, &samples(ROWS, graph.input())).expect("calibrates")
}

const ROWS: usize = 70;

fn by_rows(
    graph: &Graph,
    kept: KeptLayers,
    rows: &[f32],
) -> Result<CalibratedNetwork, CalibrationError> {
    let width = graph.input().elements();
    let read = |some: Range<usize>| rows[some.start * width..some.end * width].to_vec();
    let rows = CalibrationRows::new(rows.len() / width, &read);
    let method = RangeMethod::MinMax;
    let options = CalibrationOptions { method, kept };
    calibrate(graph, &weights(graph), rows, &options, &mut |_, _| {})
}

/// The signal and the error of a network's answers as it is computed by a calibration.
fn noise(graph: &Graph, calibration: &Calibration) -> SignalAndNoise {
    let rows = samples(ROWS, graph.input());
    let width = graph.input().elements();
    let read = |some: Range<usize>| rows[some.start * width..some.end * width].to_vec();
    let mut all = SignalAndNoise::default();
    let weights = weights(graph);
    let each = &mut |answers: ComparedAnswers<'_>| all.add(answers.exact, answers.found);
    let compared = calibration.compare(graph, &weights, CalibrationRows::new(ROWS, &read), each);
    compared.expect("finite");
    all
}

#[test]
fn every_value_has_a_range() {
    let graph = small();
    let calibration = calibrated(&graph, KeptLayers::none()).calibration;
    let rows = samples(ROWS, graph.input());
    let (low, high) = rows
        .iter()
        .fold((0f32, 0f32), |(l, h), v| (l.min(*v), h.max(*v)));
    assert_eq!(calibration.range(0), ValueRange::new(low, high).ok());
    assert!((1..=graph.nodes().len()).all(|value| calibration.range(value).is_some()));
    assert_eq!(calibration.range(graph.nodes().len() + 1), None);
    assert_eq!(calibration.range(3).expect("of a ReLU").low(), 0.0);
    assert_eq!(
        (calibration.method(), calibration.rows()),
        (RangeMethod::MinMax, ROWS)
    );
}

#[test]
fn layers_with_weights_are_computed_in_bytes_unless_they_are_kept() {
    let graph = small();
    for (kept, expected) in [
        ("none", vec![0, 4, 6]),
        ("first", vec![4, 6]),
        ("last, hidden", vec![0]),
        ("conv,fc", vec![4]),
    ] {
        let kept = kept.parse().expect("any text");
        let calibration = calibrated(&graph, kept).calibration;
        let nodes = 0..graph.nodes().len();
        let found: Vec<usize> = nodes
            .filter(|&n| calibration.quantises(&graph, n))
            .collect();
        assert_eq!(found, expected);
        let corrected = calibration.corrections().map(|(node, _)| node);
        assert!(corrected.into_iter().all(|node| found.contains(&node)));
    }
}

#[test]
fn a_name_of_no_layer_with_weights_is_refused() {
    for name in ["bn", "nothing", ""] {
        let kept = KeptLayers::Named(vec![name.to_owned()]);
        let graph = small();
        let why = by_rows(&graph, kept, &samples(2, graph.input())).expect_err("no such layer");
        let expected =
            format!("fully connected layers, found `{name}`; the network has conv, hidden, fc");
        assert!(why.to_string().contains(&expected), "{why}");
    }
}

#[test]
fn a_row_that_is_not_finite_is_named() {
    let graph = small();
    let mut rows = samples(40, graph.input());
    rows[35 * graph.input().elements() + 3] = f32::NAN;
    let why = by_rows(&graph, KeptLayers::Auto, &rows).expect_err("not finite");
    assert_eq!(
        why.to_string(),
        "row 35: expected finite numbers, found NaN or an infinity at position 3"
    );
    let why = by_rows(&graph, KeptLayers::Auto, &[]).expect_err("nothing");
    assert_eq!(why.to_string(), "expected samples, found none");
}

#[test]
fn a_network_in_bytes_answers_nearly_as_in_float32() {
    let resnet = Builder::Resnet(Resnet {
        channels: vec![8, 16],
        blocks: vec![1, 1],
        upscale: None,
    });
    let resnet = resnet.build(Shape::image(3, 12, 12), 5).expect("builds");
    for graph in [small(), resnet] {
        let calibration = calibrated(&graph, KeptLayers::none()).calibration;
        let ratio = noise(&graph, &calibration).decibels().expect("rounded");
        assert!(ratio > 25.0, "{ratio} dB");
        let kept = calibrated(&graph, "first,last".parse().expect("names")).calibration;
        assert_ne!(kept, calibration);
    }
}

#[test]
fn corrections_are_the_means_that_rounding_takes_away() {
    let graph = small();
    let calibration = calibrated(&graph, KeptLayers::none()).calibration;
    let plain = calibration.clone().corrected(BTreeMap::new());
    let with = noise(&graph, &calibration).noise;
    let without = noise(&graph, &plain).noise;
    assert!(with <= without, "{with} with, {without} without");
}

/// One fully connected layer whose weights round up: its answers are too large without a correction.
#[test]
fn a_correction_restores_the_mean_of_a_layer() {
    let mut builder = GraphBuilder::new(Shape::vector(8));
    let op = Op::Linear {
        features: 2,
        bias: false,
    };
    builder.add("fc", op, &[NodeId::INPUT]).expect("fits");
    let graph = builder.build().expect("a layer");
    let rows = [[1.0f32; 8], [0.5; 8]].concat();
    let row = |first: f32| [vec![first], vec![0.3 / 127.0; 7]].concat();
    let values = [row(1.0), row(-1.0)].concat();
    let weights = Weights::from_values([("fc.weight".to_owned(), values)].into(), &graph);
    let weights = weights.expect("fits");
    let read = |some: Range<usize>| rows[some.start * 8..some.end * 8].to_vec();
    let of_rows = CalibrationRows::new(2, &read);
    let options = CalibrationOptions {
        kept: KeptLayers::none(),
        ..CalibrationOptions::default()
    };
    let found = calibrate(&graph, &weights, of_rows, &options, &mut |_, _| {});
    let calibration = found.expect("calibrates").calibration;
    // Seven weights of 0.3 steps become 0; inputs are 0.75 in the mean, half rounds to 64 of 127.
    let expected = 0.75 * 7.0 * 0.3 / 127.0;
    let found = calibration.correction(0).expect("a correction");
    let rounding = 0.5 / 127.0;
    for channel in found {
        assert!(
            (channel - expected).abs() < rounding,
            "{channel} for {expected}"
        );
    }
}

#[test]
fn a_layer_is_kept_by_itself_where_it_costs_most_of_the_error() {
    // The last layer has one large weight a channel: the others vanish in bytes.
    let graph = small();
    let mut values: BTreeMap<String, Vec<f32>> = weights(&graph)
        .iter()
        .map(|(n, v)| (n.to_owned(), v.to_vec()))
        .collect();
    for row in values.get_mut("fc.weight").expect("weights").chunks_mut(16) {
        row.iter_mut().for_each(|weight| *weight = 0.49);
        row[0] = 127.0;
    }
    // What it is multiplied by is 0.
    for row in values
        .get_mut("hidden.weight")
        .expect("weights")
        .chunks_mut(5)
        .take(1)
    {
        row.fill(0.0);
    }
    values.get_mut("hidden.bias").expect("a bias")[0] = 0.0;
    let weights = Weights::from_values(values, &graph).expect("fits");
    let rows = samples(ROWS, graph.input());
    let width = graph.input().elements();
    let read = |some: Range<usize>| rows[some.start * width..some.end * width].to_vec();
    let of_rows = CalibrationRows::new(ROWS, &read);
    let options = CalibrationOptions::default();
    let found = calibrate(&graph, &weights, of_rows, &options, &mut |_, _| {}).expect("finite");
    assert!(found.calibration.keeps(6), "{:?}", found.costs);
    assert!(!found.calibration.keeps(0), "{:?}", found.costs);
    assert_eq!(found.costs.len(), 2);
}

#[test]
fn a_digest_tells_networks_apart_and_forgets_what_ensembles_add() {
    let (graph, other) = (
        small(),
        Builder::Resnet(Resnet {
            channels: vec![8],
            blocks: vec![1],
            upscale: None,
        }),
    );
    let other = other.build(graph.input(), 4).expect("builds");
    let digest = |graph: &Graph| NetworkDigest::from_network(graph, &weights(graph));
    assert_eq!(digest(&graph), digest(&graph));
    assert_ne!(digest(&graph), digest(&other));
    let with_softmax = graph.with_softmax().expect("a vector");
    assert_eq!(digest(&graph), digest(&with_softmax));
    let seeds =
        [1, 2].map(|seed| NetworkDigest::from_network(&graph, &Weights::synthetic(&graph, seed)));
    assert_ne!(seeds[0], seeds[1]);
    let mut changed: BTreeMap<String, Vec<f32>> = weights(&graph)
        .iter()
        .map(|(n, v)| (n.to_owned(), v.to_vec()))
        .collect();
    changed.get_mut("fc.bias").expect("a bias")[3] += 1e-6;
    let changed = Weights::from_values(changed, &graph).expect("fits");
    assert_ne!(
        digest(&graph),
        NetworkDigest::from_network(&graph, &changed)
    );
}

/// Two convolutions that are multiplied as bytes.
fn wide() -> Graph {
    let mut builder = GraphBuilder::new(Shape::image(16, 4, 4));
    let conv = |side| Op::Conv2d(Conv2d::new(16, side).same().biased());
    let ops = [conv(3), Op::Relu, conv(1), Op::GlobalAvgPool];
    let mut last = NodeId::INPUT;
    for (name, op) in ["first", "relu", "second", "pool"].into_iter().zip(ops) {
        last = builder.add(name, op, &[last]).expect("fits");
    }
    builder.build().expect("layers")
}

#[test]
fn ranges_at_the_ends_of_floats_answer_numbers_and_the_same_on_every_family() {
    let (graph, weights) = (wide(), weights(&wide()));
    let x = Tensor::from_vec(samples(3, graph.input()), (3, 256), &Device::Cpu).expect("rows");
    for (low, high) in [
        (0.0, 0.0),
        (-1e-45, 1e-45),
        (0.0, 1e-39),
        (-1e-38, 3e38),
        (-f32::MAX, f32::MAX),
        (-0.0, f32::MIN_POSITIVE),
    ] {
        let range = ValueRange::new(low, high).expect("around 0");
        let digest = NetworkDigest::from_network(&graph, &weights);
        let ranges = vec![Some(range); graph.nodes().len() + 1];
        let calibration = Calibration::of_ranges(digest, RangeMethod::MinMax, 1, ranges);
        let answers = |family| -> Vec<f32> {
            let precision = CpuPrecision::Int8;
            let by = CpuLowering {
                kernels: CpuKernels { family, precision },
                calibration: Some(&calibration),
            };
            let lowered = Lowered::with(&graph, &weights, by).expect("lowers");
            let op = NetworkOp::new(Arc::new(lowered), 3, None).expect("memory");
            let y = x.apply_op1_no_bwd(&op).expect("runs");
            y.flatten_all().and_then(|y| y.to_vec1()).expect("values")
        };
        let plain = answers(Family::Plain);
        let most = plain.iter().fold(1e-3f32, |most, v| v.abs().max(most));
        for family in Family::available() {
            let mut pairs = plain.iter().zip(answers(family));
            assert!(
                pairs.all(|(a, b)| (a - b).abs() <= 1e-5 * most),
                "{family}: {low:e} to {high:e}"
            );
        }
    }
}

/// Networks whose values are read by layers in bytes and by others: joined, added, averaged and by maxima.
fn branched() -> Vec<Graph> {
    let densenet = Builder::Densenet(Densenet {
        growth: 16,
        blocks: vec![3, 2],
        upscale: None,
    });
    let resnet = Builder::Resnet(Resnet {
        channels: vec![16, 32],
        blocks: vec![2, 1],
        upscale: None,
    });
    let built = [densenet, resnet].map(|builder| builder.build(Shape::image(3, 12, 12), 10));
    let mut all: Vec<Graph> = built.into_iter().map(|g| g.expect("builds")).collect();
    all.push(joined());
    all
}

/// Two branches of other ranges that are joined, one of them read by itself as well; maxima of a
/// value that others read.
fn joined() -> Graph {
    let mut builder = GraphBuilder::new(Shape::image(16, 8, 8));
    let conv = |channels, side| Op::Conv2d(Conv2d::new(channels, side).same().biased());
    let mut add = |name: &str, op, inputs: &[NodeId]| builder.add(name, op, inputs).expect("fits");
    let a = add("a", conv(16, 3), &[NodeId::INPUT]);
    let a = add("a.relu", Op::Relu, &[a]);
    let b = add("b", conv(16, 1), &[a]);
    let both = add("both", Op::Concat, &[a, b]);
    let last = add("c", conv(32, 3), &[both]);
    let sum = add("sum", Op::Add, &[last, both]);
    let mean = add("mean", Op::GlobalAvgPool, &[sum]);
    let fc = Op::Linear {
        features: 10,
        bias: true,
    };
    add("fc", fc, &[mean]);
    builder.build().expect("layers")
}

/// The answers of a network to made-up samples on a family of kernels.
fn answers_of(graph: &Graph, by: CpuLowering<'_>) -> Vec<f32> {
    let width = graph.input().elements();
    let rows = samples(ROWS, graph.input());
    let x = Tensor::from_vec(rows, (ROWS, width), &Device::Cpu).expect("rows");
    let lowered = Lowered::with(graph, &weights(graph), by).expect("lowers");
    let op = NetworkOp::new(Arc::new(lowered), ROWS, None).expect("memory");
    let y = x.apply_op1_no_bwd(&op).expect("runs");
    y.flatten_all().and_then(|y| y.to_vec1()).expect("values")
}

fn lowering(
    family: Family,
    precision: CpuPrecision,
    calibration: Option<&Calibration>,
) -> CpuLowering<'_> {
    CpuLowering {
        kernels: CpuKernels { family, precision },
        calibration,
    }
}

#[test]
fn a_network_whose_layers_are_all_kept_answers_as_in_float32() {
    for graph in branched() {
        let names = (0..graph.nodes().len()).filter(|&node| is_weighted(&graph, node));
        let names = names.map(|node| graph.nodes()[node].name.clone());
        let kept = KeptLayers::Named(names.collect());
        let calibration = calibrated(&graph, kept).calibration;
        for family in Family::available() {
            let exact = answers_of(&graph, lowering(family, CpuPrecision::F32, None));
            let int8 = lowering(family, CpuPrecision::Int8, Some(&calibration));
            assert!(answers_of(&graph, int8) == exact, "{family}");
        }
    }
}

#[test]
fn a_device_is_as_near_to_float32_as_the_calibration_tells() {
    for graph in branched() {
        let calibration = calibrated(&graph, KeptLayers::none()).calibration;
        let told = noise(&graph, &calibration).decibels().expect("rounded");
        for family in Family::available() {
            let exact = answers_of(&graph, lowering(family, CpuPrecision::F32, None));
            let int8 = lowering(family, CpuPrecision::Int8, Some(&calibration));
            let mut found = SignalAndNoise::default();
            found.add(&exact, &answers_of(&graph, int8));
            let found = found.decibels().unwrap_or(f64::INFINITY);
            assert!(found > told - 2.0, "{family}: {found} dB, told {told} dB");
        }
    }
}
