//! Between two products of bytes: sums of rounded values, constants added behind a
//! rounding, and functions of one byte. All numbers are whole, so that answers are exact.

use divisi_runtime::compute::{Family, planned_steps};
use divisi_runtime::network::{
    Activation, Binary, Conv2d, Dims, Graph, NodeId, Op, Shape, TensorOp, Weights,
};
use proptest::prelude::*;

use super::stepped::{rounding, whole};
use super::{Net, TOLERANCE, answer, cases, difference, input, lowered, plain, rows, values};

/// Returns the largest difference from plain operations of any family, whose names are told.
fn largest_difference(graph: Graph, batch: usize, threads: usize) -> f32 {
    let weights = whole(&graph, false);
    let graph = graph.with_steps_of(&weights);
    let scaled = values(&input(&graph, batch)).into_iter().map(|v| v * 300.0);
    let x = rows(scaled.collect(), batch);
    let expected = plain(&graph, &weights, &x);
    let each = Family::available().map(|family| {
        let found = answer(&lowered(&graph, &weights, family), &x, threads);
        difference(&expected, &found)
    });
    each.fold(0.0, f32::max)
}

/// Returns the methods of the steps that the network runs in.
fn methods(graph: &Graph) -> Vec<&'static str> {
    let weights = whole(graph, false);
    let steps = planned_steps(&graph.clone().with_steps_of(&weights));
    steps.iter().map(|step| step.method).collect()
}

fn zero_point() -> impl Strategy<Value = u8> {
    prop::sample::select(vec![0u8, 1, 100, 128, 254, 255])
}

/// A sum of two convolutions of one image, each rounded before and their sum behind.
fn sum(image: Shape, conv: Conv2d, zero_points: [u8; 4], relu: bool) -> Option<Graph> {
    let [read, one, other, after] = zero_points.map(rounding);
    let mut net = Net::new(image).then(read);
    let read = net.0.last();
    let shortcut = Conv2d {
        kernel: divisi_runtime::network::Sides::square(1),
        padding: divisi_runtime::network::Sides::square(0),
        ..conv
    };
    let early = net.try_add(Op::Conv2d(shortcut), &[read])?;
    let early = net.try_add(other, &[early])?;
    let late = net.try_add(Op::Conv2d(conv), &[read])?;
    let late = net.try_add(one, &[late])?;
    let mut made = net.try_add(Op::Add, &[late, early])?;
    if relu {
        made = net.try_add(Op::Relu, &[made])?;
    }
    made = net.try_add(after, &[made])?;
    net.try_add(Op::Conv2d(Conv2d::new(20, 1)), &[made])?;
    Some(net.build())
}

/// A function of one byte in several operations, each of them rounded: `x · round(x / 2)`.
fn function(image: Shape, zero_points: [u8; 3], channels: usize) -> Graph {
    let [read, half, after] = zero_points.map(rounding);
    let mut net = Net::new(image)
        .then(Op::Conv2d(Conv2d::new(channels, 1)))
        .then(read);
    let x = net.0.last();
    let mut add = |op: Op, inputs: &[NodeId]| net.try_add(op, inputs).expect("fits");
    let halved = add(Op::Scale { by: 0.5 }, &[x]);
    let halved = add(half, &[halved]);
    let made = add(Op::Mul, &[x, halved]);
    let made = add(
        Op::Activation(Activation::LeakyRelu { slope: 0.5 }),
        &[made],
    );
    let made = add(after, &[made]);
    add(Op::Conv2d(Conv2d::new(8, 1)), &[made]);
    net.build()
}

