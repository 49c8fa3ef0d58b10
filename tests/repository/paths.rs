//! No name and no link leads out of a repository.

use std::os::unix::fs::symlink;

use divisi_repository::{Repository, WantedModels};

use crate::common::Written;

#[test]
fn names_that_lead_out_are_refused_in_every_field() {
    let outside = Written::new();
    outside.network("m", "one.onnx").file("labels.txt", "a\n");
    let absolute = outside.path().join("labels.txt").display().to_string();
    let label = |file: &str| {
        format!(
            "output {{ name: \"y\" data_type: TYPE_FP32 dims: [ -1, 1 ] label_filename: \"{file}\" }}"
        )
    };
    for config in [
        "default_model_filename: \"../../x.onnx\"".to_owned(),
        "default_model_filename: \"/etc/hosts.onnx\"".to_owned(),
        "default_model_filename: \"a\\000b.onnx\"".to_owned(),
        label("../labels.txt"),
        label(&absolute),
    ] {
        let written = Written::new();
        written.network("m", "one.onnx").config("m", &config);
        let failure = written.failure("m");
        assert!(failure.starts_with("m/config.pbtxt:1: "), "{failure}");
        assert!(
            failure.ends_with("` leads out of the model's folder"),
            "{failure}"
        );
    }
}

#[test]
fn a_name_that_is_asked_for_is_one_of_a_folder() {
    let written = Written::new();
    written
        .network("m", "one.onnx")
        .network(".hidden", "one.onnx");
    for name in ["..", ".", "/etc", "m/1", "", ".hidden", "m/../m"] {
        let report = written
            .open()
            .load(WantedModels::Named(&[name.into()]), &[])
            .expect("read");
        let failure = report.failures[0].fault.to_string();
        assert!(failure.starts_with("no model `"), "{failure}");
    }
}

#[test]
fn links_are_followed_within_a_repository_and_not_out_of_it() {
    let (outside, written) = (Written::new(), Written::new());
    outside.network("m", "one.onnx").config("m", "");
    written
        .network("kept", "one.onnx")
        .file("linked/1/x", "")
        .file("config/1/x", "");
    let path = |name: &str| written.path().join(name);
    symlink(path("kept/1/model.onnx"), path("linked/1/model.onnx")).expect("a link");
    symlink(outside.path().join("m"), path("away")).expect("a link");
    symlink(
        outside.path().join("m/config.pbtxt"),
        path("config/config.pbtxt"),
    )
    .expect("a link");
    std::fs::create_dir_all(path("file/1")).expect("a folder");
    symlink(
        outside.path().join("m/1/model.onnx"),
        path("file/1/model.onnx"),
    )
    .expect("a link");
    let report = written.load();
    let loaded: Vec<&str> = report.models.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(loaded, ["kept", "linked"]);
    for (name, expected) in [
        ("away", "away: the link leads out"),
        ("config", "config/config.pbtxt: the link leads out"),
        ("file", "file/1/model.onnx: the link leads out"),
    ] {
        let failure = written.failure(name);
        assert!(failure.starts_with(expected), "{failure}");
    }
}

/// A model `m` that serves by itself, and would not if the files of `outside` were its own.
fn plain() -> (Written, Written) {
    let (outside, written) = (Written::new(), Written::new());
    outside
        .file("config.pbtxt", "max_batch_size: -1")
        .file("ensemble.toml", "damaged")
        .network_at("2/model.onnx", "one.onnx");
    written.network("m", "one.onnx");
    (outside, written)
}

/// The names that decide what a model is.
const DECIDING: [&str; 5] = ["config.pbtxt", "ensemble.toml", "pipeline.toml", "2", "1"];

#[test]
fn a_link_that_leads_out_fails_the_model_and_nothing_else_is_served_in_its_place() {
    for name in DECIDING {
        let (outside, written) = plain();
        let _ = std::fs::remove_dir_all(written.path().join("m").join(name));
        outside.file("pipeline.toml", "damaged");
        let from = match name {
            "1" => outside.path().join("2"),
            _ => outside.path().join(name),
        };
        symlink(from, written.path().join("m").join(name)).expect("a link");
        let expected = format!("m/{name}: the link leads out of the repository");
        assert_eq!(written.failure("m"), expected);
        assert!(written.load().models.is_empty(), "{name}");
        assert!(Repository::is_at(written.path()), "{name}");
    }
}

#[test]
fn a_link_that_leads_nowhere_fails_the_model_and_nothing_else_is_served_in_its_place() {
    for name in DECIDING {
        let (outside, written) = plain();
        let _ = std::fs::remove_dir_all(written.path().join("m").join(name));
        let gone = outside.path().join("gone");
        symlink(gone, written.path().join("m").join(name)).expect("a link");
        let expected = format!("m/{name}: the target of the link does not exist");
        assert_eq!(written.failure("m"), expected);
        assert!(written.load().models.is_empty(), "{name}");
        assert!(Repository::is_at(written.path()), "{name}");
    }
}

