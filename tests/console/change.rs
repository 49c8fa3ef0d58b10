//! Changes: rows and columns, what-if, settings, probation, history.

use std::time::Duration;

use crossterm::event::KeyCode;
use divisi_console::config::Settings;
use divisi_console::console::{Colours, ConsoleEvent, TerminalLook};
use divisi_model::allocation::Matrix;
use divisi_model::codes::Code;
use divisi_model::ensemble::{PolicyKind, RuleKind, Temperature, VoteWeight, Wait};
use divisi_runtime::device::DeviceIndex;
use divisi_session::{
    Command, HistoryEntry, Measured, Probation, ProbationState, Refusal, SearchState, Setup,
    Snapshot, Target, Terms,
};
use ratatui::style::Modifier;

use crate::fake::{Bench, PLAIN, applied, better, matrix, search, snapshot};

const ASCII: TerminalLook = TerminalLook {
    colours: Colours::None,
    ascii: true,
};

fn rows(bench: &Bench) -> Vec<Vec<usize>> {
    bench.console.model().matrix().rows()
}

fn changed(change: impl FnOnce(&mut Vec<Vec<i64>>)) -> Matrix {
    let numbers = |row: &Vec<usize>| row.iter().map(|n| *n as i64).collect();
    let mut rows: Vec<Vec<i64>> = matrix().rows().iter().map(numbers).collect();
    change(&mut rows);
    Matrix::from_rows(matrix().frame().clone(), &rows).unwrap()
}

fn setup(change: impl FnOnce(&mut Setup)) -> Setup {
    let mut setup = snapshot().setup();
    change(&mut setup);
    setup
}

fn apply(setup: Setup) -> Command {
    Command::Apply(Box::new(setup), None)
}

#[test]
fn a_worker_is_copied_to_another_device() {
    let mut bench = Bench::new(80, 24);
    bench.keys("ey");
    assert!(bench.text().contains("› copy mlp 16 of cpu:0"));
    bench.keys("j");
    bench.press(KeyCode::Enter);
    assert_eq!(bench.console.model().matrix(), &changed(|r| r[1][0] = 16));
    // One step, undone as one.
    bench.keys("u");
    assert_eq!(bench.console.model().matrix(), &matrix());
}

#[test]
fn a_worker_is_moved_in_one_step() {
    let mut bench = Bench::new(80, 24);
    bench.keys("exj");
    bench.press(KeyCode::Enter);
    let moved = changed(|r| (r[0][0], r[1][0]) = (0, 16));
    assert_eq!(bench.console.model().matrix(), &moved);
    bench.keys("u");
    assert_eq!(bench.console.model().matrix(), &matrix());
    bench.keys("r");
    assert_eq!(bench.console.model().matrix(), &moved);
}

#[test]
fn what_cannot_be_put_says_why_and_enters_nothing() {
    let mut bench = Bench::new(80, 24);
    bench.keys("e");
    bench.press(KeyCode::Enter);
    assert!(bench.text().contains("no worker taken"));
    bench.keys("y");
    bench.press(KeyCode::Enter);
    assert!(bench.text().contains("choose another device"));
    bench.keys("jjy");
    assert!(bench.text().contains("no worker here to take"));
    bench.show(|s| s.devices[1].lost = true);
    bench.press(KeyCode::Enter);
    assert!(bench.text().contains("the device is lost"));
    assert_eq!(bench.console.model().matrix(), &matrix());
}

#[test]
fn escape_lets_go_of_what_was_taken_first() {
    let mut bench = Bench::new(80, 24);
    bench.keys("ey");
    bench.press(KeyCode::Esc);
    assert!(bench.console.model().edit.is_some());
    assert!(!bench.text().contains("› copy"));
    bench.press(KeyCode::Esc);
    assert!(bench.console.model().edit.is_none());
}

