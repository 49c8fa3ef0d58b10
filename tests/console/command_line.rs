//! The command line as people type it: help, near names, units, standard input, files that exist.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::cli::{divisi, fails, json, scratch};
use crate::folder::Folder;
use crate::generated::generated;

/// Returns the text that a command prints.
#[track_caller]
fn prints(arguments: &[&str]) -> String {
    let output = divisi(arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).expect("text")
}

/// Returns the text that a command prints for `input` on standard input.
#[track_caller]
fn prints_for(arguments: &[&str], input: &str) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_divisi"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(input.as_bytes()).expect("written");
    drop(stdin);
    let output = child.wait_with_output().expect("ends");
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// Returns a row of the digits as JSON.
fn digit() -> String {
    format!("[[{}]]", vec!["3"; 64].join(","))
}

#[test]
fn the_help_lists_commands_in_groups() {
    let help = prints(&["--help"]);
    for group in ["Serve:\n  serve ", "Ensembles:\n  check ", "General:\n"] {
        assert!(help.contains(group), "{group}: {help}");
    }
    let wide = help.lines().find(|line| line.chars().count() > 100);
    assert_eq!(wide, None);
}

#[test]
fn every_command_is_in_one_group_of_the_help() {
    let help = prints(&["--help"]);
    let commands = help.split("Options:").next().expect("commands");
    let listed = |name: &str| {
        let rows = commands.lines().filter(|line| line.starts_with("  "));
        rows.filter(|row| row.split_whitespace().next() == Some(name))
            .count()
    };
    let documented = generated("commands").expect("a part");
    let names = documented.lines().filter_map(|line| {
        let name = line.strip_prefix("### `divisi ")?.strip_suffix('`')?;
        Some(name.to_owned())
    });
    for name in names {
        assert_eq!(listed(&name), 1, "{name}: {help}");
    }
}

#[test]
fn the_version_names_the_commit_and_the_devices() {
    let version = prints(&["--version"]);
    let expected = format!("divisi {} (", env!("CARGO_PKG_VERSION"));
    assert!(version.starts_with(&expected), "{version}");
    assert!(version.contains("commit, CPU"), "{version}");
}

#[test]
fn a_mistyped_command_is_answered_with_the_nearest() {
    let (code, error) = fails(&["chekc"]);
    assert_eq!(code, Some(1));
    assert!(error.contains("`chekc`, did you mean `check`"), "{error}");
    assert!(error.contains("see `divisi help`"), "{error}");
}

#[test]
fn a_mistyped_ensemble_is_answered_with_the_nearest() {
    let (_, error) = fails(&["check", "digit"]);
    assert!(
        error.contains("no ensemble or file is called `digit`"),
        "{error}"
    );
    assert!(error.contains("did you mean `digits`"), "{error}");
    let (_, error) = fails(&["report", "nosuchname"]);
    assert!(
        error.contains("no server, recording, ensemble or file"),
        "{error}"
    );
}

#[test]
fn a_path_that_does_not_exist_is_a_path_and_no_name() {
    let (_, error) = fails(&["check", "./digit"]);
    assert!(!error.contains("did you mean"), "{error}");
}

#[test]
fn a_time_takes_a_unit_or_the_options_own() {
    let plan = |p99: &str| {
        let fixed = [
            "plan", "imn1", "--rate", "10", "--kinds", "h200", "--most", "1",
        ];
        json(&[&fixed[..], &["--format", "json", "--p99", p99]].concat())["p99_ms"].clone()
    };
    assert_eq!(plan("300"), plan("300ms"));
    assert_eq!(plan("300"), plan("0.3s"));
}

#[test]
fn a_goal_that_is_not_met_has_an_exit_code_of_its_own() {
    let plan = [
        "plan", "imn1", "--rate", "1000000", "--kinds", "cpu", "--most", "1",
    ];
    assert_eq!(divisi(&plan).status.code(), Some(3));
    assert_eq!(divisi(&["plan", "imn1"]).status.code(), Some(2));
}

#[test]
fn samples_are_read_from_standard_input() {
    let answers = prints_for(&["predict", "digits", "--input", "-"], &digit());
    assert_eq!(answers.lines().count(), 2, "{answers}");
    let row = vec!["3"; 64].join(",");
    let table = format!("{}\n{row}\n{row}\n", vec!["p"; 64].join(","));
    let answers = prints_for(&["predict", "digits", "--input", "-"], &table);
    assert_eq!(answers.lines().count(), 3, "{answers}");
}

