//! Pipelines on the command line and on the screen: their steps, and no rule.

use std::fs;
use std::path::PathBuf;

use crossterm::event::KeyCode;
use divisi_console::console::{Colours, Role, TerminalLook};
use divisi_engine::serving::{GraphStep, GraphWork, StepGraph};
use divisi_model::pipeline::HostStep;
use serde_json::json;

use crate::cli::{divisi, fails, has, json, scratch};
use crate::fake::{Bench, step_stats};
use crate::panels::style;

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
        error.contains("--members: not supported for pipelines"),
        "{error}"
    );
}

#[test]
fn the_console_names_no_rule_for_a_pipeline_and_lets_nobody_vote() {
    let mut bench = Bench::new(120, 40);
    bench.show(|shown| shown.pipeline = true);
    bench.keys("7z");
    let text = bench.plain();
    assert!(text.contains("· pipeline"), "{text}");
    assert!(!text.contains("average"), "{text}");
    bench.keys("vV");
    let text = bench.plain();
    assert!(text.contains("pipelines have no votes"), "{text}");
    assert!(bench.sent().is_empty());
}

/// The graph of the sample that asks larger models where a small one is unsure.
fn cascade() -> StepGraph {
    let step = |name: &str, work: GraphWork, needs: &[usize], rows: u64, critical: u64| GraphStep {
        number: 0,
        name: name.into(),
        work,
        needs: needs.to_vec(),
        when: None,
        quorum: None,
        is_output: false,
        stats: step_stats(rows, critical),
    };
    let host = |kind: &str| GraphWork::Host(kind.into());
    let unsure = |name: &str, critical| {
        let mut step = step(
            name,
            GraphWork::Model(name.into()),
            &[0, 2],
            8_000,
            critical,
        );
        step.when = Some("max(probs-s) < 0.9".into());
        step.stats.skipped = 40_000;
        step
    };
    let cnn_s = GraphWork::Model("cnn-s".into());
    let mut all = step("all", host("mean"), &[1, 3, 4, 5], 8_000, 8_000);
    all.quorum = Some(3);
    let mut end = step("first", host("first"), &[2, 7], 48_000, 48_000);
    (end.is_output, end.stats.last) = (true, 48_000);
    let mut slow = unsure("res-m", 7_400);
    slow.stats.late = 12;
    StepGraph {
        model: "digits-cascade".into(),
        steps: vec![
            step("normalise", host("normalise"), &[], 48_000, 48_000),
            step("cnn-s", cnn_s, &[0], 48_000, 48_000),
            step("quick", host("softmax"), &[1], 48_000, 48_000),
            unsure("cnn-m", 500),
            slow,
            unsure("dense", 100),
            all,
            step("thorough", host("softmax"), &[6], 8_000, 8_000),
            end,
        ],
    }
}

fn steps(width: u16, height: u16, graphs: Vec<StepGraph>) -> Bench {
    let coloured = TerminalLook {
        colours: Colours::True,
        ascii: false,
    };
    let mut bench = Bench::with(width, height, false, coloured);
    bench.show(|shown| {
        shown.pipeline = true;
        shown.graphs = graphs.clone();
    });
    bench.keys("LLLLL8");
    bench
}

#[test]
fn a_pipeline_is_drawn_as_a_graph_of_its_steps() {
    for (width, height) in [(80, 24), (160, 50)] {
        let bench = steps(width, height, vec![cascade()]);
        screen!(format!("steps_cascade_{width}x{height}"), bench);
    }
}

#[test]
fn an_ensemble_is_drawn_as_members_side_by_side_and_their_combination() {
    let mut bench = Bench::new(80, 24);
    bench.keys("8\r");
    screen!("steps_ensemble_80x24", bench);
}

#[test]
fn steps_of_several_models_are_below_each_other_and_scroll() {
    let graphs = vec![cascade(), cascade(), cascade()];
    let mut bench = steps(80, 24, graphs);
    assert!(bench.plain().contains("3 models"));
    assert!(bench.plain().contains(" step "), "{}", bench.plain());
    bench.keys("jjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjj");
    screen!("steps_scrolled_80x24", bench);
}

#[test]
fn rows_below_are_counted_and_pages_and_ends_are_reached_at_once() {
    let mut bench = steps(80, 24, vec![cascade(), cascade(), cascade()]);
    assert!(
        bench.plain().contains("3 models · 21 rows below"),
        "{}",
        bench.plain()
    );
    for (key, hidden) in [
        (KeyCode::PageDown, "rows above, "),
        (KeyCode::PageUp, "· 21 rows below "),
        (KeyCode::End, "· 21 rows above "),
        (KeyCode::Up, "· 20 rows above, 1 below "),
        (KeyCode::Home, "· 21 rows below "),
    ] {
        bench.press(key);
        let text = bench.plain();
        assert!(text.contains(hidden), "{key:?}: {text}");
    }
}

#[test]
fn the_steps_that_requests_wait_for_are_lit() {
    let bench = steps(160, 50, vec![cascade()]);
    let lit = |name: &str| style(&bench, "●", &format!("{name} ")).fg;
    let accent = bench
        .console
        .model()
        .settings
        .styles
        .role_style(Role::Accent)
        .fg;
    for (name, expected) in [
        ("quick", true),
        ("first", true),
        ("res-m", false),
        ("cnn-m", false),
        ("dense", false),
    ] {
        assert_eq!(lit(name) == accent, expected, "{name}");
    }
}
