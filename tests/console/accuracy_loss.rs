//! `divisi allocate --accuracy-loss`: the precision of each member, chosen by what it costs.

use std::fs;

use serde_json::Value;

use crate::cli::{divisi, fails, has, json, scratch};

const DIGITS: [&str; 5] = ["digits", "--devices", "cpu:0", "--algorithm", "worst-fit"];

fn allocate(options: &[&str]) -> Vec<String> {
    let all = [&["allocate"][..], &DIGITS, options].concat();
    all.into_iter().map(str::to_owned).collect()
}

fn report(options: &[&str]) -> Value {
    let arguments = allocate(&[options, &["--format", "json"]].concat());
    json(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

fn names(list: &Value) -> Vec<&str> {
    let list = list.as_array().expect("a list");
    list.iter().filter_map(Value::as_str).collect()
}

#[test]
fn precisions_are_chosen_within_the_accuracy_that_may_be_lost() {
    let file = scratch("accuracy_loss.toml");
    let file = file.to_string_lossy();
    let report = report(&["--accuracy-loss", "0.5", "--output", &file]);
    let found = &report["precisions"];
    let keys = [
        "accuracy_loss",
        "chosen",
        "seconds",
        "float32_seconds",
        "all",
        "variants",
    ];
    has(found, &keys);
    let number = |value: &Value| value.as_f64().expect("a number");
    assert!(number(&found["all"]["lost"]) <= 0.5, "{found}");
    assert!(
        number(&found["seconds"]) <= number(&found["float32_seconds"]),
        "{found}"
    );
    assert_eq!(
        found["variants"].as_array().map(Vec::len),
        Some(12),
        "six in bf16 and int8"
    );
    assert!(
        found["unseen"]["samples"] == 298 || found["refused_by_all"] != 0,
        "{found}"
    );
    let chosen = names(&found["chosen"]);
    assert_eq!(chosen.len(), 6);
    let text = fs::read_to_string(&*file).expect("a file");
    assert!(
        text.starts_with(&format!("precisions = {chosen:?}\n")),
        "{text}"
    );
    // The file is one that is served by.
    let bench = [
        "bench",
        "digits",
        "--devices",
        "cpu:0",
        "--fake",
        "--runs",
        "1",
    ];
    json(&[&bench[..], &["--matrix", &file, "--format", "json"]].concat());
}

#[test]
fn kept_answers_are_combined_as_serving_does() {
    let report = report(&["--accuracy-loss", "0"]);
    let served = json(&[
        "accuracy",
        "digits",
        "--devices",
        "cpu:0",
        "--format",
        "json",
    ]);
    let rules = served["rules"].as_array().expect("rules");
    let average = rules.iter().find(|rule| rule["name"] == "average");
    let average = average.expect("the rule of the manifest");
    let float32 = &report["precisions"]["all"]["float32"];
    assert_eq!(*float32, average["accuracy"], "{served}");
}

#[test]
fn a_file_of_a_matrix_may_name_the_precisions_that_are_served() {
    let file = scratch("in_precisions.toml");
    let path = file.to_string_lossy();
    let worst_fit = allocate(&["--output", &path]);
    assert!(
        divisi(&worst_fit.iter().map(String::as_str).collect::<Vec<_>>())
            .status
            .success()
    );
    let matrix = fs::read_to_string(&file).expect("a file");
    let precisions = "precisions = [\"int8\", \"f32\", \"bf16\", \"f32\", \"f32\", \"f32\"]";
    fs::write(&file, format!("{precisions}\n{matrix}")).expect("writes");
    let options = ["--devices", "cpu:0", "--for", "0.2", "--format", "json"];
    let served = json(&[&["report", "digits", "--matrix", &path][..], &options].concat());
    let members = served["members"].as_array().expect("members");
    let cores: Vec<&Value> = members.iter().map(|m| &m["precision"]["cores"]).collect();
    assert_eq!(cores, ["int8", "f32", "bf16", "f32", "f32", "f32"]);
}

#[test]
fn the_report_says_what_each_costs_and_why_it_was_not_chosen() {
    let arguments = allocate(&["--accuracy-loss", "0"]);
    let output = divisi(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let text = String::from_utf8(output.stdout).expect("text");
    for said in [
        "precisions chosen on 597 labelled samples, losing at most 0 points",
        "together: accuracy ",
        "µs/sample for all members instead of ",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[test]
fn what_has_no_accuracy_is_refused() {
    let unlabelled = scratch("unlabelled.csv");
    let heads: Vec<String> = (0..64).map(|pixel| format!("p{pixel}")).collect();
    let rows = format!("{}\n{}\n", heads.join(","), ["0"; 64].join(","));
    fs::write(&unlabelled, rows).expect("writes");
    let unlabelled = unlabelled.to_string_lossy();
    let cases: [(&[&str], Option<i32>, &str); 7] = [
        (
            &["digits", "--input", &unlabelled],
            Some(1),
            "the samples have no labels",
        ),
        (
            &["digits", "--devices", "sim:v100"],
            Some(1),
            "`sim:v100:0`, which is simulated",
        ),
        (&["imn4"], Some(1), "synthetic weights"),
        (
            &["digits-cascade"],
            Some(1),
            "expected one ensemble, found a pipeline",
        ),
        (
            &["digits", "snippets"],
            Some(1),
            "expected one ensemble, found several models",
        ),
        (
            &["digits", "--precision", "bf16"],
            Some(2),
            "cannot be used with",
        ),
        (&["digits", "--input", "/nowhere.csv"], Some(1), "nowhere"),
    ];
    for (arguments, code, said) in cases {
        let (found, error) = fails(&[&["allocate", "--accuracy-loss", "1"], arguments].concat());
        assert!(error.contains(said), "{arguments:?}: {error}");
        assert_eq!(found, code, "{arguments:?}: {error}");
    }
    for outside in ["101", "-1", "much"] {
        let loss = format!("--accuracy-loss={outside}");
        let (code, error) = fails(&["allocate", &loss]);
        assert_eq!(code, Some(2));
        assert!(error.contains("0 to 100 percentage points"), "{error}");
    }
}

#[test]
fn precisions_are_named_by_a_file_or_by_an_option() {
    let file = scratch("both_named.toml");
    let worst_fit = allocate(&["--output", &file.to_string_lossy()]);
    let worst_fit: Vec<&str> = worst_fit.iter().map(String::as_str).collect();
    assert!(divisi(&worst_fit).status.success());
    let matrix = fs::read_to_string(&file).expect("a file");
    let six = ["int8", "f32", "f32", "f32", "f32", "bf16"];
    fs::write(&file, format!("precisions = {six:?}\n{matrix}")).expect("writes");
    let path = file.to_string_lossy();
    let asked = [
        "--devices",
        "cpu:0",
        "--precision",
        "f32",
        "--matrix",
        &path,
    ];
    for command in [
        &["bench", "digits", "--fake"][..],
        &[
            "predict",
            "digits",
            "--input",
            "../sample_ensembles/digits/digits.csv",
        ],
        &["report", "digits"],
    ] {
        let (code, error) = fails(&[command, &asked].concat());
        assert_eq!(code, Some(1), "{error}");
        let said = format!("--precision f32 and --matrix {path} both set precisions");
        assert!(
            error.contains(&said) && error.contains("`precisions = [\"int8\", "),
            "{error}"
        );
    }
    let (code, error) = fails(&[
        "accuracy",
        "digits",
        "--precisions",
        "int8",
        "--precision",
        "f32",
    ]);
    assert_eq!(code, Some(2));
    assert!(error.contains("--precision"), "{error}");
}

#[test]
fn a_file_of_a_whole_setup_is_not_taken_for_a_matrix() {
    let file = scratch("whole_setup.toml");
    let worst_fit = allocate(&["--output", &file.to_string_lossy()]);
    assert!(
        divisi(&worst_fit.iter().map(String::as_str).collect::<Vec<_>>())
            .status
            .success()
    );
    let matrix = fs::read_to_string(&file).expect("a file");
    let path = file.to_string_lossy();
    let cases = [
        ("policy = \"no-wait\"", "expected only a matrix"),
        (
            "precisions = [\"f32\"]",
            "precisions: expected 6, one for each member, found 1",
        ),
        (
            "precisions = \"int8\"",
            "precisions: expected a list of names, one for each member, such as [\"f32\", \"int8\"], \
             found `\"int8\"`",
        ),
        ("precisions = [1, 2]", "found `[1, 2]`"),
    ];
    for (line, said) in cases {
        fs::write(&file, format!("{line}\n{matrix}")).expect("writes");
        let (_, error) = fails(&["bench", "digits", "--devices", "cpu:0", "--matrix", &path]);
        assert!(error.contains(said), "{error}");
    }
}
