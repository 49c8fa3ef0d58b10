//! Linear mode: what changed as lines, commands as lines.

use std::time::Duration;

use divisi_console::commands::LINES;
use divisi_console::config::Config;
use divisi_console::linear::{LineDesk, Watcher};
use divisi_runtime::device::MemberIndex;
use divisi_session::*;

use crate::fake::{Bench, FakeSession, WIDENED, applied, better, matrix, search, snapshot};
use crate::rich::on_probation;

fn news(watcher: &mut Watcher, shown: &Snapshot) -> Vec<String> {
    let lines = watcher.news(shown);
    for line in &lines {
        assert!(!line.contains('\u{1b}'), "no escape codes: {line}");
    }
    lines
}

fn has(lines: &[String], text: &str) {
    assert!(
        lines.iter().any(|l| l.contains(text)),
        "{text} in {lines:#?}"
    );
}

#[test]
fn the_state_comes_first_and_then_only_what_changes() {
    let mut watcher = Watcher::new(Duration::from_secs(5));
    let mut shown = snapshot();
    let first = news(&mut watcher, &shown);
    has(&first, "serving");
    has(&first, "samples/s");
    assert_eq!(news(&mut watcher, &shown), Vec::<String>::new());
    // Numbers wait for the next summary.
    shown.throughput.samples_per_s += 1000.0;
    shown.now += Duration::from_secs(1);
    assert_eq!(news(&mut watcher, &shown), Vec::<String>::new());
    shown.now += Duration::from_secs(5);
    assert_eq!(news(&mut watcher, &shown).len(), 1);
    shown.now += Duration::from_secs(5);
    assert_eq!(news(&mut watcher, &shown), Vec::<String>::new());
}

#[test]
fn the_log_is_said_once() {
    let mut watcher = Watcher::new(Duration::from_secs(3600));
    let mut shown = snapshot();
    has(&news(&mut watcher, &shown), "fault: worker cpu:1 × dense");
    shown.log.push(LogEntry {
        at: shown.now,
        level: LogLevel::Warn,
        text: "a disk is full".into(),
    });
    let lines = news(&mut watcher, &shown);
    assert_eq!(lines.len(), 1);
    has(&lines, "warning: a disk is full");
}

#[test]
fn a_reload_is_said_step_by_step() {
    let mut watcher = Watcher::new(Duration::from_secs(3600));
    let mut shown = snapshot();
    news(&mut watcher, &shown);
    let mut view = ReloadView {
        steps: vec!["start cpu:1 × res-m, batch 16".into()],
        state: ReloadState::Running,
        elapsed: Duration::from_millis(10),
    };
    shown.reload = Some(view.clone());
    has(&news(&mut watcher, &shown), "reload: start cpu:1 × res-m");
    view.steps.push("drain cpu:0 × mlp".into());
    view.state = ReloadState::Done;
    shown.reload = Some(view.clone());
    logged(&mut shown, "reload: 2 entries changed in 10.0 ms");
    let lines = news(&mut watcher, &shown);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].ends_with("reload: drain cpu:0 × mlp"), "{lines:?}");
    has(&lines, "reload: 2 entries changed in 10.0 ms");
    // Another one that did the same.
    shown.reload.as_mut().unwrap().state = ReloadState::Running;
    assert!(!news(&mut watcher, &shown).is_empty());
}

fn logged(shown: &mut Snapshot, text: &str) {
    shown.log.push(LogEntry {
        at: shown.now,
        level: LogLevel::Info,
        text: text.into(),
    });
}

#[test]
fn a_policy_that_changes_is_said_once() {
    let mut watcher = Watcher::new(Duration::from_secs(3600));
    let mut shown = snapshot();
    news(&mut watcher, &shown);
    shown.reload = Some(ReloadView {
        steps: vec!["policy: no-wait → elastic".into()],
        state: ReloadState::Done,
        elapsed: Duration::from_micros(100),
    });
    logged(&mut shown, "reload: policy: no-wait → elastic in 0.1 ms");
    let lines = news(&mut watcher, &shown);
    assert_eq!(lines.len(), 1, "{lines:?}");
    has(&lines, "reload: policy: no-wait → elastic in 0.1 ms");
}

