//! Setups written to files and opened from files, by the picker and by the desktop.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crossterm::event::KeyCode;
use divisi_console::console::native::Native;
use divisi_console::console::{ConsoleEvent, Effect, for_files};
use divisi_console::files::{self, FilePick, has_desktop};
use divisi_model::ensemble::{PolicyKind, Wait};
use divisi_session::{Setup, SetupFile};

use crate::fake::{Bench, better, snapshot};
use crate::folder::Folder;

/// Does what the console asks of files until nothing more is asked; returns the rest.
fn settle(bench: &mut Bench, effects: Vec<Effect>) -> Vec<Effect> {
    let (mut wanted, mut left) = (effects, Vec::new());
    while let Some(effect) = wanted.pop() {
        match for_files(effect) {
            Ok(event) => wanted.extend(bench.console.handle(event)),
            Err(other) => left.push(other),
        }
    }
    left
}

fn press(bench: &mut Bench, code: KeyCode) -> Vec<Effect> {
    let effects = bench.press(code);
    settle(bench, effects)
}

fn keys(bench: &mut Bench, text: &str) {
    for c in text.chars() {
        press(bench, KeyCode::Char(c));
    }
}

/// The picker, on this folder.
fn opened(bench: &mut Bench, key: char, place: &Folder) {
    press(bench, KeyCode::Char(key));
    bench
        .console
        .handle(ConsoleEvent::Looked(files::list_path(place.path())));
}

fn other() -> Setup {
    Setup {
        matrix: better(),
        policy: PolicyKind::Segment {
            wait: Wait::nearest(Duration::from_millis(7)),
        },
        segment_size: 64,
        ..snapshot().setup()
    }
}

fn written(place: &Folder, name: &str, setup: &Setup) {
    let text = SetupFile::new("digits", setup).to_text();
    fs::write(place.join(name), text).unwrap();
}

#[test]
fn what_is_staged_is_written() {
    let place = Folder::new();
    let mut bench = Bench::new(80, 24);
    bench.keys("e+");
    opened(&mut bench, 'W', &place);
    press(&mut bench, KeyCode::Enter);
    assert!(bench.text().contains("› wrote "));
    let text = fs::read_to_string(place.join("digits-setup.toml")).unwrap();
    let file = SetupFile::parse(&text).unwrap();
    let setup = file.setup_for("digits", &snapshot().setup()).unwrap();
    assert_eq!(&setup.matrix, bench.console.model().matrix());
    assert!(bench.sent().is_empty());
}

#[test]
fn a_file_is_replaced_only_when_asked() {
    let place = Folder::new();
    fs::write(place.join("digits-setup.toml"), "mine").unwrap();
    let mut bench = Bench::new(80, 24);
    opened(&mut bench, 'W', &place);
    press(&mut bench, KeyCode::Enter);
    assert!(
        bench
            .text()
            .contains("digits-setup.toml exists: replace it?")
    );
    press(&mut bench, KeyCode::Esc);
    let kept = || fs::read_to_string(place.join("digits-setup.toml")).unwrap();
    assert_eq!(kept(), "mine");
    press(&mut bench, KeyCode::Enter);
    keys(&mut bench, "y");
    assert!(kept().contains("ensemble = \"digits\""));
    assert!(bench.console.dialogs().is_empty());
}

#[test]
fn a_file_that_cannot_be_written_leaves_the_picker_open() {
    let place = Folder::new();
    let mut bench = Bench::new(80, 24);
    opened(&mut bench, 'W', &place);
    bench
        .console
        .handle(ConsoleEvent::Wrote(Err("cannot write x: full".into())));
    assert!(bench.text().contains("✗ cannot write x: full"));
    assert!(!bench.console.dialogs().is_empty());
}

#[test]
fn what_is_opened_is_staged_and_compared() {
    let place = Folder::new();
    written(&place, "other.toml", &other());
    let mut bench = Bench::new(80, 24);
    opened(&mut bench, 'O', &place);
    keys(&mut bench, "oth");
    press(&mut bench, KeyCode::Enter);
    assert!(bench.text().contains("apply other.toml"));
    assert!(bench.text().contains("policy: no-wait → segment:7ms"));
    assert!(bench.sent().is_empty());
    bench.press(KeyCode::Esc);
    assert_eq!(
        bench.console.model().edit.as_ref().unwrap().setup(),
        &other()
    );
    bench.keys("u");
    assert!(!bench.console.model().has_staged());
}

