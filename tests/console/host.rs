//! A disturbed host: what the screen, the lines and the reports say about it.

use std::time::Duration;

use divisi_console::console::{Colours, Role, Severity, TerminalLook, lint_texts};
use divisi_console::linear::Watcher;
use divisi_model::metrics::{CoreLoad, HostLoad};
use divisi_session::{HostView, Snapshot, Target};

use crate::cli::{divisi, json, scratch};
use crate::fake::{Bench, snapshot};
use crate::panels::style;

fn with_load(shown: &mut Snapshot, others: f64, disturbed: bool) {
    let quiet = CoreLoad {
        own: 0.2,
        others: 0.02,
        ..CoreLoad::default()
    };
    let taken = CoreLoad {
        core: 1,
        others,
        ..quiet
    };
    shown.host = Some(HostView {
        load: HostLoad {
            window: Duration::from_secs(10),
            cores: vec![quiet, taken],
            wait: Some(0.4),
            throttled: Some(0.0),
        },
        disturbed_since: disturbed.then_some(Duration::from_secs(30)),
    });
}

/// Other programs take most of a core while the devices are idle.
fn disturbed(shown: &mut Snapshot) {
    shown
        .devices
        .iter_mut()
        .for_each(|device| device.busy = 0.03);
    with_load(shown, 0.63, true);
}

