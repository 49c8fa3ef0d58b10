//! Manifests in a repository that is converted: written as they are; and what their way to Triton loses.

use std::path::Path;

use divisi_model::ensemble::{Ensemble, Files};
use divisi_repository::convert::{NetworkFiles, manifests_to_triton, to_manifests, to_triton};

use crate::common::{Written, model, networks};

fn manifest(path: &Path) -> Ensemble {
    Ensemble::read(&Files::from_path(path)).expect("an ensemble")
}

/// A repository with manifests of ours: an ensemble with its files beside it, and a pipeline of a
/// network of another model.
fn with_manifests() -> Written {
    let written = Written::new();
    let samples = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../sample_ensembles/snippets"
    );
    for file in std::fs::read_dir(samples).expect("a folder") {
        let file = file.expect("a file");
        let name = format!("snippets/{}", file.file_name().display());
        written.file(&name, std::fs::read(file.path()).expect("read"));
    }
    let pipeline = "# of a network of another model\nname = \"p\"\nanswers = { values = 4 }\n\
        outputs = [\"y\"]\n[[input.tensors]]\nname = \"x\"\ndatatype = \"FP32\"\nshape = [12]\n\
        [[members]]\nname = \"a\"\nnetwork = { file = '../beside/1/model.onnx' }\n\
        [[steps]]\nmodel = \"a\"\n";
    written
        .network("beside", "vectors.onnx")
        .network_at("beside/1/vectors.onnx.data", "vectors.onnx.data")
        .file("p/pipeline.toml", pipeline);
    written
}

#[test]
fn manifests_in_a_repository_are_written_as_they_are() {
    let from = with_manifests();
    let loaded = from.load();
    assert!(loaded.failures.is_empty(), "{:?}", loaded.failures);
    for files in [NetworkFiles::Named, NetworkFiles::Copied] {
        let out = Written::new();
        let converted = to_manifests(&from.open(), out.path(), files).expect("converted");
        assert!(converted.left_out.is_empty(), "{:?}", converted.left_out);
        assert!(converted.unsaid.is_empty(), "{:?}", converted.unsaid);
        for name in ["snippets", "p"] {
            let (ours, theirs) = (manifest(&out.path().join(name)), model(&loaded, name));
            assert_eq!(ours.answers, theirs.ensemble.answers, "{name}");
            assert_eq!(ours.members.len(), theirs.ensemble.members.len(), "{name}");
        }
        let text = std::fs::read_to_string(out.path().join("p/pipeline.toml")).expect("read");
        assert!(
            text.starts_with("# of a network of another model\n"),
            "{text}"
        );
        if files == NetworkFiles::Copied {
            let report = out.load();
            assert!(report.failures.is_empty(), "{:?}", report.failures);
            assert_eq!(report.models.len(), 3);
            assert!(text.contains("'../beside/1/model.onnx'"), "{text}");
        }
    }
}

#[test]
fn what_a_link_leads_out_to_is_not_copied() {
    let (outside, from) = (Written::new(), with_manifests());
    outside.file("secret", "s");
    let link = from.path().join("snippets/notes");
    std::os::unix::fs::symlink(outside.path().join("secret"), link).expect("a link");
    let out = Written::new();
    let converted = to_manifests(&from.open(), out.path(), NetworkFiles::Copied);
    assert!(converted.expect("converted").left_out.is_empty());
    assert!(out.path().join("snippets/ensemble.toml").exists());
    assert!(!out.path().join("snippets/notes").exists());
}

#[test]
fn requests_that_a_file_with_a_fixed_batch_does_not_take_are_listed() {
    let exactly =
        |rows: &str| format!("requests of other than {rows}: the file has a fixed batch size");
    let absent = "requests of several rows: the file has no batch dimension";
    for (file, expected) in [
        ("one.onnx", None),
        ("before.onnx", Some(exactly("1 row"))),
        ("rows.onnx", Some(exactly("2 rows"))),
        ("whole.onnx", Some(absent.to_owned())),
    ] {
        let out = Written::new();
        let converted = to_triton(&Files::from_path(&networks().join(file)), out.path());
        let unsaid = converted.expect("converted").unsaid;
        let found = unsaid.iter().find(|line| line.contains(": requests of "));
        let found = found
            .and_then(|line| line.split_once(": "))
            .map(|(_, what)| what);
        assert_eq!(found, expected.as_deref(), "{file}");
    }
}

#[test]
fn single_numbers_that_get_a_dimension_are_listed() {
    let (from, through, back) = (Written::new(), Written::new(), Written::new());
    from.network("m", "scalars.onnx");
    let converted = to_manifests(&from.open(), through.path(), NetworkFiles::Copied);
    let left_out = converted.expect("converted").left_out;
    assert!(left_out.is_empty(), "{left_out:?}");
    let unsaid = manifests_to_triton(&through.open(), back.path())
        .expect("converted")
        .unsaid;
    for name in ["a", "b", "y"] {
        let expected = format!(
            "m: `{name}`: no dimensions: written with one of 1, since Triton's tensors need \
             dimensions"
        );
        assert!(unsaid.contains(&expected), "{unsaid:?}");
    }
}
