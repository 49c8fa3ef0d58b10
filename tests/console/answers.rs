//! The words of `predict` and `accuracy` for members that answer NaN, and the files they write.

use std::fs;

use serde_json::Value;

use crate::cli::{divisi, fails, has, json, scratch};
use crate::npy::npy;
use crate::spoilt::Spoilt;

/// Eight samples: the third spoils an answer, the others are cat, dog, bird, ….
fn samples(spoilt: bool) -> Vec<u8> {
    let row = |i: usize| {
        let mut row = [0u8; 4];
        row[1 + i % 3] = 1;
        row[0] = if spoilt && i == 2 { 10 } else { 0 };
        row
    };
    let data: Vec<u8> = (0..8).flat_map(row).collect();
    npy("|u1", "False", "(8, 4)", &data)
}

fn labels() -> Vec<u8> {
    npy(
        "|S4",
        "False",
        "(8,)",
        b"cat\0dog\0birdcat\0dog\0birdcat\0cat\0",
    )
}

/// Standard output, standard error and the exit code.
fn run(arguments: &[&str]) -> (String, String, Option<i32>) {
    let output = divisi(arguments);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (
        text(output.stdout),
        text(output.stderr),
        output.status.code(),
    )
}

const NAMED: &str =
    "member `spoilt` answered NaN or infinities for 1 sample; 1 of 8 samples have no answer";

#[test]
fn predict_names_a_member_that_answers_nan_and_fails() {
    let folder = Spoilt::new(|m| m);
    let (at, x) = (
        folder.0.path().to_string_lossy(),
        folder.write("x.npy", &samples(true)),
    );
    let y = folder.write("y.npy", &labels());
    let predict = [
        "predict",
        &at,
        "--input",
        &x,
        "--labels",
        &y,
        "--devices",
        "cpu:0",
    ];
    let (out, error, code) = run(&predict);
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains(NAMED), "{error}");
    let third = out.lines().nth(3).expect("a row");
    assert!(third.starts_with("2,,NaN"), "no class: {out}");
    let (out, error, code) = run(&[&predict[..], &["--format", "json"]].concat());
    assert_eq!(code, Some(1), "{error}");
    let report: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(report["unanswered"], 1);
    assert_eq!(report["flawed"][0]["member"], "spoilt");
    assert_eq!(report["flawed"][0]["not_finite"], 1);
    assert_eq!(report["answers"][2]["class"], Value::Null);
    assert_eq!(report["answers"][1]["label"], "dog");
    // Seven labels are met but one; the eighth sample is a dog.
    assert_eq!(report["accuracy"], 0.75);
}

#[test]
fn accuracy_does_not_count_nan_as_class_0_and_fails() {
    let folder = Spoilt::new(|m| m);
    let (at, x) = (
        folder.0.path().to_string_lossy(),
        folder.write("x.npy", &samples(true)),
    );
    let zeros = folder.write("y.npy", &npy("|u1", "False", "(8,)", &[0; 8]));
    let accuracy = [
        "accuracy",
        &at,
        "--input",
        &x,
        "--labels",
        &zeros,
        "--devices",
        "cpu:0",
    ];
    let (out, error, code) = run(&[&accuracy[..], &["--format", "json"]].concat());
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains(NAMED), "{error}");
    let report: Value = serde_json::from_str(&out).expect("JSON");
    has(
        &report,
        &["ensemble", "samples", "members", "rules", "flawed"],
    );
    // The third sample was a bird, and is one to `sound`; three of the others are cats.
    for member in report["members"].as_array().expect("members") {
        assert_eq!(member["accuracy"], 0.375, "{member}");
    }
    assert_eq!(report["members"][1]["unanswered"], 1);
    let rules = report["rules"].as_array().expect("rules");
    let names: Vec<&str> = rules.iter().filter_map(|r| r["name"].as_str()).collect();
    assert_eq!(
        names,
        [
            "average",
            "weighted-average",
            "majority-vote",
            "average-logits"
        ]
    );
    assert!(
        rules
            .iter()
            .all(|r| r["accuracy"] == 0.375 && r["unanswered"] == 1),
        "{out}"
    );
    let (out, ..) = run(&accuracy);
    assert!(
        out.contains("spoilt") && out.contains("1 without an answer"),
        "{out}"
    );
}

