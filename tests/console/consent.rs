//! Whatever ends or changes something is asked first, and the key that asks is not the
//! key that answers.

use std::collections::BTreeSet;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use divisi_console::commands::{BINDINGS, Binding, Key, Keymap, Scope};
use divisi_console::config::{HangUp, Settings};
use divisi_console::console::{ConsoleEvent, Effect};
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_session::{Command, Proposal};

use crate::fake::{Bench, better, search};

/// A console in which whatever opens a dialog can be done.
fn rich() -> Bench {
    let mut bench = Bench::new(160, 50);
    bench.show(|s| {
        s.can_undo = true;
        s.can_redo = true;
        s.audience.may_stay = true;
        s.search = Some(search());
        s.devices
            .iter_mut()
            .for_each(|d| d.kind = "simulated".into());
        s.proposal = Some(Proposal {
            cell: divisi_model::allocation::Cell {
                device: DeviceIndex::new(0),
                member: MemberIndex::new(0),
            },
            slowdown: 2.0,
            matrix: better(),
        });
        crate::rich::on_probation(s);
    });
    bench
}

/// `entry` has `key`, and nothing else has it.
fn keys(entry: usize, key: Key) -> Keymap {
    let without = |keys: Keymap, at: usize| {
        let left = keys.keys_for(&BINDINGS[at]).iter().filter(|k| **k != key);
        let left = left.copied().collect();
        keys.with(at, left)
    };
    let keys = (0..BINDINGS.len()).fold(Keymap::default(), without);
    keys.with(entry, vec![key])
}

fn key(code: KeyCode) -> Key {
    Key::from_event(&KeyEvent::new(code, KeyModifiers::NONE))
}

/// Its own keys and all that answer some dialog.
fn tried(entry: &Binding) -> Vec<Key> {
    let answers = ['y', 's', 'b', 'g', 'n', ' '].map(|c| key(KeyCode::Char(c)));
    let others = [key(KeyCode::Enter), key(KeyCode::Tab)];
    entry
        .keys
        .iter()
        .copied()
        .chain(answers)
        .chain(others)
        .collect()
}

/// The bench where the entry can be reached.
fn where_reached(entry: &Binding) -> Bench {
    let mut bench = rich();
    match entry.scope {
        Scope::In(panel) => bench.keys(&(panel.index() + 1).to_string()),
        Scope::Edit => bench.keys("e+"),
        _ => {}
    }
    bench
}

fn harmless(effects: &[Effect]) -> bool {
    let harms = |e: &Effect| matches!(e, Effect::Quit | Effect::Write { .. });
    !effects.iter().any(harms)
}

/// The kind of the dialog on top.
fn top(bench: &Bench) -> Option<String> {
    let dialog = format!("{:?}", bench.console.dialogs().last()?);
    dialog.split(['(', ' ']).next().map(str::to_owned)
}

#[test]
fn no_key_answers_the_dialog_that_it_opened() {
    let mut kinds = BTreeSet::new();
    for (at, entry) in BINDINGS.iter().enumerate() {
        for key in tried(entry) {
            let mut bench = where_reached(entry);
            let mut settings = Settings::default();
            settings.keys = keys(at, key);
            bench.console.configure(settings);
            bench.key(key.event());
            let Some(kind) = top(&bench) else {
                continue;
            };
            kinds.insert(kind);
            let sent = bench.sent();
            for _ in 0..5 {
                let effects = bench.key(key.event());
                let told = (entry.name(), key.label(), bench.text());
                assert!(harmless(&effects), "{effects:?}: {told:#?}");
                assert_eq!(bench.sent(), sent, "{told:#?}");
            }
        }
    }
    let all = [
        "Compare", "Confirm", "Form", "Help", "History", "Leave", "Palette", "Panels", "Picker",
        "Themes", "Voters", "WhatIf",
    ];
    assert_eq!(kinds, all.map(str::to_owned).into());
}

#[test]
fn a_form_from_the_palette_is_not_answered_by_the_same_enter() {
    let mut bench = rich();
    bench.keys(":change the load");
    bench.press(KeyCode::Enter);
    assert_eq!(top(&bench).as_deref(), Some("Form"));
    bench.press(KeyCode::Enter);
    assert!(
        bench.text().contains("Enter opened this"),
        "{}",
        bench.text()
    );
    assert!(bench.sent().is_empty());
    bench.press(KeyCode::Down);
    bench.press(KeyCode::Enter);
    assert_eq!(bench.sent().len(), 1);
}

