//! Products in bf16: exact where nothing is rounded, rounded once where a value is kept, by every
//! family.

use std::sync::Arc;

use divisi_runtime::compute::{CpuKernels, CpuPrecision, Family, Lowered};
use divisi_runtime::network::{Activation, Conv2d, Graph, Op, Pool, Shape, Weights};
use proptest::prelude::*;

use super::{Net, TOLERANCE, answer, cases, difference, input, lowered, rows};
use crate::compute::weights;

pub(super) fn lowered_bf16(graph: &Graph, weights: &Weights, family: Family) -> Arc<Lowered> {
    let kernels = CpuKernels {
        family,
        precision: CpuPrecision::Bf16,
    };
    Arc::new(Lowered::with(graph, weights, kernels).expect("lowers"))
}

/// Returns the nearest brain float, half to even.
pub(super) fn rounded(value: f32) -> f32 {
    let bits = value.to_bits();
    let half = 0x7fff + (bits >> 16 & 1);
    f32::from_bits(bits.wrapping_add(half) & 0xffff_0000)
}

/// A convolution behind a step that writes brain floats, and what is fused into it.
#[derive(Clone, Debug)]
struct Case {
    conv: Conv2d,
    input: Shape,
    residual: bool,
    last: Option<Op>,
}

impl Case {
    /// Returns the network, or `None` if windows do not fit its images.
    fn graph(&self) -> Option<Graph> {
        let mut net = Net::new(self.input).then(Op::Relu);
        let first = net.0.last();
        let mut made = net.try_add(Op::Conv2d(self.conv), &[first])?;
        if self.residual {
            made = net.try_add(Op::Add, &[made, first])?;
        }
        if let Some(last) = self.last {
            made = net.try_add(last, &[made])?;
        }
        net.try_add(Op::Conv2d(Conv2d::new(20, 1)), &[made])?;
        Some(net.build())
    }
}

fn geometry() -> impl Strategy<Value = Case> {
    let kernel = prop_oneof![
        2 => Just((1, 1)),
        2 => Just((3, 3)),
        1 => (1usize..5, 1usize..5),
    ];
    let step = || prop::sample::select(vec![1usize, 1, 2]);
    let last = prop::sample::select(vec![None, Some(Op::Relu), Some(Op::Relu6)]);
    let image = (1usize..8, 1usize..8, 8usize..40);
    let sizes = (1usize..70, kernel, step(), step(), (0usize..3, 0usize..3));
    (sizes, image, any::<bool>(), any::<bool>(), last).prop_map(
        |((channels, kernel, stride, dilation, padding), image, bias, residual, last)| Case {
            conv: Conv2d {
                stride,
                dilation,
                bias,
                ..Conv2d::new(channels, kernel).padded(padding)
            },
            input: Shape::image(2 * image.2, image.0, image.1),
            residual,
            last,
        },
    )
}

/// Returns weights with whole numbers from -2 to 2 in the place of each.
fn whole(graph: &Graph) -> Weights {
    let weights = weights(graph);
    let small = |v: &f32| (v * 1e4).round() % 3.0;
    let each = weights
        .iter()
        .map(|(name, values)| (name.to_owned(), values.iter().map(small).collect()));
    Weights::from_values(each.collect(), graph).expect("same shapes")
}

proptest! {
    #![proptest_config(cases(200))]

    /// Small whole numbers are brain floats, and so are their sums as long as they are below 256.
    #[test]
    fn products_of_small_whole_numbers_are_those_of_float32(
        case in geometry(), batch in 1usize..4, threads in 0usize..3,
    ) {
        let Some(graph) = case.graph() else { return Ok(()) };
        let weights = whole(&graph);
        let few = |(at, _): (usize, f32)| if at % 23 == 0 { 1.0 } else { 0.0 };
        let x = super::values(&input(&graph, batch)).into_iter().enumerate().map(few);
        let x = rows(x.collect(), batch);
        for family in Family::available() {
            let expected = answer(&lowered(&graph, &weights, family), &x, threads);
            let found = answer(&lowered_bf16(&graph, &weights, family), &x, threads);
            // Winograd's algorithm is off by a little; a number that was rounded would be by up to 2⁻⁸.
            let off = difference(&expected, &found);
            prop_assert!(off < TOLERANCE, "{family}: off by {off}");
        }
    }
}

