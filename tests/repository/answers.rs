//! The answers of a repository's models.

use std::sync::Arc;

use divisi_engine::serving::{Engine, EngineOptions, NetworkFactory, Request};
use divisi_model::allocation::{Frame, Matrix};
use divisi_runtime::device::{Devices, Host};

use crate::common::{Written, answer, model};

/// A mean and a sum that can be told from each other: two steps of one network.
const TWICE: &str = "platform: \"ensemble\"\nmax_batch_size: 8\n\
    input { name: \"in\" data_type: TYPE_FP32 dims: 4 }\n\
    output [ { name: \"once\" data_type: TYPE_FP32 dims: 4 },\n\
    { name: \"twice\" data_type: TYPE_FP32 dims: 4 } ]\n\
    ensemble_scheduling { step [ { model_name: \"a\" input_map { key: \"x\" value: \"in\" }\n\
    output_map { key: \"y\" value: \"once\" } }, { model_name: \"a\"\n\
    input_map { key: \"x\" value: \"once\" } output_map { key: \"y\" value: \"twice\" } } ] }";

fn written() -> Written {
    let written = Written::new();
    written
        .network("a", "affine.onnx")
        .config("e", TWICE)
        .config(
            "outer",
            &TWICE
                .replace("\"a\"", "\"e\"")
                .replace("key: \"x\"", "key: \"in\"")
                .replace("key: \"y\"", "key: \"twice\""),
        );
    written
}

const SAMPLE: [f32; 4] = [0.25, -1.0, 0.5, 2.0];

#[test]
fn an_ensemble_answers_as_its_models_one_after_another() {
    let report = written().load();
    let [a, e, outer] = ["a", "e", "outer"].map(|name| model(&report, name));
    let alone = |sample: &[f32]| answer(&a.ensemble, sample);
    let once = alone(&SAMPLE);
    let twice = alone(&once);
    assert_eq!(answer(&e.ensemble, &SAMPLE), [once, twice.clone()].concat());
    let four = alone(&alone(&twice));
    assert_eq!(answer(&outer.ensemble, &SAMPLE), [twice, four].concat());
}

#[test]
fn a_reshaped_model_answers_as_the_one_without() {
    let (plain, reshaped) = (Written::new(), Written::new());
    plain.network("m", "image.onnx");
    reshaped.network("m", "image.onnx").config(
        "m",
        "max_batch_size: 4\n\
         input { name: \"x\" data_type: TYPE_FP32 dims: 576 reshape { shape: [ 3, 16, 12 ] } }\n\
         output { name: \"y\" data_type: TYPE_FP32 dims: [ 2, 3 ] reshape { shape: 6 } }",
    );
    let sample: Vec<f32> = (0..576).map(|i| (i as f32 * 0.7).sin()).collect();
    let [plain, reshaped] = [plain, reshaped].map(|w| answer(&w.single().ensemble, &sample));
    assert_eq!(plain, reshaped);
    assert!(plain.iter().any(|value| *value != 0.0));
}

#[test]
fn an_engine_serves_an_ensemble_of_a_repository() {
    let ensemble = Arc::clone(&model(&written().load(), "outer").ensemble);
    let devices = Devices::default_of(&Host {
        cores: vec![0, 1],
        memory_bytes: 4 << 30,
    });
    let rows = vec![vec![8; ensemble.members.len()]; devices.count()];
    let matrix =
        Matrix::from_rows(Frame::from_ensemble(&ensemble, &devices), &rows).expect("valid");
    let factory = Arc::new(NetworkFactory::new(Arc::clone(&ensemble)));
    let options = EngineOptions::default();
    let engine = Engine::start(Arc::clone(&ensemble), devices, &matrix, factory, options);
    let engine = engine.expect("starts");
    let samples: Vec<f32> = (0..80).map(|i| (i as f32 * 0.3).cos()).collect();
    let answers = engine
        .submit(Request::new(&samples))
        .expect("let in")
        .wait()
        .expect("answered");
    for (row, sample) in answers.rows().zip(samples.chunks(4)) {
        let expected = answer(&ensemble, sample);
        let close = row.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-5);
        assert!(close, "{row:?} {expected:?}");
    }
}