#[test]
fn a_member_is_spread_and_a_device_cleared() {
    let mut bench = Bench::new(80, 24);
    bench.keys("es");
    assert_eq!(rows(&bench)[1][0], 16);
    bench.keys("s");
    let said = "`mlp` already has a worker on every device";
    assert!(bench.text().contains(said), "{}", bench.text());
    // mlp stays on cpu:1, the others have to go there.
    bench.keys("c");
    assert_eq!(rows(&bench), [[0; 6], [16, 8, 8, 16, 32, 8]]);
    bench.keys("c");
    assert!(bench.text().contains("cpu:0 has no worker"));
    bench.keys("uu");
    assert_eq!(bench.console.model().matrix(), &matrix());
}

#[test]
fn a_row_or_a_column_takes_one_batch_size() {
    let mut bench = Bench::new(80, 24);
    bench.keys("eR");
    assert_eq!(rows(&bench)[0], [16, 0, 16, 0, 16, 0]);
    bench.keys("R");
    assert!(bench.text().contains("all already have this batch size"));
    bench.keys("y64");
    bench.keys("j");
    bench.press(KeyCode::Enter);
    bench.keys("C");
    assert_eq!((rows(&bench)[0][0], rows(&bench)[1][0]), (16, 16));
}

#[test]
fn what_is_staged_is_predicted_while_typing() {
    let mut bench = Bench::new(120, 40);
    bench.keys("e+");
    let text = bench.text();
    assert!(text.contains("predicted  4 812 → 5 210 (4 168 … 6 513) samples/s  +8 %"));
    assert!(text.contains("cpu:0 812 MiB → 930 MiB"));
    assert!(text.contains("~ 1 resized"));
    for (name, width, height, look) in [
        ("what_if_120x40", 120, 40, PLAIN),
        ("what_if_80x24", 80, 24, PLAIN),
        ("what_if_40x12", 40, 12, PLAIN),
        ("what_if_ascii", 80, 24, ASCII),
    ] {
        let mut bench = Bench::with(width, height, false, look);
        bench.keys("e+y");
        screen!(name, bench);
    }
}

#[test]
fn what_runs_now_is_what_a_preview_is_about() {
    let mut bench = Bench::new(80, 24);
    bench.keys("el32");
    assert!(bench.text().contains("+ 1 started"));
    // Somebody else has applied the same.
    bench.show(|s| s.matrix = changed(|r| r[0][1] = 32));
    assert!(bench.text().contains("+ 0 started"));
}

#[test]
fn an_answer_about_something_else_is_dropped() {
    let mut bench = Bench::new(80, 24);
    bench.keys("e+");
    let stale = ConsoleEvent::Previewed(
        Box::new(snapshot().setup()),
        Err(Refusal::new(Code::PlanStale, "stale")),
    );
    bench.console.handle(stale);
    assert!(!bench.text().contains("stale"));
    let staged = snapshot().setup().with_matrix(changed(|r| r[0][0] = 32));
    let full = ConsoleEvent::Previewed(
        Box::new(staged),
        Err(Refusal::new(Code::DoesNotFit, "cpu:0 is full")),
    );
    bench.console.handle(full);
    assert!(bench.text().contains("✗ cannot be applied: cpu:0 is full"));
}

#[test]
fn settings_join_what_is_being_edited() {
    let mut bench = Bench::new(80, 24);
    bench.keys("e+p");
    bench.press(KeyCode::Down);
    bench.press(KeyCode::Enter);
    bench.keys("N");
    bench.control('u');
    bench.keys("64");
    bench.press(KeyCode::Enter);
    assert!(bench.text().contains("EDITING · 3 staged"));
    assert!(bench.sent().is_empty());
    bench.keys("ay");
    let wait = Wait::millis(5);
    let matrix = changed(|r| r[0][0] = 32);
    let wanted = setup(|s| {
        s.matrix = matrix;
        s.policy = PolicyKind::OptWait { wait };
        s.segment_size = 64;
    });
    assert_eq!(bench.sent(), [apply(wanted)]);
}

