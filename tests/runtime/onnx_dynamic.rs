//! Products of values that a model quantises by their range, as `quantize_dynamic` of ONNX Runtime
//! writes them, are those of plain integers.

use std::sync::Arc;

use candle_core::{Device, Tensor};
use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::compute::{Family, Lowered, NetworkOp, planned_steps, reference};
use divisi_runtime::device::ThreadTeam;
use divisi_runtime::onnx::{OnnxModel, OnnxNetwork};
use proptest::prelude::*;
use serde_json::Value;

use super::made_onnx::{INT8, MadeModel, UINT8};

use crate::emulated::Emulated;

/// The method of such products.
const IN_BYTES: &str = "int8, dynamic";

/// The largest difference from integers, as a share of the largest answer: that of scales in float32,
/// or of sums in it where bytes are not multiplied.
fn tolerance(family: Family) -> f32 {
    if multiplies_bytes(family) { 2e-6 } else { 1e-4 }
}

/// Whether a family has instructions that multiply bytes.
fn multiplies_bytes(family: Family) -> bool {
    !matches!(family, Family::Neon | Family::Plain)
}

/// As many where the kernels in use multiply bytes, else none.
fn where_multiplied(count: usize) -> usize {
    if multiplies_bytes(Family::best()) {
        count
    } else {
        0
    }
}

/// A layer of bytes over rows of a sample.
#[derive(Clone, Debug)]
struct Layer {
    rows: usize,
    /// Columns that are inputs, and those that are answers.
    inputs: usize,
    features: usize,
    has_sign: bool,
    weights: Vec<i32>,
    /// One each, or one for each feature.
    zeros: Vec<i32>,
    scales: Vec<f32>,
    bias: Option<Vec<f32>>,
    relu: bool,
}

fn of<T: Copy>(all: &[T], at: usize) -> T {
    all[at % all.len()]
}

impl Layer {
    /// A layer of these sizes whose bytes, scales and biases follow from numbers from 0 to 1.
    fn new([rows, inputs, features]: [usize; 3], has_sign: bool, by_column: bool) -> Self {
        let least = if has_sign { -128 } else { 0 };
        let byte = |n: usize| least + (n * 7919 % 256) as i32;
        let count = if by_column { features } else { 1 };
        Layer {
            rows,
            inputs,
            features,
            has_sign,
            weights: (0..inputs * features).map(byte).collect(),
            zeros: (0..count).map(|n| byte(31 * n + 100)).collect(),
            scales: (0..count).map(|n| 0.002 + 0.01 * n as f32).collect(),
            bias: None,
            relu: false,
        }
    }

    fn dims<T>(all: &[T]) -> Vec<usize> {
        match all.len() {
            1 => Vec::new(),
            count => vec![count],
        }
    }

    /// The nodes up to the product in numbers, `p`.
    fn product(&self) -> MadeModel {
        let kind = if self.has_sign { INT8 } else { UINT8 };
        let (zeros, scales) = (Self::dims(&self.zeros), Self::dims(&self.scales));
        MadeModel::default()
            .integers("w", kind, &[self.inputs, self.features], &self.weights)
            .integers("z", kind, &zeros, &self.zeros)
            .floats("s", &scales, &self.scales)
            .node("DynamicQuantizeLinear", &["x"], &["q", "scale", "zero"])
            .node("MatMulInteger", &["q", "w", "zero", "z"], &["i"])
            .cast("i", "f")
            .node("Mul", &["scale", "s"], &["by"])
            .node("Mul", &["f", "by"], &["p"])
    }

    fn network(&self) -> OnnxNetwork {
        let made = match &self.bias {
            Some(bias) => {
                self.product()
                    .floats("b", &[self.features], bias)
                    .node("Add", &["b", "p"], &["a"])
            }
            None => self.product().node("Identity", &["p"], &["a"]),
        };
        let last = if self.relu { "Relu" } else { "Identity" };
        self.read(made.node(last, &["a"], &["y"]))
    }

