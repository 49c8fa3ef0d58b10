//! NaN and infinities reach the answers that they reach in plain Candle.
//!
//! In two places plain Candle loses a NaN, and the kernels (as PyTorch) keep it: at an
//! activation, which makes it 0, and in a maximum, where it depends on its place.

use divisi_runtime::compute::Family;
use divisi_runtime::network::{Conv2d, Graph, Op, Pool, Shape, Sides, Weights};
use proptest::prelude::*;

use super::{Net, answer, cases, input, lowered, plain, rows, values};
use crate::compute::weights;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Class {
    Nan,
    PlusInfinity,
    MinusInfinity,
    Finite,
}

fn class(value: f32) -> Class {
    if value.is_nan() {
        Class::Nan
    } else if value == f32::INFINITY {
        Class::PlusInfinity
    } else if value == f32::NEG_INFINITY {
        Class::MinusInfinity
    } else {
        Class::Finite
    }
}

fn conv(input: (usize, usize), conv: Conv2d) -> Graph {
    let (channels, side) = input;
    Net::new(Shape::image(channels, side, side))
        .then(Op::Conv2d(conv))
        .build()
}

fn layer(input: Shape, op: Op) -> Graph {
    Net::new(input).then(op).build()
}

/// Networks of one layer of each kind.
fn layers() -> Vec<(&'static str, Graph)> {
    let square = Conv2d::new(24, 3).biased();
    let image = Shape::image(20, 6, 6);
    let average = Pool {
        kernel: 3,
        stride: 1,
        padding: 1,
        count_include_pad: true,
        overhang: Sides::square(0),
    };
    let inside = Pool {
        count_include_pad: false,
        ..average
    };
    vec![
        ("first", conv((3, 9), square.same())),
        ("1×1", conv((20, 6), Conv2d::new(24, 1).biased())),
        ("3×3", conv((20, 9), square.padded(1).strided(2))),
        (
            "dilated",
            conv(
                (20, 9),
                Conv2d {
                    dilation: 2,
                    ..square.padded(2)
                },
            ),
        ),
        (
            "depthwise",
            conv((20, 9), Conv2d::new(20, 3).padded(1).grouped(20)),
        ),
        (
            "groups of 4",
            conv((32, 9), Conv2d::new(32, 3).padded(1).grouped(8)),
        ),
        (
            "groups of 8",
            conv((32, 9), Conv2d::new(32, 3).padded(1).grouped(4)),
        ),
        (
            "groups of 5",
            conv((10, 9), Conv2d::new(14, 3).padded(1).grouped(2)),
        ),
        ("average", layer(image, Op::AvgPool(average))),
        ("inside average", layer(image, Op::AvgPool(inside))),
        (
            "adaptive",
            layer(
                image,
                Op::AdaptiveAvgPool {
                    height: 4,
                    width: 5,
                },
            ),
        ),
        ("global", layer(image, Op::GlobalAvgPool)),
        ("norm", layer(image, Op::BatchNorm { eps: 1e-3 })),
        (
            "norm across channels",
            layer(image, Op::LayerNorm { eps: 1e-3 }),
        ),
        ("shuffle", layer(image, Op::ChannelShuffle { groups: 4 })),
        ("slice", layer(image, Op::Channels { first: 3, count: 9 })),
        (
            "larger",
            layer(
                image,
                Op::Upscale {
                    height: 12,
                    width: 12,
                },
            ),
        ),
        (
            "as large",
            layer(
                image,
                Op::Upscale {
                    height: 6,
                    width: 6,
                },
            ),
        ),
        (
            "smaller",
            layer(
                image,
                Op::Upscale {
                    height: 3,
                    width: 3,
                },
            ),
        ),
        (
            "linear",
            layer(
                Shape::vector(70),
                Op::Linear {
                    features: 50,
                    bias: true,
                },
            ),
        ),
        ("softmax", layer(Shape::vector(70), Op::Softmax)),
    ]
}

/// Networks of one convolution that is transformed.
fn transformed() -> Vec<(&'static str, Graph)> {
    vec![
        ("3×3", conv((32, 14), Conv2d::new(32, 3).same().biased())),
        ("5×5", conv((32, 14), Conv2d::new(24, 5).same())),
        ("1×7", conv((32, 14), Conv2d::new(32, (1, 7)).same())),
        ("7×1", conv((32, 14), Conv2d::new(32, (7, 1)).same())),
    ]
}

const KINDS: [f32; 3] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];

/// Places as shares of all values, and what is put there.
pub(super) fn specials() -> impl Strategy<Value = Vec<(f64, f32)>> {
    prop::collection::vec((0.0..1.0, prop::sample::select(KINDS.to_vec())), 1..5)
}

/// Two samples with `specials` among their values.
fn spoilt(graph: &Graph, specials: &[(f64, f32)]) -> Vec<f32> {
    let mut x = values(&input(graph, 2));
    let most = x.len() as f64;
    for &(place, special) in specials {
        x[(place * most) as usize] = special;
    }
    x
}

/// Every answer of every family has the class of `expected`.
fn check(
    name: &str,
    graph: &Graph,
    weights: &Weights,
    x: &[f32],
    expected: &[f32],
) -> Result<(), TestCaseError> {
    let x = rows(x.to_vec(), 2);
    for (family, threads) in Family::available().flat_map(|f| [(f, 0), (f, 2)]) {
        let found = answer(&lowered(graph, weights, family), &x, threads);
        let wrong = (0..found.len()).find(|&i| class(found[i]) != class(expected[i]));
        if let Some(at) = wrong {
            let (found, expected) = (found[at], expected[at]);
            return Err(TestCaseError::fail(format!(
                "{name}, {family}: answer {at} is {found}, in plain Candle {expected}"
            )));
        }
    }
    Ok(())
}