#[test]
fn a_matrix_goes_from_one_command_to_another() {
    let shared = ["--devices", "sim:v100*4", "--evaluator", "model"];
    let search = [
        "allocate",
        "imn4",
        "--algorithm",
        "worst-fit",
        "--output",
        "-",
    ];
    let matrix = prints(&[&search[..], &shared].concat());
    assert!(matrix.contains("ensemble = \"imn4\""), "{matrix}");
    let bench = ["bench", "imn4", "--devices", "sim:v100*4", "--matrix", "-"];
    let report = prints_for(&bench, &matrix);
    assert!(report.contains("samples/s"), "{report}");
}

#[test]
fn general_options_stand_before_or_behind_the_command() {
    let expected = prints(&["steps", "--quiet"]);
    for options in [
        &["-q"][..],
        &["--color", "never"],
        &["--color=never", "-q"],
        &["--log", "error"],
    ] {
        assert_eq!(prints(&[options, &["steps"]].concat()), expected);
    }
}

#[test]
fn a_mistyped_command_is_named_before_its_options() {
    let (code, error) = fails(&["alocate", "digits", "--evaluator", "model"]);
    assert_eq!(code, Some(1));
    assert!(error.contains("did you mean `allocate`"), "{error}");
}

#[test]
fn a_latency_without_a_unit_is_in_milliseconds() {
    let folder = Folder::new();
    let store = folder.join("none.redb");
    let store = store.to_str().expect("a path");
    let (code, _) = fails(&["variants", "digits", "--latency", "20", "--store", store]);
    assert_eq!(code, Some(1), "the store has no task; the option is valid");
}

#[test]
fn a_file_that_exists_is_replaced_by_force_alone() {
    let file = scratch("exists.json");
    fs::write(&file, "kept").expect("written");
    let path = file.to_str().expect("a path");
    let report = ["devices", "--format", "json", "--output", path];
    let (code, error) = fails(&report);
    assert_eq!(code, Some(1));
    assert!(error.contains("exists; --force replaces it"), "{error}");
    assert_eq!(fs::read_to_string(&file).expect("text"), "kept");
    assert_eq!(prints(&[&report[..], &["--force"]].concat()), "");
    let written: Value =
        serde_json::from_str(&fs::read_to_string(&file).expect("text")).expect("JSON");
    assert!(written.get("machine").is_some());
}

#[test]
fn a_report_is_a_table_for_spreadsheets() {
    let table = prints(&["network", "list", "--format", "csv"]);
    let mut lines = table.lines();
    assert_eq!(
        lines.next(),
        Some("name,parameters,flops,weight_bytes,input")
    );
    assert!(
        lines.any(|line| line.starts_with("resnet50,25557032,")),
        "{table}"
    );
    let table = prints(&["check", "digits", "--format", "csv"]);
    assert!(table.starts_with("section,"), "{table}");
    let members = table.lines().filter(|line| line.starts_with("members,"));
    assert_eq!(members.count(), 6, "{table}");
}

#[test]
fn a_quiet_command_prints_its_result_alone() {
    let folder = Folder::new();
    let rows = folder.join("rows.json");
    fs::write(&rows, digit()).expect("written");
    let input = rows.to_str().expect("a path");
    let loud = divisi(&["predict", "digits", "--input", input]);
    assert!(!loud.stderr.is_empty());
    let quiet = divisi(&["predict", "digits", "--quiet", "--input", input]);
    assert!(quiet.stderr.is_empty());
    let class = |stdout: Vec<u8>| {
        let text = String::from_utf8(stdout).expect("text");
        let row = text.lines().nth(1).expect("a row").to_owned();
        row.split(',').take(2).collect::<Vec<_>>().join(",")
    };
    assert_eq!(class(quiet.stdout), class(loud.stdout));
}

#[test]
fn a_built_in_ensemble_is_written_as_an_example() {
    let folder = Folder::new();
    let out = folder.join("sample");
    let path = out.to_str().expect("a path");
    let printed = prints(&["convert", "digits-onnx", "--out", path]);
    assert!(printed.starts_with("6 files written"), "{printed}");
    let report = json(&["check", path, "--format", "json"]);
    assert_eq!(report["members"].as_array().map(Vec::len), Some(4));
    let (_, error) = fails(&["convert", "digits-onnx", "--out", path]);
    assert!(
        error.contains("expected a new or an empty folder"),
        "{error}"
    );
}

#[test]
fn health_of_a_server_that_is_not_there_is_a_failure() {
    let (code, error) = fails(&["health", "--http", "127.0.0.1:9"]);
    assert_eq!(code, Some(1));
    assert!(error.contains("127.0.0.1:9"), "{error}");
}
