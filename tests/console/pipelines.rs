//! Pipelines on the command line and on the screen: their steps, and no rule.

use std::fs;
use std::path::PathBuf;

use divisi::pipeline::HostStep;
use serde_json::json;

use crate::cli::{divisi, fails, has, json, scratch};
use crate::fake::Bench;

/// Standard output of a command, as a screen.
struct Printed(String);

impl Printed {
    fn by(arguments: &[&str]) -> Self {
        let output = divisi(arguments);
        assert!(output.status.success(), "{arguments:?}");
        Printed(String::from_utf8(output.stdout).expect("text"))
    }

    fn text(&self) -> &str {
        &self.0
    }
}

#[test]
fn steps_lists_every_kind_of_step_of_the_host() {
    screen!("steps", Printed::by(&["steps"]));
    let report = json(&["steps", "--format", "json"]);
    let kinds = report.as_array().expect("kinds");
    assert_eq!(kinds.len(), HostStep::KINDS.len());
    has(&kinds[0], &["name", "fields", "signature", "does"]);
}

#[test]
fn check_shows_the_steps_of_a_pipeline_in_place_of_a_rule() {
    let Printed(text) = Printed::by(&["check", "digits-cascade"]);
    // Memory and devices are those of the machine.
    let (steps, _) = text.split_once("\n\nmember").expect("members");
    screen!("check_pipeline", Printed(steps.to_owned()));
    let report = json(&["check", "digits-cascade", "--format", "json"]);
    assert!(report.get("rule").is_none(), "{report}");
    let when = "max(probs-s) < 0.9";
    assert_eq!(
        report["pipeline"]["steps"][3],
        json!({
            "name": "cnn-m", "model": "cnn-m", "reads": ["image"], "makes": ["logits-m"], "when": when
        })
    );
    assert_eq!(report["pipeline"]["outputs"][0]["name"], "answer");
}

const QUORUM: &str = r#"name = "voters"
answers = { values = 4 }
outputs = ["answer"]
[input]
shape = [4]
[[members]]
name = "a"
network = { builder = "perceptron", hidden = [8] }
[[members]]
name = "b"
network = { builder = "perceptron", hidden = [4] }
[[steps]]
host = "mean"
inputs = ["x", "y"]
outputs = "answer"
quorum = 1
wait_ms = 50
[[steps]]
model = "a"
outputs = "x"
[[steps]]
model = "b"
outputs = "y"
"#;

fn quorum() -> PathBuf {
    let folder = scratch("quorum");
    fs::create_dir_all(&folder).expect("creates");
    fs::write(folder.join("pipeline.toml"), QUORUM).expect("writes");
    folder
}

#[test]
fn check_shows_a_quorum_and_how_long_it_waits() {
    let folder = quorum();
    let path = folder.to_str().expect("text");
    let Printed(text) = Printed::by(&["check", path]);
    assert!(text.contains("quorum 1 wait_ms 50\n"), "{text}");
    let report = json(&["check", path, "--format", "json"]);
    let last = &report["pipeline"]["steps"][2];
    assert_eq!(last["name"], "mean", "after those that it reads: {report}");
    assert_eq!(
        (&last["quorum"], &last["wait_ms"]),
        (&json!(1), &json!(50.0))
    );
}

#[test]
fn the_accuracy_of_a_pipeline_is_that_of_its_answers() {
    let report = json(&["accuracy", "digits-cascade", "--format", "json"]);
    assert_eq!(report["members"], json!([]));
    assert_eq!(report["rules"], json!([]));
    let accuracy = report["pipeline"]["accuracy"].as_f64().expect("a number");
    assert!((0.98..=1.0).contains(&accuracy), "{report}");
    let Printed(text) = Printed::by(&["accuracy", "digits-cascade"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[1].trim_start().starts_with("pipeline "), "{text}");
}

#[test]
fn a_pipeline_has_no_answers_of_members() {
    let samples = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../sample_ensembles/digits/digits.csv"
    );
    let (code, error) = fails(&["predict", "digits-cascade", "--input", samples, "--members"]);
    assert_eq!(code, Some(1));
    assert!(
        error.contains("--members: the models of a pipeline"),
        "{error}"
    );
}

#[test]
fn the_console_names_no_rule_for_a_pipeline_and_lets_nobody_vote() {
    let mut bench = Bench::new(120, 40);
    bench.show(|shown| shown.pipeline = true);
    bench.keys("7z");
    let text = bench.text();
    assert!(text.contains("· pipeline"), "{text}");
    assert!(!text.contains("average"), "{text}");
    bench.keys("vV");
    let text = bench.text();
    assert!(text.contains("nobody votes"), "{text}");
    assert!(bench.sent().is_empty());
}
