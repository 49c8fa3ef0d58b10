//! Ensembles whose samples consist of several named tensors: manifests, files of samples, and
//! answers.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use divisi_engine::serving::Request;
use divisi_model::ensemble::samples::to_npy;
use divisi_model::ensemble::{Ensemble, Files, Samples};
use divisi_runtime::tensor::{DataType, TensorSpec, TensorValue};
use serde_json::{Value, json};

use crate::common::{networks, start};

/// The encoder for six tokens, whose answer ONNX Runtime knows.
const ENCODER: &[u8] = include_bytes!("../runtime/onnx_files/encoder.onnx");

const TENSORS: &str = r#"
[[input.tensors]]
name = "mask"
datatype = "INT64"
shape = [6]

[[input.tensors]]
name = "ids"
datatype = "INT64"
shape = [6]

[[input.tensors]]
name = "types"
datatype = "INT64"
shape = [6]
"#;

fn manifest(tensors: &str, rest: &str) -> String {
    format!(
        "name = \"text\"\nanswers = {{ values = 56 }}\n{tensors}\n{rest}\n\
         [[members]]\nname = \"encoder\"\nnetwork = {{ file = \"encoder.onnx\" }}\n"
    )
}

fn read(folder: &Path, manifest: &str) -> Result<Ensemble, String> {
    fs::write(folder.join("encoder.onnx"), ENCODER).expect("model");
    fs::write(folder.join("ensemble.toml"), manifest).expect("manifest");
    let files = Files::from_path(folder);
    Ensemble::read(&files).map_err(|e| e.to_string())
}

/// The rows of `ids`, `mask` and `types` that ONNX Runtime answered, and its answers.
fn known() -> (Vec<Vec<f32>>, Vec<f32>) {
    let text = include_str!("../runtime/onnx_files/encoder.json");
    let answers: Value = serde_json::from_str(text).expect("answers");
    let rows = |name: &str| serde_json::from_value::<Vec<Vec<f32>>>(answers[name].clone());
    (rows("x").expect("rows"), rows("y").expect("rows").concat())
}

fn tensor(name: &str, rows: &[Vec<f32>], first: usize) -> Value {
    let data: Vec<Vec<i64>> = rows
        .iter()
        .map(|row| row[first..first + 6].iter().map(|v| *v as i64).collect())
        .collect();
    json!({"name": name, "datatype": "INT64", "shape": [rows.len(), 6], "data": data})
}

#[test]
fn samples_of_several_tensors_are_answered_as_onnx_runtime_does() {
    let folder = tempfile::tempdir().expect("folder");
    let (rows, expected) = known();
    let inputs = [("ids", 0), ("mask", 6), ("types", 12)];
    let inputs: Vec<Value> = inputs
        .iter()
        .map(|(n, first)| tensor(n, &rows, *first))
        .collect();
    let file = folder.path().join("samples.json");
    fs::write(&file, json!({ "inputs": inputs }).to_string()).expect("samples");
    let rest = "[calibration]\nfile = \"samples.json\"";
    let ensemble = read(folder.path(), &manifest(TENSORS, rest)).expect("reads");
    let ensemble = Arc::new(ensemble);
    let samples = ensemble.calibration.clone().expect("samples");
    let engine = start(&ensemble, networks(&ensemble));
    let answer = engine.predict(Request::new(samples.values()));
    let answer = answer.expect("admitted").expect("answered");
    let found: Vec<f32> = answer.rows().flatten().copied().collect();
    assert_eq!(found.len(), expected.len());
    let most = expected.iter().fold(0.0f32, |m, v| m.max(v.abs()));
    for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let apart = (found - expected).abs() / most;
        assert!(apart < 1e-4, "value {at}: {found}, not {expected}");
    }
}