    fn read(&self, made: MadeModel) -> OnnxNetwork {
        let file = made.file(&[self.rows, self.inputs], &[self.rows, self.features]);
        let model = OnnxModel::from_bytes(file).expect("decodes");
        model.network(None).expect("a network")
    }

    /// The answer to a sample, plainly in integers.
    fn answer(&self, sample: &[f32]) -> Vec<f32> {
        let low = sample.iter().fold(0.0f32, |a, b| a.min(*b));
        let high = sample.iter().fold(0.0f32, |a, b| a.max(*b));
        let scale = ((high - low) / 255.0).max(f32::MIN_POSITIVE);
        let zero = (-low / scale).round_ties_even().clamp(0.0, 255.0);
        let byte = |v: &f32| ((v / scale).round_ties_even() + zero).clamp(0.0, 255.0) as i32;
        let bytes: Vec<i32> = sample.iter().map(byte).collect();
        let feature = |row: &[i32], at: usize| {
            let weight = |k: usize| self.weights[k * self.features + at] - of(&self.zeros, at);
            let products = row.iter().enumerate();
            let sum: i32 = products.map(|(k, v)| (v - zero as i32) * weight(k)).sum();
            let value = sum as f32 * (scale * of(&self.scales, at));
            let value = value + self.bias.as_ref().map_or(0.0, |bias| bias[at]);
            if self.relu { value.max(0.0) } else { value }
        };
        let rows = bytes.chunks_exact(self.inputs);
        rows.flat_map(|row| (0..self.features).map(move |at| feature(row, at)))
            .collect()
    }
}

fn samples(count: usize, of: impl Fn(usize) -> f32) -> Vec<f32> {
    (0..count).map(of).collect()
}

fn usual(n: usize) -> f32 {
    ((n * 7919 + 13) % 1009) as f32 / 504.5 - 0.7
}

fn rows(network: &OnnxNetwork, x: Vec<f32>) -> Tensor {
    let width = network.graph.input().elements();
    Tensor::from_vec(x.clone(), (x.len() / width, width), &Device::Cpu).expect("rows")
}

fn values(tensor: &Tensor) -> Vec<f32> {
    tensor
        .flatten_all()
        .and_then(|y| y.to_vec1())
        .expect("values")
}

fn answers(network: &OnnxNetwork, family: Family, x: Vec<f32>, threads: usize) -> Vec<f32> {
    let lowered = Lowered::with(&network.graph, &network.weights, family).expect("lowers");
    let x = rows(network, x);
    let pool = (threads > 0).then(|| ThreadTeam::start(threads, || {}));
    let pool = pool.map(|pool| Arc::new(pool.expect("pool")));
    let op = NetworkOp::new(Arc::new(lowered), x.dim(0).expect("batch"), pool).expect("memory");
    values(&x.apply_op1_no_bwd(&op).expect("runs"))
}

/// The largest difference as a share of the largest value; infinite where one alone is NaN.
fn difference(expected: &[f32], found: &[f32]) -> f32 {
    assert_eq!(expected.len(), found.len());
    let finite = expected.iter().filter(|v| v.is_finite());
    let largest = finite.fold(f32::MIN_POSITIVE, |all, v| all.max(v.abs()));
    let each = expected
        .iter()
        .zip(found)
        .map(|(a, b)| match (a == b, a.is_nan() && b.is_nan()) {
            (false, false) if a.is_nan() || b.is_nan() => f32::INFINITY,
            (false, false) => (a - b).abs() / largest,
            _ => 0.0,
        });
    each.fold(0.0, f32::max)
}

/// How many products of a network's plan are in bytes.
fn in_bytes(network: &OnnxNetwork) -> usize {
    let steps = planned_steps(&network.graph);
    steps.iter().filter(|step| step.method == IN_BYTES).count()
}