#[test]
fn a_staged_setting_can_be_undone() {
    let mut bench = Bench::new(80, 24);
    bench.keys("eN");
    bench.control('u');
    bench.keys("64");
    bench.press(KeyCode::Enter);
    assert!(bench.console.model().has_staged());
    bench.keys("u");
    assert!(!bench.console.model().has_staged());
}

#[test]
fn rule_weights_and_votes_are_compared_and_applied() {
    let mut bench = Bench::new(80, 24);
    bench.keys("V j");
    bench.control('u');
    bench.keys("2.5j ");
    screen!("combination", bench);
    bench.press(KeyCode::Enter);
    assert!(
        bench
            .text()
            .contains("combination: average → weighted-average")
    );
    assert!(bench.sent().is_empty());
    bench.keys("y");
    let wanted = setup(|s| {
        s.combination.rule = RuleKind::WeightedAverage;
        s.combination.weights[0] = VoteWeight::new(2.5).expect("a weight");
        s.combination.voting[1] = false;
    });
    assert_eq!(bench.sent(), [apply(wanted)]);
}

#[test]
fn temperatures_and_the_rule_of_logits_are_staged_as_the_others() {
    let mut bench = Bench::new(80, 24);
    bench.keys("V   jt");
    bench.control('u');
    bench.keys("2.5");
    screen!("combination_temperature", bench);
    bench.press(KeyCode::Enter);
    let text = bench.text();
    assert!(
        text.contains("combination: average → average-logits"),
        "{text}"
    );
    bench.keys("y");
    let wanted = setup(|s| {
        s.combination.rule = RuleKind::AverageLogits;
        s.combination.temperatures[0] = Temperature::new(2.5).expect("in range");
    });
    assert_eq!(bench.sent(), [apply(wanted)]);
    bench.keys("Vjt");
    bench.control('u');
    bench.keys("0");
    bench.press(KeyCode::Enter);
    assert!(
        bench.text().contains("✗ temperature of"),
        "{}",
        bench.text()
    );
}

#[test]
fn a_weight_of_0_is_no_vote() {
    let mut bench = Bench::new(80, 24);
    bench.keys("Vj");
    bench.control('u');
    bench.keys("0");
    bench.press(KeyCode::Enter);
    bench.keys("y");
    let wanted = setup(|s| s.combination.voting[0] = false);
    assert_eq!(bench.sent(), [apply(wanted)]);
}

#[test]
fn a_combination_that_cannot_be_says_why() {
    let mut bench = Bench::new(40, 12);
    bench.keys("V");
    screen!("combination_40x12", bench);
    for _ in 0..6 {
        bench.keys("j ");
    }
    bench.press(KeyCode::Enter);
    assert!(bench.text().contains("✗ voting: expected at least one"));
    bench.keys(" ");
    bench.control('u');
    bench.press(KeyCode::Enter);
    assert!(bench.text().contains("✗ weight of dense: expected"));
    assert!(bench.sent().is_empty());
}

#[test]
fn the_objective_is_set_and_cleared() {
    let mut bench = Bench::new(80, 24);
    bench.keys("T50");
    bench.press(KeyCode::Tab);
    bench.control('u');
    bench.keys("99.5");
    screen!("target", bench);
    bench.press(KeyCode::Enter);
    let target = Target {
        latency: Duration::from_millis(50),
        share: 0.995,
    };
    bench.show(|s| s.target = Some(target));
    bench.keys("T");
    bench.control('u');
    bench.press(KeyCode::Enter);
    let set = Command::SetTarget;
    assert_eq!(bench.sent(), [set(Some(target)), set(None)]);
}