#[test]
fn a_search_is_said_from_its_start_to_its_end() {
    let mut watcher = Watcher::new(Duration::from_secs(3600));
    let mut shown = snapshot();
    news(&mut watcher, &shown);
    shown.search = Some(search());
    let lines = news(&mut watcher, &shown);
    has(&lines, "search: greedy begins, scored by model");
    has(
        &lines,
        "search: best 5210 samples/s (± 0.8 %), +38 % over the start",
    );
    let running = shown.search.as_mut().unwrap();
    running.progress.best_score = Some(5600.0);
    running.state = SearchState::Finished;
    let lines = news(&mut watcher, &shown);
    has(&lines, "best 5600");
    has(&lines, "search: finished in");
    assert_eq!(news(&mut watcher, &shown), Vec::<String>::new());
}

#[test]
fn lints_come_and_go() {
    let mut watcher = Watcher::new(Duration::from_secs(3600));
    let mut shown = snapshot();
    shown.devices.iter_mut().for_each(|d| d.busy = 0.8);
    news(&mut watcher, &shown);
    shown.devices[0].busy = 0.97;
    shown.devices[1].busy = 0.22;
    has(
        &news(&mut watcher, &shown),
        "warning: cpu:1 idle 78 % of the time",
    );
    shown.devices[1].busy = 0.25;
    assert_eq!(news(&mut watcher, &shown), Vec::<String>::new());
    shown.devices[1].busy = 0.9;
    has(&news(&mut watcher, &shown), "resolved: cpu:1 idle");
}

fn checked() -> Vec<Check> {
    let mut shown = snapshot();
    on_probation(&mut shown);
    shown.probation.unwrap().checks
}

#[test]
fn a_probation_is_said() {
    let mut watcher = Watcher::new(Duration::from_secs(3600));
    let mut shown = snapshot();
    news(&mut watcher, &shown);
    shown.probation = Some(Probation {
        terms: Config::default().terms,
        since: shown.now,
        counted: Duration::ZERO,
        ended: None,
        state: ProbationState::Watching,
        before: Measured::default(),
        after: Measured::default(),
        checks: Vec::new(),
        fallback: shown.setup(),
    });
    shown.probation.as_mut().unwrap().checks = checked();
    has(
        &news(&mut watcher, &shown),
        "probation: 1 min 00 s; keep or roll-back",
    );
    let mut often = Watcher::new(Duration::ZERO);
    has(
        &news(&mut often, &shown),
        "probation: p99 8.1 ms, limit 12.0 ms, was 10.0 ms; 7 of 812 requests above it, \
         1.4% allowed; 318 more needed for a decision",
    );
}

#[test]
fn the_end_of_a_probation_is_said_once() {
    let failed = || ProbationState::Failed("p99 14 ms, at most 10 ms".into());
    let by_log = "probation failed: p99 14 ms, at most 10 ms; restoring the previous setup";
    for (state, log, said) in [
        (failed(), Some(by_log), by_log),
        // An operator took it back: the log has no line of it.
        (failed(), None, "rolled back: p99 14 ms, at most 10 ms"),
        (
            ProbationState::Kept,
            Some("probation ended: change kept"),
            "probation ended",
        ),
        (
            ProbationState::Passed,
            Some("probation passed"),
            "probation passed",
        ),
    ] {
        let mut watcher = Watcher::new(Duration::from_secs(3600));
        let mut shown = snapshot();
        on_probation(&mut shown);
        news(&mut watcher, &shown);
        shown.probation.as_mut().unwrap().state = state;
        if let Some(text) = log {
            logged(&mut shown, text);
        }
        let lines = news(&mut watcher, &shown);
        assert_eq!(lines.len(), 1, "{lines:?}");
        has(&lines, said);
    }
}

/// A desk on the fake of a bench.
fn desk(read_only: bool) -> (LineDesk, FakeSession, Bench) {
    let bench = Bench::new(80, 24);
    let session = FakeSession::at(bench.desk.clone());
    (
        LineDesk::new(read_only, Config::default().terms),
        session,
        bench,
    )
}

