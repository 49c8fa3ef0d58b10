//! `divisi quantize`: files of ranges, as scripts and manifests use them.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::cli::{divisi, fails, has, json, scratch};
use crate::folder::Folder;

/// Copies the sample ensemble of digits, without its larger members, to a folder.
fn digits() -> Folder {
    let folder = Folder::new();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sample_ensembles/digits");
    for name in ["digits.csv", "mlp.safetensors", "cnn-s.safetensors"] {
        folder.write(name, &fs::read(from.join(name)).expect("a sample file"));
    }
    folder.write("ensemble.toml", manifest("").as_bytes());
    folder
}

/// A manifest whose first member has a line more.
fn manifest(line: &str) -> String {
    format!(
        "name = \"digits\"\nclasses = 10\n[input]\nshape = [1, 8, 8]\nscale = 0.0625\n\
         [calibration]\nfile = \"digits.csv\"\nskip = 1200\n\
         [[members]]\nname = \"mlp\"\nweights = \"mlp.safetensors\"\n\
         network = {{ builder = \"perceptron\", hidden = [64] }}\n{line}\n\
         [[members]]\nname = \"cnn-s\"\nweights = \"cnn-s.safetensors\"\n\
         network = {{ builder = \"convnet\", channels = [8, 16], depth = 1 }}\n"
    )
}

