//! What-if questions: a table on a key, the effects of a change before it is made, and lines.

use std::sync::atomic::Ordering;

use crossterm::event::KeyCode;
use divisi_console::config::Config;
use divisi_console::linear::LineDesk;
use divisi_session::Command;

use crate::fake::{Bench, FakeSession, PLAIN, better};

fn computing(bench: &Bench, computing: bool) {
    bench.desk.computing.store(computing, Ordering::SeqCst);
}

#[test]
fn a_key_asks_what_if_about_the_place_of_the_cursor() {
    let mut bench = Bench::new(80, 24);
    bench.keys("w");
    screen!("what_if_table_80x24", bench);
    let mut wide = Bench::new(120, 40);
    wide.keys("jw");
    assert!(wide.text().contains("lose cpu:1"), "{}", wide.text());
    screen!("what_if_table_120x40", wide);
}

#[test]
fn answers_arrive_while_the_table_is_open() {
    let mut bench = Bench::new(80, 24);
    computing(&bench, true);
    bench.keys("w");
    assert!(bench.text().contains("computing …"), "{}", bench.text());
    computing(&bench, false);
    assert!(bench.show(|_| {}), "the picture differs");
    assert!(!bench.text().contains("computing …"), "{}", bench.text());
}

#[test]
fn a_loss_beyond_the_capacity_says_when_requests_are_refused() {
    let mut bench = Bench::new(120, 40);
    bench.keys("w");
    let text = bench.text();
    assert!(text.contains("queue +120/s"), "{text}");
    assert!(
        text.contains("after 2 min 16 s the queue is full"),
        "{text}"
    );
}

#[test]
fn an_unknown_accuracy_names_the_command_that_measures_it() {
    let mut bench = Bench::new(120, 40);
    bench.keys("wj");
    let text = bench.text();
    assert!(
        text.contains("divisi accuracy digits --precisions int8"),
        "{text}"
    );
}

#[test]
fn arrows_change_the_subject_of_a_row() {
    let mut bench = Bench::new(80, 24);
    bench.keys("w");
    bench.press(KeyCode::Right);
    assert!(bench.text().contains("lose cpu:1"));
    bench.keys("jjj");
    assert!(bench.text().contains("rate ×2"));
    bench.press(KeyCode::Right);
    assert!(bench.text().contains("rate ×3"), "{}", bench.text());
    bench.keys("jj");
    bench.press(KeyCode::Left);
    assert!(bench.text().contains("without dense"), "{}", bench.text());
}

#[test]
fn enter_stages_the_setup_and_applies_nothing() {
    let mut bench = Bench::new(80, 24);
    bench.keys("w");
    bench.press(KeyCode::Enter);
    let edit = bench.console.model().edit.as_ref().expect("it is staged");
    assert_eq!(*edit.staged(), better());
    assert!(bench.sent().is_empty());
}

#[test]
fn a_case_without_a_setup_stages_nothing() {
    let mut bench = Bench::new(80, 24);
    bench.keys("wjjj");
    bench.press(KeyCode::Enter);
    assert!(bench.console.model().edit.is_none());
    assert!(bench.text().contains("no setup to stage"));
}

#[test]
fn escape_leaves_nothing_behind() {
    let mut bench = Bench::new(80, 24);
    let before = bench.text();
    bench.keys("w");
    bench.press(KeyCode::Esc);
    assert_eq!(bench.text(), before);
    assert!(bench.console.model().edit.is_none());
    assert!(bench.sent().is_empty());
}

#[test]
fn a_read_only_console_asks_and_stages_nothing() {
    let mut bench = Bench::with(80, 24, true, PLAIN);
    bench.keys("w");
    assert!(bench.text().contains("what if"));
    bench.press(KeyCode::Enter);
    assert!(bench.console.model().edit.is_none());
    assert!(bench.text().contains("read-only"));
}

#[test]
fn undo_shows_its_effects_and_another_key_confirms() {
    let mut bench = Bench::new(80, 24);
    bench.keys("u");
    screen!("undo_80x24", bench);
    bench.keys("u");
    assert!(bench.sent().is_empty());
    bench.keys("y");
    assert_eq!(bench.sent(), [Command::Undo]);
}

#[test]
fn undo_needs_no_prediction() {
    let mut bench = Bench::new(80, 24);
    computing(&bench, true);
    bench.keys("uy");
    assert_eq!(bench.sent(), [Command::Undo]);
}

#[test]
fn unchanged_workers_and_memory_are_left_out() {
    let mut bench = Bench::new(80, 24);
    bench.keys("e+a");
    let text = bench.text();
    assert!(text.contains("= 5 workers unchanged"), "{text}");
    assert!(!text.contains("cpu:1         640 MiB"), "{text}");
    assert!(text.contains("cpu:0      busy  86% →"), "{text}");
}

#[test]
fn a_line_asks_and_the_answer_follows() {
    let bench = Bench::new(80, 24);
    computing(&bench, true);
    let mut session = FakeSession::at(bench.desk.clone());
    let terms = Config::default().terms;
    let mut desk = LineDesk::new(true, terms);
    let said = desk.line("what-if lose cpu:1", &mut session).lines;
    assert_eq!(said, ["computing"]);
    assert!(desk.answers(&mut session).is_empty());
    computing(&bench, false);
    let said = desk.answers(&mut session).join("\n");
    assert!(
        said.contains("samples/s at capacity: 4 812 → 680"),
        "{said}"
    );
    assert!(desk.answers(&mut session).is_empty());
}

#[test]
fn a_line_with_wrong_words_says_what_is_expected() {
    let bench = Bench::new(80, 24);
    let mut session = FakeSession::at(bench.desk.clone());
    let mut desk = LineDesk::new(true, Config::default().terms);
    let mut say = |line: &str| desk.line(line, &mut session).lines.join("\n");
    assert!(say("what-if").starts_with("no: expected: what-if lose DEVICE"));
    assert!(say("what-if lose cpu:9").contains("no device `cpu:9`"));
    assert!(say("what-if rate 0").contains("expected a factor"));
    assert!(say("what-if all int9").contains("int9"));
}
