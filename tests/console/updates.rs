//! Keys to commands, and what the model makes of news.

use std::time::Duration;

use crossterm::event::{KeyCode, MouseButton, MouseEvent, MouseEventKind};
use divisi_console::console::Panel;
use divisi_console::console::{Colours, ConsoleEvent, Effect, TerminalLook, colours};
use divisi_engine::search::{Bounds, EvaluatorKind, Goal, Objective};
use divisi_model::allocation::Cell;
use divisi_model::ensemble::{BatchSize, PolicyKind, Wait};
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_session::{Command, LoadPattern, SearchKind, SearchOrder, SearchState, Setup};
use ratatui::style::{Color, Modifier};

use crate::fake::{Bench, PLAIN, applied, better, matrix, search, snapshot};

const FIRST: Cell = Cell {
    device: DeviceIndex::new(0),
    member: MemberIndex::new(0),
};

fn with(cell: Cell, size: u32) -> divisi_model::allocation::Matrix {
    matrix().with_entry(cell, BatchSize::new(size)).unwrap()
}

#[test]
fn an_invalid_edit_is_not_entered() {
    let mut bench = Bench::new(80, 24);
    bench.keys("e0");
    assert_eq!(bench.console.model().matrix(), &matrix());
    assert!(bench.text().contains("`mlp` has no worker"));
    bench.keys("7");
    assert_eq!(bench.console.model().matrix(), &matrix());
    assert!(bench.text().contains("7 is not allowed"));
    bench.keys("j");
    assert!(!bench.text().contains("not allowed"));
}

#[test]
fn digits_make_one_change() {
    let mut bench = Bench::new(80, 24);
    bench.keys("e128");
    assert_eq!(bench.console.model().matrix(), &with(FIRST, 128));
    bench.keys("u");
    assert_eq!(bench.console.model().matrix(), &matrix());
}

#[test]
fn plus_and_minus_cycle_through_the_sizes() {
    let mut bench = Bench::new(80, 24);
    bench.keys("e+");
    assert_eq!(bench.console.model().matrix(), &with(FIRST, 32));
    bench.keys("--");
    assert_eq!(bench.console.model().matrix(), &with(FIRST, 8));
}

#[test]
fn undo_and_redo_stay_within_the_edit() {
    let mut bench = Bench::new(80, 24);
    bench.keys("e+u");
    assert_eq!(bench.console.model().matrix(), &matrix());
    bench.keys("r");
    assert_eq!(bench.console.model().matrix(), &with(FIRST, 32));
    assert!(bench.sent().is_empty());
}

#[test]
fn applying_needs_another_key() {
    let mut bench = Bench::new(80, 24);
    bench.keys("e+aaa");
    bench.press(KeyCode::Enter);
    assert!(bench.sent().is_empty());
    bench.keys("y");
    assert_eq!(bench.sent(), [applied(with(FIRST, 32))]);
    assert!(bench.console.model().edit.is_none());
}

#[test]
fn escape_goes_back_one_level() {
    let mut bench = Bench::new(80, 24);
    bench.keys("e+a");
    bench.press(KeyCode::Esc);
    assert!(bench.console.dialogs().is_empty());
    assert!(bench.console.model().edit.is_some());
    bench.press(KeyCode::Esc);
    bench.keys("y");
    assert!(bench.console.model().edit.is_none());
    assert!(bench.sent().is_empty());
}

#[test]
fn a_refused_change_stays_staged_and_says_why() {
    let mut bench = Bench::new(80, 24);
    *bench.desk.refusal.lock().unwrap() = Some("a reload is running".into());
    bench.keys("e+ay");
    assert!(bench.text().contains("✗ a reload is running"));
    assert!(bench.console.model().edit.is_some());
}

#[test]
fn undo_of_what_runs_is_asked_first() {
    let mut bench = Bench::new(80, 24);
    bench.keys("u");
    assert!(bench.sent().is_empty());
    bench.keys("y");
    assert_eq!(bench.sent(), [Command::Undo]);
    bench.press(KeyCode::Esc);
    bench.control('r');
    assert!(bench.text().contains("nothing to redo"));
}

#[test]
fn read_only_refuses_every_change() {
    let mut bench = Bench::with(80, 24, true, PLAIN);
    bench.show(|s| s.search = Some(search()));
    bench.press(KeyCode::Char('2'));
    for key in "euUslpxb c".chars() {
        bench.press(KeyCode::Char(key));
        assert!(
            bench.text().contains("✗ read-only"),
            "{key}: {}",
            bench.text()
        );
        assert!(bench.console.dialogs().is_empty());
    }
    assert!(bench.sent().is_empty());
}

