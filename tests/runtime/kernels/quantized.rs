//! Products in int8 are those of a plain implementation in integers, to the bit, by every family.

use std::sync::Arc;

use candle_core::Tensor;
use divisi_runtime::compute::{CpuKernels, CpuPrecision, Family, FootprintModel, Lowered};
use divisi_runtime::network::{Conv2d, Graph, Op, Shape, Weights};
use proptest::prelude::*;

use super::integers::Case;
use super::{Net, answer, cases, difference, input, lowered, plain, rows, values};
use crate::compute::weights;

fn int8(family: Family) -> CpuKernels {
    CpuKernels {
        family,
        precision: CpuPrecision::Int8,
    }
}

fn lowered_int8(graph: &Graph, weights: &Weights, family: Family) -> Arc<Lowered> {
    Arc::new(Lowered::with(graph, weights, int8(family)).expect("lowers"))
}

/// Whether all values are equal; NaN equals NaN.
fn same(a: &[f32], b: &[f32]) -> bool {
    let equal = |(a, b): (&f32, &f32)| a == b || a.is_nan() && b.is_nan();
    a.len() == b.len() && a.iter().zip(b).all(equal)
}

/// Every family answers as integers do, or as float32 where it computes in that.
fn check(
    case: &Case,
    weights: &Weights,
    x: &Tensor,
    threads: usize,
    may_stay: bool,
) -> Result<(), TestCaseError> {
    let graph = case.graph().expect("a kernel that fits");
    let samples = values(x);
    let each = samples.chunks_exact(case.input().elements());
    let expected: Vec<f32> = each.flat_map(|s| case.answer(&graph, weights, s)).collect();
    for family in Family::available() {
        let found = answer(&lowered_int8(&graph, weights, family), x, threads);
        let stays = || {
            let float = answer(&lowered(&graph, weights, family), x, threads);
            may_stay && same(&found, &float)
        };
        let exact = same(&expected, &found);
        prop_assert!(
            exact || stays(),
            "{family}: off by {}",
            difference(&expected, &found)
        );
    }
    Ok(())
}

fn geometry() -> impl Strategy<Value = Conv2d> {
    let kernel = prop_oneof![
        2 => Just((1, 1)),
        2 => Just((3, 3)),
        1 => (1usize..6, 1usize..6),
    ];
    let step = || prop::sample::select(vec![1usize, 1, 2, 3]);
    let channels = prop_oneof![1 => 1usize..20, 2 => 20usize..150];
    (
        channels,
        kernel,
        step(),
        step(),
        (0usize..4, 0usize..4),
        any::<bool>(),
    )
        .prop_map(
            |(channels, kernel, stride, dilation, padding, bias)| Conv2d {
                stride,
                dilation,
                bias,
                ..Conv2d::new(channels, kernel).padded(padding)
            },
        )
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn convolutions_in_int8_are_exact_in_integers(
        conv in geometry(), channels in 16usize..90, image in (1usize..9, 1usize..9),
        by in prop::sample::select(vec![1.0f32, 1.25, -0.5]), residual: bool, relu: bool,
        batch in 1usize..4, threads in 0usize..3,
    ) {
        let case = Case { by, residual, relu, ..Case::new(channels, image, conv) };
        let Some(graph) = case.graph() else { return Ok(()) };
        let x = input(&graph, batch);
        check(&case, &weights(&graph), &x, threads, true)?;
    }
}

/// Layers that every family computes in int8.
fn certain() -> [Case; 3] {
    [
        Case::new(64, 7, Conv2d::new(96, 1).biased()),
        Case::new(130, 9, Conv2d::new(70, 3).padded(1).strided(2).biased()),
        Case::new(128, 1, Conv2d::new(1000, 1)),
    ]
}

#[test]
fn pointwise_and_strided_convolutions_are_taken_by_every_family() {
    for case in certain() {
        let graph = case.graph().expect("graph");
        let x = input(&graph, 3);
        check(&case, &weights(&graph), &x, 2, false).expect("exact");
    }
}

#[test]
fn zero_points_are_exact_at_both_ends() {
    for case in certain() {
        let graph = case.graph().expect("graph");
        for change in [
            f32::abs,
            |v: f32| -v.abs(),
            |_| 0.0,
            |_| 3.5,
            |v| v * 1e-38,
            |v| v * 3e38,
        ] {
            let x = values(&input(&graph, 2)).into_iter().map(change);
            let x = rows(x.collect(), 2);
            check(&case, &weights(&graph), &x, 0, false).expect("exact");
        }
    }
}

#[test]
fn the_largest_values_and_weights_do_not_saturate() {
    for case in certain() {
        let graph = case.graph().expect("graph");
        let alike = |(name, values): (&str, &[f32])| (name.to_owned(), vec![-2.5; values.len()]);
        let weights = weights(&graph);
        let each = weights.iter().map(|(name, values)| alike((name, values)));
        let weights = Weights::from_values(each.collect(), &graph).expect("same shapes");
        for value in [7.0, -7.0] {
            let x = rows(vec![value; 2 * graph.input().elements()], 2);
            check(&case, &weights, &x, 0, false).expect("exact");
        }
    }
}