#[test]
fn a_model_of_several_tensors_is_an_ensemble_of_one_with_samples_that_it_can_take() {
    let folder = tempfile::tempdir().expect("folder");
    let file = folder.path().join("encoder.onnx");
    fs::write(&file, ENCODER).expect("model");
    let ensemble = Ensemble::read(&Files::from_path(&file)).expect("reads");
    let spec = |name| TensorSpec::fixed(name, DataType::Int64, &[6]);
    let expected = vec![spec("ids"), spec("mask"), spec("types")];
    let tensors = ensemble.tensors.as_ref().expect("named");
    assert!(tensors.iter().zip(&expected).all(|(a, b)| a.is_like(b)));
    let ensemble = Arc::new(ensemble);
    let samples = ensemble.calibration.clone().expect("made up");
    let first = samples.row(0);
    assert!(
        first[..6].iter().any(|id| *id != first[0]),
        "ids of a table"
    );
    assert_eq!(first[6..12], [1.0; 6], "a mask of ones");
    let engine = start(&ensemble, networks(&ensemble));
    let answer = engine
        .predict(Request::new(first))
        .expect("admitted")
        .expect("answered");
    assert!(answer.rows().flatten().all(|v| v.is_finite()));
}

#[test]
fn manifests_of_tensors_that_cannot_be_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().expect("folder");
    let other = TENSORS.replace("\"types\"", "\"kinds\"");
    let wide = TENSORS.replacen("shape = [6]", "shape = [7]", 1);
    let twice = TENSORS.replace("\"mask\"", "\"ids\"");
    let open = TENSORS.replacen("shape = [6]", "shape = [-1]", 1);
    let strings = TENSORS.replacen("INT64", "BYTES", 1);
    let floats = TENSORS.replacen("INT64", "FP32", 1);
    let misspelt = TENSORS.replacen("shape = [6]", "shape = [6]\nshpae = 6", 1);
    let scaled = format!("[input]\nscale = 2.0\n{TENSORS}");
    let both = format!("[input]\nshape = [18]\n{TENSORS}");
    let cases = [
        (
            other.as_str(),
            "the network takes `types`, but the ensemble's input has mask, ids, kinds",
        ),
        (&wide, "mask"),
        (&twice, "input.tensors: two tensors are named `ids`"),
        (
            &open,
            "input.tensors: `mask`: expected dimensions of at least 1, or `input.lengths`, found \
             INT64 [-1]",
        ),
        (
            &strings,
            "input.tensors: `mask`: no network takes type BYTES",
        ),
        (
            &floats,
            "input `mask`: the network takes INT64 [6], but the ensemble has FP32 [6]",
        ),
        (&misspelt, "unknown field `shpae`"),
        (&scaled, "named tensors are not normalised"),
        (&both, "input: expected `shape` or `tensors`, found both"),
        (
            "[input]\n",
            "input: expected `shape`, `text` (a tokenizer), or `tensors` with names, types and shapes",
        ),
    ];
    for (tensors, expected) in cases {
        let refused = read(folder.path(), &manifest(tensors, "")).expect_err(tensors);
        assert!(refused.contains(expected), "{tensors}\n{refused}");
    }
}

#[test]
fn files_that_hold_no_such_tensors_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().expect("folder");
    let ensemble = read(folder.path(), &manifest(TENSORS, "")).expect("reads");
    let row = vec![vec![1.0; 18]];
    let all = |names: [&str; 3]| {
        let inputs: Vec<Value> = names.iter().map(|n| tensor(n, &row, 0)).collect();
        json!({ "inputs": inputs }).to_string()
    };
    let cases = [
        (
            "x.json",
            all(["ids", "mask", "kinds"]),
            "no input is named `kinds`",
        ),
        (
            "x.json",
            "{\"inputs\": []}".to_owned(),
            "input `mask` is missing",
        ),
        ("x.json", "[[1, 2]]".to_owned(), "line 1"),
        (
            "x.csv",
            "a,b\n1,2\n".to_owned(),
            "an .npz file with one array for each of mask, ids, types;",
        ),
        ("x.npz", "no archive".to_owned(), "not a readable .npz file"),
    ];
    for (name, text, expected) in cases {
        let refused = Samples::parse(name, text.clone().into_bytes(), &ensemble.sample_form());
        let refused = refused.expect_err(&text).to_string();
        assert!(refused.contains(expected), "{text}\n{refused}");
    }
}

