//! Faults of now stand first, wherever they are said, and for as long as they last.

use std::time::Duration;

use divisi_console::console::{Colours, Role, Severity, TerminalLook, lint_texts};
use divisi_console::linear::Watcher;
use divisi_session::{Lost, LostRequests, Snapshot};

use crate::fake::{Bench, PLAIN, snapshot};

/// Half of all requests are turned away.
fn refusing(shown: &mut Snapshot) {
    shown.counters.refused = 96_000;
    shown.lately = LostRequests {
        over: Duration::from_secs(5),
        refused: Lost {
            requests: 1_234,
            why: Some("the pool is full: 0 slots free, 32 needed".into()),
        },
        failed: Lost::default(),
    };
}

fn failing(shown: &mut Snapshot) {
    shown.counters.failed = 40;
    shown.lately = LostRequests {
        over: Duration::from_secs(5),
        refused: Lost::default(),
        failed: Lost {
            requests: 40,
            why: Some("the deadline passed".into()),
        },
    };
}

/// The role of what stands at `text`, by its colour.
fn looks_bad(bench: &Bench, text: &str) -> bool {
    let buffer = bench.buffer();
    let width = usize::from(bench.size.0);
    let bad = bench
        .console
        .model()
        .settings
        .styles
        .role_style(Role::Bad)
        .fg;
    buffer.content.chunks(width).any(|row| {
        let line: String = row.iter().map(|c| c.symbol()).collect();
        let at = line.find(text).map(|at| line[..at].chars().count());
        at.is_some_and(|at| Some(row[at].fg) == bad)
    })
}

#[test]
fn refusing_takes_the_place_of_serving_and_stands_first() {
    let look = TerminalLook {
        colours: Colours::True,
        ascii: false,
    };
    for (width, height) in [(80, 24), (120, 40), (40, 12)] {
        let mut bench = Bench::with(width, height, false, look);
        assert!(bench.plain().contains("● serving"));
        bench.show(refusing);
        let text = bench.plain();
        assert!(!text.contains("● serving"), "{text}");
        assert!(looks_bad(&bench, "✗ refusing 247/s"), "{text}");
    }
    let mut bench = Bench::with(120, 40, false, look);
    bench.show(refusing);
    let text = bench.plain();
    let first = "✗ requests refused: the pool is full: 0 slots free, 32 needed";
    let at = text.find(first).unwrap_or_else(|| panic!("{text}"));
    let idle = text.find("\n ! ").unwrap_or(usize::MAX);
    assert!(at < idle, "{text}");
    assert!(looks_bad(&bench, "refused 96"), "{text}");
    let second = text.lines().nth(1).unwrap();
    assert!(second.trim_start().starts_with("refused 96"), "{second}");
    screen!("refusing_120x40", bench);
}

#[test]
fn what_was_refused_long_ago_is_no_fault() {
    let mut bench = Bench::new(120, 40);
    bench.show(|s| s.counters.refused = 96_000);
    let text = bench.plain();
    assert!(
        text.contains("● serving") && text.contains("refused 96k"),
        "{text}"
    );
    assert!(!text.contains("✗ requests refused"), "{text}");
}

#[test]
fn failing_is_a_fault_as_well() {
    let mut bench = Bench::new(120, 40);
    bench.show(failing);
    let text = bench.plain();
    assert!(text.contains("✗ failing 8/s"), "{text}");
    assert!(text.contains("✗ requests failed: the deadline passed; last of 40 in 5 s"));
}

#[test]
fn each_severity_has_a_sign_of_its_own_in_ascii_too() {
    let all = [Severity::Information, Severity::Warning, Severity::Fault];
    assert!(all.is_sorted());
    for ascii in [false, true] {
        let look = TerminalLook { ascii, ..PLAIN };
        let mut bench = Bench::with(120, 40, false, look);
        bench.show(refusing);
        let sign = if ascii { "x" } else { "✗" };
        assert!(bench.plain().contains(&format!("{sign} refusing 247/s")));
        assert_eq!(bench.plain().is_ascii(), ascii);
    }
}

#[test]
fn lines_say_it_once_as_a_fault_and_when_it_is_over() {
    let mut watcher = Watcher::new(Duration::from_secs(3600));
    let mut shown = snapshot();
    watcher.news(&shown);
    refusing(&mut shown);
    let lines = watcher.news(&shown).join("\n");
    let said = "digits: fault: refusing requests: the pool is full: 0 slots free";
    assert!(lines.contains(said), "{lines}");
    assert!(
        lines.contains("fault: requests refused: the pool is full"),
        "{lines}"
    );
    shown.lately.refused.requests += 17;
    assert_eq!(watcher.news(&shown), Vec::<String>::new());
    shown.lately = LostRequests::default();
    let lines = watcher.news(&shown).join("\n");
    assert!(lines.contains("digits: serving"), "{lines}");
    assert!(lines.contains("resolved: requests refused"), "{lines}");
}

#[test]
fn the_reason_of_a_refusal_is_not_cut_on_a_small_screen() {
    let mut bench = Bench::new(80, 24);
    bench.show(refusing);
    let text = bench.plain();
    assert!(
        text.contains("requests refused: the pool is full"),
        "{text}"
    );
}

#[test]
fn what_goes_as_it_should_is_no_fault() {
    let look = TerminalLook {
        colours: Colours::True,
        ascii: false,
    };
    let mut bench = Bench::with(120, 40, false, look);
    bench.show(crate::rich::recorded);
    assert!(!looks_bad(&bench, "● REC"), "a recording that goes on");
    let mut shown = snapshot();
    for device in &mut shown.devices {
        device.busy = 0.13;
    }
    shown.members.iter_mut().for_each(|m| m.queued = 0);
    let idle = lint_texts(&shown).into_iter();
    let idle: Vec<_> = idle
        .filter(|l| l.1.contains("all devices idle at least 87 %"))
        .collect();
    assert_eq!(idle.len(), 1);
    assert_eq!(idle[0].0, Severity::Information);
}