#[test]
fn folders_are_walked_and_paths_typed() {
    let place = Folder::new();
    fs::create_dir_all(place.join("inner/deep")).unwrap();
    written(&place, "inner/a.toml", &other());
    fs::write(place.join(".secret"), "").unwrap();
    let mut bench = Bench::new(80, 24);
    opened(&mut bench, 'O', &place);
    assert!(bench.text().contains("inner/"));
    assert!(!bench.text().contains(".secret"));
    let effects = bench.control('t');
    settle(&mut bench, effects);
    assert!(bench.text().contains(".secret"));
    keys(&mut bench, "inn");
    press(&mut bench, KeyCode::Enter);
    assert!(bench.text().contains("deep/") && bench.text().contains("a.toml"));
    press(&mut bench, KeyCode::Backspace);
    assert!(bench.text().contains(".secret"));
    keys(&mut bench, "inner/none.toml");
    press(&mut bench, KeyCode::Enter);
    assert!(bench.text().contains("✗ no such file"));
    let effects = bench.control('u');
    settle(&mut bench, effects);
    keys(
        &mut bench,
        &place.join("inner/a.toml").display().to_string(),
    );
    press(&mut bench, KeyCode::Enter);
    assert!(bench.text().contains("apply a.toml"));
}

#[test]
fn a_wrong_file_says_what_was_expected_and_stays_in_the_picker() {
    let place = Folder::new();
    let text = SetupFile::new("digits", &other()).to_text();
    for (name, text, expected) in [
        (
            "a.toml",
            "ensemble = \"digits\"\npolicy = 3\n".to_owned(),
            "a.toml: line 2:",
        ),
        (
            "b.toml",
            text.replace("segment:7ms", "hurry"),
            "b.toml: policy: expected",
        ),
        (
            "c.toml",
            text.replace("\"digits\"", "\"imn4\""),
            "c.toml: ensemble: expected `digits`",
        ),
        (
            "d.toml",
            text.replace("segment_size = 64", "segment_size = 0"),
            "segment_size: expected",
        ),
        (
            "e.toml",
            text.replace("\"average\"", "\"loudest\""),
            "e.toml: line",
        ),
    ] {
        fs::write(place.join(name), text).unwrap();
        let mut bench = Bench::new(120, 40);
        opened(&mut bench, 'O', &place);
        keys(&mut bench, name);
        press(&mut bench, KeyCode::Enter);
        let shown = bench.text().replace('\n', " ");
        let shown: Vec<&str> = shown.split(['│', ' ']).filter(|w| !w.is_empty()).collect();
        assert!(
            shown.join(" ").contains(expected),
            "{name}: {}",
            bench.text()
        );
        assert!(!bench.console.dialogs().is_empty());
        assert!(bench.console.model().edit.is_none());
    }
}

#[test]
fn a_matrix_alone_can_be_opened() {
    let place = Folder::new();
    let file = divisi_model::allocation::MatrixFile::new("digits", &better());
    fs::write(place.join("plain.toml"), file.to_text()).unwrap();
    let mut bench = Bench::new(80, 24);
    opened(&mut bench, 'O', &place);
    press(&mut bench, KeyCode::Enter);
    let staged = bench.console.model().edit.as_ref().unwrap().setup().clone();
    assert_eq!(staged, snapshot().setup().with_matrix(better()));
}

#[test]
fn what_is_no_file_of_text_is_not_read() {
    let place = Folder::new();
    fs::write(place.join("bytes"), [0xff, 0xfe, 0x00]).unwrap();
    assert!(
        files::read(&place.join("bytes"))
            .unwrap_err()
            .to_string()
            .contains("bytes")
    );
    assert!(
        files::read(place.path())
            .unwrap_err()
            .to_string()
            .contains("expected a file, found a folder")
    );
    assert!(files::read(&place.join("none")).is_err());
    assert!(files::list_path(&place.join("none/none")).is_err());
}

#[test]
fn pickers() {
    let folder = |names: &[(&str, bool)]| files::FolderListing {
        path: "/home/ada/ensembles".into(),
        items: names
            .iter()
            .map(|(name, folder)| files::FolderItem {
                name: (*name).into(),
                folder: *folder,
                bytes: (!folder).then_some(1234),
            })
            .collect(),
        left_out: 0,
        about: None,
        desktop: true,
    };
    let items = [
        ("digits", true),
        ("best.toml", false),
        ("night.toml", false),
    ];
    for (name, key, width, height) in [
        ("picker_open", 'O', 80, 24),
        ("picker_save", 'W', 80, 24),
        ("picker_40x12", 'O', 40, 12),
    ] {
        let mut bench = Bench::new(width, height);
        bench.press(KeyCode::Char(key));
        bench
            .console
            .handle(ConsoleEvent::Looked(Ok(folder(&items))));
        bench.press(KeyCode::Down);
        screen!(name, bench);
    }
}

