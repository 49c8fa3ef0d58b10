//! Repositories of models on the command line: checked before they are served, and converted.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::cli::{divisi, fails, json};

/// A repository with a model that can be loaded, and one that cannot.
pub struct Models(TempDir);

impl Models {
    pub fn new(with_bad: bool) -> Self {
        let models = Models(tempfile::tempdir().expect("a folder"));
        models.network(
            "good",
            "max_batch_size: 8 optimization { cuda { graphs: true } }",
        );
        if with_bad {
            models.network("bad", "nmae: \"bad\"");
        }
        models
    }

    pub fn network(&self, name: &str, config: &str) {
        let file =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/runtime/onnx_files/one.onnx");
        let version = self.join(name).join("1");
        fs::create_dir_all(&version).expect("a folder");
        fs::copy(file, version.join("model.onnx")).expect("copied");
        fs::write(self.join(name).join("config.pbtxt"), config).expect("written");
    }

    fn join(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn path(&self) -> &str {
        self.0.path().to_str().expect("text")
    }
}

#[test]
fn a_repository_is_checked_before_it_is_served() {
    let models = Models::new(true);
    let output = divisi(&["check", models.path()]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).expect("text");
    for expected in [
        "1 model · 1 failure",
        "good   1        network  batches up to 8  x FP32 [3]  y FP32 [1]",
        "settings without effect\ngood:1: optimization.cuda.graphs",
        "not loaded\nbad: bad/config.pbtxt:1: unknown field `nmae`",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    let error = String::from_utf8(output.stderr).expect("text");
    assert_eq!(error, "divisi: 1 model cannot be loaded\n");
}

#[test]
fn precisions_that_the_devices_do_not_multiply_are_told() {
    let models = Models::new(false);
    let options = ["--devices", "cpu:0", "--precision", "f16"];
    let output = divisi(&[&["check", models.path()], &options[..]].concat());
    let text = String::from_utf8(output.stdout).expect("text");
    let expected = "on this machine's devices\nf16: GPUs only; processors compute in f32\n";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn instances_that_the_devices_cannot_run_are_told_by_check_as_by_serve() {
    let models = Models::new(false);
    let wish = "max_batch_size: 8 instance_group { count: 1000000 kind: KIND_GPU gpus: [ 7 ] }";
    models.network("wishing", wish);
    let output = divisi(&["check", models.path(), "--devices", "cpu:0"]);
    let text = String::from_utf8(output.stdout).expect("text");
    let expected = "on this machine's devices\nmodel `wishing`: `instance_group` of its config.pbtxt: \
                    this server has no such GPUs\n";
    assert!(text.contains(expected), "{text}");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_checked_repository_is_read_by_programs() {
    let report = json(&["check", Models::new(false).path(), "--format", "json"]);
    let model = &report["models"][0];
    assert_eq!(model["name"], "good");
    assert_eq!(model["rows"]["up-to"], 8);
    assert_eq!(model["inputs"][0]["datatype"], "FP32");
    assert_eq!(report["failures"].as_array().map(Vec::len), Some(0));
}

impl Models {
    /// Copies one of the ensembles that come with Divisi.
    pub fn sample(&self, name: &str) {
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sample_ensembles");
        fs::create_dir_all(self.join(name)).expect("a folder");
        for file in fs::read_dir(samples.join(name)).expect("a sample") {
            let file = file.expect("a file");
            fs::copy(file.path(), self.join(name).join(file.file_name())).expect("copied");
        }
    }
}

#[test]
fn manifests_in_a_repository_are_told_as_a_server_tells_them() {
    let models = Models::new(false);
    for name in ["digits", "digits-cascade", "snippets"] {
        models.sample(name);
    }
    let report = json(&["check", models.path(), "--format", "json"]);
    let told = |name: &str, field: &str| {
        let mut all = report["models"].as_array().expect("models").iter();
        let model = all.find(|model| model["name"] == name).expect("a model");
        model[field].clone()
    };
    for (name, kind, output) in [
        ("digits", "ensemble", "scores"),
        ("snippets", "ensemble", "logits"),
    ] {
        assert_eq!(told(name, "kind"), kind);
        assert_eq!(told(name, "outputs")[0]["name"], output);
        assert_ne!(told(name, "inputs")[0], serde_json::Value::Null, "{name}");
    }
    assert_eq!(told("digits", "inputs")[0]["name"], "input");
    assert_eq!(told("good", "kind"), "network");
    let alone = json(&["check", "digits-cascade", "--format", "json"]);
    let steps = alone["pipeline"]["steps"].as_array().expect("steps").len();
    let expected = format!("pipeline of {steps} steps");
    assert_eq!(told("digits-cascade", "kind"), expected);
}

#[test]
fn a_repository_is_converted_and_back() {
    let models = Models::new(false);
    let (ours, theirs) = (models.join("ours"), models.join("theirs"));
    let [ours, theirs] = [&ours, &theirs].map(|path| path.to_str().expect("text"));
    let output = divisi(&["convert", models.path(), "--out", ours, "--copy"]);
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains("good/pipeline.toml"), "{text}");
    assert!(
        text.contains("not supported by the format\ngood: max_batch_size 8"),
        "{text}"
    );
    let pipeline = format!("{ours}/good");
    assert!(
        divisi(&["convert", &pipeline, "--to", "triton", "--out", theirs])
            .status
            .success()
    );
    assert_eq!(
        json(&["check", theirs, "--format", "json"])["models"][0]["name"],
        "good"
    );
}

#[test]
fn what_cannot_be_converted_says_so() {
    let models = Models::new(false);
    let out = models.join("out");
    let out = out.to_str().expect("text");
    let ensemble = concat!(env!("CARGO_MANIFEST_DIR"), "/../sample_ensembles/digits");
    for (arguments, expected) in [
        (
            ["convert", models.path(), "--to", "triton"],
            "nothing to convert",
        ),
        (
            ["convert", ensemble, "--to", "manifests"],
            "expected a model repository",
        ),
    ] {
        let arguments: Vec<&str> = arguments.into_iter().chain(["--out", out]).collect();
        let (code, error) = fails(&arguments);
        assert_eq!(code, Some(1));
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn commands_that_take_one_ensemble_say_so_of_a_repository_in_a_line() {
    let models = Models::new(false);
    let good = models.join("good");
    for arguments in [
        &["predict", models.path(), "--input", "none.csv"][..],
        &["accuracy", models.path()],
        &["plan", models.path(), "--rate", "10"],
    ] {
        let (code, error) = fails(arguments);
        assert_eq!(code, Some(1));
        let expected = format!(
            "divisi: {}: expected one ensemble (a folder, its ensemble.toml, or an .onnx file), \
             found a repository of models; name one of them, such as {}\n",
            models.path(),
            good.display()
        );
        assert_eq!(error, expected);
    }
    let report = divisi(&[
        "report",
        models.path(),
        "--for",
        "0.2",
        "--devices",
        "cpu:0",
    ]);
    let text = String::from_utf8(report.stdout).expect("text");
    let folder = Path::new(models.path()).file_name().expect("a name");
    let name = folder.to_str().expect("text");
    assert!(text.starts_with(&format!("{name} · serving · ")), "{text}");
}

#[test]
fn a_folder_that_is_no_ensemble_is_refused_with_what_was_looked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("text");
    for arguments in [
        &["predict", path, "--input", "none.csv"][..],
        &["accuracy", path],
        &["plan", path, "--rate", "10"],
    ] {
        let (_, error) = fails(arguments);
        let expected = format!(
            "divisi: {path}: expected an ensemble (a folder, its ensemble.toml, or an .onnx \
             file), found a folder without ensemble.toml or pipeline.toml\n"
        );
        assert_eq!(error, expected);
    }
}

#[test]
fn names_of_folders_forge_no_lines_and_steer_no_terminal() {
    let models = Models::new(false);
    let forged = models.join("x\ndivisi: all is well\u{1b}[2J");
    fs::create_dir_all(forged.join("1")).expect("a folder");
    let name = "x\\ndivisi: all is well\\u{1b}[2J";
    let checked = divisi(&["check", models.path()]);
    let said = String::from_utf8(checked.stdout).expect("text");
    assert!(
        said.contains(&format!("\n{name}: {name}: expected a name")),
        "{said}"
    );
    let report = divisi(&[
        "report",
        models.path(),
        "--for",
        "0.2",
        "--devices",
        "cpu:0",
    ]);
    let allocated = divisi(&["allocate", models.path(), "--devices", "cpu:0"]);
    let told = format!("divisi: model `{name}` is not served: {name}: expected a name");
    let notices = String::from_utf8(allocated.stderr).expect("text");
    assert!(
        notices.lines().any(|line| line.starts_with(&told)),
        "{notices}"
    );
    for output in [
        report.stdout,
        report.stderr,
        notices.into_bytes(),
        said.into_bytes(),
    ] {
        let text = String::from_utf8(output).expect("text");
        let forged = text.lines().find(|line| line.starts_with("divisi: all"));
        assert_eq!(forged, None, "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}
