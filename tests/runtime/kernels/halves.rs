//! Brain floats behind activations, and scaled by a row of each sample.

use divisi_runtime::compute::Family;
use divisi_runtime::network::{Activation, Conv2d, Graph, Op, Shape, Weights};
use proptest::prelude::*;

use super::activations::{ALL, formula};
use super::reduced::{lowered_bf16, rounded};
use super::{BF16_TOLERANCE, Net, answer, cases, difference, input, plain, rows};
use crate::compute::weights;

/// The errors of a brain float: half its last bit, and a sixteenth of that for the function.
const ROUNDING: f64 = 1.0 / 256.0 + 1.0 / 4096.0;

/// The error of the formula of the error function, whose tails are not as precise.
const TAIL: f64 = 1e-6;

const CHANNELS: usize = 72;

/// Three products by the identity, an activation behind the second one: values become brain floats, go
/// through it, and become brain floats again.
fn between_products(activation: Activation, pixels: usize) -> (Graph, Weights) {
    let product = || Op::Conv2d(Conv2d::new(CHANNELS, 1));
    let net = Net::new(Shape::image(CHANNELS, 1, pixels));
    let net = net.then(product()).then(product());
    let graph = net.then(Op::Activation(activation)).then(product()).build();
    let identity = |at: usize| f32::from(u8::from(at / CHANNELS == at % CHANNELS));
    let known = weights(&graph);
    let each = known.iter().map(|(name, values)| {
        let value = |at: usize| {
            if name.ends_with("bias") {
                0.0
            } else {
                identity(at)
            }
        };
        (name.to_owned(), (0..values.len()).map(value).collect())
    });
    let weights = Weights::from_values(each.collect(), &graph).expect("same shapes");
    (graph, weights)
}

#[test]
fn brain_floats_behind_an_activation_are_those_of_its_formula() {
    let pixels = 40;
    let x: Vec<f32> = (0..CHANNELS * pixels)
        .map(|at| rounded((at as f32 - 1440.0) / 48.0))
        .collect();
    for activation in ALL {
        let (graph, weights) = between_products(activation, pixels);
        let expected = plain(&graph, &weights, &rows(x.clone(), 1));
        for family in Family::available() {
            let network = lowered_bf16(&graph, &weights, family);
            let found = answer(&network, &rows(x.clone(), 1), 0);
            assert_eq!(expected.len(), found.len());
            for (&x, &y) in x.iter().zip(&found) {
                let exact = formula(activation, x.into());
                let most = exact.abs() * ROUNDING + TAIL * f64::from(x).abs().max(1.0);
                let off = (f64::from(y) - exact).abs();
                assert!(
                    off <= most,
                    "{family}: {activation:?} of {x} is {y}, not {exact}"
                );
            }
        }
    }
}

#[test]
fn brain_floats_that_are_not_finite_stay_so_behind_an_activation() {
    for activation in ALL {
        let (graph, weights) = between_products(activation, 1);
        let mut x = vec![0.5; CHANNELS];
        x[70] = f32::NAN;
        let x = rows(x, 1);
        for family in Family::available() {
            let found = answer(&lowered_bf16(&graph, &weights, family), &x, 0);
            // A product by zeros spreads it to every channel of the pixel.
            assert!(found.iter().all(|y| y.is_nan()), "{family}: {activation:?}");
        }
    }
}

/// An image whose channels are multiplied by, or added to, what is made of their means.
fn excited(
    channels: usize,
    sides: (usize, usize),
    [inner, outer]: [Activation; 2],
    op: Op,
) -> Graph {
    let mut net = Net::new(Shape::image(channels, sides.0, sides.1));
    let depthwise = Conv2d {
        groups: channels,
        ..Conv2d::new(channels, 3).padded(1)
    };
    let first = net.add(
        Op::Conv2d(Conv2d::new(channels, 1)),
        &[super::NodeId::INPUT],
    );
    let made = net.add(Op::Conv2d(depthwise), &[first]);
    let image = net.add(Op::Activation(inner), &[made]);
    let mean = net.add(Op::GlobalAvgPool, &[image]);
    let product = Op::Linear {
        features: channels,
        bias: true,
    };
    let row = net.add(product, &[mean]);
    let row = net.add(Op::Activation(outer), &[row]);
    let both = net.add(op, &[image, row]);
    net.add(Op::Conv2d(Conv2d::new(16, 1)), &[both]);
    net.build()
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn channels_are_scaled_as_in_float32(
        channels in 1usize..90, sides in (1usize..9, 1usize..9),
        inner in prop::sample::select(vec![Activation::Silu, Activation::HardSwish, Activation::Gelu]),
        outer in prop::sample::select(vec![Activation::Sigmoid, Activation::HARD_SIGMOID]),
        sum: bool, batch in 1usize..4, threads in 0usize..3,
    ) {
        let op = if sum { Op::Add } else { Op::Mul };
        let graph = excited(channels, sides, [inner, outer], op);
        let (weights, x) = (weights(&graph), input(&graph, batch));
        let expected = plain(&graph, &weights, &x);
        for family in Family::available() {
            let found = answer(&lowered_bf16(&graph, &weights, family), &x, threads);
            let off = difference(&expected, &found);
            prop_assert!(off < BF16_TOLERANCE, "{family}: off by {off}");
        }
    }
}