fn check(layer: &Layer, batch: usize, value: impl Fn(usize) -> f32, threads: usize) {
    let network = layer.network();
    assert_eq!(in_bytes(&network), where_multiplied(1), "{layer:?}");
    let width = layer.rows * layer.inputs;
    let x = samples(batch * width, value);
    let expected: Vec<f32> = x
        .chunks_exact(width)
        .flat_map(|s| layer.answer(s))
        .collect();
    for family in Family::available() {
        let off = difference(&expected, &answers(&network, family, x.clone(), threads));
        assert!(
            off <= tolerance(family),
            "{family}: off by {off}, {layer:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn products_by_the_range_of_a_sample_are_those_of_integers(
        sizes in (1usize..9, 2usize..150, 2usize..150), has_sign: bool, by_column: bool,
        has_bias: bool, relu: bool, batch in 1usize..4, threads in 0usize..3, shift in -2.0f32..2.0,
    ) {
        let (rows, inputs, features) = sizes;
        let mut layer = Layer::new([rows, inputs, features], has_sign, by_column);
        layer.bias = has_bias.then(|| samples(features, usual));
        layer.relu = relu;
        check(&layer, batch, |n| usual(n) + shift, threads);
    }
}

#[test]
fn ranges_of_every_kind_are_those_of_integers() {
    let layer = Layer::new([3, 70, 33], false, true);
    for value in [
        |_| 0.0,
        |_| 3.5,
        |_| -3.5,
        |n| usual(n).abs(),
        |n| -usual(n).abs(),
        |n| usual(n) * 1e30,
        |n| usual(n) * 1e-30,
        |n| usual(n) * 1e-42,
    ] {
        check(&layer, 2, value, 2);
    }
}

#[test]
fn the_largest_bytes_do_not_saturate() {
    for (has_sign, weight) in [(true, -128), (true, 127), (false, 255), (false, 0)] {
        let mut layer = Layer::new([2, 3000, 17], has_sign, false);
        layer.weights.fill(weight);
        layer.zeros = vec![if weight == 0 { 255 } else { 0 }];
        check(&layer, 1, |_| 7.0, 0);
        check(&layer, 1, |_| -7.0, 0);
    }
}

#[test]
fn a_sample_that_is_not_finite_changes_no_other() {
    let layer = Layer::new([2, 40, 20], true, false);
    let (width, network) = (80, layer.network());
    for stray in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut x = samples(3 * width, usual);
        x[width + 5] = stray;
        for family in Family::available() {
            let found = answers(&network, family, x.clone(), 0);
            let found: Vec<&[f32]> = found.chunks_exact(40).collect();
            assert!(found[1].iter().all(|v| v.is_nan()), "{family}: {stray}");
            for sample in [0, 2] {
                let expected = layer.answer(&x[sample * width..][..width]);
                assert!(difference(&expected, found[sample]) <= tolerance(family));
            }
        }
    }
}

#[test]
fn attention_over_bytes_answers_as_onnx_runtime_does() {
    let expected: Value =
        serde_json::from_str(include_str!("onnx_files/dynamic.json")).expect("JSON");
    let all = |name: &str| -> Vec<f32> {
        let rows: Vec<Vec<f32>> = serde_json::from_value(expected[name].clone()).expect("rows");
        rows.concat()
    };
    let file = include_bytes!("onnx_files/dynamic.onnx").to_vec();
    let network = OnnxModel::from_bytes(file).and_then(|model| model.network(None));
    let network = network.expect("dynamic");
    assert_eq!(in_bytes(&network), where_multiplied(5));
    let (x, theirs) = (all("x"), all("y"));
    for family in Family::available() {
        let off = difference(&theirs, &answers(&network, family, x.clone(), 0));
        assert!(off <= 1e-4, "{family}: off by {off}");
    }
    let emulated = Emulated::new(&network.graph, &network.weights, Precision::F32);
    let off = difference(&theirs, &emulated.answer(&x));
    assert!(off <= 1e-4, "on a GPU: off by {off}");
}