#[test]
fn an_array_without_a_name_is_the_only_tensor_and_no_one_of_several() {
    let folder = tempfile::tempdir().expect("folder");
    let model = include_bytes!("../runtime/onnx_files/sides.onnx");
    fs::write(folder.path().join("sides.onnx"), model).expect("model");
    let manifest = "name = \"m\"\nclasses = 3\n[[input.tensors]]\nname = \"x\"\n\
                    datatype = \"FP32\"\nshape = [3, 1, 2]\n[[members]]\nname = \"m\"\n\
                    network = { file = \"sides.onnx\" }\n";
    let ensemble = read(folder.path(), manifest).expect("reads");
    let parse = |ensemble: &Ensemble, dims: &[usize]| {
        let values = (0..dims.iter().product()).map(|v: usize| v as f32);
        let bytes = to_npy(values, dims);
        let read = Samples::parse("x.npy", bytes, &ensemble.sample_form());
        read.map_err(|e| e.to_string())
    };
    let samples = parse(&ensemble, &[2, 3, 1, 2]).expect("fits");
    assert_eq!((samples.len(), samples.row(1)[0]), (2, 6.0));
    let refused = parse(&ensemble, &[2, 3]).expect_err("of another shape");
    assert!(refused.contains("[n, 3, 1, 2]"), "{refused}");
    let several = read(folder.path(), &manifest_of_encoder()).expect("reads");
    let refused = parse(&several, &[2, 18]).expect_err("no names");
    let said = "other files, such as .npy, hold one unnamed array";
    assert!(refused.contains(said), "{refused}");
}

fn manifest_of_encoder() -> String {
    manifest(TENSORS, "")
}

#[test]
fn a_number_beyond_float32_is_refused_and_infinity_is_not() {
    let value = |v: f64| TensorValue::new(DataType::Fp64, vec![1], v.to_le_bytes().into());
    let floats = |v: f64| value(v).expect("a tensor").floats();
    for (given, taken) in [
        (0.1, 0.1_f32),
        (f64::INFINITY, f32::INFINITY),
        (1e-300, 0.0),
    ] {
        assert_eq!(floats(given), Ok(vec![taken]));
    }
    let refused = floats(-1e300).expect_err("too large").to_string();
    assert!(
        refused.starts_with("value 0: expected a number from -3402823"),
        "{refused}"
    );
}

#[test]
fn a_network_of_several_tensors_is_refused_where_one_is_expected() {
    let folder = tempfile::tempdir().expect("folder");
    fs::write(
        folder.path().join("two.onnx"),
        include_bytes!("../runtime/onnx_files/two.onnx"),
    )
    .expect("model");
    let end = "[[members]]\nname = \"m\"\nnetwork = { file = \"two.onnx\" }\n";
    let named = manifest_of_two();
    for (start, expected) in [
        (
            "name = \"m\"\nanswers = { values = 5 }\n[input]\nshape = [4, 6]\n",
            "the network takes `x` FP32 [4, 6], `z` FP32 [6], but the ensemble's input is one \
             tensor of",
        ),
        (
            &named,
            "expected one output for 2 classes, found `y` FP32 [6], `best` INT64 []",
        ),
    ] {
        let error = read(folder.path(), &format!("{start}{end}")).expect_err(start);
        assert!(error.contains(expected), "{error}");
    }
}

fn manifest_of_two() -> String {
    let tensor = |name: &str, shape: &str| {
        format!("[[input.tensors]]\nname = \"{name}\"\ndatatype = \"FP32\"\nshape = {shape}\n")
    };
    format!(
        "name = \"m\"\nclasses = 2\n{}{}",
        tensor("x", "[4, 6]"),
        tensor("z", "[6]")
    )
}