/// A network that answers what its first step writes.
fn passing(channels: usize) -> (Graph, Weights) {
    let graph = Net::new(Shape::image(channels, 2, 3))
        .then(Op::Relu)
        .then(Op::Conv2d(Conv2d::new(channels, 1)))
        .build();
    let weights = weights(&graph);
    let each = weights.iter().map(|(name, values)| {
        let place = |at: usize| f32::from(u8::from(at / channels == at % channels));
        (name.to_owned(), (0..values.len()).map(place).collect())
    });
    let weights = Weights::from_values(each.collect(), &graph).expect("same shapes");
    (graph, weights)
}

#[test]
fn a_value_that_is_kept_is_the_nearest_brain_float() {
    let (graph, weights) = passing(32);
    let many = (0..graph.input().elements() as u32).map(|at| {
        let bits = 0x3f80_0000 + at.wrapping_mul(0x2345_6789) % 0x0400_0000;
        // Some are in the middle between two.
        f32::from_bits(if at % 3 == 0 {
            bits & 0xffff_0000 | 0x8000
        } else {
            bits
        })
    });
    let many: Vec<f32> = many.collect();
    let expected: Vec<f32> = many.iter().map(|&v| rounded(v)).collect();
    let x = rows(many, 1);
    for family in Family::available() {
        let found = answer(&lowered_bf16(&graph, &weights, family), &x, 0);
        assert_eq!(expected, found, "{family}");
    }
}

#[test]
fn numbers_that_are_not_finite_stay_so() {
    let (graph, weights) = passing(32);
    for stray in [
        f32::NAN,
        f32::INFINITY,
        f32::MAX,
        f32::from_bits(0x7fff_ffff),
    ] {
        let mut values = vec![1.0; 2 * graph.input().elements()];
        values[5] = stray;
        let x = rows(values, 2);
        for family in Family::available() {
            let found = answer(&lowered_bf16(&graph, &weights, family), &x, 0);
            let (first, second) = found.split_at(found.len() / 2);
            assert!(first.iter().any(|v| !v.is_finite()), "{family}: {stray}");
            assert!(second.iter().all(|&v| v == 1.0), "{family}: {stray}");
        }
    }
}

#[test]
fn maxima_of_brain_floats_are_those_of_float32() {
    for (channels, pool) in [
        (32, Pool::new(2, 2)),
        (70, Pool::new(3, 1)),
        (
            130,
            Pool {
                padding: 1,
                ..Pool::new(3, 2)
            },
        ),
    ] {
        let same = Op::Activation(Activation::LeakyRelu { slope: 1.0 });
        let graph = Net::new(Shape::image(channels, 5, 6))
            .then(same)
            .then(Op::MaxPool(pool))
            .then(Op::Conv2d(Conv2d::new(16, 1)))
            .build();
        let weights = whole(&graph);
        let strays = [f32::NAN, -f32::NAN, f32::NEG_INFINITY, -0.0, 200.0];
        for stray in strays.into_iter().chain([7.0]) {
            let count = 2 * graph.input().elements();
            let value = |at: usize| (at * 7919 % 251) as f32 - 200.0;
            let mut values: Vec<f32> = (0..count).map(value).collect();
            values[channels + 3] = stray;
            let x = rows(values, 2);
            for family in Family::available() {
                let expected = answer(&lowered(&graph, &weights, family), &x, 0);
                let found = answer(&lowered_bf16(&graph, &weights, family), &x, 0);
                let bits = |all: Vec<f32>| -> Vec<Option<u32>> {
                    let known = |v: f32| (!v.is_nan()).then_some((v + 0.0).to_bits());
                    all.into_iter().map(known).collect()
                };
                assert_eq!(bits(expected), bits(found), "{family}: {stray}");
            }
        }
    }
}