#[test]
fn what_comes_before_a_question_is_seen_does_not_answer_it() {
    let mut bench = rich();
    let code = |c| {
        if c == '\n' {
            KeyCode::Enter
        } else {
            KeyCode::Char(c)
        }
    };
    let key = |c| ConsoleEvent::Key(KeyEvent::new(code(c), KeyModifiers::NONE));
    for question in ["qs", "qb", "uy", "Ky", "by", ":quit\ns"] {
        bench.console.mark_seen();
        for c in question.chars() {
            assert!(harmless(&bench.console.handle(key(c))), "{question}");
        }
        assert!(bench.sent().is_empty(), "{question}");
        let said = "key pressed before the question appeared";
        assert!(bench.text().contains(said), "{}", bench.text());
        for _ in 0..3 {
            bench.press(KeyCode::Esc);
        }
    }
    bench.keys("q");
    assert_eq!(bench.press(KeyCode::Char('s')), [Effect::Quit]);
}

#[test]
fn whoever_serves_is_asked_whatever_lies_on_top() {
    let mut bench = rich();
    for below in ["", "?", ":", "l", "u", "O", "e+q"] {
        bench.keys(below);
        for _ in 0..3 {
            assert!(bench.control('c').is_empty(), "{below}");
        }
        assert_eq!(top(&bench).as_deref(), Some("Leave"), "{below}");
        assert!(bench.text().contains("Ctrl-C does not answer: s quits"));
        for _ in 0..4 {
            bench.press(KeyCode::Esc);
        }
    }
    bench.press(KeyCode::Esc);
    bench.keys("q");
    assert!(
        bench.text().contains("Staged changes are not applied"),
        "{}",
        bench.text()
    );
    bench.keys("b");
    assert_eq!(bench.sent(), [Command::KeepServing]);
}

#[test]
fn who_cannot_hand_the_engine_over_is_asked_as_well() {
    let mut bench = Bench::with(80, 24, true, crate::fake::PLAIN);
    assert!(bench.press(KeyCode::Char('q')).is_empty());
    assert!(bench.text().contains("Quit and stop serving?"));
    assert!(!bench.text().contains("background"));
    assert!(bench.press(KeyCode::Char('b')).is_empty());
    assert!(bench.sent().is_empty());
    assert_eq!(bench.press(KeyCode::Char('s')), [Effect::Quit]);
}

#[test]
fn the_question_is_there_where_there_is_no_room_for_a_dialog() {
    let mut bench = Bench::new(10, 5);
    assert!(bench.press(KeyCode::Char('q')).is_empty());
    let words: Vec<String> = bench.text().split_whitespace().map(str::to_owned).collect();
    assert_eq!(words.join(" "), "Leave? s stop, Esc stay.");
    assert_eq!(bench.press(KeyCode::Char('s')), [Effect::Quit]);
}

/// Returns what becomes of the engine when the terminal goes away.
fn hung_up(option: HangUp, attached: bool) -> (Vec<Effect>, Vec<Command>) {
    let mut bench = rich();
    bench.show(|s| s.audience.attached = attached);
    let mut settings = Settings::default();
    settings.config.hang_up = option;
    bench.console.configure(settings);
    (bench.console.handle(ConsoleEvent::HungUp), bench.sent())
}

#[test]
fn the_screen_says_what_the_engine_does_if_the_terminal_closes() {
    let mut bench = Bench::with(160, 50, false, crate::fake::PLAIN);
    bench.show(|s| s.audience.may_stay = true);
    let says = |bench: &Bench| {
        let text = bench.text();
        let words: Vec<&str> = text.split_whitespace().collect();
        let text = words.join(" ");
        (
            text.contains("keeps serving"),
            text.contains("stops serving"),
        )
    };
    assert_eq!(says(&bench), (true, false), "{}", bench.text());
    bench.keys("?");
    assert!(says(&bench).0);
    let mut settings = Settings::default();
    settings.config.hang_up = HangUp::Stop;
    bench.console.configure(settings);
    assert_eq!(says(&bench), (false, true), "{}", bench.text());
    // What ends is this console alone.
    bench.show(|s| s.audience.attached = true);
    assert_eq!(says(&bench), (false, false), "{}", bench.text());
}

#[test]
fn a_terminal_that_goes_away_leaves_what_the_options_say() {
    let quit = || vec![Effect::Quit];
    assert_eq!(hung_up(HangUp::Stop, false), (quit(), vec![]));
    let handed = vec![Command::KeepServing];
    assert_eq!(hung_up(HangUp::Background, false), (quit(), handed));
    assert_eq!(hung_up(HangUp::Background, true), (quit(), vec![]));
}
