//! Texts that are shorter than the longest: their answers are those of the network alone, whether
//! or not its answers depend on the padding.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use divisi_engine::serving::Request;
use divisi_model::ensemble::{Ensemble, Files, MemberRemark, OutputKind, RuleKind, Samples};
use divisi_runtime::device::MemberIndex;
use serde_json::{Value, json};

use crate::common::{networks, start};
use crate::place::root;

/// The tokens of the longest text.
const LENGTH: usize = 48;

fn files() -> PathBuf {
    root().join("tests/runtime/onnx_files")
}

/// Reads an ensemble of these files of `onnx_files`, with more fields in its table of texts.
fn read(members: &[&str], fields: &str) -> Result<Ensemble, String> {
    let folder = tempfile::tempdir().expect("folder");
    let snippets = root().join("sample_ensembles/snippets");
    let copy = |from: PathBuf, to: &str| fs::copy(from, folder.path().join(to)).expect("copies");
    copy(snippets.join("tokenizer.json"), "tokenizer.json");
    let mut manifest = format!(
        "name = \"t\"\nclasses = 5\n[input.text]\ntokenizer = \"tokenizer.json\"\nlength = {LENGTH}\n{fields}\n"
    );
    for member in members {
        copy(
            files().join(format!("{member}.onnx")),
            &format!("{member}.onnx"),
        );
        manifest += &format!(
            "[[members]]\nname = \"{member}\"\nnetwork = {{ file = \"{member}.onnx\" }}\n"
        );
    }
    fs::write(folder.path().join("ensemble.toml"), manifest).expect("manifest");
    Ensemble::read(&Files::from_path(folder.path())).map_err(|e| e.to_string())
}

/// Returns the texts of `pooled.json`, as ids, and the answers of ONNX Runtime to each alone.
fn expected(name: &str) -> (Vec<Vec<i64>>, Vec<Vec<f32>>) {
    let text = fs::read_to_string(files().join("pooled.json")).expect("answers");
    let read: Value = serde_json::from_str(&text).expect("JSON");
    let texts = serde_json::from_value(read["texts"].clone()).expect("texts");
    let answers = serde_json::from_value(read["answers"][name].clone()).expect("answers");
    (texts, answers)
}

