//! Quantised files with scales and zero points that no quantiser writes: refused in few words that name
//! the place, or networks that answer alike on every family.

use std::sync::Arc;

use candle_core::{Device, Tensor};
use divisi_runtime::compute::{Family, Lowered, NetworkOp};
use divisi_runtime::onnx::{OnnxError, OnnxModel, OnnxNetwork};

use super::onnx_made::{QuantisedFile, Steps};

/// Files as pairs of operators between numbers, and as operators of integers.
const FORMS: [bool; 2] = [false, true];

fn read(file: &QuantisedFile) -> Result<OnnxNetwork, OnnxError> {
    OnnxModel::from_bytes(file.bytes()).and_then(|model| model.network(None))
}

/// The answers to two samples by each family that the processor has.
fn answers(network: &OnnxNetwork) -> Vec<Vec<f32>> {
    let width = network.graph.input().elements();
    let x = (0..2 * width).map(|n| (n * 37 % 101) as f32 / 25.0 - 2.0);
    let x = Tensor::from_vec(x.collect(), (2, width), &Device::Cpu).expect("rows");
    let each = Family::available().map(|family| {
        let lowered = Lowered::with(&network.graph, &network.weights, family).expect("lowers");
        let op = NetworkOp::new(Arc::new(lowered), 2, None).expect("memory");
        let y = x.apply_op1_no_bwd(&op).expect("runs");
        y.flatten_all().and_then(|y| y.to_vec1()).expect("values")
    });
    each.collect()
}

/// As many of each.
fn steps(scales: usize, zeros: usize) -> Steps {
    Steps {
        scales: vec![0.01; scales],
        zeros: vec![0; zeros],
    }
}

/// A scale for each row of weights, the last of them another one.
fn with_last(scale: f32) -> Steps {
    let mut steps = steps(16, 16);
    steps.scales[15] = scale;
    steps
}

