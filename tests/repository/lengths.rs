//! Ensembles over models whose rows have any length.

use divisi_repository::ModelRows;
use divisi_repository::convert::{NetworkFiles, to_manifests};

use crate::common::{Written, answer, model, shown};
use crate::open_rows::{added, mean, negated};

const OPEN: &str = "max_batch_size: 4";

/// The length of the longest row.
const MOST: &str = "parameters { key: \"most_length\" value { string_value: \"6\" } }";

/// `-x` and `x + -x + -x`, then its mean: parallel and one after another.
const ENSEMBLE: &str = "platform: \"ensemble\"\nmax_batch_size: 4\n\
    input { name: \"in\" data_type: TYPE_FP32 dims: [ -1 ] }\n\
    output [ { name: \"sum\" data_type: TYPE_FP32 dims: [ -1 ] },\n\
    { name: \"mean\" data_type: TYPE_FP32 dims: [ 1 ] } ]\n\
    ensemble_scheduling { step [\n\
    { model_name: \"neg\" input_map { key: \"x\" value: \"in\" } output_map { key: \"y\" value: \"n\" } },\n\
    { model_name: \"add\" input_map { key: \"a\" value: \"in\" } input_map { key: \"b\" value: \"n\" }\n\
      output_map { key: \"y\" value: \"zero\" } },\n\
    { model_name: \"add\" input_map { key: \"a\" value: \"zero\" } input_map { key: \"b\" value: \"n\" }\n\
      output_map { key: \"y\" value: \"sum\" } },\n\
    { model_name: \"mean\" input_map { key: \"x\" value: \"sum\" } output_map { key: \"y\" value: \"mean\" } }\n\
    ] }\n";

fn tensor(side: &str, name: &str, dims: &str) -> String {
    format!("{side} {{ name: \"{name}\" data_type: TYPE_FP32 dims: [ {dims} ] }}\n")
}

/// The models, of rows up to 6 long, and the ensemble `e`.
fn written(ensemble: &str) -> Written {
    let written = Written::new();
    let config = format!("{OPEN} {MOST}");
    for (name, file) in [("neg", negated()), ("add", added()), ("mean", mean())] {
        written
            .file(&format!("{name}/1/model.onnx"), file)
            .config(name, &config);
    }
    written.config("e", ensemble);
    written
}

#[test]
fn an_ensemble_of_models_for_any_length_takes_any_length() {
    let report = written(ENSEMBLE).load();
    let ensemble = model(&report, "e");
    assert_eq!(shown(&ensemble.inputs()), ["in FP32 [-1]"]);
    assert_eq!(
        shown(&ensemble.outputs()),
        ["sum FP32 [-1]", "mean FP32 [1]"]
    );
    assert_eq!(ensemble.batch, ModelRows::UpTo(4));
    let lengths = ensemble.ensemble.lengths.as_ref();
    assert_eq!(lengths.map(|lengths| lengths.largest()), Some(6));
}

#[test]
fn a_tensor_lies_as_one_of_the_longest_row() {
    let report = written(ENSEMBLE).load();
    let e = &model(&report, "e").ensemble;
    // The length, then the row.
    let answer = answer(e, &[3.0, 1.0, 2.0, 6.0, 0.0, 0.0, 0.0]);
    assert_eq!(answer, [-1.0, -2.0, -6.0, 0.0, 0.0, 0.0, -3.0]);
}

#[test]
fn an_ensemble_within_an_ensemble_takes_any_length_too() {
    let outer = "platform: \"ensemble\"\nmax_batch_size: 4\n\
        input { name: \"x\" data_type: TYPE_FP32 dims: [ -1 ] }\n\
        output { name: \"y\" data_type: TYPE_FP32 dims: [ -1 ] }\n\
        ensemble_scheduling { step [\n\
        { model_name: \"neg\" input_map { key: \"x\" value: \"x\" } output_map { key: \"y\" value: \"n\" } },\n\
        { model_name: \"e\" input_map { key: \"in\" value: \"n\" } output_map { key: \"sum\" value: \"y\" } }\n\
        ] }\n";
    let written = written(ENSEMBLE);
    written.config("outer", outer);
    let outer = model(&written.load(), "outer");
    let answer = answer(&outer.ensemble, &[2.0, 1.0, 5.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(answer[..2], [1.0, 5.0]);
}

#[test]
fn lengths_that_do_not_fit_are_refused_with_the_file_the_line_and_the_remedy() {
    let other = MOST.replace("6", "7");
    let fixed = [
        OPEN.to_owned(),
        tensor("input", "x", "6"),
        tensor("output", "y", "6"),
    ];
    let fixed = fixed.join("\n");
    for (neg, ensemble, expected) in [
        (
            format!("{OPEN} {other}"),
            ENSEMBLE.to_owned(),
            "e/config.pbtxt:8: step `add`: expected lengths up to 7, as in step `neg`, found 6; \
             set the parameter `most_length` to the same number in the config.pbtxt of both models",
        ),
        (
            fixed,
            ENSEMBLE.to_owned(),
            "e/config.pbtxt:8: ensemble_scheduling: step `add`, input `a`: expected FP32 [-1], but `in` is \
             FP32 [6]; write -1, or the same number, in the config.pbtxt of all models that share the tensor",
        ),
        (
            format!("{OPEN} {MOST}"),
            ENSEMBLE.replacen("[ -1 ]", "[ 6 ]", 1),
            "e/config.pbtxt:3: input `in`: expected FP32 [-1], as step `neg` reads it, found FP32 \
             [6]; write -1, or the same number, in the config.pbtxt of all models that share the \
             tensor",
        ),
    ] {
        let written = written(&ensemble);
        written.config("neg", &neg);
        assert_eq!(written.failure("e"), expected);
    }
}

#[test]
fn an_ensemble_over_any_length_becomes_no_manifest_and_its_models_do() {
    let (from, out) = (written(ENSEMBLE), Written::new());
    let converted = to_manifests(&from.open(), out.path(), NetworkFiles::Named);
    let converted = converted.expect("converted");
    let [left_out] = &converted.left_out[..] else {
        panic!("expected one that is left out, found {converted:?}");
    };
    let expected = "e: manifests do not support steps over samples of varying length";
    assert!(left_out.starts_with(expected), "{left_out}");
    for model in ["neg", "add", "mean"] {
        assert!(out.path().join(model).join("ensemble.toml").exists());
    }
}
