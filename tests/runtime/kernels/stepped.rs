//! Networks that a quantiser made: values that are rounded to 256 numbers and weights that are whole
//! multiples of a step are multiplied as bytes, and answer as the floats that these stand for.

use divisi_runtime::compute::{Family, planned_steps};
use divisi_runtime::network::{
    Activation, Conv2d, Dims, Graph, Op, Pool, Shape, TensorOp, Weights,
};
use proptest::prelude::*;

use super::{Net, TOLERANCE, answer, cases, difference, input, lowered, plain, rows, values};
use crate::compute::weights;

/// The integers that bytes from 0 to 255 stand for, whose 0 is this one.
pub(super) fn rounding(zero_point: u8) -> Op {
    let least = -f32::from(zero_point);
    Op::Activation(Activation::FakeQuantise {
        scale: 1.0,
        least,
        most: least + 255.0,
    })
}

/// A convolution between two values that are rounded.
#[derive(Clone, Debug)]
struct Case {
    conv: Conv2d,
    input: Shape,
    zero_points: [u8; 2],
    residual: bool,
    relu: bool,
    pool: bool,
    join: bool,
}

impl Case {
    /// Returns the network, or `None` if windows do not fit its images.
    fn graph(&self) -> Option<Graph> {
        let [first, second] = self.zero_points.map(rounding);
        let mut net = Net::new(self.input).then(first);
        let read = net.0.last();
        let mut made = net.try_add(Op::Conv2d(self.conv), &[read])?;
        if self.residual {
            made = net.try_add(Op::Add, &[made, read])?;
        }
        if self.relu {
            made = net.try_add(Op::Relu, &[made])?;
        }
        made = net.try_add(second, &[made])?;
        if self.pool {
            let pool = Pool {
                padding: 1,
                ..Pool::new(3, 2)
            };
            made = net.try_add(Op::MaxPool(pool), &[made])?;
        }
        if self.join {
            let other = net.try_add(Op::Conv2d(Conv2d::new(24, 1)), &[made])?;
            let other = net.try_add(second, &[other])?;
            made = net.try_add(Op::Concat, &[made, other])?;
        }
        net.try_add(Op::Conv2d(Conv2d::new(20, 1)), &[made])?;
        Some(net.build())
    }
}

fn case() -> impl Strategy<Value = Case> {
    let kernel = prop_oneof![
        2 => Just((1, 1)),
        2 => Just((3, 3)),
        1 => (1usize..4, 1usize..4),
    ];
    let step = || prop::sample::select(vec![1usize, 1, 2]);
    let zero = || prop::sample::select(vec![0u8, 0, 1, 128, 254, 255]);
    let sizes = (4usize..18, kernel, step(), step(), (0usize..3, 0usize..3));
    let image = (1usize..8, 1usize..8, 4usize..20);
    let ends = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (sizes, image, [zero(), zero()], any::<bool>(), ends).prop_map(
        |((channels, kernel, stride, dilation, padding), image, zero_points, bias, ends)| Case {
            conv: Conv2d {
                stride,
                dilation,
                bias,
                ..Conv2d::new(4 * channels, kernel).padded(padding)
            },
            input: Shape::image(4 * image.2, image.0, image.1),
            zero_points,
            residual: ends.0,
            relu: ends.1,
            pool: ends.2,
            join: ends.3,
        },
    )
}

/// Returns whole weights from -2 to 2, of which each has one that is 127 where `wide`.
pub(super) fn whole(graph: &Graph, wide: bool) -> Weights {
    let known = weights(graph);
    let each = known.iter().map(|(name, values)| {
        let small = |(at, v): (usize, &f32)| match wide && name.ends_with("weight") && at % 7 == 0 {
            true => 127.0,
            false => (v * 1e4).round() % 3.0,
        };
        (
            name.to_owned(),
            values.iter().enumerate().map(small).collect(),
        )
    });
    Weights::from_values(each.collect(), graph).expect("same shapes")
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn bytes_answer_as_the_whole_numbers_that_they_are(
        case in case(), wide: bool, batch in 1usize..4, threads in 0usize..3,
    ) {
        let Some(graph) = case.graph() else { return Ok(()) };
        let weights = whole(&graph, wide);
        let graph = graph.with_steps_of(&weights);
        // Also what is beyond the ends, where values saturate.
        let scaled = values(&input(&graph, batch)).into_iter().map(|v| v * 300.0);
        let x = rows(scaled.collect(), batch);
        let expected = plain(&graph, &weights, &x);
        for family in Family::available() {
            let found = answer(&lowered(&graph, &weights, family), &x, threads);
            let off = difference(&expected, &found);
            // Winograd's algorithm, where it is the faster one, is off by a share of the largest sums.
            let most = if wide { 50.0 * TOLERANCE } else { TOLERANCE };
            prop_assert!(off < most, "{family}: off by {off}");
        }
    }
}

/// Returns how many steps of a network multiply bytes.
fn of_bytes(graph: &Graph) -> usize {
    let steps = planned_steps(graph);
    steps.iter().filter(|s| s.method == "int8, static").count()
}

#[test]
fn layers_are_multiplied_as_bytes_where_nothing_is_lost() {
    let case = Case {
        conv: Conv2d::new(32, 1),
        input: Shape::image(32, 4, 4),
        zero_points: [0, 128],
        residual: true,
        relu: true,
        pool: false,
        join: false,
    };
    let graph = case.graph().expect("fits");
    let (stepped, others) = (whole(&graph, true), weights(&graph));
    // What nothing is known of, and weights between steps, are multiplied as floats.
    assert_eq!(of_bytes(&graph), 0);
    assert_eq!(of_bytes(&graph.clone().with_steps_of(&others)), 0);
    assert_eq!(of_bytes(&graph.with_steps_of(&stepped)), 2);
}