/// Returns texts as samples of an ensemble.
fn samples(ensemble: &Ensemble, texts: &[Vec<i64>]) -> Samples {
    let lines = texts.iter().map(|ids| {
        let tensor = |name: &str, data: Vec<i64>| {
            json!({"name": name, "datatype": "INT64", "shape": [1, ids.len()], "data": data})
        };
        let mask = tensor("attention_mask", vec![1; ids.len()]);
        json!({"inputs": [tensor("input_ids", ids.clone()), mask]}).to_string()
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    let read = Samples::parse("x.jsonl", text.into_bytes(), &ensemble.sample_form());
    read.expect("samples")
}

/// Returns the numbers of a member's network, as the ensemble runs it.
fn answers(ensemble: &Ensemble, member: usize, texts: &[Vec<i64>]) -> Vec<Vec<f32>> {
    let mut alone = ensemble.single_member(MemberIndex::new(member));
    Arc::make_mut(&mut alone.members[0]).outputs = OutputKind::Values;
    alone.rule = RuleKind::Average;
    let alone = Arc::new(alone);
    let engine = start(&alone, networks(&alone));
    let answer = engine.predict(Request::new(samples(&alone, texts).values()));
    let answer = answer.expect("admitted").expect("answered");
    answer.rows().map(<[f32]>::to_vec).collect()
}

fn assert_answers(ensemble: &Ensemble, member: usize, name: &str) {
    let (texts, expected) = expected(name);
    let found = answers(ensemble, member, &texts);
    for (text, (found, expected)) in texts.iter().zip(found.iter().zip(&expected)) {
        let largest = expected.iter().fold(1.0f32, |most, v| most.max(v.abs()));
        let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-4 * largest;
        let alike = found.iter().zip(expected).all(near);
        assert!(
            alike,
            "{name}, {} tokens: {found:?}, alone {expected:?}",
            text.len()
        );
    }
}

/// Returns the lengths that a member's texts are padded to; none if each has its own.
fn buckets(ensemble: &Ensemble, member: usize) -> Vec<usize> {
    let lengths = ensemble.members[member].graph.lengths();
    lengths.expect("lengths vary").buckets().to_vec()
}

#[test]
fn a_text_is_answered_as_by_its_network_alone_whatever_the_pooling() {
    for name in ["pooled_max", "pooled_last", "pooled_mean"] {
        let ensemble = read(&[name], "").expect(name);
        assert_answers(&ensemble, 0, name);
    }
}

#[test]
fn texts_are_padded_to_buckets_only_if_that_changes_no_answer() {
    let names = ["pooled_max", "pooled_mean", "pooled_last"];
    let ensemble = read(&names, "").expect("reads");
    assert_eq!(buckets(&ensemble, 0), [0; 0]);
    assert_eq!(buckets(&ensemble, 1), [8, 16, 32, LENGTH]);
    assert_eq!(buckets(&ensemble, 2), [0; 0]);
    for (member, name) in names.iter().enumerate() {
        assert_answers(&ensemble, member, name);
    }
}

#[test]
fn padding_that_matters_from_some_length_on_is_found() {
    let ensemble = read(&["pooled_far"], "").expect("reads");
    assert_eq!(buckets(&ensemble, 0), [0; 0]);
}

#[test]
fn a_network_that_knows_its_padding_id_is_padded_with_it() {
    let ensemble = read(&["pooled_last"], "padding_id = 3").expect("reads");
    assert_eq!(buckets(&ensemble, 0), [8, 16, 32, LENGTH]);
    assert_answers(&ensemble, 0, "pooled_last");
}

#[test]
fn a_file_of_one_length_takes_padded_texts_beside_one_of_any() {
    let ensemble = read(&["pooled_fixed", "pooled_last"], "padding_id = 7").expect("reads");
    assert_answers(&ensemble, 1, "pooled_last");
    let (mut texts, _) = expected("pooled_max");
    let padded = texts.iter().map(|ids| {
        let padding = std::iter::repeat_n(7, LENGTH - ids.len());
        ids.iter().copied().chain(padding).collect::<Vec<i64>>()
    });
    let padded: Vec<Vec<i64>> = padded.collect();
    let open = read(&["pooled_max"], "").expect("reads");
    let whole = answers(&open, 0, &padded);
    texts.truncate(whole.len());
    assert_eq!(answers(&ensemble, 0, &texts), whole);
}

#[test]
fn members_whose_answers_depend_on_padding_are_named() {
    let names = ["pooled_max", "pooled_mean", "pooled_fixed"];
    let ensemble = read(&names, "padding_id = 7").expect("reads");
    let own = MemberRemark::OwnLength {
        member: "pooled_max".into(),
        masked: true,
    };
    let padded = MemberRemark::Padded {
        member: "pooled_fixed".into(),
        length: LENGTH,
        padding: 7,
    };
    assert_eq!(ensemble.member_remarks(), [own, padded.clone()]);
    assert!(
        padded
            .to_string()
            .contains("shorter texts are padded to 48 tokens with id 7")
    );
}

#[test]
fn rows_of_texts_hold_the_padding_id_behind_their_tokens() {
    let ensemble = read(&["pooled_last"], "padding_id = 3").expect("reads");
    let form = ensemble.sample_form();
    let row = Samples::of_texts(["let x = 1;"], &form).expect("reads");
    let row = row.row(0).to_vec();
    let tokens = row[0] as usize;
    assert_eq!(row[1 + tokens..=LENGTH], vec![3.0; LENGTH - tokens]);
    assert_eq!(row[1 + LENGTH + tokens..], vec![0.0; LENGTH - tokens]);
    let sent = samples(&ensemble, &[vec![5, 6]]);
    assert_eq!(sent.row(0)[1..5], [5.0, 6.0, 3.0, 3.0]);
}

#[test]
fn a_padding_id_that_no_table_has_is_refused() {
    let cases = [
        (
            "padding_id = -1",
            "input.text.padding_id: expected an id of the vocabulary",
        ),
        (
            "padding_id = 768",
            "input.text.padding_id: found 768, expected 0 to 767, the ids in the table",
        ),
    ];
    for (fields, expected) in cases {
        let found = read(&["pooled_max"], fields).expect_err(fields);
        assert!(found.contains(expected), "{found}");
        assert!(found.contains("ensemble.toml:6"), "{found}");
    }
}