#[test]
fn the_desktop_is_an_offer() {
    let folder = files::FolderListing {
        path: "/tmp".into(),
        items: Vec::new(),
        left_out: 0,
        about: None,
        desktop: true,
    };
    let mut bench = Bench::new(80, 24);
    bench.keys("O");
    bench.console.handle(ConsoleEvent::Looked(Ok(folder)));
    let asked = bench.control('o');
    assert!(matches!(&asked[..], [Effect::Pick(p)] if !p.save && p.folder == Path::new("/tmp")));
    assert!(
        bench
            .text()
            .contains("choose a file in the desktop's dialog")
    );
    assert_eq!(bench.press(KeyCode::Esc), [Effect::StopPick]);
    bench.control('o');
    bench
        .console
        .handle(ConsoleEvent::Picked(Err("it died".into())));
    assert!(bench.text().contains("✗ it died"));
    bench.control('o');
    let read = bench
        .console
        .handle(ConsoleEvent::Picked(Ok(Some("/tmp/x.toml".into()))));
    assert_eq!(read, [Effect::Read("/tmp/x.toml".into())]);
}

#[test]
fn a_desktop_needs_a_screen_a_bus_and_somebody_in_front_of_it() {
    let desk = |names: &'static [&str]| move |name: &str| names.contains(&name);
    assert!(has_desktop(
        desk(&["DISPLAY", "DBUS_SESSION_BUS_ADDRESS"]),
        false
    ));
    assert!(has_desktop(desk(&["WAYLAND_DISPLAY"]), true));
    assert!(!has_desktop(desk(&["DISPLAY"]), false));
    assert!(!has_desktop(desk(&[]), true));
    assert!(!has_desktop(desk(&["DISPLAY", "SSH_TTY"]), true));
}

/// A program in the place of the dialog.
fn program(place: &Folder, lines: &str) -> PathBuf {
    let path = place.join("dialog");
    fs::write(&path, format!("#!/bin/sh\n{lines}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    path
}

fn pick() -> FilePick {
    FilePick {
        save: true,
        folder: "/tmp".into(),
        name: "a b.toml".into(),
    }
}

fn on_runtime<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(work)
}

#[test]
fn a_dialog_that_answers_fails_or_is_left() {
    let place = Folder::new();
    for (lines, expected) in [
        ("printf '%s/%s' \"$4\" \"$5\"", Ok(Some("/tmp/a b.toml"))),
        ("exit 0", Ok(None)),
        ("echo no portal >&2; exit 1", Err("no portal")),
        ("kill -9 $$", Err("signal")),
    ] {
        let program = program(&place, lines);
        let event = on_runtime(async {
            let mut native = Native::default();
            native.ask_program(&program, &pick());
            native.answer().await
        });
        match (event, expected) {
            (ConsoleEvent::Picked(Ok(path)), Ok(wanted)) => {
                assert_eq!(path, wanted.map(PathBuf::from))
            }
            (ConsoleEvent::Picked(Err(why)), Err(part)) => {
                assert!(why.to_string().contains(part), "{why}")
            }
            (event, _) => panic!("{lines}: {event:?}"),
        }
    }
    let none = on_runtime(async {
        let mut native = Native::default();
        native.ask_program(&place.join("nothing"), &pick());
        native.answer().await
    });
    assert!(
        matches!(none, ConsoleEvent::Picked(Err(why)) if why.to_string().contains("dialog failed: cannot start it"))
    );
}

#[test]
fn a_dialog_that_hangs_is_killed_with_all_it_started() {
    let place = Folder::new();
    let pipe = place.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    // A grandchild keeps the pipe open: its end is seen once that is gone too.
    let lines = format!("sleep 600 > {} & sleep 600", pipe.display());
    let program = program(&place, &lines);
    on_runtime(async {
        let mut native = Native::default();
        native.ask_program(&program, &pick());
        let opened = tokio::task::spawn_blocking(move || fs::File::open(pipe));
        let mut pipe = opened.await.unwrap().unwrap();
        native.stop();
        let read = tokio::task::spawn_blocking(move || {
            let mut text = Vec::new();
            std::io::Read::read_to_end(&mut pipe, &mut text)
        });
        assert_eq!(read.await.unwrap().unwrap(), 0);
    });
}
