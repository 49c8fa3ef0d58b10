//! The program as scripts use it: reports, exit codes, errors.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use divisi_session::wire::{Format, hello};
use serde_json::Value;

use crate::folder::Folder;

pub(crate) fn divisi(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_divisi"))
        .args(arguments)
        .env("XDG_CACHE_HOME", scratch("cache"))
        .output()
        .expect("the program starts")
}

/// A path of this process's own.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("divisi-cli-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("creates");
    folder.join(name)
}

pub(crate) fn json(arguments: &[&str]) -> Value {
    let output = divisi(arguments);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("JSON on standard output")
}

pub(crate) fn fails(arguments: &[&str]) -> (Option<i32>, String) {
    let output = divisi(arguments);
    assert!(
        output.stdout.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    let error = String::from_utf8(output.stderr).expect("text");
    assert!(
        !error.contains('\u{1b}'),
        "no escape codes without a terminal"
    );
    (output.status.code(), error)
}

pub(crate) fn has(report: &Value, keys: &[&str]) {
    for key in keys {
        assert!(report.get(key).is_some(), "`{key}` is missing in {report}");
    }
}

#[test]
fn check_shows_what_a_member_takes_where_that_differs() {
    let report = json(&["check", "imn12", "--format", "json", "--memory", "64GiB"]);
    let members = report["members"].as_array().expect("members");
    let input = |name: &str| {
        let found = members.iter().find(|m| m["name"] == name);
        found.expect("a member")["input"].clone()
    };
    assert_eq!(input("xception"), serde_json::json!([3, 299, 299]));
    assert_eq!(input("vgg16"), report["input"]);
    let output = divisi(&["check", "imn12", "--memory", "64GiB"]);
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(text.matches("input [3, 299, 299]").count(), 2, "{text}");
}

#[test]
fn digits_exported_to_onnx_are_as_accurate_as_the_networks_built_here() {
    let ours = json(&["accuracy", "digits", "--format", "json"]);
    let exported = json(&["accuracy", "digits-onnx", "--format", "json"]);
    let of = |report: &Value| report["members"].as_array().expect("members").clone();
    let (ours, exported) = (of(&ours), of(&exported));
    assert_eq!(exported.len(), 4);
    for member in &exported {
        assert!(ours.contains(member), "{member} among {ours:?}");
    }
}

#[test]
fn images_that_are_compiled_in_are_samples() {
    let report = json(&["check", "drawings", "--format", "json"]);
    assert_eq!(report["members"].as_array().map(Vec::len), Some(3));
    assert_eq!(report["calibration"]["samples"], 6, "{report}");
}

#[test]
fn check_describes_members_and_devices() {
    let report = json(&["check", "digits", "--format", "json"]);
    let members = report["members"].as_array().expect("members");
    assert_eq!(members.len(), 6);
    has(&members[0], &["name", "parameters", "flops", "bytes"]);
    has(&report["devices"][0], &["name", "kind", "memory_bytes"]);
    let flops: Vec<u64> = members.iter().filter_map(|m| m["flops"].as_u64()).collect();
    let (least, most) = (
        flops.iter().min().expect("six"),
        flops.iter().max().expect("six"),
    );
    assert!(most / least >= 50);
    assert!(members[0]["bytes"]["8"].as_u64() < members[0]["bytes"]["128"].as_u64());
}

#[test]
fn devices_lists_this_machine_and_then_profiles() {
    let report = json(&["devices", "--format", "json"]);
    has(&report, &["machine", "profiles"]);
    has(
        &report["machine"],
        &["cores", "memory_bytes", "gpus", "default"],
    );
    let profiles = report["profiles"].as_array().expect("profiles");
    assert!(profiles.iter().any(|p| p["name"] == "v100"));
    let output = divisi(&["devices"]);
    let text = String::from_utf8(output.stdout).expect("text");
    let first = text.lines().next().expect("a line");
    assert!(
        first.starts_with("cpu ") && first.contains(" core"),
        "{text}"
    );
    assert!(
        text.contains("default: ") && text.contains("sim:v100"),
        "{text}"
    );
    if !cfg!(feature = "cuda") {
        assert!(text.contains("no GPU: this build has no support"), "{text}");
    }
    let one = json(&["devices", "sim:v100", "--format", "json"]);
    assert_eq!(one[0]["name"], "v100");
}

#[test]
fn gpus_that_are_not_there_say_why() {
    // No machine has so many.
    for arguments in [
        vec!["check", "digits", "--devices", "cuda:4000"],
        vec!["bench", "digits", "--devices", "cpu:0,cuda:4000"],
        vec!["devices", "cuda:4000"],
        vec!["network", "bench", "alexnet", "--device", "cuda:4000"],
    ] {
        let (code, error) = fails(&arguments);
        assert_eq!(code, Some(1), "{error}");
        assert!(error.contains("device `cuda:4000`: "), "{error}");
    }
    let (code, error) = fails(&["network", "bench", "alexnet", "--device", "cpu:0"]);
    assert_eq!(code, Some(1));
    assert!(
        error.contains("expected one GPU such as cuda:0, found `cpu:0`"),
        "{error}"
    );
}

#[test]
fn a_precision_is_one_that_the_place_has() {
    let (code, error) = fails(&["check", "digits", "--precision", "f64"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("f32, tf32, bf16, f16"), "{error}");
    // Where no GPU takes part those of GPUs say nothing, and whoever asks is told so.
    let report = json(&[
        "check",
        "digits",
        "--devices",
        "cpu:0",
        "--precision",
        "f16",
        "--format",
        "json",
    ]);
    assert!(report.get("precision").is_none());
    assert_eq!(
        report["remarks"][0],
        "f16: GPUs only; processors compute in f32"
    );
}

#[test]
fn what_is_not_multiplied_natively_says_so() {
    let widened = "bf16: this processor's kernels (plain) have no instructions for it; values are \
                   widened to float32 while they are loaded";
    let alone = "tf32: GPUs only; processors compute in f32";
    let laws = "int8: simulated devices have the same times and memory in every precision";
    let folder = Folder::new();
    let layers = "[[layers]]\nname = \"fc\"\nop = \"linear\"\nfeatures = 3\n";
    let layers = folder.write("own.toml", layers.as_bytes());
    let bench = [
        "network",
        "bench",
        &layers,
        "--shape",
        "2",
        "--duration",
        "0.1s",
    ];
    let check = ["check", "digits", "--devices", "cpu:0"];
    let simulated = ["check", "digits", "--devices", "sim:v100"];
    let accuracy = ["accuracy", "digits", "--devices", "cpu:0"];
    let report = [
        "report",
        "digits",
        "--devices",
        "cpu:0",
        "--for",
        "0.1s",
        "--format",
        "json",
    ];
    let cases: [(&[&str], [&str; 2], &str); 9] = [
        (&check, ["--precision", "bf16"], widened),
        (&check, ["--precision", "tf32"], alone),
        (
            &check,
            ["--precision", "int8"],
            "bytes are multiplied one by one",
        ),
        (&simulated, ["--precision", "int8"], laws),
        (
            &simulated,
            ["--precision", "auto"],
            "auto: simulated devices have the same times and memory in every precision",
        ),
        (&bench, ["--precision", "bf16"], widened),
        (&bench, ["--precision", "tf32"], alone),
        (&accuracy, ["--precisions", "tf32"], alone),
        (&report, ["--precision", "bf16"], widened),
    ];
    for (command, precision, said) in cases {
        let arguments = [command, &precision].concat();
        let text = on_plain_kernels(&arguments);
        assert!(text.contains(said), "{arguments:?}: {text}");
    }
    let text = on_plain_kernels(&["devices"]);
    let said =
        "plain  plain arrays: int8 multiplied one by one, bf16 widened to float32 while loading";
    assert!(text.contains(said), "{text}");
    let text = on_plain_kernels(&[&check[..], &["--precision", "auto"]].concat());
    assert!(!text.contains("no instructions"), "{text}");
}

/// Runs the program with kernels that multiply nothing but float32 natively. Returns what it says.
fn on_plain_kernels(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_divisi"))
        .args(arguments)
        .env("XDG_CACHE_HOME", scratch("cache"))
        .env("DIVISI_KERNELS", "plain")
        .output()
        .expect("the program starts");
    let both = [output.stdout, output.stderr];
    both.map(|text| String::from_utf8(text).expect("text"))
        .concat()
}

#[test]
fn precisions_are_compared_with_float32() {
    let asked = ["accuracy", "digits", "--devices", "cpu:0", "--precisions"];
    let report = json(&[&asked[..], &["int8,bf16", "--format", "json"]].concat());
    let [float32, others @ ..] = &report["precisions"].as_array().expect("three")[..] else {
        panic!("{report}");
    };
    assert_eq!(
        (&float32["precision"]["cores"], others.len()),
        (&"f32".into(), 2)
    );
    for variant in others {
        let beside = &variant["beside_f32"];
        let members = beside["members"].as_array().expect("six");
        assert_eq!(members.len(), 6);
        for row in members.iter().chain([beside]) {
            has(row, &["name", "agreement", "largest_difference"]);
            assert!(row["agreement"].as_f64() > Some(0.95), "{row}");
            assert!(row["largest_difference"].as_f64() > Some(0.0), "{row}");
        }
    }
    let text = divisi(&[&asked[..], &["f32,int8"]].concat()).stdout;
    let text = String::from_utf8(text).expect("text");
    let head: Vec<&str> = text.lines().filter(|l| l.starts_with("vs f32")).collect();
    assert_eq!(
        head,
        ["vs f32      same class  largest difference"],
        "{text}"
    );
    for name in ["f32: digits", "int8: digits", "\n  mlp ", "\n  ensemble "] {
        assert!(text.contains(name), "{name}: {text}");
    }
}

#[test]
fn predict_answers_a_csv_and_says_how_accurate() {
    let source =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../sample_ensembles/digits/digits.csv");
    let text = fs::read_to_string(source).expect("digits.csv");
    let lines = text.lines().enumerate();
    let some: Vec<&str> = lines
        .filter(|(i, _)| *i == 0 || (1501..=1600).contains(i))
        .map(|(_, line)| line)
        .collect();
    let (input, output) = (scratch("some.csv"), scratch("answers.csv"));
    fs::write(&input, some.join("\n")).expect("writes");
    let (input, output) = (input.to_string_lossy(), output.to_string_lossy());
    let report = json(&[
        "predict", "digits", "--input", &input, "--output", &output, "--format", "json",
    ]);
    assert_eq!(report["samples"], 100);
    assert!(report["accuracy"].as_f64() > Some(0.95));
    let answers = fs::read_to_string(output.as_ref()).expect("answers");
    assert_eq!(answers.lines().count(), 101);
    assert!(answers.starts_with("sample,class,score_0"));
}

#[test]
fn predict_answers_texts_and_names_their_class() {
    let texts = ["pub fn width(&self) -> usize {", "import numpy, os"];
    let long = "let x = 1; ".repeat(50);
    let command = [
        "predict", "snippets", "--text", texts[0], "--text", texts[1], "--text", &long,
    ];
    let report = json(&[&command[..], &["--format", "json"]].concat());
    for (at, label) in ["rust", "python", "rust"].into_iter().enumerate() {
        assert_eq!(report["answers"][at]["label"], label);
    }
    assert_eq!(report["answers"][1]["text"], texts[1]);
    let cut = "1 of 3 texts were truncated to the length of a sample";
    assert_eq!(report["cut"], cut);
    let output = divisi(&command);
    let table = String::from_utf8(output.stdout).expect("text");
    assert!(
        table.starts_with("sample,text,class,label,score_c++,"),
        "{table}"
    );
    assert!(
        table.contains("\n1,\"import numpy, os\",2,python,"),
        "{table}"
    );
    assert!(String::from_utf8_lossy(&output.stderr).contains(cut));
    let (code, error) = fails(&["predict", "digits", "--text", "a text"]);
    assert_eq!(code, Some(1));
    assert!(
        error.contains("the ensemble has no [input.text]"),
        "{error}"
    );
    let (code, _) = fails(&["predict", "snippets"]);
    assert_eq!(code, Some(2), "neither a file nor a text");
}

#[test]
fn bench_with_fakes_checks_the_combination_under_every_policy() {
    for policy in ["no-wait", "opt-wait:1ms", "static:1ms", "segment:1ms"] {
        let report = json(&[
            "bench",
            "--fake",
            "--samples",
            "500",
            "--runs",
            "2",
            "--policy",
            policy,
            "--format",
            "json",
        ]);
        has(
            &report,
            &[
                "samples",
                "elapsed_s",
                "samples_per_s",
                "rsd",
                "latency_us",
                "workers",
                "refused",
                "dropped",
                "devices",
                "matrix",
                "policy",
                "seed",
                "simulated",
            ],
        );
        has(&report["latency_us"], &["p50", "p90", "p99", "max"]);
        assert_eq!(
            (&report["refused"], &report["dropped"]),
            (&0.into(), &0.into())
        );
    }
}

#[test]
fn allocate_writes_a_matrix_that_bench_takes() {
    let file = scratch("matrix.toml");
    let file = file.to_string_lossy();
    let report = json(&[
        "allocate",
        "digits",
        "--algorithm",
        "worst-fit",
        "--output",
        &file,
        "--format",
        "json",
    ]);
    has(
        &report,
        &[
            "devices",
            "members",
            "matrix",
            "score",
            "start_score",
            "evaluations",
            "iterations",
            "coverage",
            "elapsed_s",
            "seed",
            "simulated",
        ],
    );
    let again = json(&[
        "allocate",
        "digits",
        "--algorithm",
        "worst-fit",
        "--format",
        "json",
    ]);
    // Results of a busy machine are not kept.
    let occasion = report["occasion"].as_str().expect("measured");
    assert_eq!(
        again["cached"],
        !occasion.ends_with("busy host"),
        "{occasion}"
    );
    let bench = json(&[
        "bench", "digits", "--matrix", &file, "--fake", "--runs", "1", "--format", "json",
    ]);
    assert_eq!(bench["matrix"], report["matrix"]);
}

#[test]
fn the_best_of_repetitions_is_measured_again() {
    let repeated = |devices: &str| {
        let report = json(&[
            "allocate",
            "digits",
            "--algorithm",
            "worst-fit",
            "--devices",
            devices,
            "--repeat",
            "2",
            "--format",
            "json",
        ]);
        let scores = report["repeat"]["scores"].as_array().expect("scores");
        let scores: Vec<f64> = scores.iter().filter_map(|s| s.as_f64()).collect();
        let number = |value: &serde_json::Value| value.as_f64().expect("a number");
        let median = number(&report["repeat"]["median"]);
        (number(&report["score"]), scores, median)
    };
    let (score, scores, median) = repeated("cpu:0");
    assert_eq!(scores.len(), 2);
    assert!(!scores.contains(&score), "{score} is one of {scores:?}");
    // Numbers read from JSON may be one off in their last digit.
    let middle = f64::midpoint(scores[0], scores[1]);
    assert!(
        (median - middle).abs() <= 1e-12 * middle,
        "{median} of {scores:?}"
    );
    // What is exact comes out the same however often it is run.
    let (score, scores, _) = repeated("sim:v100");
    assert_eq!(scores, [score, score]);
}

#[test]
fn files_are_written_though_nobody_reads_what_is_shown() {
    let (best, plan) = (scratch("unread.toml"), scratch("unread_plan.toml"));
    let written = |file: &PathBuf, arguments: &[&str]| {
        let (reader, shown) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = Command::new(env!("CARGO_BIN_EXE_divisi"))
            .args(arguments)
            .arg("--output")
            .arg(file)
            .stdout(shown)
            .output()
            .expect("the program starts");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{error}");
        assert!(file.exists(), "{error}");
    };
    written(&best, &["allocate", "digits", "--algorithm", "worst-fit"]);
    let goal = ["--kinds", "sim:v100", "--rate", "10", "--most", "1"];
    written(&plan, &[&["plan", "imn1"][..], &goal].concat());
}

#[test]
fn a_result_that_cannot_be_written_is_shown() {
    let goal = ["--algorithm", "worst-fit", "--output", "/dev/full"];
    let output = divisi(&[&["allocate", "digits"][..], &goal].concat());
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("writing /dev/full"), "{error}");
    assert!(!output.stdout.is_empty());
}

#[test]
fn failures_are_one_and_misuse_is_two() {
    assert_eq!(fails(&["--frobnicate"]).0, Some(2));
    assert_eq!(fails(&["bench", "--policy", "sometimes"]).0, Some(2));
    assert_eq!(fails(&["allocate", "--max-neighs", "0"]).0, Some(2));
    let cases: [(&[&str], &str); 9] = [
        (&["check", "/nowhere"], "nowhere"),
        (
            &["check", "--devices", "cpu:0,cpu:0"],
            "overlap: both use core 0",
        ),
        (
            &["bench", "--memory", "1MiB"],
            "no device is large enough: the sample pool needs 5.2 MiB of host memory; 1.0 MiB are \
             free",
        ),
        (
            &["bench", "--memory", "5400KiB"],
            // Which member needs most depends on the processor's kernels.
            "no device is large enough: member `",
        ),
        (
            &["bench", "--matrix", "/nowhere.toml"],
            "reading /nowhere.toml",
        ),
        (
            &["predict", "--input", "/dev/null"],
            "/dev/null: expected a .csv, .npy, .npz, .json",
        ),
        (
            &["accuracy", "--input", "/dev/zero"],
            "/dev/zero: expected a .csv, .npy, .npz, .json",
        ),
        (
            &["bench", "--matrix", "/dev/zero"],
            "expected a file, found a device",
        ),
        (
            &["check", "/dev/zero"],
            "/dev/zero: expected a file, found a device",
        ),
    ];
    for (arguments, said) in cases {
        let (code, error) = fails(arguments);
        assert_eq!(code, Some(1), "{error}");
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn without_a_terminal_the_console_says_what_to_run_instead() {
    let (code, error) = fails(&[]);
    assert_eq!(code, Some(1));
    assert!(
        error.contains("the console needs a terminal")
            && error.contains("divisi bench")
            && error.contains("--linear"),
        "{error}"
    );
}

#[test]
fn the_amount_that_is_logged_is_one_of_five() {
    let (code, error) = fails(&["devices", "--log", "loud"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("error, warn, info, debug, trace"), "{error}");
    let output = Command::new(env!("CARGO_BIN_EXE_divisi"))
        .args(["keys"])
        .env("DIVISI_LOG", "loud")
        .output()
        .expect("the program starts");
    let error = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        error.contains("DIVISI_LOG: expected error, warn"),
        "{error}"
    );
}

#[test]
fn a_recording_of_another_version_says_which_and_which_is_read() {
    let file = scratch("recorded").with_extension("divisi");
    let read = Format::Recording.version();
    for (version, by) in [(read - 1, "an older"), (read + 1, "a newer")] {
        let mut bytes = hello(Format::Recording);
        bytes[8..].copy_from_slice(&version.to_le_bytes());
        fs::write(&file, [&bytes[..], b"whatever it has"].concat()).expect("written");
        let path = file.to_str().expect("text");
        for command in [&["report", path][..], &["replay", path, "--linear"]] {
            let (code, error) = fails(command);
            assert_eq!(code, Some(1));
            let expected = format!(
                "divisi: {path}: recorded by {by} Divisi: found version {version}, expected version \
                 {read}\n"
            );
            assert_eq!(error, expected);
        }
        let (_, error) = fails(&["check", path]);
        let expected = format!("found a recording; `divisi replay {path}` plays it\n");
        assert!(error.ends_with(&expected), "{error}");
    }
}
