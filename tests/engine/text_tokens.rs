//! Answers for each token of texts: as many as a text has tokens.

use std::fs;
use std::sync::Arc;

use divisi_engine::serving::Request;
use divisi_model::ensemble::{
    Ensemble, Files, Measure, MeasureTally, MemberEvaluation, SampleTarget, Samples,
};
use divisi_runtime::device::MemberIndex;

use crate::common::{networks, start};
use crate::place::root;

/// Reads the tagger of texts, whose tokens have the class of their id modulo 3, with `input` in
/// the manifest's table of the input.
fn tagger(input: &str) -> Result<Ensemble, String> {
    let folder = tempfile::tempdir().expect("folder");
    let of = root();
    let files = [
        ("tests/runtime/onnx_files/tagger.onnx", "tagger.onnx"),
        ("sample_ensembles/snippets/tokenizer.json", "tokenizer.json"),
    ];
    for (from, to) in files {
        fs::copy(of.join(from), folder.path().join(to)).expect("copied");
    }
    let manifest = format!(
        "name = \"t\"\nanswers = {{ tokens = [\"O\", \"B-X\", \"I-X\"], length = 16 }}\n{input}\n\
         [input.text]\ntokenizer = \"tokenizer.json\"\nlength = 16\n\
         [[members]]\nname = \"m\"\nnetwork = {{ file = \"tagger.onnx\" }}\n"
    );
    fs::write(folder.path().join("ensemble.toml"), manifest).expect("manifest");
    Ensemble::read(&Files::from_path(folder.path())).map_err(|e| e.to_string())
}

/// The ids of `let x = 1;` by the tokenizer, with those around it.
const IDS: [u32; 8] = [1, 373, 223, 90, 271, 324, 29, 2];

/// The input as a manifest may have it: nothing more, buckets, or tensors of a fixed length.
fn inputs() -> [String; 3] {
    let tensor = |name: &str| {
        format!("[[input.tensors]]\nname = \"{name}\"\ndatatype = \"INT64\"\nshape = [16]\n")
    };
    let fixed = tensor("input_ids") + &tensor("attention_mask");
    [String::new(), "[input]\nlengths = [4, 16]\n".into(), fixed]
}

#[test]
fn a_text_has_an_answer_for_each_of_its_tokens() {
    for input in inputs() {
        let ensemble = Arc::new(tagger(&input).expect("reads"));
        let samples = Samples::of_texts(["let x = 1;", "a"], &ensemble.sample_form());
        let samples = samples.expect("reads");
        let tokens = [0, 1].map(|at| ensemble.token_count(samples.row(at)));
        assert_eq!(tokens, [Some(8), Some(3)], "{input}");
        let engine = start(&ensemble, networks(&ensemble));
        let answer = engine.predict(Request::new(samples.values()));
        let answer = answer.expect("admitted").expect("answered");
        let row = answer.rows().next().expect("a row");
        let own = ensemble.answers.token_part(row, tokens[0]);
        let positions = ensemble.answers.positions().expect("positions");
        let expected = IDS.map(|id| id % 3).to_vec();
        assert_eq!(positions.classes(own), Some(expected), "{input}");
    }
}

#[test]
fn tokens_are_named_by_their_part_of_the_text() {
    let ensemble = tagger("").expect("reads");
    let tokenizer = ensemble.text.as_ref().expect("texts").tokenizer();
    let cases: [(&str, Option<&str>, &[&str]); 2] = [
        (
            "let x = 1;",
            None,
            &["[CLS]", "let", "", "x", "=", "1", ";", "[SEP]"],
        ),
        (
            "ab",
            Some("ü"),
            &["[CLS]", "ab", "[SEP]", "ü", "ü", "[SEP]"],
        ),
    ];
    for (text, pair, expected) in cases {
        let pieces = tokenizer.pieces(text, pair).expect("pieces");
        let (encoding, _) = tokenizer.encode(text, pair).expect("tokens");
        assert_eq!(pieces.len(), encoding.get_ids().len(), "{text}");
        assert_eq!(pieces, expected, "{text}");
    }
}

