//! Depthwise convolutions of bytes and of brain floats: of whole numbers they answer as plain Candle
//! does, whatever the geometry, on every family.

use divisi_runtime::compute::{Family, planned_steps};
use divisi_runtime::network::{Activation, Conv2d, Graph, Op, Shape, Sides, Weights};
use proptest::prelude::*;

use super::{Net, TOLERANCE, answer, cases, difference, lowered, plain, reduced, rows};
use crate::compute::weights;

/// A depthwise convolution between two values that are rounded to bytes.
#[derive(Clone, Debug)]
struct Case {
    conv: Conv2d,
    input: Shape,
    zero_points: [u8; 2],
    /// The step of the answer's bytes.
    scale: f32,
    last: Option<Op>,
    joined: bool,
}

/// Returns a function that rounds to bytes, whose 0 is this one.
fn rounding(zero_point: u8, scale: f32) -> Op {
    let least = -f32::from(zero_point);
    Op::Activation(Activation::FakeQuantise {
        scale,
        least,
        most: least + 255.0,
    })
}

impl Case {
    /// Returns the network, or `None` if windows do not fit its images.
    fn graph(&self) -> Option<Graph> {
        let [first, second] = self.zero_points;
        let mut net = Net::new(self.input).then(rounding(first, 1.0));
        let read = net.0.last();
        let mut made = net.try_add(Op::Conv2d(self.conv), &[read])?;
        if let Some(last) = self.last {
            made = net.try_add(last, &[made])?;
        }
        let made = net.try_add(rounding(second, self.scale), &[made])?;
        if self.joined {
            let other = net.try_add(Op::Conv2d(Conv2d::new(24, 1)), &[made])?;
            let other = net.try_add(rounding(second, self.scale), &[other])?;
            net.try_add(Op::Concat, &[made, other])?;
        }
        let last = net.0.last();
        net.try_add(Op::Conv2d(Conv2d::new(20, 1)), &[last])?;
        Some(net.build())
    }
}

fn case() -> impl Strategy<Value = Case> {
    let side = || prop::sample::select(vec![3usize, 3, 5, 7]);
    let kernel = prop_oneof![
        4 => side().prop_map(|side| (side, side)),
        1 => (1usize..8, side()),
        1 => (1usize..4, 1usize..4),
    ];
    let stride = prop::sample::select(vec![1usize, 1, 2, 2, 3]);
    let dilation = prop::sample::select(vec![1usize, 1, 1, 2]);
    let zero = || prop::sample::select(vec![0u8, 0, 1, 128, 254, 255]);
    // Odd, so that no whole sum is in the middle between two bytes.
    let scale = prop::sample::select(vec![0.5f32, 1.0, 17.0, 255.0]);
    let last = prop::sample::select(vec![None, None, Some(Op::Relu), Some(Op::Relu6)]);
    // Whole vectors, parts of them, and pixels that are no whole groups of bytes.
    let channels = prop_oneof![4 => (1usize..50).prop_map(|n| 4 * n), 1 => 2usize..70];
    let geometry = (channels, kernel, stride, dilation, (0usize..4, 0usize..4));
    let ends = ([zero(), zero()], scale, last, any::<bool>(), any::<bool>());
    (geometry, (1usize..12, 1usize..12), ends).prop_map(
        |((channels, kernel, stride, dilation, padding), image, ends)| Case {
            conv: Conv2d {
                stride,
                dilation,
                groups: channels,
                bias: ends.3,
                ..Conv2d::new(channels, kernel).padded(padding)
            },
            input: Shape::image(channels, image.0, image.1),
            zero_points: ends.0,
            scale: ends.1,
            last: ends.2,
            joined: ends.4,
        },
    )
}

/// Returns whole weights from -3 to 3, and some that are `most`.
fn whole(graph: &Graph, most: f32) -> Weights {
    let known = weights(graph);
    let each = known.iter().map(|(name, values)| {
        let small = |(at, v): (usize, &f32)| match name.ends_with("weight") && at % 7 == 0 {
            true => most,
            false => (v * 1e4).round() % 4.0,
        };
        let values = values.iter().enumerate().map(small);
        (name.to_owned(), values.collect())
    });
    Weights::from_values(each.collect(), graph).expect("same shapes")
}