#[test]
fn channels_whose_weights_are_zero_answer_their_bias() {
    for case in certain() {
        let graph = case.graph().expect("graph");
        let silent = weights(&graph);
        let each = silent.iter().map(|(name, values)| {
            let mut values = values.to_vec();
            if name.ends_with("weight") {
                let half = values.len() / 2;
                values[..half].fill(0.0);
            }
            (name.to_owned(), values)
        });
        let silent = Weights::from_values(each.collect(), &graph).expect("same shapes");
        check(&case, &silent, &input(&graph, 1), 0, false).expect("exact");
    }
}

#[test]
fn a_value_that_is_not_finite_makes_its_sample_or_pixel_nan_and_no_other() {
    for case in certain() {
        let graph = case.graph().expect("graph");
        for stray in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut x = values(&input(&graph, 3));
            x[graph.input().elements() + 5] = stray;
            let x = rows(x, 3);
            check(&case, &weights(&graph), &x, 2, false).expect("exact");
        }
    }
}

#[test]
fn fully_connected_layers_in_int8_are_exact_in_integers() {
    for (from, to) in [(16, 1), (77, 130), (512, 1000)] {
        let op = Op::Linear {
            features: to,
            bias: true,
        };
        let graph = Net::new(Shape::Vector { features: from }).then(op).build();
        // A layer is a convolution over one pixel, with the same weights.
        let case = Case::new(from, 1, Conv2d::new(to, 1).biased());
        let weights = weights(&graph);
        for (batch, threads) in [(1, 0), (5, 2), (40, 3)] {
            let x = input(&graph, batch);
            let each = values(&x);
            let image = case.graph().expect("graph");
            let expected: Vec<f32> = each
                .chunks_exact(from)
                .flat_map(|s| case.answer(&image, &weights_of(&image, &graph, &weights), s))
                .collect();
            for family in Family::available() {
                let found = answer(&lowered_int8(&graph, &weights, family), &x, threads);
                assert!(same(&expected, &found), "{family}: {from} to {to}");
            }
        }
    }
}

/// The weights of a fully connected layer as those of a convolution.
fn weights_of(image: &Graph, graph: &Graph, weights: &Weights) -> Weights {
    let names = image.node_parameters(0);
    let each = names.into_iter().map(|parameter| {
        let suffix = parameter.name.rsplit('.').next().expect("a suffix");
        let held = graph.values_of(0, suffix, weights).into_owned();
        (parameter.name.clone(), held)
    });
    Weights::from_values(each.collect(), image).expect("same shapes")
}

#[test]
fn a_network_in_int8_answers_nearly_as_in_float32_and_takes_less_memory() {
    let conv = |to, side| Op::Conv2d(Conv2d::new(to, side).same().biased());
    let graph = Net::new(Shape::image(3, 24, 24))
        .then(conv(32, 3))
        .then(Op::Relu)
        .then(conv(64, 3))
        .then(Op::Relu)
        .then(conv(256, 1))
        .then(Op::Relu)
        .then(Op::GlobalAvgPool)
        .build();
    let weights = weights(&graph);
    let x = input(&graph, 5);
    let exact = plain(&graph, &weights, &x);
    for family in Family::available() {
        let network = lowered_int8(&graph, &weights, family);
        let found = answer(&network, &x, 2);
        let off = difference(&exact, &found);
        assert!(off > 0.0 && off < 0.03, "{family}: off by {off}");
        // Neither samples beside it nor threads change a sample's answer.
        let width = graph.output().elements();
        for (at, row) in values(&x)
            .chunks_exact(graph.input().elements())
            .enumerate()
        {
            let alone = answer(&network, &rows(row.to_vec(), 1), 0);
            assert_eq!(alone, found[at * width..][..width], "{family}");
        }
        let bytes = |kernels: CpuKernels| FootprintModel::of_kernels(&graph, kernels).at(5, 2);
        let [small, large] = [bytes(int8(family)), bytes(family.into())];
        assert!(small.weight_bytes < large.weight_bytes, "{family}");
    }
}

#[test]
fn who_asks_for_float32_is_answered_in_it() {
    for case in certain() {
        let graph = case.graph().expect("graph");
        let (weights, x) = (weights(&graph), input(&graph, 2));
        for family in Family::available() {
            let asked = CpuKernels::from(family);
            assert_eq!(asked.precision, CpuPrecision::F32);
            let network = Arc::new(Lowered::with(&graph, &weights, asked).expect("lowers"));
            let off = difference(&plain(&graph, &weights, &x), &answer(&network, &x, 0));
            assert!(off < super::TOLERANCE, "{family}: off by {off}");
        }
    }
}