fn path(folder: &Folder) -> String {
    folder.path().to_string_lossy().into_owned()
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn each_member_has_a_file_that_its_manifest_may_name() {
    let folder = digits();
    let report = json(&["quantize", &path(&folder), "--format", "json"]);
    has(&report, &["model", "method", "samples", "members"]);
    assert_eq!(report["samples"], 256);
    assert_eq!(report["method"], "min-max");
    for member in report["members"].as_array().expect("members") {
        let name = member["name"].as_str().expect("a name");
        assert!(
            folder.join(&format!("{name}.int8.json")).is_file(),
            "{name}"
        );
        assert!(number(&member["signal_to_noise_db"]) > 20.0, "{member}");
        assert!(number(&member["agreement"]) > 0.97, "{member}");
        let accuracy = |precision: &str| number(&member[precision]["accuracy"]);
        assert!(
            (accuracy("f32") - accuracy("int8")).abs() < 0.02,
            "{member}"
        );
        let kept = member["kept"].as_array().expect("names").len() as u64;
        assert_eq!(
            member["quantized"].as_u64().map(|n| n + kept >= 2),
            Some(true)
        );
    }
    let text = String::from_utf8(divisi(&["check", &path(&folder)]).stdout).expect("text");
    let remark = "mlp.int8.json is not used: the manifest has no `calibration` with its name";
    assert!(text.contains(remark), "{text}");
    let named = manifest("calibration = \"mlp.int8.json\"\nprecision = \"int8\"");
    folder.write("ensemble.toml", named.as_bytes());
    let text = String::from_utf8(divisi(&["check", &path(&folder)]).stdout).expect("text");
    assert!(
        text.contains("mlp: int8 ranges by min-max from 256 samples"),
        "{text}"
    );
    // The other member's belongs to another network.
    let wrong = manifest("calibration = \"cnn-s.int8.json\"");
    folder.write("ensemble.toml", wrong.as_bytes());
    let (code, error) = fails(&["check", &path(&folder)]);
    assert_eq!(code, Some(1));
    assert!(
        error.contains("cnn-s.int8.json: member `mlp`: network: expected"),
        "{error}"
    );
}

/// Returns a file of weights with numbers in one tensor whose sums are none.
fn with_large(mut file: Vec<u8>, tensor: &str) -> Vec<u8> {
    let (length, rest) = file.split_first_chunk::<8>().expect("a length");
    let data = usize::try_from(u64::from_le_bytes(*length)).expect("a length");
    let head: Value = serde_json::from_slice(&rest[..data]).expect("a head");
    let place = |n: usize| {
        let offset = head[tensor]["data_offsets"][n].as_u64().expect("an offset");
        8 + data + usize::try_from(offset).expect("an offset")
    };
    let values = place(0)..place(1);
    let values = file[values].as_chunks_mut::<4>().0;
    values.fill(f32::MAX.to_le_bytes());
    file
}

/// The files of a folder that are named like calibrations, or by nobody.
fn written(folder: &Folder) -> Vec<String> {
    let names = fs::read_dir(folder.path()).expect("a folder");
    let names = names.map(|entry| entry.expect("an entry").file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    let mut names: Vec<_> = names
        .filter(|name| name.ends_with(".json") || name.starts_with('.'))
        .collect();
    names.sort();
    names
}

#[test]
fn the_files_of_all_members_are_written_or_none() {
    let folder = digits();
    let model = path(&folder);
    // The second member answers no numbers.
    let weights = fs::read(folder.join("cnn-s.safetensors")).expect("weights");
    folder.write(
        "cnn-s.safetensors",
        &with_large(weights.clone(), "classifier.weight"),
    );
    let (_, error) = fails(&["quantize", &model]);
    assert!(error.contains("member `cnn-s`"), "{error}");
    assert_eq!(written(&folder), [""; 0]);
    folder.write("cnn-s.safetensors", &weights);
    // One that exists keeps the other from being written.
    folder.write("cnn-s.int8.json", b"old");
    let (code, error) = fails(&["quantize", &model]);
    assert_eq!(code, Some(1));
    for said in [
        "cnn-s.int8.json: exists; --force replaces it",
        "--member NAME writes the file of one member",
        "--output FOLDER writes to another folder",
    ] {
        assert!(error.contains(said), "{error}, not {said}");
    }
    assert_eq!(written(&folder), ["cnn-s.int8.json"]);
    json(&["quantize", &model, "--member", "mlp", "--format", "json"]);
    json(&["quantize", &model, "--force", "--format", "json"]);
    assert_eq!(written(&folder), ["cnn-s.int8.json", "mlp.int8.json"]);
    let new = fs::read(folder.join("cnn-s.int8.json")).expect("a file");
    assert_ne!(new, b"old");
}

#[test]
fn samples_that_are_all_the_same_are_warned_of() {
    let (file, samples) = (scratch("mlp-alike.int8.json"), scratch("alike.csv"));
    let digits = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../sample_ensembles/digits/digits.csv"
    );
    let text = fs::read_to_string(digits).expect("the sample");
    let mut lines = text.lines();
    let (head, row) = (lines.next().expect("a head"), lines.next().expect("a row"));
    let all = [head].into_iter().chain([row; 200]).collect::<Vec<_>>();
    fs::write(&samples, all.join("\n")).expect("written");
    let (to, from) = (
        file.to_str().expect("text"),
        samples.to_str().expect("text"),
    );
    let report = json(&[
        "quantize",
        "digits",
        "--member",
        "mlp",
        "--calibration",
        from,
        "--output",
        to,
        "--force",
        "--format",
        "json",
    ]);
    let warning = report["warning"].as_str().expect("a warning");
    assert!(warning.contains("all samples are equal"), "{warning}");
}

#[test]
fn one_member_by_one_method_goes_to_one_file() {
    let file = scratch("mlp.int8.json");
    let _ = fs::remove_file(&file);
    let to = file.to_str().expect("text");
    let one = ["quantize", "digits", "--member", "mlp", "--output", to];
    let by = |more: &'static str| {
        let more = more.split_whitespace();
        let all = one.into_iter().chain(["--format", "json"]).chain(more);
        all.collect::<Vec<_>>()
    };
    let report = json(&by("--method percentile --percentile 99.9 --rows 40"));
    assert_eq!(report["method"], "percentile 99.9");
    assert_eq!(report["samples"], 40);
    assert_eq!(report["members"].as_array().map(Vec::len), Some(1));
    let (code, error) = fails(&by(""));
    assert_eq!(code, Some(1));
    assert!(error.contains("exists; --force replaces it"), "{error}");
    let report = json(&by("--force --method entropy --keep first,head --rows 9"));
    assert_eq!(report["members"][0]["quantized"], 0);
    let warning = report["warning"].as_str().expect("few");
    assert!(warning.contains("few samples (9)"), "{warning}");
    assert!(
        warning.contains("biases are fitted to the same samples"),
        "{warning}"
    );
}