pub(super) fn check_as_plain(
    layers: &[(&str, Graph)],
    specials: &[(f64, f32)],
) -> Result<(), TestCaseError> {
    for (name, graph) in layers {
        let (weights, x) = (weights(graph), spoilt(graph, specials));
        let expected = plain(graph, &weights, &rows(x.clone(), 2));
        check(name, graph, &weights, &x, &expected)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn they_reach_what_they_reach_in_plain_candle(specials in specials()) {
        check_as_plain(&layers(), &specials)?;
    }

    #[test]
    fn they_do_not_spread_within_a_transformed_tile(specials in specials()) {
        check_as_plain(&transformed(), &specials)?;
    }

    /// An activation does as it should with the value before it, which plain Candle computes.
    #[test]
    fn an_activation_keeps_a_nan_and_cuts_infinities(specials in specials(), six: bool) {
        for convolution in [Conv2d::new(24, 3).padded(1).strided(2), Conv2d::new(20, 3).grouped(20)] {
            let before = conv((20, 9), convolution);
            let activation = if six { Op::Relu6 } else { Op::Relu };
            let after = Net::new(before.input()).then(Op::Conv2d(convolution)).then(activation).build();
            let (weights, x) = (weights(&before), spoilt(&before, &specials));
            let expected: Vec<f32> = plain(&before, &weights, &rows(x.clone(), 2))
                .into_iter()
                .map(|v| if v.is_nan() { v } else { v.clamp(0.0, if six { 6.0 } else { f32::INFINITY }) })
                .collect();
            check("activation", &after, &weights, &x, &expected)?;
        }
    }

    #[test]
    fn a_maximum_is_nan_where_anything_in_its_window_is(specials in specials()) {
        let pool = Pool { kernel: 3, stride: 2, padding: 1, count_include_pad: false, overhang: Sides::square(0) };
        let graph = layer(Shape::image(20, 7, 7), Op::MaxPool(pool));
        let (weights, x) = (weights(&graph), spoilt(&graph, &specials));
        let without: Vec<f32> = x.iter().map(|v| if v.is_nan() { 0.0 } else { *v }).collect();
        let mut expected = plain(&graph, &weights, &rows(without, 2));
        // A mean is NaN where anything in its window is and no two infinities meet.
        let marked: Vec<f32> = x.iter().map(|v| if v.is_nan() { f32::NAN } else { 0.0 }).collect();
        let mean = layer(graph.input(), Op::AvgPool(pool));
        let marks = plain(&mean, &weights, &rows(marked, 2));
        for (value, mark) in expected.iter_mut().zip(marks) {
            if mark.is_nan() { *value = f32::NAN; }
        }
        check("maximum", &graph, &weights, &x, &expected)?;
    }

    #[test]
    fn whole_pixels_of_them_reach_what_they_reach_in_plain_candle(
        (first, share) in (0.0..0.9, 0.005..0.1), kind in prop::sample::select(KINDS.to_vec()),
    ) {
        for (name, graph) in transformed() {
            let (weights, mut x) = (weights(&graph), values(&input(&graph, 2)));
            let most = x.len() as f64;
            let run = (first * most) as usize..((first + share) * most) as usize;
            x[run].fill(kind);
            let expected = plain(&graph, &weights, &rows(x.clone(), 2));
            check(name, &graph, &weights, &x, &expected)?;
        }
    }

    /// A transform of such values overflows, their convolution does not.
    #[test]
    fn values_near_the_largest_are_convolved_as_others_are(
        places in prop::collection::vec((0.0..1.0, 20i32..37), 1..200),
    ) {
        for (name, graph) in transformed() {
            let (weights, mut x) = (weights(&graph), values(&input(&graph, 2)));
            let most = x.len() as f64;
            for &(place, power) in &places {
                x[(place * most) as usize] = 10f32.powi(power);
            }
            let x = rows(x, 2);
            let expected = plain(&graph, &weights, &x);
            for family in Family::available() {
                let found = answer(&lowered(&graph, &weights, family), &x, 0);
                let off = super::difference(&expected, &found);
                prop_assert!(off < super::TOLERANCE, "{name}, {family}: off by {off}");
            }
        }
    }
}

/// An infinity times a weight of exactly zero is NaN, times any other infinite.
#[test]
fn an_infinity_is_added_by_the_sign_of_each_weight() {
    let graph = conv((32, 14), Conv2d::new(33, 3).same());
    let name = graph.parameters()[0].name.clone();
    let signs = (0..33 * 32 * 9).map(|at| [0.25, -0.5, 0.0][at * 7 % 31 % 3]);
    let weights = Weights::from_values([(name, signs.collect())].into(), &graph).expect("fits");
    for infinity in [f32::INFINITY, f32::NEG_INFINITY] {
        let mut x = values(&input(&graph, 2));
        // Of each sample another channel and pixel.
        x[3 * 196 + 5 * 14 + 4] = infinity;
        x[32 * 196 + 15 * 196] = infinity;
        let expected = plain(&graph, &weights, &rows(x.clone(), 2));
        check("signs", &graph, &weights, &x, &expected).expect("as in plain Candle");
    }
}