/// A layer over tokens whose constants are added behind the rounding of its products.
fn constants(tokens: usize, features: [usize; 2], zero_points: [u8; 3]) -> Graph {
    let [read, product, after] = zero_points.map(rounding);
    let dims = |sizes: &[usize]| Dims::new(sizes).expect("dimensions");
    let layer = |features| Op::Linear {
        features,
        bias: false,
    };
    let add = Op::Tensor(TensorOp::With {
        kind: Binary::Add,
        dims: dims(&[features[1]]),
        first: false,
    });
    let input = Shape::Tensor(dims(&[tokens, features[0]]));
    let order = [read, layer(features[1]), product, add, after, layer(12)];
    order.into_iter().fold(Net::new(input), Net::then).build()
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn sums_of_rounded_values_are_those_of_whole_numbers(
        channels in prop::sample::select(vec![1usize, 3, 4, 16, 32, 36]),
        outputs in 1usize..12,
        (kernel, stride, padding) in (prop::sample::select(vec![1usize, 3, 5]), 1usize..3, 0usize..3),
        sides in (1usize..9, 1usize..9),
        zero_points in [zero_point(), zero_point(), zero_point(), zero_point()],
        (relu, batch, threads) in (any::<bool>(), 1usize..4, 0usize..3),
    ) {
        let conv = Conv2d { stride, ..Conv2d::new(4 * outputs, kernel).padded(padding) };
        let image = Shape::image(channels, sides.0, sides.1);
        let Some(graph) = sum(image, conv, zero_points, relu) else { return Ok(()) };
        let off = largest_difference(graph, batch, threads);
        prop_assert!(off < TOLERANCE, "off by {off}");
    }

    #[test]
    fn functions_of_a_byte_are_those_of_whole_numbers(
        channels in 1usize..70,
        sides in (1usize..9, 1usize..9),
        zero_points in [zero_point(), zero_point(), zero_point()],
        (batch, threads) in (1usize..4, 0usize..3),
    ) {
        let graph = function(Shape::image(8, sides.0, sides.1), zero_points, channels);
        let off = largest_difference(graph, batch, threads);
        prop_assert!(off < TOLERANCE, "off by {off}");
    }

    #[test]
    fn constants_behind_a_rounding_are_those_of_whole_numbers(
        tokens in 1usize..40,
        (inputs, outputs) in (1usize..20, 1usize..40),
        zero_points in [zero_point(), zero_point(), zero_point()],
        (batch, threads) in (1usize..4, 0usize..3),
    ) {
        let graph = constants(tokens, [4 * inputs, outputs], zero_points);
        let off = largest_difference(graph, batch, threads);
        prop_assert!(off < TOLERANCE, "off by {off}");
    }
}

#[test]
fn what_lies_between_two_products_is_part_of_them_or_one_step() {
    if !Family::Avx512.is_available() {
        // Others take Winograd's algorithm where that is faster; planned steps are those of the best.
        return;
    }
    let product = "int8, static";
    let conv = Conv2d::new(32, 1);
    let sum = sum(Shape::image(32, 4, 4), conv, [0; 4], true).expect("fits");
    // Images are averaged at the end.
    let expected = ["moves", "pass", product, product, product, "pass"];
    assert_eq!(methods(&sum), expected);
    let function = function(Shape::image(32, 4, 4), [128; 3], 32);
    assert_eq!(
        methods(&function),
        ["moves", "convolution", "pass", product, "pass"]
    );
    let constants = constants(10, [64, 64], [128; 3]);
    assert_eq!(methods(&constants), ["pass", product, product]);
}

#[test]
fn a_bias_that_is_no_number_makes_no_number() {
    let [read, after] = [128, 100].map(rounding);
    let product = Conv2d {
        bias: true,
        ..Conv2d::new(32, 1)
    };
    let depthwise = Conv2d {
        groups: 32,
        bias: true,
        ..Conv2d::new(32, 3).padded(1)
    };
    for conv in [product, depthwise] {
        let last = Op::Conv2d(Conv2d::new(8, 1));
        let order = [read, Op::Conv2d(conv), after, last];
        let net = order
            .into_iter()
            .fold(Net::new(Shape::image(32, 4, 4)), Net::then);
        let graph = net.build();
        let known = whole(&graph, false);
        let each = known.iter().map(|(name, values)| {
            let mut values = values.to_vec();
            if name.starts_with("layer1") && name.ends_with("bias") {
                values[0] = f32::NAN;
            }
            (name.to_owned(), values)
        });
        let weights = Weights::from_values(each.collect(), &graph).expect("same shapes");
        let graph = graph.with_steps_of(&weights);
        let x = rows(values(&input(&graph, 2)), 2);
        for family in Family::available() {
            let found = answer(&lowered(&graph, &weights, family), &x, 0);
            assert!(found.iter().all(|v| v.is_nan()), "{family}");
        }
    }
}