#[test]
fn what_cannot_be_calibrated_is_refused() {
    let to = scratch("refused.json");
    let to = to.to_str().expect("text");
    let cases: [(&[&str], &str); 6] = [
        (&["digits"], "--output is required for a built-in ensemble"),
        (
            &["digits", "--output", to],
            "--output: expected an existing folder",
        ),
        (
            &["digits", "--member", "x", "--output", to],
            "--member: expected one of mlp, cnn-s",
        ),
        (
            &["imn1", "--output", to],
            "synthetic weights: its ranges are meaningless",
        ),
        (
            &["digits-cascade", "--output", to],
            "pipelines cannot be calibrated",
        ),
        (
            &["digits", "--percentile", "99", "--output", to],
            "--percentile requires --method percentile",
        ),
    ];
    for (arguments, expected) in cases {
        let (code, error) = fails(&[&["quantize"], arguments].concat());
        assert_eq!(code, Some(1));
        assert!(error.contains(expected), "{error}, not {expected}");
    }
    let keep = [
        "quantize", "digits", "--member", "mlp", "--keep", "x", "--output", to,
    ];
    let (_, error) = fails(&keep);
    let said = "--keep: expected names of convolutions and fully connected layers, found `x`; the \
                network has layers.0, head";
    assert!(error.contains(said), "{error}");
}

#[test]
fn a_file_that_was_quantised_before_keeps_its_own_scales() {
    let folder = Folder::new();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/runtime/onnx_files");
    let file = fs::read(from.join("quantised_pairs.onnx")).expect("a network");
    let file = folder.write("pairs.onnx", &file);
    let rows = format!("{}\n", vec!["0.5"; 4 * 8 * 6].join(",")).repeat(2);
    let head = (0..4 * 8 * 6).map(|i| format!("x{i}")).collect::<Vec<_>>();
    let samples = folder.write("x.csv", format!("{}\n{rows}", head.join(",")).as_bytes());
    let (code, error) = fails(&["quantize", &file, "--calibration", &samples]);
    assert_eq!(code, Some(1));
    for said in [
        "expected a float32 network, found a quantised one",
        "a calibration has no effect",
    ] {
        assert!(error.contains(said), "{error}");
    }
    let report = json(&["check", &file, "--format", "json"]);
    let own = &report["members"][0]["own_scales"];
    assert_eq!(own["layers"], own["weighted"], "{report}");
    let text = String::from_utf8(divisi(&["check", &file]).stdout).expect("text");
    assert!(text.contains("the file's own scales ("), "{text}");
}

#[test]
fn a_file_of_layers_is_calibrated_by_its_weights() {
    let folder = Folder::new();
    let layers = "[[layers]]\nname = \"fc\"\nop = \"linear\"\nfeatures = 3\n";
    let network = folder.write("own.toml", layers.as_bytes());
    let weights = folder.join("own.safetensors");
    let weights = weights.to_str().expect("text");
    let made = [
        "network", "weights", &network, "--shape", "2", "--output", weights,
    ];
    assert!(divisi(&made).status.success());
    let rows: String = (0..40).map(|i| format!("{i},{}\n", 40 - i)).collect();
    let samples = folder.write("x.csv", format!("a,b\n{rows}").as_bytes());
    let own = ["--weights", weights, "--shape", "2", "--format", "json"];
    let arguments = [&["quantize", &network, "--calibration", &samples], &own[..]].concat();
    let report = json(&arguments);
    assert_eq!(report["samples"], 40);
    assert!(folder.join("own.int8.json").is_file());
    folder.write("x.csv", format!("a,b\n{rows}1,1e39\n").as_bytes());
    let (code, error) = fails(&[&arguments[..], &["--force"]].concat());
    assert_eq!(code, Some(1));
    assert!(error.contains("x.csv"), "{error}");
}
