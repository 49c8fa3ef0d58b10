//! Files of integers that stand for numbers, as quantisers write them.

use std::fs;

use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::compute::planned_steps;
use divisi_runtime::network::{Activation, Op, ParameterRole, TensorOp, Unary, Weights};

use super::onnx::{Answers, answers, file, network};

use crate::emulated::Emulated;

/// The scale of the answers: another kernel may round a number between two integers to the other one.
const STEP: f32 = 1.0 / 256.0;

#[test]
fn integers_that_stand_for_numbers_answer_as_onnx_runtime_does() {
    for name in ["quantised_pairs", "quantised_operators"] {
        let text = fs::read_to_string(file(&format!("{name}.json"))).expect("answers");
        let expected: Answers = serde_json::from_str(&text).expect("answers");
        let network = network(&format!("{name}.onnx"), None).expect(name);
        assert_eq!(network.graph.input(), expected.input, "{name}");
        let theirs = expected.y.concat();
        let emulated = Emulated::new(&network.graph, &network.weights, Precision::F32);
        let on_gpu = emulated.answer(&expected.x.concat());
        for ours in [answers(&network, &expected.x), on_gpu] {
            let pairs = ours.iter().zip(&theirs);
            let apart = pairs.clone().map(|(a, b)| (a - b).abs());
            assert!(apart.clone().all(|d| d <= 1.01 * STEP), "{name}: {ours:?}");
            let equal = apart.filter(|d| *d == 0.0).count();
            assert!(2 * equal > theirs.len(), "{name}: {ours:?}");
        }
    }
}

#[test]
fn values_that_all_readers_take_back_to_numbers_are_never_integers() {
    for (name, values) in [("quantised_pairs", 6), ("quantised_operators", 8)] {
        let graph = network(&format!("{name}.onnx"), None).expect(name).graph;
        let count = |is: fn(&Op) -> bool| graph.nodes().iter().filter(|n| is(&n.op)).count();
        let held = |op: &Op| matches!(op, Op::Activation(Activation::FakeQuantise { .. }));
        let rounds = |op: &Op| matches!(op, Op::Tensor(TensorOp::Unary { kind: Unary::Round }));
        assert_eq!([count(held), count(rounds)], [values, 0], "{name}");
    }
}

#[test]
fn a_file_of_nncf_answers_as_onnx_runtime_does() {
    let text = fs::read_to_string(file("nncf.json")).expect("answers");
    let expected: Answers = serde_json::from_str(&text).expect("answers");
    let network = network("nncf.onnx", None).expect("nncf");
    let ours = answers(&network, &expected.x);
    let largest = expected
        .y
        .concat()
        .into_iter()
        .fold(0.0f32, |m, v| m.max(v.abs()));
    let classes = expected.y[0].len();
    let mut equal = 0;
    for (ours, theirs) in ours.chunks(classes).zip(&expected.y) {
        assert_eq!(
            largest_of(ours),
            largest_of(theirs),
            "{ours:?}, not {theirs:?}"
        );
        let apart = ours
            .iter()
            .zip(theirs)
            .map(|(a, b)| (a - b).abs() / largest);
        // A number between two integers may be rounded to the other one.
        assert!(apart.clone().all(|d| d < 0.01), "{ours:?}, not {theirs:?}");
        equal += usize::from(apart.clone().all(|d| d < 1e-5));
    }
    assert!(10 * equal >= 9 * expected.y.len(), "{equal} equal");
    // Its weights stay bytes.
    let weights = network.graph.parameters();
    let weights = weights
        .iter()
        .filter(|p| matches!(p.role, ParameterRole::Weight { .. }));
    let of_floats = weights.filter(|p| network.weights.shared(&p.name).is_some());
    assert_eq!(of_floats.count(), 0);
}

/// Weights that the file holds as floats, to be rounded.
const OF_FLOATS: usize = 1;

#[test]
fn weights_of_one_byte_stay_in_the_file_and_are_multiplied_as_bytes() {
    for (name, of_floats) in [("quantised_pairs", OF_FLOATS), ("quantised_operators", 0)] {
        let network = network(&format!("{name}.onnx"), None).expect(name);
        let parameters = network.graph.parameters();
        let weights = parameters
            .iter()
            .filter(|p| matches!(p.role, ParameterRole::Weight { .. }));
        let held = weights.filter(|p| network.weights.shared(&p.name).is_some());
        assert_eq!(held.count(), of_floats, "{name}");

        // The same numbers as floats in memory make the same plan.
        let values = network.weights.iter();
        let values = values.map(|(name, values)| (name.to_owned(), values.to_vec()));
        let floats = Weights::from_values(values.collect(), &network.graph).expect(name);
        let of_floats = network.graph.clone().with_steps_of(&floats);
        assert_eq!(planned_steps(&network.graph), planned_steps(&of_floats));
    }
}

/// Returns the place of the largest value.
fn largest_of(row: &[f32]) -> Option<usize> {
    (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b]))
}