#[test]
fn links_that_decide_nothing_are_left_alone() {
    let (outside, written) = plain();
    for name in ["notes", "01", "+1", "readme.md"] {
        symlink(outside.path(), written.path().join("m").join(name)).expect("a link");
    }
    assert_eq!(written.single().version, 1);
}

#[test]
fn a_folder_whose_name_is_no_text_says_so() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let written = Written::new();
    let name = OsStr::from_bytes(b"bad\xffutf");
    std::fs::create_dir_all(written.path().join(name).join("1")).expect("a folder");
    let failure = written.load().failures[0].fault.to_string();
    assert_eq!(failure, "bad\u{fffd}utf: expected a name in UTF-8");
}

/// A pipeline of one model, whose network is a file.
fn pipeline(file: &str) -> String {
    format!(
        "name = \"p\"\nanswers = {{ values = 4 }}\noutputs = [\"y\"]\n[[input.tensors]]\nname = \"x\"\ndatatype = \"FP32\"\n\
         shape = [4]\n[[members]]\nname = \"a\"\nnetwork = {{ file = \"{file}\" }}\n\
         [[steps]]\nmodel = \"a\"\n"
    )
}

/// An ensemble of one member, whose weights are a file.
fn ensemble(file: &str) -> String {
    format!(
        "name = \"m\"\nclasses = 2\n[input]\nshape = [4]\n[[members]]\nname = \"a\"\n\
         network = {{ builder = \"perceptron\", hidden = [8] }}\nweights = \"{file}\"\n"
    )
}

#[test]
fn the_files_of_a_manifest_lie_in_the_repository() {
    let outside = Written::new();
    outside.network_at("a.onnx", "affine.onnx");
    let elsewhere = outside.path().join("a.onnx").display().to_string();
    let written = Written::new();
    for file in [
        elsewhere.clone(),
        format!("../../../../../../../../../../..{elsewhere}"),
    ] {
        written.file("m/ensemble.toml", ensemble(&file));
        written.file("p/pipeline.toml", pipeline(&file));
        for (model, place) in [
            ("m", "m/ensemble.toml:8: members.weights"),
            ("p", "p/pipeline.toml:10: members.network.file"),
        ] {
            assert_eq!(written.failure(model), outside_of(place, &file));
        }
    }
    symlink(
        outside.path().join("a.onnx"),
        written.path().join("p/a.onnx"),
    )
    .expect("a link");
    written.file("p/pipeline.toml", pipeline("a.onnx"));
    let place = "p/pipeline.toml:10: members.network.file";
    assert_eq!(written.failure("p"), outside_of(place, "a.onnx"));
}

/// The refusal of a field that names a file outside of the repository.
fn outside_of(place: &str, file: &str) -> String {
    format!("{place}: expected a path inside the repository's folder, found `{file}`")
}

#[test]
fn the_files_of_a_manifest_may_lie_in_other_folders_of_the_repository() {
    let written = Written::new();
    written
        .network("other", "affine.onnx")
        .file("p/pipeline.toml", pipeline("../other/1/model.onnx"));
    let report = written.load();
    assert!(report.failures.is_empty(), "{:?}", report.failures);
}

#[test]
fn the_files_of_a_manifest_may_be_links_within_the_repository() {
    let written = Written::new();
    written
        .network("other", "affine.onnx")
        .file("p/pipeline.toml", pipeline("a.onnx"));
    let model = written.path().join("other/1/model.onnx");
    symlink(model, written.path().join("p/a.onnx")).expect("a link");
    let report = written.load();
    assert!(report.failures.is_empty(), "{:?}", report.failures);
}

#[test]
fn a_repository_is_a_folder() {
    let written = Written::new();
    written.file("file", "");
    let missing = Repository::open(&written.path().join("none"));
    let missing = missing.expect_err("no folder").to_string();
    assert!(
        missing.ends_with("none: No such file or directory (os error 2)"),
        "{missing}"
    );
    let file = Repository::open(&written.path().join("file"));
    let file = file.expect_err("a file").to_string();
    let expected = "file: expected a model repository (a folder with one folder per model)";
    assert!(file.ends_with(expected), "{file}");
    assert!(!Repository::is_at(written.path()));
    written.network("m", "one.onnx");
    assert!(Repository::is_at(written.path()));
    assert!(!Repository::is_at(&written.path().join("m")));
}

#[test]
fn a_name_of_a_folder_that_cannot_be_shown_is_refused() {
    let written = Written::new();
    written.network("a\tb", "one.onnx");
    let failure = written.load().failures[0].fault.to_string();
    assert!(
        failure.contains("expected a name of 1 to 255 printable characters"),
        "{failure}"
    );
}

#[test]
fn a_file_that_is_too_long_or_no_text_is_refused() {
    let written = Written::new();
    written
        .network("m", "one.onnx")
        .config("m", &" ".repeat((1 << 20) + 1));
    let expected = "m/config.pbtxt: expected a text of at most 1 MiB";
    assert_eq!(written.failure("m"), expected);
    written.file("m/config.pbtxt", [0xff, 0xfe]);
    assert_eq!(written.failure("m"), "m/config.pbtxt: expected UTF-8 text");
}
