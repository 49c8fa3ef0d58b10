//! Networks that end in a softmax or a sigmoid: no second one flattens their answers.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use divisi_engine::serving::Request;
use divisi_model::ensemble::{Ensemble, Files, MemberRemark, OutputKind};
use serde_json::Value;

use crate::common::{networks, start};
use crate::place::root;

fn files() -> PathBuf {
    root().join("tests/runtime/onnx_files")
}

/// Reads an ensemble of one file, with these answers and more fields of its member.
fn read(name: &str, answers: &str, fields: &str) -> Ensemble {
    let folder = tempfile::tempdir().expect("folder");
    let file = format!("{name}.onnx");
    fs::copy(files().join(&file), folder.path().join(&file)).expect("copies");
    let manifest = format!(
        "name = \"e\"\n{answers}\ninput = {{ shape = [4] }}\n[[members]]\nname = \"m\"\n\
         network = {{ file = \"{file}\" }}\n{fields}\n"
    );
    fs::write(folder.path().join("ensemble.toml"), manifest).expect("manifest");
    Ensemble::read(&Files::from_path(folder.path())).expect(name)
}

const CLASSES: &str = "classes = 3";
const LABELS: &str = "answers = { labels = 3 }";

#[test]
fn a_network_that_ends_in_a_softmax_answers_its_own_probabilities() {
    let text = fs::read_to_string(files().join("ends.json")).expect("answers");
    let known: Value = serde_json::from_str(&text).expect("JSON");
    let rows: Vec<Vec<f32>> = serde_json::from_value(known["x"].clone()).expect("rows");
    for name in [
        "end_softmax",
        "end_softmax_before_13",
        "end_softmax_of_image",
        "end_softmax_written_out",
        "end_softmax_clipped",
    ] {
        let ensemble = Arc::new(read(name, CLASSES, ""));
        assert_eq!(
            ensemble.members[0].outputs,
            OutputKind::Probabilities,
            "{name}"
        );
        let engine = start(&ensemble, networks(&ensemble));
        let answer = engine.predict(Request::new(&rows.concat()));
        let answer = answer.expect("admitted").expect("answered");
        let expected: Vec<Vec<f32>> =
            serde_json::from_value(known["answers"][name].clone()).expect("answers");
        for (found, expected) in answer.rows().zip(&expected) {
            let mut pairs = found.iter().zip(expected);
            assert!(
                pairs.all(|(a, b)| (a - b).abs() < 1e-5),
                "{name}: {found:?} {expected:?}"
            );
        }
    }
}

#[test]
fn outputs_follow_the_last_operation_of_a_network() {
    let cases = [
        ("end_logits", CLASSES, OutputKind::Logits),
        ("end_sigmoid", CLASSES, OutputKind::Values),
        ("end_logits", LABELS, OutputKind::LabelLogits),
        ("end_sigmoid", LABELS, OutputKind::LabelProbabilities),
    ];
    for (name, answers, expected) in cases {
        let found = read(name, answers, "").members[0].outputs;
        assert_eq!(found, expected, "{name}, {answers}");
    }
}

#[test]
fn probabilities_that_no_single_operation_shows_are_found_by_a_trial() {
    let cases = [
        ("written_sigmoid", LABELS, OutputKind::LabelProbabilities),
        (
            "written_sigmoid_in_half",
            LABELS,
            OutputKind::LabelProbabilities,
        ),
        (
            "written_softmax_in_half",
            CLASSES,
            OutputKind::Probabilities,
        ),
        (
            "written_softmax_of_logarithms",
            CLASSES,
            OutputKind::Probabilities,
        ),
        (
            "written_mean_of_softmaxes",
            CLASSES,
            OutputKind::Probabilities,
        ),
        ("written_scores", CLASSES, OutputKind::Logits),
        ("written_scores", LABELS, OutputKind::LabelLogits),
    ];
    for (name, answers, expected) in cases {
        let found = read(name, answers, "").members[0].outputs;
        assert_eq!(found, expected, "{name}, {answers}");
    }
}

#[test]
fn a_manifest_may_ask_for_a_second_softmax_and_is_told_so() {
    let ensemble = read("end_softmax", CLASSES, "outputs = \"logits\"");
    assert_eq!(ensemble.members[0].outputs, OutputKind::Logits);
    let remark = MemberRemark::SecondSoftmax {
        member: "m".into(),
        ends_in: "a softmax",
    };
    assert_eq!(ensemble.member_remarks(), [remark]);
    assert_eq!(read("end_softmax", CLASSES, "").member_remarks(), []);
}