#[test]
fn load_and_policy_are_chosen() {
    let mut bench = Bench::new(80, 24);
    bench.keys("l");
    bench.press(KeyCode::Backspace);
    bench.keys("5");
    bench.press(KeyCode::Enter);
    bench.keys("p");
    bench.press(KeyCode::Down);
    bench.press(KeyCode::Backspace);
    bench.keys("30");
    bench.press(KeyCode::Enter);
    assert!(bench.text().contains("~ policy: no-wait → opt-wait:30ms"));
    bench.keys("y");
    let wait = Wait::millis(30);
    assert_eq!(
        bench.sent(),
        [
            Command::StartLoad(LoadPattern::poisson(805.0)),
            policy(PolicyKind::OptWait { wait }),
        ]
    );
}

/// Applies the policy and changes nothing else.
fn policy(policy: PolicyKind) -> Command {
    let setup = Setup {
        policy,
        ..snapshot().setup()
    };
    Command::Apply(Box::new(setup), None)
}

#[test]
fn a_wrong_number_is_not_sent() {
    let mut bench = Bench::new(80, 24);
    bench.keys("l");
    bench.control('u');
    bench.press(KeyCode::Enter);
    assert!(bench.sent().is_empty());
    assert!(bench.text().contains(": expected "));
}

#[test]
fn a_search_is_started_paused_cancelled_and_used() {
    let mut bench = Bench::new(80, 24);
    bench.keys("s");
    bench.press(KeyCode::Enter);
    // As it is offered: the quick way.
    let order = SearchOrder {
        bounds: Bounds {
            max_neighs: usize::MAX,
            ..Bounds::default()
        },
        algorithm: SearchKind::Local,
        evaluator: EvaluatorKind::Model,
        ..SearchOrder::default()
    };
    assert_eq!(bench.console.model().focus, Panel::Search);
    bench.show(|s| s.search = Some(search()));
    bench.keys(" ");
    bench.show(|s| s.search.as_mut().unwrap().state = SearchState::Paused);
    bench.keys(" xb");
    assert!(bench.text().contains("+ start"));
    bench.keys("y");
    assert_eq!(
        bench.sent(),
        [
            Command::StartSearch(order),
            Command::PauseSearch,
            Command::ResumeSearch,
            Command::CancelSearch,
            // The matrix that was compared.
            applied(better()),
        ]
    );
    bench.show(|s| s.matrix = better());
}

#[test]
fn a_search_can_have_a_goal_and_another_evaluator() {
    let mut bench = Bench::new(80, 24);
    // Greedy by the model; the goal's fields come after greedy's five.
    bench.keys("sj ");
    for text in ["", "", "", "", " ", "50", "120", "512"] {
        bench.press(KeyCode::Tab);
        bench.keys(text);
    }
    bench.press(KeyCode::Enter);
    let goal = Goal {
        objective: Objective::Latency,
        p99: Some(Duration::from_millis(50)),
        rate: Some(120.0),
        spare_memory: 512 << 20,
    };
    let order = SearchOrder {
        algorithm: SearchKind::Greedy,
        evaluator: EvaluatorKind::Model,
        goal,
        ..SearchOrder::default()
    };
    assert_eq!(bench.sent(), [Command::StartSearch(order)]);
}

#[test]
fn a_goal_that_needs_the_model_says_so() {
    let mut bench = Bench::new(80, 24);
    bench.keys("sj");
    for text in ["", "", "", "", " "] {
        bench.press(KeyCode::Tab);
        bench.keys(text);
    }
    bench.press(KeyCode::Enter);
    assert!(
        bench
            .text()
            .contains("requires evaluator model, found bench")
    );
    assert!(bench.sent().is_empty());
}

#[test]
fn what_a_search_could_not_give_is_said() {
    let mut bench = Bench::new(160, 50);
    let mut found = search();
    found.goal = Some("latency, p99 ≤ 50 ms".into());
    found.shortfall = Some("p99 is 71 ms at best".into());
    bench.show(|s| s.search = Some(found));
    let text = bench.text();
    assert!(text.contains("goal latency, p99 ≤ 50 ms"));
    assert!(text.contains("✗ not met: p99 is 71 ms at best"));
}

#[test]
fn a_viewer_is_asked_only_for_what_is_staged() {
    let mut bench = Bench::new(80, 24);
    bench.show(|s| s.audience.attached = true);
    assert_eq!(bench.press(KeyCode::Char('q')), [Effect::Quit]);
    bench.keys("?");
    assert_eq!(bench.control('c'), [Effect::Quit]);
    bench.press(KeyCode::Esc);
    bench.keys("e+");
    for _ in 0..3 {
        assert!(bench.press(KeyCode::Char('q')).is_empty());
        assert!(bench.control('c').is_empty());
    }
    bench.control('c');
    assert_eq!(bench.press(KeyCode::Char('y')), [Effect::Quit]);
}

