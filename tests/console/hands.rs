//! The mouse on the footer, the row of folded panels, dialogs and the seek bar.

use std::path::PathBuf;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use divisi_console::console::{ConsoleEvent, Effect, Panel};
use divisi_session::{Command, Play, Playback};

use crate::fake::Bench;

fn mouse(bench: &mut Bench, kind: MouseEventKind, column: u16, row: u16) -> Vec<Effect> {
    bench.console.mark_seen();
    bench.console.handle(ConsoleEvent::Mouse(MouseEvent {
        kind,
        column,
        row,
        modifiers: KeyModifiers::NONE,
    }))
}

/// Clicks the first place of a text.
fn click(bench: &mut Bench, text: &str) -> Vec<Effect> {
    let screen = bench.text();
    let found = screen.lines().enumerate();
    let mut found = found.filter_map(|(y, line)| Some((line.find(text)?, y, line)));
    let (at, y, line) = found
        .next()
        .unwrap_or_else(|| panic!("{text} in\n{screen}"));
    let x = line[..at].chars().count() as u16;
    let kind = MouseEventKind::Down(MouseButton::Left);
    mouse(bench, kind, x, y as u16)
}

fn playing(bench: &mut Bench) {
    bench.show(|shown| {
        shown.playback = Some(Playback {
            path: PathBuf::from("evening.divisi"),
            position: Duration::from_secs(30),
            length: Duration::from_secs(60),
            speed: 1.0,
            paused: false,
            epoch: 0,
        });
    });
}

#[test]
fn a_click_on_a_key_of_the_footer_runs_its_command() {
    let mut bench = Bench::new(120, 40);
    click(&mut bench, "e edit");
    assert!(bench.text().contains("EDITING"));
    click(&mut bench, "Esc leave");
    assert!(!bench.text().contains("EDITING"));
}

#[test]
fn a_click_between_two_keys_does_nothing() {
    let mut bench = Bench::new(120, 40);
    let before = bench.text();
    click(&mut bench, "  e edit");
    assert_eq!(bench.text(), before);
}

#[test]
fn a_click_on_a_message_hides_it() {
    let mut bench = Bench::new(120, 40);
    bench.keys("x");
    assert!(bench.text().contains("no search is running"));
    click(&mut bench, "no search is running");
    assert!(bench.text().contains("q quit"));
    assert!(bench.sent().is_empty());
}

#[test]
fn a_click_on_a_folded_panel_opens_it() {
    let mut bench = Bench::new(120, 40);
    click(&mut bench, "2 search (none)");
    assert_eq!(bench.console.model().focus, Panel::Search);
    assert!(bench.text().contains("no search yet"));
}

#[test]
fn the_wheel_scrolls_a_dialog_and_answers_no_question() {
    let mut bench = Bench::new(80, 24);
    bench.keys("?");
    let before = bench.text();
    mouse(&mut bench, MouseEventKind::ScrollDown, 40, 12);
    assert_ne!(bench.text(), before);
    bench.press(KeyCode::Esc);
    bench.keys("u");
    for kind in [MouseEventKind::ScrollDown, MouseEventKind::ScrollUp] {
        mouse(&mut bench, kind, 40, 12);
    }
    assert!(bench.sent().is_empty());
}

#[test]
fn a_click_on_the_seek_bar_moves_the_recording() {
    let mut bench = Bench::new(120, 40);
    playing(&mut bench);
    assert!(bench.text().contains("━●─"), "{}", bench.text());
    let row = bench.text().lines().position(|line| line.contains("━●─"));
    let kind = MouseEventKind::Down(MouseButton::Left);
    mouse(&mut bench, kind, 117, row.expect("the bar") as u16);
    let end = Command::Play(Play::Seek(Duration::from_secs(60)));
    assert_eq!(bench.sent(), [end]);
}

#[test]
fn the_help_has_sections_and_a_legend_of_the_members() {
    let mut bench = Bench::new(120, 40);
    bench.keys("?");
    screen!("help_120x40", bench);
    for text in ["signs and colours", "everywhere", "m mlp", "R res-m"] {
        assert!(bench.text().contains(text), "{text} in\n{}", bench.text());
    }
}