/// Returns whole numbers around 0, of both signs.
fn whole_rows(graph: &Graph, batch: usize, most: i32) -> candle_core::Tensor {
    let count = batch * graph.input().elements();
    let value = |at: usize| ((at * 7919 + 13) % 1009) as i32 % (2 * most + 1) - most;
    rows((0..count).map(|at| value(at) as f32).collect(), batch)
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn bytes_answer_as_the_whole_numbers_that_they_are(
        case in case(), wide: bool, batch in 1usize..3, threads in 0usize..3,
    ) {
        let Some(graph) = case.graph() else { return Ok(()) };
        let weights = whole(&graph, if wide { 127.0 } else { 3.0 });
        let graph = graph.with_steps_of(&weights);
        // Also what is beyond the ends, where values saturate.
        let x = whole_rows(&graph, batch, 300);
        let expected = plain(&graph, &weights, &x);
        for family in Family::available() {
            let found = answer(&lowered(&graph, &weights, family), &x, threads);
            let off = difference(&expected, &found);
            prop_assert!(off < TOLERANCE, "{family}: off by {off}");
        }
    }

    /// Sums below 256 are brain floats.
    #[test]
    fn brain_floats_answer_as_the_whole_numbers_that_they_are(
        case in case(), batch in 1usize..3, threads in 0usize..3,
    ) {
        let mut net = Net::new(case.input).then(Op::Relu);
        let read = net.0.last();
        let Some(mut made) = net.try_add(Op::Conv2d(case.conv), &[read]) else { return Ok(()) };
        if let Some(last) = case.last {
            made = net.add(last, &[made]);
        }
        net.add(Op::Conv2d(Conv2d::new(20, 1)), &[made]);
        let graph = net.build();
        let weights = whole(&graph, 3.0);
        let x = whole_rows(&graph, batch, 1);
        let expected = answer(&lowered(&graph, &weights, Family::Plain), &x, threads);
        for family in Family::available() {
            let found = answer(&reduced::lowered_bf16(&graph, &weights, family), &x, threads);
            let off = difference(&expected, &found);
            prop_assert!(off < TOLERANCE, "{family}: off by {off}");
        }
    }
}

/// Returns each answer of a depthwise convolution of samples, channels first, in float64, and the sum
/// of the sizes of its products.
fn exactly(conv: Conv2d, shape: Shape, x: &[f32], kernels: &[f32], bias: &[f32]) -> Vec<[f64; 2]> {
    let Shape::Image {
        channels,
        height,
        width,
    } = shape
    else {
        return Vec::new();
    };
    let Sides {
        height: h,
        width: w,
    } = conv.kernel;
    let reach = |image: usize, padding: usize, kernel: usize| {
        (image + 2 * padding - conv.dilation * (kernel - 1) - 1) / conv.stride + 1
    };
    let rows = reach(height, conv.padding.height, h);
    let columns = reach(width, conv.padding.width, w);
    let mut answers = Vec::new();
    for (plane, image) in x.chunks_exact(height * width).enumerate() {
        let channel = plane % channels;
        let kernel = &kernels[channel * h * w..][..h * w];
        for at in 0..rows * columns {
            let mut sums = [bias.get(channel).map_or(0.0, |&bias| f64::from(bias)), 0.0];
            for (tap, weight) in kernel.iter().enumerate() {
                let y = at / columns * conv.stride + tap / w * conv.dilation;
                let x = at % columns * conv.stride + tap % w * conv.dilation;
                let place = y
                    .checked_sub(conv.padding.height)
                    .zip(x.checked_sub(conv.padding.width));
                let inside = place.filter(|&(y, x)| y < height && x < width);
                let value = inside.map_or(0.0, |(y, x)| image[y * width + x].max(0.0));
                let product = f64::from(value) * f64::from(*weight);
                sums = [sums[0] + product, sums[1] + product.abs()];
            }
            answers.push(sums);
        }
    }
    answers
}

proptest! {
    #![proptest_config(cases(100))]

    /// A value and a weight are off by up to 2⁻⁸ of themselves each.
    #[test]
    fn brain_floats_answer_within_what_they_round(
        case in case(), batch in 1usize..3, threads in 0usize..3,
    ) {
        let mut net = Net::new(case.input).then(Op::Relu);
        let read = net.0.last();
        prop_assume!(net.try_add(Op::Conv2d(case.conv), &[read]).is_some());
        let graph = net.build();
        let weights = weights(&graph);
        let x = super::input(&graph, batch);
        let of = |end: &str| {
            let mut known = weights.iter().filter(|(name, _)| name.ends_with(end));
            known.next().map_or(Vec::new(), |(_, values)| values.to_vec())
        };
        let expected =
            exactly(case.conv, case.input, &super::values(&x), &of("weight"), &of("bias"));
        for family in Family::available() {
            let found = answer(&reduced::lowered_bf16(&graph, &weights, family), &x, threads);
            prop_assert_eq!(found.len(), expected.len());
            for (found, [sum, size]) in found.into_iter().zip(&expected) {
                let off = (f64::from(found) - sum).abs();
                prop_assert!(off <= 0.0079 * size + 1e-5 * (1.0 + sum.abs()), "{family}: {found} for {sum}");
            }
        }
    }
}

#[test]
fn a_depthwise_layer_multiplies_bytes_where_nothing_is_lost() {
    let case = Case {
        conv: Conv2d {
            groups: 32,
            ..Conv2d::new(32, 3).padded(1)
        },
        input: Shape::image(32, 4, 4),
        zero_points: [0, 128],
        scale: 1.0,
        last: None,
        joined: false,
    };
    let graph = case.graph().expect("fits");
    let (stepped, others) = (whole(&graph, 127.0), weights(&graph));
    let of_bytes = |graph: &Graph| {
        let steps = planned_steps(graph);
        steps.iter().any(|s| s.method == "depthwise, int8")
    };
    // Other processors multiply the floats that bytes stand for.
    let is_possible = of_bytes(&graph.clone().with_steps_of(&stepped));
    assert!(is_possible || !has_byte_products());
    assert!(!of_bytes(&graph.clone().with_steps_of(&others)));
    assert!(!of_bytes(&graph));
}

#[cfg(target_arch = "x86_64")]
fn has_byte_products() -> bool {
    Family::best() == Family::Avx512
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vnni")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_byte_products() -> bool {
    false
}
