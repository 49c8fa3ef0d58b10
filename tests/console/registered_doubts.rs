//! Warnings of `divisi register`, and the profiles that `divisi profiles` lists and removes.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::cli::{fails, json, scratch};
use crate::folder::Folder;

/// Registers digits on the rows of a file, and returns the codes of the warnings.
fn warnings(input: &str, store: &str) -> Vec<String> {
    let report = json(&[
        "register",
        "digits",
        "digits",
        "--devices",
        "cpu:0",
        "--precisions",
        "f32",
        "--input",
        input,
        "--store",
        store,
        "--format",
        "json",
    ]);
    let warnings = report["warnings"].as_array().expect("warnings").iter();
    let codes = warnings.map(|warning| warning["code"].as_str().expect("a code").to_owned());
    // The machine of a test may be busy.
    codes.filter(|code| code != "disturbed").collect()
}

/// Writes validation rows of digits, with labels changed.
fn rows(name: &str, count: usize, label: impl Fn(usize, u32) -> u32) -> String {
    let sample = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../sample_ensembles/digits/digits.csv"
    );
    let text = fs::read_to_string(sample).expect("the sample");
    let mut lines = text.lines();
    let mut changed = lines.next().expect("a head").to_owned();
    for (at, line) in lines.skip(1200).take(count).enumerate() {
        let (pixels, last) = line.rsplit_once(',').expect("columns");
        let last = label(at, last.parse().expect("a label"));
        changed += &format!("\n{pixels},{last}");
    }
    let path = scratch(name);
    fs::write(&path, changed + "\n").expect("writes");
    path.to_string_lossy().into_owned()
}

#[test]
fn rows_and_labels_that_say_little_are_warned_about() {
    let path = scratch("doubts.redb");
    let _ = fs::remove_file(&path);
    let store = path.to_string_lossy();
    let sound = rows("sound.csv", 400, |_, label| label);
    assert_eq!(warnings(&sound, &store), Vec::<String>::new());
    let few = rows("few.csv", 120, |_, label| label);
    assert_eq!(warnings(&few, &store), ["few_rows"]);
    let shifted = rows("shifted.csv", 400, |_, label| (label + 1) % 10);
    assert_eq!(warnings(&shifted, &store), ["near_chance"]);
    let shuffled = rows("shuffled.csv", 400, |at, _| {
        ((at * 2_654_435_761) >> 8) as u32 % 10
    });
    assert_eq!(warnings(&shuffled, &store), ["near_chance"]);
    let constant = rows("constant.csv", 400, |_, _| 3);
    assert_eq!(warnings(&constant, &store), ["one_class"]);
}

#[test]
fn another_ensemble_counted_on_other_rows_is_warned_about() {
    let path = scratch("other_rows.redb");
    let _ = fs::remove_file(&path);
    let store = path.to_string_lossy();
    let register = |rows: &str| {
        json(&[
            "register",
            "digits",
            "digits-onnx",
            "--devices",
            "cpu:0",
            "--precisions",
            "f32",
            "--rows",
            rows,
            "--store",
            &store,
            "--format",
            "json",
        ])
    };
    let same = rows("same.csv", 320, |_, label| label);
    assert_eq!(warnings(&same, &store), Vec::<String>::new());
    let has = |report: &Value| report["warnings"].to_string().contains("other_rows");
    assert!(!has(&register("320")), "the same rows");
    assert!(has(&register("330")));
}

#[test]
fn promised_and_counted_accuracies_are_listed() {
    let path = scratch("promised.redb");
    let _ = fs::remove_file(&path);
    let store = path.to_string_lossy();
    let sound = rows("promised.csv", 400, |_, label| label);
    warnings(&sound, &store);
    let listed = json(&["variants", "digits", "--store", &store, "--format", "json"]);
    for variant in listed["variants"].as_array().expect("variants") {
        let (promised, counted) = (&variant["accuracy"], &variant["accuracy_counted"]);
        let (promised, counted) = (promised.as_f64(), counted.as_f64());
        match variant["whole"].as_bool() {
            Some(true) => assert_eq!(promised, counted, "{variant}"),
            _ => assert!(promised < counted, "{variant}"),
        }
    }
}

/// Runs a command with its own cache.
fn run(cache: &Path, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_divisi"))
        .args(arguments)
        .env("XDG_CACHE_HOME", cache)
        .output()
        .expect("the program starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).expect("text")
}

fn profiles(cache: &Path) -> Vec<Value> {
    let text = run(cache, &["profiles", "--format", "json"]);
    serde_json::from_str(&text).expect("a list")
}

#[test]
fn profiles_are_listed_replaced_and_removed() {
    let folder = Folder::new();
    let cache = folder.path();
    let store = cache.join("tasks.redb").to_string_lossy().into_owned();
    assert!(run(cache, &["profiles"]).starts_with("no profiles"));
    let register = [
        "register",
        "digits",
        "digits",
        "--devices",
        "cpu:0",
        "--rows",
        "60",
        "--precisions",
        "f32",
        "--store",
        &store,
    ];
    run(cache, &register);
    let first = profiles(cache);
    assert_eq!(first.len(), 6, "one for each member");
    for profile in &first {
        assert_eq!(profile["device"], "1 core");
        assert_eq!(profile["stale"], false);
        let conditions = ["quiet", "disturbed"];
        let condition = profile["condition"].as_str().expect("a condition");
        assert!(conditions.contains(&condition), "{profile}");
    }
    run(cache, &[&register[..], &["--measure-again"]].concat());
    assert_eq!(profiles(cache).len(), 6, "replaced");
    let text = run(cache, &["profiles"]);
    assert!(
        text.contains("res-s") && text.contains("measured"),
        "{text}"
    );
    run(cache, &["profiles", "--clear", "stale"]);
    assert_eq!(profiles(cache).len(), 6, "none has other kernels");
    run(cache, &["profiles", "--clear", "all"]);
    assert_eq!(profiles(cache), Vec::<Value>::new());
    let both = [&register[..], &["--measure-again", "--no-cache"]].concat();
    let (code, error) = fails(&both);
    assert!(
        code == Some(2) && error.contains("cannot be used with"),
        "{error}"
    );
}
