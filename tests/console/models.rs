//! `check` on models as people have them: what was done to make them fit, or what to do.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use crate::cli::{divisi, fails, json, scratch};

const MANIFEST: &str = r#"name = "photos"
classes = 2

[input]
shape = [3, 2, 2]
scale = 0.00392156862745098
mean = [0.485, 0.456, 0.406]
std = [0.229, 0.224, 0.225]

[[members]]
name = "a"
network = { builder = "perceptron" }
weights = "a.safetensors"
"#;

/// Weights in halves, as a parallel model's state has them.
fn wrapped() -> Vec<u8> {
    let entry = |shape: &[usize], from: usize, to: usize| json!({"dtype": "F16", "shape": shape, "data_offsets": [from, to]});
    let header = json!({
        "module.head.weight": entry(&[2, 12], 0, 48),
        "module.head.bias": entry(&[2], 48, 52),
        "module.aux.fc.weight": entry(&[1], 52, 54),
    });
    let header = header.to_string();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.bytes());
    bytes.extend([0x00, 0x3c].repeat(27));
    bytes
}

fn ensemble(name: &str, weights: &[u8]) -> PathBuf {
    let folder = scratch(name);
    fs::create_dir_all(&folder).expect("creates");
    fs::write(folder.join("ensemble.toml"), MANIFEST).expect("writes");
    fs::write(folder.join("a.safetensors"), weights).expect("writes");
    folder
}

#[test]
fn check_says_what_was_converted_stripped_and_ignored() {
    let folder = ensemble("wrapped", &wrapped());
    let path = folder.to_str().expect("text");
    let output = divisi(&["check", path, "--devices", "sim:v100"]);
    let text = String::from_utf8(output.stdout).expect("text");
    for said in [
        "\na: 2 tensors converted from F16 to float32\n",
        "\na: prefix `module.` removed from 3 names\n",
        "\na: ignored 1 tensor of an auxiliary head: `module.aux.fc.weight`\n",
        "\na: channels × 0.01712 − 2.11790, × 0.01751 − 2.03571, × 0.01743 − 1.80444\n",
    ] {
        assert!(text.contains(said), "{said:?} in {text}");
    }
    let report = json(&["check", path, "--devices", "sim:v100", "--format", "json"]);
    let member = &report["members"][0];
    assert_eq!(member["weights"].as_array().map(Vec::len), Some(3));
    assert_eq!(member["normalisation"].as_array().map(Vec::len), Some(3));
    assert_eq!(member["synthetic"], false);
}

#[test]
fn check_says_what_to_do_with_a_checkpoint() {
    let mut checkpoint = b"PK\x03\x04".to_vec();
    checkpoint.resize(26, 0);
    checkpoint.extend([16, 0, 0, 0]);
    checkpoint.extend(b"archive/data.pkl");
    let folder = ensemble("checkpoint", &checkpoint);
    let (code, error) = fails(&["check", folder.to_str().expect("text")]);
    assert_ne!(code, Some(0));
    for said in [
        "a.safetensors: member `a`: ",
        "a PyTorch checkpoint (zip)",
        "save_file(",
    ] {
        assert!(error.contains(said), "{said} in {error}");
    }
    assert!(error.lines().all(|line| line.len() < 700), "{error}");
}