fn first_lines(bench: &Bench) -> String {
    let text = bench.text();
    text.lines().take(2).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_header_names_the_program_that_takes_a_core() {
    for (width, height) in [(160, 50), (120, 40), (80, 24)] {
        let mut bench = Bench::new(width, height);
        bench.show(disturbed);
        let found = first_lines(&bench);
        assert!(found.contains("host 10 s: others 63 % of cpu:1"), "{found}");
    }
}

#[test]
fn the_header_of_a_quiet_host_stays_as_it_is() {
    let mut bench = Bench::new(160, 50);
    let before = first_lines(&bench);
    bench.show(|shown| with_load(shown, 0.04, false));
    assert_eq!(first_lines(&bench), before);
}

#[test]
fn a_disturbance_is_a_warning() {
    let look = TerminalLook {
        colours: Colours::True,
        ascii: false,
    };
    let mut bench = Bench::with(160, 50, false, look);
    bench.show(disturbed);
    let found = style(&bench, "host", "host 10 s");
    let styles = &bench.console.model().settings.styles;
    assert_eq!(found.fg, styles.role_style(Role::Warn).fg);
}

#[test]
fn a_hint_says_what_to_do_instead_of_all_devices_idle() {
    let mut shown = snapshot();
    shown
        .devices
        .iter_mut()
        .for_each(|device| device.busy = 0.03);
    shown.devices[0].busy = 0.0;
    let texts = |shown: &Snapshot| -> Vec<String> {
        lint_texts(shown)
            .into_iter()
            .map(|(_, text)| text)
            .collect()
    };
    let idle = |texts: &[String]| texts.iter().any(|t| t.contains(" idle "));
    assert!(idle(&texts(&shown)));
    disturbed(&mut shown);
    let found = texts(&shown);
    let hint = "other programs take 63 % of cpu:1 (last 10 s); \
                stop them, or restart with --devices cpu:0-1";
    assert!(found.iter().any(|text| text == hint), "{found:?}");
    assert!(!idle(&found), "{found:?}");
}

#[test]
fn members_can_move_away_from_the_only_busy_core_of_many() {
    let mut shown = snapshot();
    with_load(&mut shown, 0.63, true);
    let load = &mut shown.host.as_mut().expect("a host").load;
    let idle = |core| CoreLoad {
        core,
        ..CoreLoad::default()
    };
    load.cores.extend((2..16).map(idle));
    let found = lint_texts(&shown);
    let hint = "other programs take 63 % of cpu:1 (last 10 s); stop them, or move members away";
    assert!(found.iter().any(|(_, text)| text == hint), "{found:?}");
}

#[test]
fn the_cause_stands_before_slow_requests() {
    let mut shown = snapshot();
    disturbed(&mut shown);
    shown.target = Some(Target {
        latency: Duration::from_millis(5),
        share: 0.99,
    });
    shown.latency.now.missed = Some(0.7);
    let lints = lint_texts(&shown);
    let place = |start: &str| lints.iter().position(|(_, text)| text.contains(start));
    let (cause, symptom) = (place("other programs"), place("requests exceed"));
    assert!(cause.is_some() && cause < symptom, "{lints:?}");
    assert_eq!(lints[cause.unwrap()].0, Severity::Warning);
}

#[test]
fn each_kind_of_disturbance_has_its_advice() {
    let mut shown = snapshot();
    with_load(&mut shown, 0.02, true);
    let host = shown.host.as_mut().expect("a host");
    host.load.cores[0].steal = 0.2;
    host.load.throttled = Some(0.3);
    let found: Vec<String> = lint_texts(&shown)
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    for hint in [
        "other virtual machines take 20 % of cpu:0 (last 10 s); move members away, or use another machine",
        "the CPU limit of the control group throttles 30 % of its periods (last 10 s); raise the limit, or use fewer cores",
    ] {
        assert!(found.iter().any(|text| text == hint), "{found:?}");
    }
}

#[test]
fn lines_name_a_disturbance_once_and_its_end() {
    let mut watcher = Watcher::new(Duration::from_secs(600));
    let mut shown = snapshot();
    watcher.news(&shown);
    disturbed(&mut shown);
    let news = |watcher: &mut Watcher, shown: &Snapshot| watcher.news(shown).join("\n");
    assert!(news(&mut watcher, &shown).contains("warning: other programs take 63 % of cpu:1"));
    with_load(&mut shown, 0.71, true);
    assert!(!news(&mut watcher, &shown).contains("other programs"));
    with_load(&mut shown, 0.02, false);
    assert!(news(&mut watcher, &shown).contains("resolved: other programs take"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_report_has_the_load_of_each_core() {
    let output = divisi(&["report", "digits", "--for", "2s", "--devices", "cpu:0"]);
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains("\nhost (in the last "), "{text}");
    assert!(text.contains("other programs %"), "{text}");
}

#[cfg(target_os = "linux")]
#[test]
fn measurements_record_the_load_of_their_time() {
    let bench = ["bench", "digits", "--runs", "2", "--samples", "64"];
    let options = ["--devices", "cpu:0", "--format", "json"];
    let host = &json(&[&bench[..], &options].concat())["host"];
    assert!(host["window_s"].as_f64().is_some_and(|s| s > 0.0), "{host}");
    assert!(host["others"].is_number() && host["disturbed"].is_boolean());
    let onnx = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../sample_ensembles/digits-onnx/mlp.onnx"
    );
    let network = ["network", "bench", onnx, "--duration", "0.1"];
    let network = [&network[..], &["--format", "json"]].concat();
    let host = &json(&network)["host"];
    assert!(host["others"].is_number(), "{host}");
}

#[test]
fn a_measurement_in_virtual_time_has_no_host() {
    let options = ["--devices", "sim:v100", "--format", "json"];
    let report = json(&[&["bench", "digits"][..], &options].concat());
    assert!(report["host"].is_null());
}

#[test]
fn check_explains_the_default_devices_and_how_to_choose_others() {
    let output = divisi(&["check", "digits"]);
    let text = String::from_utf8(output.stdout).expect("text");
    let line = text.lines().find(|line| line.starts_with("default: "));
    let line = line.unwrap_or_else(|| panic!("no explanation in\n{text}"));
    assert!(line.ends_with("; --devices chooses others"), "{line}");
    let named = divisi(&["check", "digits", "--devices", "cpu:0"]);
    assert!(!String::from_utf8_lossy(&named.stdout).contains("\ndefault: "));
}

#[test]
fn a_matrix_file_brings_its_devices() {
    let file = scratch("brings.toml").display().to_string();
    let on = ["--devices", "cpu:0", "--algorithm", "worst-fit"];
    let quick = [
        "--evaluator",
        "model",
        "--finalists",
        "0",
        "--force",
        "--output",
        &file,
    ];
    let made = divisi(&[&["allocate", "digits"][..], &on, &quick].concat());
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    let options = [
        "--matrix",
        &file,
        "--runs",
        "1",
        "--samples",
        "64",
        "--format",
        "json",
    ];
    let report = json(&[&["bench", "digits"][..], &options].concat());
    assert_eq!(report["devices"].as_array().map(Vec::len), Some(1));
}

/// A simulation promised a p99 of 8 µs when real requests took 469 µs.
#[test]
fn allocate_checks_a_latency_goal_with_real_requests() {
    let goal = ["--rate", "20", "--p99", "60s", "--format", "json"];
    let quick = ["--algorithm", "worst-fit", "--evaluator", "model"];
    let on = ["--devices", "cpu:0"];
    let report = json(&[&["allocate", "digits"][..], &goal, &quick, &on].concat());
    let p99 = |of: &str| report[of]["p99"].as_u64();
    assert!(p99("latency_us").is_some_and(|p99| p99 > 0), "{report}");
    assert!(p99("measured_us").is_some_and(|p99| p99 > 0), "{report}");
    let not = [&goal[..], &quick, &on, &["--finalists", "0"]].concat();
    let report = json(&[&["allocate", "digits"][..], &not].concat());
    assert!(report["measured_us"].is_null(), "no runs: {report}");
}

#[test]
fn allocate_compares_partitions_and_names_the_best() {
    let quick = [
        "--algorithm",
        "worst-fit",
        "--evaluator",
        "model",
        "--finalists",
        "0",
    ];
    let output = divisi(&[&["allocate", "digits", "--partitions"][..], &quick].concat());
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains("\npartitions cpu:0"), "{text}");
    let best = text
        .lines()
        .find(|line| line.starts_with("best partitions: --devices cpu:"));
    assert!(best.is_some(), "{text}");
}