#[test]
fn the_palette_runs_what_was_typed() {
    let mut bench = Bench::new(80, 24);
    bench.keys(":freeze");
    bench.press(KeyCode::Enter);
    assert!(bench.console.model().streams.frozen.is_some());
    assert!(bench.text().contains("FROZEN"));
}

#[test]
fn a_frozen_picture_stays() {
    let mut bench = Bench::new(120, 40);
    bench.keys("f");
    let before = streams(&bench);
    bench.show(|s| s.now += Duration::from_secs(3));
    assert_eq!(streams(&bench), before);
}

fn streams(bench: &Bench) -> Vec<String> {
    let text = bench.text();
    text.lines()
        .filter(|l| l.contains("cpu:"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn nothing_new_is_nothing_to_draw() {
    let mut bench = Bench::new(80, 24);
    // Spans move on while they are on the screen.
    assert!(bench.show(|s| s.now += Duration::from_millis(50)));
    bench.show(|s| s.now += Duration::from_secs(60));
    assert!(!bench.show(|s| s.now += Duration::from_secs(1)));
    assert!(bench.show(|s| s.counters.refused += 1));
}

#[test]
fn no_color_drops_colours_and_keeps_the_rest() {
    assert_eq!(colours("1", "truecolor", "xterm-256color"), Colours::None);
    assert_eq!(colours("", "truecolor", "xterm"), Colours::True);
    assert_eq!(colours("", "", "xterm-256color"), Colours::Indexed);
    assert_eq!(colours("", "", "xterm"), Colours::Sixteen);
    assert_eq!(colours("", "", "dumb"), Colours::None);
    let plain = Bench::new(120, 40).buffer();
    assert!(
        plain
            .content
            .iter()
            .all(|c| c.fg == Color::Reset && c.bg == Color::Reset)
    );
    assert!(
        plain
            .content
            .iter()
            .any(|c| c.modifier.contains(Modifier::BOLD))
    );
    let look = TerminalLook {
        colours: Colours::True,
        ascii: false,
    };
    let colourful = Bench::with(120, 40, false, look).buffer();
    assert!(colourful.content.iter().any(|c| c.fg != Color::Reset));
}

#[test]
fn lost_spans_and_failures_are_in_the_header() {
    let mut bench = Bench::new(120, 40);
    bench.show(|s| s.counters.failed = 7);
    assert!(bench.text().contains("failed 7"));
    assert_eq!(snapshot().counters.failed, 0);
}

#[test]
fn the_mouse_focuses_and_scrolls() {
    let mut bench = Bench::new(120, 40);
    assert_eq!(bench.press(KeyCode::Char('m')), [Effect::Mouse(true)]);
    let mouse = |kind, column, row| {
        let modifiers = crossterm::event::KeyModifiers::NONE;
        ConsoleEvent::Mouse(MouseEvent {
            kind,
            column,
            row,
            modifiers,
        })
    };
    bench
        .console
        .handle(mouse(MouseEventKind::Down(MouseButton::Left), 60, 20));
    assert_eq!(bench.console.model().focus, Panel::Streams);
    bench
        .console
        .handle(mouse(MouseEventKind::ScrollDown, 60, 20));
    assert_eq!(bench.console.model().streams.scroll, 1);
    bench
        .console
        .handle(mouse(MouseEventKind::ScrollDown, 500, 500));
}

#[test]
fn looking_back_in_time_holds_the_picture() {
    let mut bench = Bench::new(120, 40);
    bench.keys("3");
    bench.press(KeyCode::Left);
    assert!(bench.text().contains("at 41.875 s"));
    bench.keys("+");
    assert!(bench.text().contains("streams · 200 ms · FROZEN"));
    bench.press(KeyCode::Esc);
    assert!(!bench.text().contains("FROZEN"));
}

#[test]
fn why_something_was_refused_is_said_whole_on_a_small_screen() {
    let mut bench = Bench::new(80, 24);
    bench.show(|s| s.audience.may_stay = true);
    let why = "/run/user/1000/divisi: expected a folder of your own that nobody else can enter; \
               others can enter it (chmod 700 it)";
    *bench.desk.refusal.lock().unwrap() = Some(why.into());
    bench.keys("qb");
    let text = bench.text();
    assert!(text.contains("(chmod 700 it)"), "{text}");
    bench.keys("1");
    let text = bench.text();
    assert!(!text.contains("expected a folder"), "{text}");
}