/// An image of few channels that is rounded before it is convolved and behind it.
fn entering(channels: usize, sides: (usize, usize), conv: Conv2d) -> Graph {
    let net = Net::new(Shape::image(channels, sides.0, sides.1));
    let net = net.then(rounding(131)).then(Op::Conv2d(conv));
    net.then(rounding(0)).build()
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn samples_are_rounded_to_bytes_as_the_first_step_of_the_network_says(
        channels in 1usize..5, sides in (5usize..24, 5usize..24), size in 1usize..6,
        stride in 1usize..3, padding in 0usize..3, batch in 1usize..4, threads in 0usize..3,
    ) {
        let conv = Conv2d { stride, ..Conv2d::new(24, size).padded(padding) };
        let graph = entering(channels, sides, conv);
        let weights = whole(&graph, false);
        let graph = graph.with_steps_of(&weights);
        let scaled = values(&input(&graph, batch)).into_iter().map(|v| v * 300.0);
        let x = rows(scaled.collect(), batch);
        let expected = plain(&graph, &weights, &x);
        for family in Family::available() {
            let found = answer(&lowered(&graph, &weights, family), &x, threads);
            let off = difference(&expected, &found);
            prop_assert!(off < TOLERANCE, "{family}: off by {off}");
        }
    }
}

#[test]
fn rounding_samples_takes_no_step_of_its_own() {
    let graph = entering(3, (32, 32), Conv2d::new(32, 3).padded(1));
    let graph = graph.clone().with_steps_of(&whole(&graph, false));
    let methods: Vec<_> = planned_steps(&graph).iter().map(|s| s.method).collect();
    // Where bytes are multiplied no faster than floats, the convolution reads floats.
    let is_first = |method: &str| methods.first() == Some(&method);
    assert!(
        is_first("int8, static") || !methods.contains(&"int8, static"),
        "{methods:?}"
    );
}

/// An image that is flattened, as an image and as a tensor, around a value that is rounded.
fn flattened(channels: usize, sides: (usize, usize), as_tensor: bool, first: bool) -> Graph {
    let view = TensorOp::View {
        shape: Shape::Vector {
            features: channels * sides.0 * sides.1,
        },
    };
    let sizes = Dims::new(&[channels, sides.0, sides.1]).expect("dimensions");
    let (input, flat) = match as_tensor {
        true => (Shape::Tensor(sizes), Op::Tensor(view)),
        false => (Shape::image(channels, sides.0, sides.1), Op::Flatten),
    };
    let order = match first {
        true => [rounding(128), flat],
        false => [flat, rounding(128)],
    };
    let last = Op::Linear {
        features: 12,
        bias: true,
    };
    let net = order.into_iter().fold(Net::new(input), Net::then);
    net.then(last).build()
}

#[test]
fn a_flattened_image_is_multiplied_as_bytes() {
    let shapes = [
        (16, (1, 2)),
        (16, (3, 1)),
        (64, (1, 3)),
        (24, (2, 2)),
        (1, (4, 16)),
    ];
    let kinds = [(true, true), (true, false), (false, true), (false, false)];
    let all = shapes
        .iter()
        .flat_map(|shape| kinds.map(|kind| (*shape, kind)));
    for ((channels, sides), (as_tensor, first)) in all {
        let graph = flattened(channels, sides, as_tensor, first);
        let weights = whole(&graph, false);
        let graph = graph.with_steps_of(&weights);
        let scaled = values(&input(&graph, 3)).into_iter().map(|v| v * 100.0);
        let x = rows(scaled.collect(), 3);
        let expected = plain(&graph, &weights, &x);
        for family in Family::available() {
            let found = answer(&lowered(&graph, &weights, family), &x, 0);
            let (off, case) = (
                difference(&expected, &found),
                (channels, sides, as_tensor, first),
            );
            assert!(off < TOLERANCE, "{family}: {case:?}: off by {off}");
        }
    }
}

#[test]
fn nan_which_no_byte_is_makes_its_samples_answer_nan_and_no_other() {
    let case = Case {
        conv: Conv2d::new(32, 3).padded(1),
        input: Shape::image(32, 3, 3),
        zero_points: [128, 0],
        residual: true,
        relu: true,
        pool: true,
        join: false,
    };
    let graph = case.graph().expect("fits");
    let weights = whole(&graph, true);
    let graph = graph.with_steps_of(&weights);
    let mut samples = values(&input(&graph, 3));
    samples[graph.input().elements() + 7] = f32::NAN;
    samples[0] = f32::INFINITY;
    let x = rows(samples, 3);
    let expected = plain(&graph, &weights, &x);
    let each = graph.output().elements();
    for family in Family::available() {
        let found = answer(&lowered(&graph, &weights, family), &x, 2);
        assert!(found[each..2 * each].iter().all(|v| v.is_nan()), "{family}");
        for of in [0..each, 2 * each..3 * each] {
            // Infinity saturates, as all that is beyond the ends does.
            let off = difference(&expected[of.clone()], &found[of]);
            assert!(off < TOLERANCE, "{family}: off by {off}");
        }
    }
}