#[test]
fn lines_stage_compare_and_apply() {
    let (mut desk, mut session, bench) = desk(false);
    let mut say = |line: &str| desk.line(line, &mut session).lines;
    has(&say("apply"), "no: no staged changes");
    has(
        &say("set cpu:1 res-m 16"),
        "staged: cpu:1 × res-m: batches of 16",
    );
    has(&say("compare"), "start cpu:1 × res-m, batch 16");
    assert!(bench.sent().is_empty());
    has(&say("apply"), "taken");
    assert_eq!(bench.sent(), [applied(better())]);
    has(&say("set cpu:0 mlp 0"), "no: ");
    has(&say("set cpu:0 mlp 7"), "expected a size of 0, 8, 16");
    has(
        &say("set cpu:9 mlp 8"),
        "no device `cpu:9`: expected one of cpu:0, cpu:1",
    );
}

#[test]
fn a_line_stages_the_precision_of_a_member() {
    let (mut desk, mut session, bench) = desk(false);
    let mut say = |line: &str| desk.line(line, &mut session).lines;
    has(&say("precision mlp int8"), "staged: mlp in int8");
    let compared = say("compare");
    has(&compared, "rebuild cpu:0 × mlp, batch 16");
    has(&compared, "precision of mlp: f32 → int8");
    has(
        &compared,
        "no prediction: no profile of mlp in int8 on cpu:0 yet",
    );
    // Staged beside entries of the matrix; the last word of a member holds.
    has(&say("set cpu:1 res-m 16"), "staged: ");
    has(&say("precision mlp bf16"), "staged: mlp in bf16");
    has(&say("precision mlp bf16"), WIDENED);
    has(&say("apply"), "taken");
    let bf16 = "bf16".parse().unwrap();
    let expected = snapshot().setup().with_matrix(better());
    let expected = expected.with_precision(MemberIndex::new(0), bf16);
    assert_eq!(bench.sent(), [Command::Apply(Box::new(expected), None)]);
    has(&say("apply"), "no: no staged changes");
    has(
        &say("precision mlp int4"),
        "or two such as int8/bf16, found `int4`",
    );
    has(&say("precision none int8"), "no member `none`");
    has(
        &say("precision mlp"),
        "expected: precision MEMBER PRECISION",
    );
}

#[test]
fn lines_can_ask_for_what_keys_can() {
    let (mut desk, mut session, bench) = desk(false);
    bench.desk.shown.lock().unwrap().search = Some(search());
    for line in [
        "policy elastic",
        "load poisson:800",
        "load none",
        "undo",
        "apply best",
        "target 50ms 99.9",
        "vote mlp off",
        ":clear",
        "",
    ] {
        let answer = desk.line(line, &mut session);
        assert!(
            !answer.lines.iter().any(|l| l.starts_with("no")),
            "{line}: {answer:?}"
        );
    }
    let sent = bench.sent();
    assert_eq!(sent.len(), 8, "{sent:?}");
    assert_eq!(sent[4], applied(better()));
    assert_eq!(sent[6], Command::SetVote(MemberIndex::new(0), false));
    assert!(desk.line("quit", &mut session).leave);
    assert_eq!(matrix(), bench.console.model().snapshot.matrix);
}

#[test]
fn a_wrong_line_says_what_was_expected() {
    let (mut desk, mut session, _bench) = desk(false);
    let mut say = |line: &str| desk.line(line, &mut session).lines;
    has(&say("polcy elastic"), "did you mean `policy`?");
    has(&say("policy sometimes"), "no: ");
    has(&say("set cpu:0"), "expected: set DEVICE MEMBER SIZE");
    has(&say("undo twice"), "expected: undo");
    assert_eq!(say("help").len(), LINES.len());
}

#[test]
fn a_line_that_is_no_text_is_refused_and_the_next_one_done() {
    let (mut desk, mut session, _bench) = desk(false);
    let answer = desk.bytes(b"set \xff 8", &mut session);
    assert_eq!(answer.lines, ["no: expected UTF-8 text"]);
    assert!(!answer.leave);
    assert!(desk.bytes(b"quit\r", &mut session).leave);
}

#[test]
fn read_only_refuses_lines_too() {
    let (mut desk, mut session, bench) = desk(true);
    let mut say = |line: &str| desk.line(line, &mut session).lines;
    for line in ["undo", "load none", "set cpu:0 mlp 8", "apply", "clear"] {
        has(&say(line), "read-only");
    }
    assert!(say("status").len() > 6);
    assert!(bench.sent().is_empty());
}