#[test]
fn targets_are_as_many_as_the_tokens_of_each_text() {
    for input in inputs() {
        let ensemble = tagger(&input).expect("reads");
        let form = ensemble.sample_form();
        let read = |targets: &str| {
            let samples = Samples::of_texts(["let x = 1;", "a"], &form).expect("reads");
            let read = samples.targeted_by("y.json", targets.as_bytes().to_vec(), &form);
            read.map_err(|e| e.to_string())
        };
        let short = read("[[0, 0, 0, 0, 0, 0, 0, 1], [\"O\", 2, -100]]").expect("as many");
        let long = (0..16).map(|at| u32::from(at == 7).to_string());
        let long: Vec<String> = long.collect();
        let padded = format!(
            "[[{}], [0, 2, -100, {}]]",
            long.join(","),
            vec!["1"; 13].join(",")
        );
        let padded = read(&padded).expect("up to the longest");
        assert_eq!(short.targets(), padded.targets(), "{input}");
        let Some(SampleTarget::Row(row)) = short.targets().map(|all| all.target(1)) else {
            panic!("rows");
        };
        assert_eq!(row[..4], [0.0, 2.0, -1.0, -1.0]);
        let refused = read("[[0, 0, 0, 0, 0, 0, 0], [0, 0, 0]]").expect_err("one is missing");
        let said = "row 0: expected a class for each of 8 tokens, found 7";
        assert!(refused.contains(said), "{refused}");
    }
}

#[test]
fn only_the_tokens_of_a_text_are_measured() {
    let ensemble = tagger("").expect("reads");
    let names = ensemble.answer_names.as_deref();
    // The answer of three tokens, and zeros behind.
    let mut row = vec![0.0; 48];
    for at in [0, 4, 8] {
        row[at] = 4.0;
    }
    let other: Vec<f32> = row
        .iter()
        .map(|v| if *v == 0.0 { 1.0 } else { *v })
        .collect();
    let combination = ensemble.combination();
    let (rule, outputs) = (ensemble.build_rule(&combination), ensemble.outputs());
    let evaluation = MemberEvaluation::new(&combination, rule, ensemble.answers, &outputs);
    let mut evaluation = evaluation.with_names(names);
    let mut target = vec![-1.0; 16];
    target[..3].copy_from_slice(&[0.0, 1.0, 2.0]);
    for _ in 0..MemberEvaluation::LEAST {
        evaluation.weigh_tokens(&[&other], Some(SampleTarget::Row(&target)), Some(3));
    }
    let figures = evaluation.figures(MemberIndex::new(0)).expect("enough");
    assert_eq!(figures.quality.map(|quality| quality.value), Some(1.0));
    let mut tally = MeasureTally::with_names(ensemble.answers, names);
    tally.add(&row, SampleTarget::Row(&target));
    assert_eq!(tally.value(Measure::TokenAccuracy), Some(1.0));
    assert_eq!(ensemble.answers.token_part(&row, Some(3)).len(), 9);
    assert_eq!(
        ensemble.answers.token_part(&row, Some(usize::MAX)).len(),
        48
    );
}

#[test]
fn answers_of_another_length_than_texts_are_refused() {
    let folder = tempfile::tempdir().expect("folder");
    let of = root();
    let model = of.join("tests/runtime/onnx_files/tagger.onnx");
    fs::copy(model, folder.path().join("tagger.onnx")).expect("copied");
    let tensor = |name: &str| {
        format!("[[input.tensors]]\nname = \"{name}\"\ndatatype = \"INT64\"\nshape = [-1]\n")
    };
    let manifest = format!(
        "name = \"t\"\nanswers = {{ tokens = 3, length = 8 }}\n[input]\nlengths = [4, 16]\n\
         mask = \"attention_mask\"\n{}{}[[members]]\nname = \"m\"\n\
         network = {{ file = \"tagger.onnx\" }}\n",
        tensor("input_ids"),
        tensor("attention_mask")
    );
    fs::write(folder.path().join("ensemble.toml"), &manifest).expect("manifest");
    let refused = Ensemble::read(&Files::from_path(folder.path())).expect_err("another length");
    let said =
        "expected an output of [8, 3] for 3 classes for each of 8 tokens, found FP32 [-1, 3]";
    assert!(refused.to_string().contains(said), "{refused}");
    let fits = manifest.replace("length = 8", "length = 16");
    fs::write(folder.path().join("ensemble.toml"), fits).expect("manifest");
    Ensemble::read(&Files::from_path(folder.path())).expect("the longest sample's");
}
