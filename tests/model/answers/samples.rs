//! Files of samples with targets that are rows: values, labels, and what is wrong with them.

use divisi_model::ensemble::{AnswerKind, SampleForm, Samples, Targets};
use divisi_runtime::network::Shape;

use crate::answer_kinds::{labels, values};
use crate::npy::npy;

fn names() -> Vec<String> {
    vec!["sea".into(), "sky".into()]
}

fn parse(kind: AnswerKind, text: &str) -> Result<Samples, String> {
    let names = names();
    let form = SampleForm::new(Shape::vector(2)).answers(kind, Some(&names));
    Samples::parse("x.csv", text.as_bytes().to_vec(), &form).map_err(|e| e.to_string())
}

fn rows(values: &[f32]) -> Option<Targets> {
    Some(Targets::Rows {
        width: 2,
        values: values.to_vec(),
    })
}

#[test]
fn targets_are_the_last_columns_by_their_names() {
    let (numbers, both) = (values(2), labels(2, 0.5));
    for (kind, text, expected) in [
        (numbers, "a,b\n1,2\n", None),
        (numbers, "a,b,sea,sky\n1,2,0.5,-3\n", rows(&[0.5, -3.0])),
        (
            numbers,
            "a,b,target_0,target_1\n1,2,8,9\n",
            rows(&[8.0, 9.0]),
        ),
        (both, "a,b,sea,sky\n1,2,0,1\n", rows(&[0.0, 1.0])),
        (both, "a,b,target1,target2\n1,2,1.0,0\n", rows(&[1.0, 0.0])),
        (both, "a,b,labels\n1,2,sky; sea\n3,4,\n5,6,1\n", {
            rows(&[1.0, 1.0, 0.0, 0.0, 0.0, 1.0])
        }),
    ] {
        let samples = parse(kind, text).expect(text);
        assert_eq!(samples.targets(), expected.as_ref(), "{text}");
        assert_eq!(samples.labels(), None, "no classes");
    }
}

#[test]
fn targets_that_cannot_be_used_are_named_with_line_and_column() {
    let (numbers, both) = (values(2), labels(2, 0.5));
    for (kind, text, expected) in [
        (
            numbers,
            "a,b,sky,sea\n1,2,3,4\n",
            "expected 2 values per sample, found 4",
        ),
        (
            numbers,
            "a,b,sea\n1,2,3\n",
            "expected 2 values per sample, found 3",
        ),
        (
            numbers,
            "a,b,sea,sky\n1,2,x,4\n",
            "line 2: column sea: expected a finite number",
        ),
        (
            numbers,
            "a,b,sea,sky\n1,2,3,inf\n",
            "line 2: column sky: expected a finite number",
        ),
        (
            numbers,
            "a,b,labels\n1,2,sea\n",
            "expected 2 values per sample, found 3",
        ),
        (
            both,
            "a,b,sea,sky\n1,2,0,2\n",
            "line 2: column sky: expected 0 or 1, found `2`",
        ),
        (
            both,
            "a,b,labels\n1,2,sun\n",
            "line 2: column labels: expected names of labels or numbers below 2, separated by `;`, found `sun`",
        ),
    ] {
        let error = parse(kind, text).expect_err(text);
        assert!(error.contains(expected), "{text}: {error}");
    }
}

/// Three samples, with targets from a file.
fn beside(kind: AnswerKind, name: &str, bytes: Vec<u8>) -> Result<Option<Targets>, String> {
    let names = names();
    let form = SampleForm::new(Shape::vector(2)).answers(kind, Some(&names));
    let samples = Samples::synthetic(3, 2).expect("some");
    let targeted = samples.targeted_by(name, bytes, &form);
    let targeted = targeted.map_err(|e| e.to_string())?;
    Ok(targeted.targets().cloned())
}

fn floats(dims: &str, values: &[f32]) -> Vec<u8> {
    let data: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    npy("<f4", "False", dims, &data)
}

#[test]
fn targets_lie_beside_samples_as_npy_or_csv() {
    let six = [0.5, 1.0, 2.0, 3.0, 4.0, 5.0];
    let found = beside(values(2), "y.npy", floats("(3, 2)", &six));
    assert_eq!(found, Ok(rows(&six)));
    let text = "sea,sky\n0.5,1\n2,3\n4,5\n";
    assert_eq!(beside(values(2), "y.csv", text.into()), Ok(rows(&six)));
    let bits = npy("|u1", "False", "(3, 2)", &[0, 1, 1, 1, 0, 0]);
    let given = [0.0, 1.0, 1.0, 1.0, 0.0, 0.0];
    assert_eq!(beside(labels(2, 0.5), "y.npy", bits), Ok(rows(&given)));
    let listed = "labels\nsky\nsea;sky\n\"\"\n";
    assert_eq!(
        beside(labels(2, 0.5), "y.csv", listed.into()),
        Ok(rows(&given))
    );
    let one = beside(values(1), "y.npy", floats("(3,)", &six[..3]));
    assert!(one.is_ok(), "a column may be a vector: {one:?}");
}

#[test]
fn files_of_targets_that_do_not_fit_say_what_was_expected() {
    for (kind, name, bytes, expected) in [
        (
            values(2),
            "y.npy",
            floats("(3,)", &[0.0; 3]),
            "expected the shape [n, 2], one row of targets per sample, found [3]",
        ),
        (
            values(2),
            "y.npy",
            floats("(2, 2)", &[0.0; 4]),
            "expected a row of targets for each of 3 samples, found 2",
        ),
        (
            values(2),
            "y.npy",
            floats("(3, 2)", &[0.0, 0.0, 0.0, f32::NAN, 0.0, 0.0]),
            "row 1, column 1: expected a finite number, found NaN",
        ),
        (
            labels(2, 0.5),
            "y.npy",
            floats("(3, 2)", &[0.5; 6]),
            "row 0, column 0: expected 0 or 1, found 0.5",
        ),
        (
            values(2),
            "y.csv",
            b"a,b\n1,2\n".to_vec(),
            "expected 2 columns with the names of the values or labels",
        ),
        (
            values(2),
            "y.csv",
            b"sea,sky\n1\n".to_vec(),
            "line 2: expected 2 columns, found 1",
        ),
    ] {
        let error = beside(kind, name, bytes).expect_err(expected);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn targets_are_left_out_with_their_samples_and_begin_again() {
    let text = "a,b,sea,sky\n1,2,10,11\n3,4,20,21\n5,6,30,31\n";
    let samples = parse(values(2), text).expect("samples");
    let samples = samples.skip(1).expect("two are left");
    let targets = samples.targets().expect("targets");
    assert_eq!(targets, &rows(&[20.0, 21.0, 30.0, 31.0]).expect("rows"));
    let again = targets.range(1, 2);
    assert_eq!(Some(again), rows(&[30.0, 31.0, 20.0, 21.0]));
}
