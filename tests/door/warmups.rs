//! Models that are asked before they serve, as their configurations say for Triton.

use serde_json::json;

use crate::repository::{Models, chain, network};

/// A number whose neighbours float32 does not hold all.
const LARGE: f32 = 16_777_216.0;

fn warmup(data: &str, dims: u32) -> String {
    format!(
        "max_batch_size: 4 model_warmup {{ name: \"first\" batch_size: 2 count: 3 inputs {{\n\
         key: \"x\" value {{ data_type: TYPE_FP32 dims: {dims} {data} }} }} }}"
    )
}

#[test]
fn a_model_is_asked_what_its_warm_up_says_before_it_serves() {
    let large = LARGE.to_le_bytes().repeat(8);
    let models = Models::new()
        .network("zeros", &warmup("zero_data: true", 4))
        .network("random", &warmup("random_data: true", 4))
        .network("file", &warmup("input_data_file: \"x.bin\"", 4))
        .file("file/warmup/x.bin", 0.5_f32.to_le_bytes().repeat(8))
        .network("broken", &warmup("input_data_file: \"x.bin\"", 4))
        .file("broken/1/model.onnx", network("counted.onnx"))
        .file("broken/warmup/x.bin", large)
        .network("short", &warmup("input_data_file: \"x.bin\"", 4))
        .file("short/warmup/x.bin", [0])
        .network("gone", &warmup("input_data_file: \"../../x.bin\"", 4))
        .network("wrong", &warmup("zero_data: true", 5));
    let served = models.serve(false);
    for model in ["zeros", "random", "file"] {
        assert_eq!(served.infer(model, "x", 1).status, 200, "{model}");
        assert_eq!(served.counts(model)[0], 1, "warm-up is nobody's request");
    }
    for (model, expected) in [
        (
            "broken",
            "warm-up `first`: step `broken`: tensor `n` has NaN or integers of 16777216 and more",
        ),
        (
            "short",
            "model_warmup `first`: input `x`: input_data_file: short/warmup/x.bin: expected at least 16 bytes, found 1",
        ),
        ("gone", "leads out of the model's folder"),
        (
            "wrong",
            "model_warmup `first`: input `x`: expected samples of FP32 [4] along a first dimension, found [1, 5]",
        ),
    ] {
        let reason = served.reason(model);
        assert!(reason.contains(expected), "{model}: {reason}");
        assert!(served.infer(model, "x", 1).status >= 400, "{model}");
        assert_eq!(served.load(model, &json!({})).status, 400, "{model}");
    }
}

#[test]
fn an_ensemble_over_a_model_that_does_not_warm_up_is_not_served_and_others_are() {
    let models = chain()
        .network("b", &warmup("input_data_file: \"x\"", 4))
        .file("b/1/model.onnx", network("counted.onnx"))
        .file("b/warmup/x", LARGE.to_le_bytes().repeat(8));
    let served = models.serve(false);
    assert_eq!(served.infer("a", "x", 1).status, 200);
    let reason = served.reason("e");
    let expected = "model `b`, which it uses, is not served: warm-up `first`";
    assert!(reason.starts_with(expected), "{reason}");
}

/// A model of 4 numbers a row, of batches up to 8, with a warm-up from the file `raw`.
fn from_file(fields: &str) -> String {
    format!(
        "max_batch_size: 8 model_warmup {{ name: \"w\" {fields} inputs {{ key: \"x\" value {{\n\
         data_type: TYPE_FP32 dims: 4 input_data_file: \"raw\" }} }} }}"
    )
}

#[test]
fn warm_ups_are_taken_as_triton_takes_them() {
    let row = 1_f32.to_le_bytes().repeat(4);
    let cases = [
        ("longer", from_file("batch_size: 1"), Some(row.repeat(3))),
        ("one_sample", from_file("batch_size: 4"), Some(row.clone())),
        (
            "many_samples",
            from_file("batch_size: 4"),
            Some(row.repeat(4)),
        ),
        ("skipped", from_file("batch_size: 0"), None),
        ("unsaid", from_file(""), None),
        (
            "often",
            from_file("batch_size: 8 count: 20"),
            Some(row.clone()),
        ),
        (
            "no_zeros",
            from_file("batch_size: 1").replace("input_data_file: \"raw\"", "zero_data: false"),
            None,
        ),
        (
            "several",
            from_file("batch_size: 2")
                + &from_file("batch_size: 1").replace("max_batch_size: 8", ""),
            Some(row.clone()),
        ),
        (
            "whole",
            "max_batch_size: 0 input { name: \"x\" data_type: TYPE_FP32 dims: [ -1, 4 ] }\n\
             model_warmup { name: \"w\" batch_size: 1 inputs { key: \"x\" value {\n\
             data_type: TYPE_FP32 dims: [ 3, 4 ] random_data: true } } }"
                .to_owned(),
            None,
        ),
    ];
    let models = cases
        .iter()
        .fold(Models::new(), |models, (name, config, file)| {
            let models = models.network(name, config);
            match file {
                Some(bytes) => models.file(&format!("{name}/warmup/raw"), bytes),
                None => models,
            }
        });
    let served = models.serve(false);
    for (name, ..) in &cases {
        assert_eq!(
            served.infer(name, "x", 1).status,
            200,
            "{name}: {}",
            served.reason(name)
        );
    }
}

#[test]
fn a_warm_up_that_is_loaded_as_json_is_taken_too() {
    let served = Models::new().network("a", "max_batch_size: 4").serve(false);
    let warmup = |input: &str| {
        json!({"config": format!(
            "{{\"max_batch_size\": 4, \"model_warmup\": [{{\"name\": \"w\", \"batch_size\": 2, \
             \"inputs\": {{\"x\": {{\"data_type\": \"TYPE_FP32\", \"dims\": [\"4\"], {input}}}}}}}]}}"
        )})
    };
    let loaded = served.load("a", &warmup("\"random_data\": false"));
    assert_eq!(loaded.status, 200, "{loaded:?}");
    let refused = served.load("a", &warmup("\"input_data_file\": \"gone\""));
    assert_eq!(refused.status, 400, "{refused:?}");
}