/// The network runs without products in bytes, and answers as plain Candle does.
fn runs_in_floats(what: &str, network: &OnnxNetwork, x: Vec<f32>) {
    assert_eq!(in_bytes(network), 0, "{what}");
    let mut source = reference::Fixed::new(&network.graph, &network.weights);
    let plain = reference::run(&network.graph, &mut source, &rows(network, x.clone()));
    let plain = values(&plain.expect("plain"));
    for family in Family::available() {
        let off = difference(&plain, &answers(network, family, x.clone(), 0));
        assert!(off <= 1e-4, "{what}, {family}: off by {off}");
    }
}

#[test]
fn scales_that_bytes_cannot_be_found_by_run_in_floats() {
    for scale in [
        0.0,
        1e-42,
        f32::MIN_POSITIVE / 2.0,
        3e38,
        f32::INFINITY,
        f32::NAN,
    ] {
        for by_column in [false, true] {
            let mut layer = Layer::new([2, 20, 5], true, by_column);
            layer.scales[0] = scale;
            runs_in_floats(&format!("{scale}"), &layer.network(), samples(80, usual));
        }
    }
}

#[test]
fn negative_scales_are_those_of_integers() {
    let mut layer = Layer::new([2, 20, 5], false, true);
    layer.scales[2] *= -1.0;
    check(&layer, 2, usual, 0);
}

#[test]
fn integers_that_others_read_run_in_floats() {
    let layer = Layer::new([2, 20, 20], true, false);
    let x = samples(80, usual);
    let end = ["p", "r"];
    let read = [
        (
            "the bytes",
            layer.product().cast("q", "r").node("Add", &end, &["y"]),
        ),
        (
            "the sums",
            layer.product().cast("i", "r").node("Add", &end, &["y"]),
        ),
        (
            "the numbers",
            layer
                .product()
                .node("Neg", &["f"], &["r"])
                .node("Add", &end, &["y"]),
        ),
        (
            "the scales",
            layer
                .product()
                .node("Mul", &["x", "by"], &["r"])
                .node("Add", &end, &["y"]),
        ),
    ];
    for (what, made) in read {
        runs_in_floats(what, &layer.read(made), x.clone());
    }
}

#[test]
fn scale_and_zero_point_may_have_other_readers() {
    let layer = Layer::new([2, 20, 20], true, false);
    let made = layer
        .product()
        .cast("zero", "r")
        .node("Mul", &["r", "scale"], &["t"]);
    let network = layer.read(made.node("Add", &["p", "t"], &["y"]));
    assert_eq!(in_bytes(&network), where_multiplied(1));
    let x = samples(40, usual);
    let low = x.iter().fold(0.0f32, |a, b| a.min(*b));
    let high = x.iter().fold(0.0f32, |a, b| a.max(*b));
    let scale = (high - low) / 255.0;
    let shift = (-low / scale).round_ties_even() * scale;
    let expected: Vec<f32> = layer.answer(&x).iter().map(|v| v + shift).collect();
    let found = answers(&network, Family::best(), x, 0);
    assert!(difference(&expected, &found) <= tolerance(Family::best()));
}

#[test]
fn products_share_the_bytes_that_they_read() {
    let layer = Layer::new([3, 30, 30], true, false);
    let made = layer
        .product()
        .node("MatMulInteger", &["q", "w", "zero", "z"], &["j"])
        .cast("j", "g")
        .node("Mul", &["scale", "s"], &["again"])
        .node("Mul", &["again", "g"], &["r"])
        .node("Sub", &["p", "r"], &["d"])
        .node("Add", &["d", "p"], &["y"]);
    let network = layer.read(made);
    let methods: Vec<_> = planned_steps(&network.graph)
        .iter()
        .map(|s| s.method)
        .collect();
    let count = |of| methods.iter().filter(|m| **m == of).count();
    let expected = (where_multiplied(1), where_multiplied(2));
    assert_eq!((count("ranges"), count(IN_BYTES)), expected, "{methods:?}");
    let x = samples(90, usual);
    let found = answers(&network, Family::best(), x.clone(), 0);
    assert!(difference(&layer.answer(&x), &found) <= tolerance(Family::best()));
}