#[test]
fn what_is_applied_can_be_on_probation() {
    let mut bench = Bench::new(80, 24);
    bench.keys("e+ag");
    screen!("terms", bench);
    bench.control('u');
    bench.keys("30");
    bench.press(KeyCode::Tab);
    bench.control('u');
    bench.press(KeyCode::Enter);
    let terms = Terms {
        lasts: Duration::from_secs(30),
        p99: None,
        failures: Some(0.01),
        accuracy: Some(0.02),
    };
    let Command::Apply(setup, _) = applied(changed(|r| r[0][0] = 32)) else {
        panic!("no such command");
    };
    assert_eq!(bench.sent(), [Command::Apply(setup, Some(terms))]);
    assert!(bench.console.model().edit.is_none());
    // The next time the same terms are offered.
    bench.press(KeyCode::Esc);
    bench.keys("e+ag");
    assert!(bench.text().contains("30  s"), "{}", bench.text());
}

#[test]
fn terms_that_watch_nothing_are_refused() {
    let mut bench = Bench::new(80, 24);
    bench.keys("e+ag");
    for _ in 0..3 {
        bench.press(KeyCode::Tab);
        bench.control('u');
    }
    bench.press(KeyCode::Enter);
    assert!(bench.text().contains("expected at least one limit"));
    // Back to the comparison, then to the matrix.
    bench.press(KeyCode::Esc);
    assert!(bench.text().contains("g probation"));
    assert!(bench.sent().is_empty());
}

#[test]
fn a_probation_is_kept_or_rolled_back() {
    let mut bench = Bench::new(80, 24);
    bench.keys("K");
    assert!(bench.text().contains("no probation is running"));
    bench.show(|s| s.probation = Some(probation()));
    bench.keys("Ky");
    bench.keys("By");
    assert_eq!(
        bench.sent(),
        [Command::EndProbation(true), Command::EndProbation(false)]
    );
}

fn probation() -> Probation {
    Probation {
        terms: Terms {
            lasts: Duration::from_secs(60),
            p99: Some(1.5),
            failures: None,
            accuracy: None,
        },
        since: Duration::from_secs(40),
        counted: Duration::from_secs(2),
        ended: None,
        state: ProbationState::Watching,
        before: Measured::default(),
        after: Measured::default(),
        checks: Vec::new(),
        fallback: snapshot().setup(),
    }
}

fn ran(number: u64, setup: Setup, from: u64, until: Option<u64>, why: &str) -> HistoryEntry {
    HistoryEntry {
        number,
        setup,
        from: Duration::from_secs(from),
        until: until.map(Duration::from_secs),
        why: why.into(),
        did: Measured {
            p90: None,
            answered: 12_000,
            failed: number,
            samples_per_s: 4000.0 + 100.0 * number as f64,
            p50: Some(2100),
            p99: Some(6800 + 1000 * number),
            accuracy: Some(0.97),
        },
    }
}

fn history(shown: &mut Snapshot) {
    let wait = Wait::millis(5);
    let waiting = setup(|s| {
        s.policy = PolicyKind::OptWait { wait };
        s.matrix = better();
    });
    shown.history = vec![
        ran(1, snapshot().setup(), 0, Some(12), "start"),
        ran(2, waiting, 12, Some(30), "applied"),
        ran(
            3,
            snapshot().setup(),
            30,
            None,
            "rolled back: p99 is ×2.4 what it was",
        ),
    ];
}

#[test]
fn what_ran_is_listed_with_how_it_did() {
    let mut bench = Bench::new(80, 24);
    bench.show(history);
    bench.keys("Yj");
    screen!("history", bench);
    // Meaning has a sign; the row is also reversed.
    let buffer = bench.buffer();
    let reversed = |y| buffer[(40, y)].modifier.contains(Modifier::REVERSED);
    assert_eq!((0..24).filter(|y| reversed(*y)).count(), 1);
    let mut small = Bench::new(40, 12);
    small.show(history);
    small.keys("Yj");
    screen!("history_40x12", small);
    let mut plain = Bench::with(80, 24, false, ASCII);
    plain.show(history);
    plain.keys("Yj");
    assert!(plain.text().is_ascii(), "{}", plain.text());
}

