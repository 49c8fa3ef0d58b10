//! The conduct of a terminal program, in a real pseudo-terminal: editing and rolling
//! back, suspending, panics, colours, ASCII, the mouse, configuration while it runs.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::storm::Dice;
use crate::terminal::{Terminal, serving};

/// A folder of this test's own.
fn scratch(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("divisi-conduct-{}-{name}", std::process::id()));
    fs::create_dir_all(&path).expect("creates");
    path
}

#[test]
fn an_edit_is_applied_and_rolled_back() {
    let mut terminal = Terminal::start(120, 40, &["--load", "poisson:50"]);
    terminal.shows("allocation");
    terminal.send("e+");
    terminal.shows("larger");
    terminal.send("a");
    terminal.shows("y apply");
    terminal.send("y");
    terminal.shows("reload done in");
    terminal.send("u");
    terminal.shows("undo the last change of matrix and settings?");
    terminal.send("y");
    // The dialog has taken the first one off the screen.
    terminal.shows("reload done in");
    terminal.leave();
}

#[test]
fn suspending_gives_the_terminal_back_and_resuming_takes_it() {
    let mut terminal = serving(80, 24);
    terminal.send("\u{1a}");
    terminal.until("\u{1b}[?1049l");
    let again = terminal.proceeds("serving");
    assert!(again.contains("\u{1b}[?1049h"));
    terminal.leave();
}

/// In a container the group and the session that began outside of it have the number zero.
#[test]
fn a_group_without_a_number_is_not_stopped_and_goes_on() {
    let unshared = ["--user", "--map-root-user", "--pid", "--fork"];
    let tried = Command::new("unshare").args(unshared).arg("true").status();
    // Some systems make no containers.
    if !tried.is_ok_and(|status| status.success()) {
        return;
    }
    let mut program = Command::new("unshare");
    program.args(unshared).arg("--mount-proc");
    program.args([env!("CARGO_BIN_EXE_divisi"), "--load", "none"]);
    let mut terminal = Terminal::of(80, 24, program);
    terminal.shows("serving");
    terminal.send("\u{1a}");
    terminal.until("\u{1b}[?1049l");
    terminal.until("\u{1b}[?1049h");
    terminal.leave();
}

/// Everything that was set is unset, in this order and once.
#[test]
fn the_last_that_is_written_restores_the_terminal() {
    // With requests under way it would say that it waits for them.
    let mut terminal = Terminal::start(80, 24, &["--load", "none"]);
    terminal.until("serving");
    terminal.send("q");
    terminal.shows("s stop");
    terminal.send("s");
    let (bytes, status) = terminal.rest();
    assert!(status.success());
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let restore = "\u{1b}[?2026l\u{1b}[?2004l\u{1b}[?1006l\u{1b}[?1015l\u{1b}[?1003l\u{1b}[?1002l\u{1b}[?1000l\
                   \u{1b}[?7h\u{1b}[?1049l\u{1b}[?25h";
    let at = text.find(restore).expect("the sequence that restores");
    let after = &text[at + restore.len()..];
    // Showing the cursor once more is all that may follow.
    assert_eq!(after.replace("\u{1b}[?25h", "").trim(), "");
    assert_eq!(text.matches("\u{1b}[?1049l").count(), 1);
}

/// Returns the text of a report, by the path that the terminal was told.
fn report(text: &str) -> String {
    let (_, path) = text.split_once("a report is in ").expect("a path");
    let path = path.lines().next().expect("a line").trim();
    fs::read_to_string(path).expect("the report")
}

#[cfg(debug_assertions)]
#[test]
fn a_panic_leaves_the_terminal_usable_and_a_report() {
    let terminal = Terminal::start(80, 24, &["--load", "none", "--panic-for-test", "console"]);
    let (bytes, status) = terminal.rest();
    assert!(!status.success());
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (_, after) = text.split_once("\u{1b}[?1049l").expect("back");
    assert!(after.contains("requested by a test"), "{after}");
    assert!(report(after).contains("requested by a test"));
}

#[cfg(debug_assertions)]
#[test]
fn a_panic_elsewhere_is_told_afterwards() {
    let state = scratch("elsewhere");
    let mut terminal = Terminal::start_in(
        80,
        24,
        &["--load", "poisson:50", "--panic-for-test", "other"],
        &[("XDG_STATE_HOME", &state.to_string_lossy())],
    );
    let before = terminal.until("serving");
    assert!(!before.contains("requested by a test"));
    // The log's clock moves on: the screen is alive.
    terminal.until("\u{1b}[?2026l");
    terminal.send("?");
    terminal.shows("help");
    terminal.send("\u{3}");
    terminal.shows("s stop");
    terminal.send("s");
    let (bytes, status) = terminal.rest();
    assert!(status.success());
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (_, after) = text.split_once("\u{1b}[?1049l").expect("back");
    assert!(after.contains("elsewhere, requested by a test"), "{after}");
    assert!(report(after).contains("elsewhere, requested by a test"));
    fs::remove_dir_all(state).expect("removes");
}

#[test]
fn no_colour_and_ascii_are_kept_to() {
    let environment = [("NO_COLOR", "1"), ("DIVISI_ASCII", "1")];
    let mut terminal = Terminal::start_in(120, 40, &["--load", "none"], &environment);
    let text = terminal.until("serving");
    assert!(text.is_ascii(), "{text}");
    let styles = text.split("\u{1b}[").filter_map(|code| {
        let end = code.find(|c: char| c.is_ascii_alphabetic())?;
        (code[end..].starts_with('m')).then(|| &code[..end])
    });
    for style in styles {
        for number in style.split(';') {
            let number: u8 = number.parse().unwrap_or(0);
            // Weight, reverse and resets alone; 39 and 49 are the terminal's own colours.
            let plain = number < 30 || [39, 49, 59].contains(&number);
            assert!(plain, "{style}");
        }
    }
    terminal.leave();
}

