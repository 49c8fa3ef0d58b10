//! Targets that are rows in `.npz` and JSON, and folders that cannot name them.

use std::fs;

use divisi_model::ensemble::{AnswerKind, SampleForm, Samples, Targets};
use divisi_runtime::network::Shape;
use zip::CompressionMethod;

use crate::answer_kinds::{labels, values};
use crate::npy::npy;
use crate::npz::archive;

fn names() -> Vec<String> {
    vec!["sea".into(), "sky".into()]
}

/// Reads two samples of two values, with their targets.
fn targets_in(kind: AnswerKind, name: &str, bytes: Vec<u8>) -> Result<Targets, String> {
    let names = names();
    let form = SampleForm::new(Shape::vector(2)).answers(kind, Some(&names));
    let samples = Samples::parse(name, bytes, &form).map_err(|e| e.to_string())?;
    Ok(samples.targets().cloned().expect("targets"))
}

/// Reads the targets of two samples from a file beside theirs.
fn targets_beside(kind: AnswerKind, name: &str, bytes: Vec<u8>) -> Result<Targets, String> {
    let names = names();
    let form = SampleForm::new(Shape::vector(2)).answers(kind, Some(&names));
    let samples = Samples::synthetic(2, 2).expect("some");
    let targeted = samples.targeted_by(name, bytes, &form);
    let targeted = targeted.map_err(|e| e.to_string())?;
    Ok(targeted.targets().cloned().expect("targets"))
}

fn rows(values: [f32; 4]) -> Targets {
    Targets::Rows {
        width: 2,
        values: values.to_vec(),
    }
}

fn floats(values: [f32; 4]) -> Vec<u8> {
    let data: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    npy("<f4", "False", "(2, 2)", &data)
}

#[test]
fn arrays_of_an_npz_are_samples_and_targets() {
    let expected = [0.5, -1.0, 2.0, 3.0];
    for name in ["targets.npy", "labels.npy", "Y.npy"] {
        let files = [("x.npy", floats([0.0; 4])), (name, floats(expected))];
        let both = archive(CompressionMethod::Deflated, &files);
        let found = targets_in(values(2), "a.npz", both.clone());
        assert_eq!(found, Ok(rows(expected)), "{name}");
        let found = targets_beside(values(2), "y.npz", both);
        assert_eq!(found, Ok(rows(expected)), "{name}");
        let error = targets_in(
            labels(2, 0.5),
            "a.npz",
            archive(CompressionMethod::Stored, &files),
        );
        let array = name.trim_end_matches(".npy");
        let said = format!("array `{array}`: row 0, column 0: expected 0 or 1, found 0.5");
        assert_eq!(error, Err(said));
    }
}

#[test]
fn json_holds_rows_of_values_and_labels_or_their_names() {
    let (numbers, both) = (values(2), labels(2, 0.5));
    let (row, given) = (rows([0.5, -1.0, 2.0, 3.0]), rows([0.0, 1.0, 1.0, 1.0]));
    for (kind, targets, expected) in [
        (numbers, "[[0.5, -1], [2, 3.0]]", &row),
        (both, "[[0, 1], [1.0, 1]]", &given),
        (both, "[[false, true], [true, true]]", &given),
        (both, r#"[["sky"], ["sky", "sea"]]"#, &given),
        (both, r#"["sky", [1, 1]]"#, &given),
        (both, r#"[[], ["0"]]"#, &rows([0.0, 0.0, 1.0, 0.0])),
    ] {
        for field in ["targets", "labels", "y"] {
            let text = format!(r#"{{"{field}": {targets}, "x": [[1, 2], [3, 4]]}}"#);
            let found = targets_in(kind, "a.json", text.into());
            assert_eq!(found.as_ref(), Ok(expected), "{targets}");
        }
        let found = targets_beside(kind, "y.json", targets.into());
        assert_eq!(found.as_ref(), Ok(expected), "{targets}");
    }
    let lines = "{\"x\": [1, 2], \"target\": [0.5, -1]}\n{\"sample\": [3, 4], \"y\": [2, 3]}";
    assert_eq!(targets_in(numbers, "a.jsonl", lines.into()), Ok(row));
    let column = targets_beside(values(1), "y.json", "[0.5, [2]]".into());
    let expected = Targets::Rows {
        width: 1,
        values: vec![0.5, 2.0],
    };
    assert_eq!(column, Ok(expected), "a row of one may be a number");
}

#[test]
fn json_that_holds_no_such_rows_names_row_and_column() {
    let (numbers, both) = (values(2), labels(2, 0.5));
    for (kind, targets, said) in [
        (
            numbers,
            "[[1, 2], [3]]",
            "targets: row 1: expected the shape [2], found [1]",
        ),
        (
            numbers,
            "[1, 2]",
            "row 0: expected the shape [2], found [1]",
        ),
        (
            numbers,
            "[[1, 2, 3]]",
            "row 0: expected 2 values, found more",
        ),
        (
            numbers,
            "[[1, 1e300]]",
            "row 0, column 1: expected a finite number, found 1e300",
        ),
        (
            numbers,
            r#"[["sea", 1]]"#,
            "row 0, column 0: expected a finite number, found `sea`",
        ),
        (
            numbers,
            "[[true, 1]]",
            "row 0, column 0: expected a finite number, found true",
        ),
        (
            both,
            "[[0, 2]]",
            "row 0, column 1: expected 0 or 1, found 2",
        ),
        (
            both,
            r#"[[0, "sea"]]"#,
            "row 0, column 1: expected 0 or 1, found `sea`",
        ),
        (
            both,
            r#"[["sea", 0]]"#,
            "row 0, column 1: expected the name of a label, found 0",
        ),
        (
            both,
            r#"[["sun"]]"#,
            "column 0: expected the name of a label, found `sun`",
        ),
        (
            both,
            "[[[0, 1]]]",
            "row 0, column 0: expected 0 or 1, found an array",
        ),
        (
            both,
            "[null]",
            "row 0, column 0: expected 0 or 1, found null",
        ),
        (both, "[[{}]]", "column 0: expected 0 or 1, found an object"),
        (
            numbers,
            "[[1, 2]]",
            "expected a row of targets for each of 2 samples, found 1",
        ),
        (numbers, "7", "expected an array of targets"),
    ] {
        let error = targets_beside(kind, "y.json", targets.into()).expect_err(said);
        assert!(error.contains(said), "said: {error}\n  not: {said}");
    }
}

#[test]
fn targets_are_not_given_twice() {
    let names = names();
    let form = SampleForm::new(Shape::vector(2)).answers(values(2), Some(&names));
    let text = r#"{"x": [[1, 2]], "y": [[3, 4]]}"#;
    let samples = Samples::parse("a.json", text.into(), &form).expect("one");
    let again = samples.targeted_by("y.json", "[[3, 4]]".into(), &form);
    let error = again.expect_err("twice").to_string();
    assert_eq!(error, "the samples already have targets");
}

#[test]
fn folders_name_no_targets_that_are_rows() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("0")).expect("a folder");
    let form = SampleForm::new(Shape::image(1, 2, 2)).answers(values(2), None);
    let error = Samples::read(folder.path(), &form).expect_err("a folder of a class");
    assert_eq!(
        error.to_string(),
        "`0`: expected only images, since the answers are not classes, found a folder"
    );
}
