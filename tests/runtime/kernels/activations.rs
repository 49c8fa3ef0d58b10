//! Activations follow their formulas, over the whole range of numbers.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use candle_core::cpu::erf::erf_f64;
use divisi_runtime::compute::Family;
use divisi_runtime::network::{Activation, Op, Shape};
use proptest::prelude::*;

use super::{Net, answer, lowered, rows};
use crate::compute::weights;

/// Errors are at most so large, as a share of the answer or by themselves.
const RELATIVE: f64 = 2e-6;
const ABSOLUTE: f64 = 1e-6;

/// Every kind of activation that makes small differences no larger.
pub(super) const ALL: [Activation; 15] = [
    Activation::Relu,
    Activation::Relu6,
    Activation::Clip {
        least: -0.75,
        most: 2.5,
    },
    Activation::Clip {
        least: f32::NEG_INFINITY,
        most: 0.5,
    },
    Activation::LeakyRelu { slope: 0.1 },
    Activation::Elu { alpha: 1.5 },
    Activation::Sigmoid,
    Activation::HARD_SIGMOID,
    Activation::Silu,
    Activation::HardSwish,
    Activation::Gelu,
    Activation::GeluTanh,
    Activation::Tanh,
    Activation::Softplus,
    Activation::Mish,
];

/// One that makes some a whole step; the quotients are exact.
const STEPS: Activation = Activation::FakeQuantise {
    scale: 0.125,
    least: -20.0,
    most: 235.0,
};

/// The formula in float64.
pub(super) fn formula(activation: Activation, x: f64) -> f64 {
    let clamp = |x: f64, least: f32, most: f32| x.max(least.into()).min(most.into());
    let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
    if x.is_nan() {
        return x;
    }
    match activation {
        Activation::Relu => x.max(0.0),
        Activation::Relu6 => clamp(x, 0.0, 6.0),
        Activation::Clip { least, most } => clamp(x, least, most),
        Activation::LeakyRelu { slope } => x.max(0.0) + f64::from(slope) * x.min(0.0),
        Activation::Elu { alpha } => x.max(0.0) + f64::from(alpha) * x.min(0.0).exp_m1(),
        Activation::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        Activation::HardSigmoid { slope, shift } => {
            clamp(f64::from(slope) * x + f64::from(shift), 0.0, 1.0)
        }
        Activation::Silu => x / (1.0 + (-x).exp()),
        Activation::HardSwish => x * clamp(x / 6.0 + 0.5, 0.0, 1.0),
        Activation::Gelu => x * (1.0 + erf_f64(x * FRAC_1_SQRT_2)) / 2.0,
        Activation::GeluTanh => {
            let z = (2.0 / PI).sqrt() * (x + 0.044_715 * x * x * x);
            x * (1.0 + z.tanh()) / 2.0
        }
        Activation::Tanh => x.tanh(),
        Activation::Softplus => softplus(x),
        Activation::Mish => x * softplus(x).tanh(),
        Activation::FakeQuantise { scale, least, most } => {
            let steps = (x / f64::from(scale)).round_ties_even();
            clamp(steps, least, most) * f64::from(scale)
        }
    }
}

/// Returns the answers of every family for `x`.
fn answers(activation: Activation, x: &[f32]) -> Vec<(Family, Vec<f32>)> {
    let graph = Net::new(Shape::vector(x.len()))
        .then(Op::from(activation))
        .build();
    let weights = weights(&graph);
    let of = |family| answer(&lowered(&graph, &weights, family), &rows(x.to_vec(), 1), 0);
    Family::available().map(|f| (f, of(f))).collect()
}

fn check(activation: Activation, x: &[f32]) {
    for (family, found) in answers(activation, x) {
        for (&x, &y) in x.iter().zip(&found) {
            let expected = formula(activation, x.into());
            let close = (f64::from(y) - expected).abs() <= RELATIVE * expected.abs() + ABSOLUTE;
            let same = expected.is_nan() && y.is_nan() || expected as f32 == y;
            assert!(
                close || same,
                "{family}: {activation:?} of {x} is {y}, not {expected}"
            );
        }
    }
}

#[test]
fn activations_follow_their_formulas() {
    let small = (-4000..=4000).map(|i| i as f32 / 160.0);
    let large = (-300..=300).map(|i| i as f32 * 0.7);
    let tiny = (-30..0).map(|e| 10f32.powi(e));
    let edges = [
        0.0, -0.0, 88.0, 88.7, 88.73, 89.5, -87.3, -87.4, -103.9, -104.1,
    ];
    let all: Vec<f32> = small.chain(large).chain(tiny).chain(edges).collect();
    for activation in ALL.into_iter().chain([STEPS]) {
        check(activation, &all);
    }
}

#[test]
fn activations_of_what_is_not_finite_follow_their_formulas() {
    let special = [
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::MAX,
        f32::MIN,
    ];
    for activation in ALL.into_iter().chain([STEPS]) {
        // Among others in a vector, and alone at the end of one.
        for before in [0, 1, 3, 16] {
            let mut x = vec![0.25; before];
            x.extend(special);
            check(activation, &x);
        }
    }
}

#[test]
fn a_sigmoid_is_as_precise_where_it_is_small() {
    let x: Vec<f32> = (0..870).map(|i| i as f32 / -10.0).collect();
    for (family, found) in answers(Activation::Sigmoid, &x) {
        for (&x, &y) in x.iter().zip(&found) {
            let expected = formula(Activation::Sigmoid, x.into());
            let off = (f64::from(y) / expected - 1.0).abs();
            assert!(off < RELATIVE, "{family}: {y} at {x}, not {expected}");
        }
    }
}

#[test]
fn softmax_takes_logits_of_any_size() {
    let rows_of = [
        vec![-1e30, 0.0, -104.5, 3.0, 2.0],
        vec![1000.0; 37],
        vec![f32::NEG_INFINITY, -2.0, -1.0],
        (0..100).map(|i| i as f32 / 7.0).collect(),
    ];
    for logits in rows_of {
        let graph = Net::new(Shape::vector(logits.len()))
            .then(Op::Softmax)
            .build();
        let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let powers: Vec<f64> = logits.iter().map(|v| f64::from(v - most).exp()).collect();
        let total: f64 = powers.iter().sum();
        for family in Family::available() {
            let network = lowered(&graph, &weights(&graph), family);
            let found = answer(&network, &rows(logits.clone(), 1), 0);
            for (found, power) in found.iter().zip(&powers) {
                let off = (f64::from(*found) - power / total).abs();
                assert!(off < 1e-6 * power / total + 1e-30, "{family}: off by {off}");
            }
        }
    }
}

proptest! {
    #[test]
    fn activations_of_any_numbers_follow_their_formulas(x in prop::collection::vec(any::<f32>(), 1..70)) {
        for activation in ALL.into_iter().chain([STEPS]) {
            check(activation, &x);
        }
    }
}