#[test]
fn the_mouse_is_left_alone_where_it_is_off() {
    let mut terminal = Terminal::start(80, 24, &["--load", "none", "--no-mouse"]);
    let text = terminal.until("serving");
    assert!(!text.contains("\u{1b}[?1000h"));
    terminal.send("m");
    terminal.until("\u{1b}[?1000h");
    terminal.send("m");
    terminal.until("\u{1b}[?1000l");
    terminal.leave();
}

#[test]
fn a_running_console_takes_changes_of_its_files() {
    let folder = scratch("config");
    let path = folder.to_string_lossy();
    let arguments = ["--load", "none", "--config", &path];
    let mut terminal = Terminal::start(120, 40, &arguments);
    terminal.shows("allocation");
    // As editors save: beside it, then renamed.
    let save = |text: &str| {
        fs::write(folder.join(".config.toml.swp"), text).expect("writes");
        fs::rename(folder.join(".config.toml.swp"), folder.join("config.toml")).expect("renames");
    };
    save("[console]\nglyphs = \"ascii\"\n");
    terminal.shows("configuration reloaded");
    assert!(terminal.lines().concat().is_ascii());
    save("[console]\nglyps = \"unicode\"\n");
    terminal.shows("glyps: no such key; did you mean `glyphs`?");
    assert!(terminal.lines().concat().is_ascii());
    terminal.leave();
    fs::remove_dir_all(folder).expect("removes");
}

#[test]
fn what_is_wrong_with_the_configuration_is_said_before_anything_starts() {
    let folder = scratch("wrong");
    fs::write(folder.join("config.toml"), "[console]\ntheme = \"drak\"\n").expect("writes");
    let path = folder.to_string_lossy();
    let terminal = Terminal::start(80, 24, &["--config", &path]);
    let (bytes, status) = terminal.rest();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    assert_eq!(status.code(), Some(1));
    assert!(
        text.contains("config.toml:2:9: console.theme: expected"),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'), "{text}");
    fs::remove_dir_all(folder).expect("removes");
}

#[test]
fn a_dumb_terminal_gets_lines() {
    let environment = [("TERM", "dumb")];
    let mut terminal = Terminal::start_in(80, 24, &["--load", "none"], &environment);
    terminal.until("serving");
    terminal.send("policy elastic\n");
    terminal.until("taken");
    // The end of the input of a terminal ends the program.
    terminal.send("\u{4}");
    let (bytes, status) = terminal.rest();
    assert!(status.success());
    assert!(!bytes.contains(&0x1b));
}

#[test]
fn lines_from_a_pipe_are_followed() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_divisi"))
        .args(["digits", "--linear", "--load", "none", "--every", "1s"])
        .env("XDG_CACHE_HOME", scratch("pipe"))
        .env("XDG_CONFIG_HOME", scratch("pipe"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = program.stdin.take().expect("a pipe");
    input
        .write_all(b"status\nfrobnicate\nset \xff 8\nload poisson:100\nquit\n")
        .expect("typed");
    let output = program.wait_with_output().expect("it ends");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success());
    assert!(!text.contains('\u{1b}'));
    for said in [
        "policy no-wait",
        "no: no command `frobnicate`",
        "no: expected UTF-8 text",
        "taken",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

/// Random keys, without those that leave or stop.
fn storm(seed: u64, events: u32) {
    let mut terminal = serving(100, 30);
    let mut dice = Dice::seeded(seed);
    let escapes = [
        "\u{1b}[A", "\u{1b}[B", "\u{1b}[C", "\u{1b}[D", "\t", "\r", "\u{1b}",
    ];
    for _ in 0..events {
        let sign = char::from(b' ' + dice.below(95) as u8);
        match (dice.below(8), sign) {
            (0, _) => terminal.send(escapes[dice.below(7) as usize]),
            (1, _) => {
                let (x, y) = (dice.below(100) + 1, dice.below(30) + 1);
                terminal.send(&format!("\u{1b}[<0;{x};{y}M"));
            }
            // Leaving, files and devices that are lost are tried elsewhere.
            (_, 'q' | 'y' | 'P' | 'O' | 'W' | 'r') => {}
            (_, sign) => terminal.send(&sign.to_string()),
        }
        terminal.discard();
    }
    terminal.send("\u{3}");
    terminal.shows("s stop");
    terminal.send("s");
    let (bytes, status) = terminal.rest();
    assert!(status.success(), "seed {seed}");
    let text = String::from_utf8_lossy(&bytes).into_owned();
    assert!(text.contains("\u{1b}[?1049l"), "seed {seed}");
    assert!(!text.contains("panicked"), "seed {seed}: {text}");
}

#[test]
fn random_keys_leave_the_terminal_as_it_was() {
    storm(7, 300);
}

#[test]
#[ignore = "a minute of it: cargo test -p divisi --test console -- --ignored conduct"]
fn a_minute_of_random_keys_leaves_the_terminal_as_it_was() {
    let began = std::time::Instant::now();
    let mut seed = 100;
    while began.elapsed().as_secs() < 60 {
        storm(seed, 2_000);
        seed += 1;
    }
}