/// A part of the error in each form, and the change that leads to it.
type Refused = ([&'static str; 2], fn(&mut QuantisedFile));

#[test]
fn what_stands_for_no_numbers_is_refused_with_its_place() {
    let cases: [Refused; 18] = [
        (
            ["`x_bytes` (QuantizeLinear): scale 0 in input 1: expected a finite number other than 0, found NaN";
                2],
            |f| {
                f.input = Steps::one(f32::NAN, 128);
            },
        ),
        (
            ["`x_bytes` (QuantizeLinear): scale 0 in input 1: expected a finite number other than 0, found 0";
                2],
            |f| {
                f.input = Steps::one(0.0, 128);
            },
        ),
        (
            ["`x_bytes` (QuantizeLinear): scale 0 in input 1: expected a finite number other than 0, found inf";
                2],
            |f| {
                f.input = Steps::one(f32::INFINITY, 128);
            },
        ),
        (
            [
                "`y_bytes` (QuantizeLinear): scale 0 in input 1: ",
                "`y_bytes` (QLinearConv): scale 0 in input 6: ",
            ],
            |f| {
                f.output = Steps::one(f32::NEG_INFINITY, 128);
            },
        ),
        (
            [
                "`w_held` (DequantizeLinear): scale 15 in input 1: ",
                "`y_bytes` (QLinearConv): scale 15 in input 4: ",
            ],
            |f| {
                f.weights = with_last(f32::NAN);
            },
        ),
        (
            [
                "`y` (Conv): value 240 of its weight is not a finite number",
                "`y_bytes` (QLinearConv): value 240 of its weight",
            ],
            |f| {
                f.weights = with_last(f32::MAX);
            },
        ),
        (
            ["tensor `x_zero`: value 0: expected 0 to 255, found 256"; 2],
            |f| f.input = Steps::one(0.1, 256),
        ),
        (
            ["tensor `y_zero`: value 0: expected 0 to 255, found -1"; 2],
            |f| f.output = Steps::one(0.1, -1),
        ),
        (
            ["tensor `w_zero`: value 15: expected -128 to 127, found 128"; 2],
            |f| {
                f.weights.zeros[15] = 128;
            },
        ),
        (
            [
                "scales of [15] for values of [16, 16, 1, 1]: expected one, or one for each of the 16 positions of \
                 axis 0",
                "expected one scale for each row of weights",
            ],
            |f| {
                f.weights = steps(15, 15);
            },
        ),
        (
            [
                "scales of [0] for values of",
                "expected one scale for each row of weights",
            ],
            |f| {
                f.weights = steps(0, 0);
            },
        ),
        (
            [
                "zero points of [16] for scales of []: expected one for each scale",
                "expected one scale for each row of weights",
            ],
            |f| {
                f.weights = steps(1, 16);
                // Operators take one scale with a zero point for each row.
                if f.operators {
                    f.weights = steps(2, 16);
                }
            },
        ),
        (
            [
                "`y` (Conv): input 2: expected floats of [16], found [7]",
                "`y_bytes` (QLinearConv): input 8: expected a bias of [16], found [7]",
            ],
            |f| f.biases = Some(7),
        ),
        (
            [
                "tensor `w`: values of type INT4 are not supported; expected FLOAT, ",
                "input `w`: expected UINT8 or INT8, found INT4",
            ],
            |f| f.element = 22,
        ),
        (
            ["[1, 16, 3, 3] and [1, 17, 1, 1] cannot be broadcast"; 2],
            |f| f.input = steps(17, 17),
        ),
        (
            ["[1, 16, 3, 3] and [1, 2, 1, 1] cannot be broadcast"; 2],
            |f| f.output = steps(2, 2),
        ),
        (["an empty constant of [1, 0, 1, 1]"; 2], |f| {
            f.input = steps(0, 1)
        }),
        (
            [
                "axis 4 is outside of 4 dimensions",
                "expected one scale for each row of weights",
            ],
            |f| {
                f.axis = 4;
                // Operators have no axis.
                if f.operators {
                    f.weights = steps(17, 17);
                }
            },
        ),
    ];
    for (expected, change) in cases {
        for (operators, expected) in FORMS.into_iter().zip(expected) {
            let mut file = QuantisedFile::usual(operators);
            change(&mut file);
            let why = read(&file).expect_err(expected).to_string();
            assert!(
                why.contains(expected) && why.len() < 400,
                "{why}, not {expected}"
            );
        }
    }
}

#[test]
fn what_stands_for_numbers_answers_alike_on_every_family() {
    let cases: [fn(&mut QuantisedFile); 12] = [
        |_| {},
        |f| f.input = Steps::one(-0.02, 0),
        |f| f.input = Steps::one(f32::MAX, 255),
        |f| f.input = Steps::one(f32::MIN_POSITIVE, 255),
        |f| f.input = Steps::one(1e-45, 128),
        |f| f.output = Steps::one(1e-39, 0),
        |f| f.output = Steps::one(f32::MAX, 0),
        |f| f.output = Steps::one(-0.01, 255),
        |f| f.weights = with_last(0.0),
        |f| f.weights = with_last(-0.01),
        |f| f.weights = with_last(1e-45),
        |f| f.weights.zeros = vec![-128; 16],
    ];
    for (at, change) in cases.into_iter().enumerate() {
        for operators in FORMS {
            let mut file = QuantisedFile::usual(operators);
            change(&mut file);
            let network = read(&file).expect("numbers");
            let found = answers(&network);
            let most = found[0].iter().fold(0.0f32, |most, v| most.max(v.abs()));
            // A number between two integers may be rounded to either.
            let step = file.output.scales[0].abs().min(0.03);
            let bound = (1e-5 * most).max(1.01 * step);
            for answer in &found {
                let mut pairs = answer.iter().zip(&found[0]);
                assert!(
                    pairs.all(|(a, b)| (a - b).abs() <= bound),
                    "case {at}, operators {operators}"
                );
            }
        }
    }
}