#[test]
fn bench_and_allocate_name_it_too() {
    let folder = Spoilt::new(|m| m);
    folder.write("samples.csv", b"a,b,c,d\n10,1,0,0\n0,1,0,0\n");
    let at = folder.0.path().to_string_lossy();
    let named = "member `spoilt` answered NaN or infinities";
    let (code, error) = fails(&["bench", &at, "--runs", "1", "--devices", "cpu:0"]);
    assert_eq!(code, Some(1));
    assert!(error.contains(named), "{error}");
    let load = [
        "bench",
        &at,
        "--runs",
        "1",
        "--samples",
        "16",
        "--load",
        "closed:1x1",
    ];
    let (out, error, code) =
        run(&[&load[..], &["--devices", "cpu:0", "--format", "json"]].concat());
    assert_eq!(code, Some(1));
    assert!(error.contains(named), "{error}");
    let report: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(report["flawed"][0]["member"], "spoilt");
    let allocate = [
        "allocate",
        &at,
        "--evaluator",
        "bench",
        "--no-cache",
        "--max-iter",
        "1",
    ];
    let (code, error) = fails(&[&allocate[..], &["--devices", "cpu:0"]].concat());
    assert_eq!(code, Some(1));
    assert!(error.contains(named), "{error}");
}

#[test]
fn answers_are_written_in_the_format_of_their_files_name() {
    let folder = Spoilt::new(|m| m);
    let (at, x) = (
        folder.0.path().to_string_lossy(),
        folder.write("x.npy", &samples(false)),
    );
    let write = |name: &str, more: &[&str]| {
        let path = folder.0.join(name).to_string_lossy().into_owned();
        let arguments = [
            "predict",
            &at,
            "--input",
            &x,
            "--devices",
            "cpu:0",
            "--output",
            &path,
        ];
        let report = json(&[&arguments[..], &["--format", "json"], more].concat());
        assert_eq!(
            report["answers"].as_array().map(Vec::len),
            Some(0),
            "they are in the file"
        );
        fs::read(path).expect("written")
    };
    let csv = String::from_utf8(write("a.csv", &["--members"])).expect("text");
    let head = csv.lines().next().expect("a header");
    assert!(
        head.starts_with("sample,class,score_cat,score_dog,score_bird,sound.class,sound.score_cat"),
        "{head}"
    );
    assert_eq!(csv.lines().count(), 9);
    let report: Value = serde_json::from_slice(&write("a.json", &["--members"])).expect("JSON");
    let second = &report["answers"][1];
    assert_eq!(
        (&second["class"], &second["label"]),
        (&1.into(), &"dog".into())
    );
    assert_eq!(second["members"][1]["name"], "spoilt");
    assert_eq!(second["members"][1]["class"], 1);
    let plain = write("a.npy", &[]);
    let of = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..128]).into_owned();
    assert!(of(&plain).contains("'shape': (8, 3)"), "{}", of(&plain));
    let whole = write("A.NPY", &["--members"]);
    assert!(of(&whole).contains("'shape': (3, 8, 3)"), "{}", of(&whole));
    assert_eq!(
        whole[whole.len() - 96..],
        plain[plain.len() - 96..],
        "the ensemble is last"
    );
    for name in ["a.txt", "a", "a.npz"] {
        let path = scratch(name).to_string_lossy().into_owned();
        let (code, error) = fails(&["predict", &at, "--input", &x, "--output", &path]);
        assert_eq!(code, Some(1));
        assert!(
            error.contains("expected a .csv, .json or .npy file"),
            "{error}"
        );
    }
}

#[test]
fn files_that_do_not_fit_say_what_was_expected() {
    let folder = Spoilt::new(|m| m);
    let (at, x) = (
        folder.0.path().to_string_lossy(),
        folder.write("x.npy", &samples(false)),
    );
    let horse = npy(
        "|S5",
        "False",
        "(8,)",
        b"cat\0\0horsecat\0\0cat\0\0cat\0\0cat\0\0cat\0\0cat\0\0",
    );
    let cases = [
        (
            horse,
            "y.npy: row 1: expected a class number below 3 or one of `cat`, `dog`, `bird`, found \
             `horse`",
        ),
        (
            npy("|u1", "False", "(7,)", &[0; 7]),
            "y.npy: expected a label for each of 8 samples, found 7",
        ),
    ];
    for (bytes, said) in cases {
        let y = folder.write("y.npy", &bytes);
        let (code, error) = fails(&["accuracy", &at, "--input", &x, "--labels", &y]);
        assert_eq!(code, Some(1));
        assert!(error.contains(said), "{error}");
    }
    let (code, error) = fails(&["accuracy", &at, "--labels", &x]);
    assert_eq!(code, Some(2), "labels belong to a file: {error}");
    let (code, error) = fails(&["predict", &at, "--input", &x, "--layout", "chw"]);
    assert_eq!(code, Some(2));
    assert!(
        error.contains("expected nchw or nhwc, found `chw`"),
        "{error}"
    );
}
