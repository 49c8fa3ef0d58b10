//! ONNX files as ensembles and as members of manifests.

use std::fs;
use std::path::PathBuf;

use divisi_model::ensemble::{Ensemble, Files};
use divisi_runtime::network::Shape;
use divisi_runtime::onnx::OnnxModel;

use crate::place::root;

fn file(name: &str) -> PathBuf {
    root().join("tests/runtime/onnx_files").join(name)
}

#[test]
fn a_model_alone_is_an_ensemble_of_one() {
    let ensemble = Ensemble::read(&Files::from_path(&file("vectors.onnx"))).expect("an ensemble");
    assert_eq!(ensemble.name, "vectors");
    assert_eq!(ensemble.member_names(), ["vectors"]);
    assert_eq!(
        (ensemble.input.shape, ensemble.answer_width()),
        (Shape::vector(12), 4)
    );
    assert!(!ensemble.is_synthetic(), "the file holds its weights");
    assert!(ensemble.calibration.is_some(), "samples to measure with");
}

#[test]
fn a_member_of_a_manifest_may_be_a_model() {
    let place = tempfile::tempdir().expect("a folder");
    let put =
        |name: &str, bytes: &[u8]| fs::write(place.path().join(name), bytes).expect("written");
    for name in ["vectors.onnx", "vectors.onnx.data"] {
        put(name, &fs::read(file(name)).expect("bytes"));
    }
    let read = |more: &str| {
        let manifest = format!(
            "name = \"two\"\nclasses = 4\ninput = {{ shape = [12] }}\n\n\
             [[members]]\nname = \"ours\"\nnetwork = {{ builder = \"perceptron\", hidden = [8] }}\n\n\
             [[members]]\nname = \"theirs\"\nnetwork = {{ file = \"vectors.onnx\" }}\n{more}"
        );
        put("ensemble.toml", manifest.as_bytes());
        Ensemble::read(&Files::from_path(place.path()))
    };
    let members = read("").expect("an ensemble").members.clone();
    assert!(members[0].weights.is_synthetic() && !members[1].weights.is_synthetic());
    let error = read("weights = \"w.safetensors\"\n").expect_err("two kinds of weights");
    assert!(
        error
            .to_string()
            .contains("ensemble.toml:12: members.weights: expected none"),
        "{error}"
    );
}

#[test]
fn a_member_names_an_output_of_its_file_or_is_told_which_there_are() {
    let place = tempfile::tempdir().expect("a folder");
    for name in ["vectors.onnx", "vectors.onnx.data"] {
        fs::copy(file(name), place.path().join(name)).expect("copied");
    }
    let read = |network: &str| {
        let manifest = format!(
            "name = \"one\"\nclasses = 4\ninput = {{ shape = [12] }}\n\n\
             [[members]]\nname = \"theirs\"\nnetwork = {{ {network} }}\n"
        );
        fs::write(place.path().join("ensemble.toml"), manifest).expect("written");
        Ensemble::read(&Files::from_path(place.path())).map_err(|error| error.to_string())
    };
    let known = OnnxModel::open(&file("vectors.onnx"))
        .and_then(|model| model.network(None))
        .expect("opens")
        .outputs[0]
        .name
        .clone();
    read(&format!("file = \"vectors.onnx\", output = \"{known}\"")).expect("an ensemble");
    for (network, expected) in [
        (
            "file = \"vectors.onnx\", output = \"none\"",
            &*format!("expected {known}"),
        ),
        ("file = \"vectors.onnx\", output = 1", "expected names"),
        (
            "file = \"vectors.onnx\", outputs = \"y\"",
            "found `outputs`",
        ),
        (
            "file = \"own.toml\", output = \"y\"",
            "a file of layers has one",
        ),
    ] {
        let error = read(network).expect_err(network);
        assert!(error.contains(expected), "{network}: {error}");
    }
}