#[test]
fn history_says_which_settings_differ() {
    let mut bench = Bench::new(120, 40);
    bench.show(|shown| {
        history(shown);
        let first = &mut shown.history[0].setup;
        first.segment_size = 7;
        first.combination.voting[0] = false;
    });
    bench.keys("Yjj");
    let text = bench.text();
    for part in ["~ mlp no longer votes", "~ segment size: ", " → 7"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

#[test]
fn any_of_what_ran_is_brought_back_by_a_comparison() {
    let mut bench = Bench::new(80, 24);
    bench.show(history);
    bench.keys("Y");
    bench.press(KeyCode::Enter);
    assert!(bench.text().contains("number 3 is the running setup"));
    bench.keys("j");
    bench.press(KeyCode::Enter);
    assert!(bench.text().contains("restore number 2"));
    assert!(bench.sent().is_empty());
    bench.keys("y");
    let wait = Wait::millis(5);
    let back = setup(|s| {
        s.policy = PolicyKind::OptWait { wait };
        s.matrix = better();
    });
    assert_eq!(bench.sent(), [apply(back)]);
}

#[test]
fn history_can_be_looked_at_read_only() {
    let mut bench = Bench::with(80, 24, true, PLAIN);
    bench.show(history);
    bench.keys("Yj");
    bench.press(KeyCode::Enter);
    assert!(bench.text().contains("✗ read-only"));
    bench.press(KeyCode::Esc);
    for key in "VNTOKB".chars() {
        bench.press(KeyCode::Char(key));
        assert!(bench.text().contains("✗ read-only"), "{key}");
        assert!(bench.console.dialogs().is_empty());
    }
    assert!(bench.sent().is_empty());
}

#[test]
fn the_best_so_far_is_taken_while_the_search_runs() {
    let mut bench = Bench::new(80, 24);
    bench.show(|s| s.search = Some(search()));
    assert_eq!(search().state, SearchState::Running);
    bench.keys("by");
    assert_eq!(bench.sent(), [applied(better())]);
}

#[test]
fn comparisons_say_the_same_in_little_room() {
    let mut bench = Bench::new(40, 12);
    bench.keys("e+l8a");
    screen!("compare_40x12", bench);
    let mut plain = Bench::with(80, 24, false, ASCII);
    plain.keys("e+l8a");
    assert!(plain.text().is_ascii(), "{}", plain.text());
}

#[test]
fn a_recorded_load_is_named_by_any_path() {
    let mut bench = Bench::new(80, 24);
    bench.keys("ljjjj");
    bench.keys("jk my.csv");
    assert!(bench.text().contains("● replay"));
    assert!(bench.text().contains("jk my.csv"));
    bench.press(KeyCode::Up);
    assert!(bench.text().contains("● diurnal"));
}

#[test]
fn what_is_staged_is_dropped_where_devices_and_members_are_others() {
    let mut bench = Bench::new(120, 40);
    bench.show(crate::fake::many);
    bench.keys("ejjjj");
    bench.press(KeyCode::Right);
    bench.show(|s| *s = crate::fake::snapshot());
    assert!(bench.console.model().edit.is_none());
    assert!(bench.text().contains("staged changes are dropped"));
    // The cursor is on a device that is there.
    assert_eq!(bench.console.model().cursor.device, DeviceIndex::new(1));
    bench.keys("e+");
}

#[test]
fn where_probation_is_configured_applying_asks_for_its_terms() {
    let mut bench = Bench::new(120, 40);
    let mut settings = Settings::default();
    settings.config.on_probation = true;
    settings.config.terms.lasts = Duration::from_secs(90);
    bench.console.configure(settings);
    bench.keys("e+ay");
    assert!(bench.sent().is_empty());
    assert!(bench.text().contains("apply on probation"));
    bench.press(KeyCode::Enter);
    let sent = bench.sent();
    let Command::Apply(_, Some(terms)) = &sent[0] else {
        panic!("{sent:?}");
    };
    assert_eq!(terms.lasts, Duration::from_secs(90));
}
