//! Configuration: default files that say what is so, errors that name the place, keys
//! that can be changed, changes that a running console takes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crossterm::event::KeyCode;
use divisi_console::commands::{BINDINGS, Keymap};
use divisi_console::config::{
    Config, ConfigFolder, ConfigSource, Settings, config_file, keys_file, read_keys, schema,
    theme_file,
};
use divisi_console::console::{ConsoleEvent, Effect};

use crate::fake::Bench;

const THEMES: [&str; 3] = ["dark", "light", "high-contrast"];

fn config(text: &str) -> Result<Config, String> {
    let path = Path::new("config.toml");
    let themes = THEMES.map(str::to_owned);
    Config::read(&ConfigSource { path, text }, &themes).map_err(|wrong| wrong.to_string())
}

fn keys(text: &str) -> Result<Keymap, String> {
    let path = Path::new("keys.toml");
    read_keys(&ConfigSource { path, text }).map_err(|wrong| wrong.to_string())
}

/// A folder of this test's own.
fn folder(name: &str) -> ConfigFolder {
    let path: PathBuf =
        std::env::temp_dir().join(format!("divisi-config-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(path.join("themes")).unwrap();
    ConfigFolder { path }
}

#[test]
fn default_files_say_what_is_so_by_default() {
    let text = config_file(&Config::default());
    assert_eq!(config(&text), Ok(Config::default()), "{text}");
    let text = keys_file(&Keymap::default());
    assert_eq!(keys(&text), Ok(Keymap::default()), "{text}");
    assert_eq!(config(""), Ok(Config::default()));
    assert_eq!(keys(""), Ok(Keymap::default()));
    assert!(theme_file("dark").unwrap().contains("# focus, titles"));
}

#[test]
fn what_is_in_force_can_be_written_and_read_again() {
    let text = "[console]\ntheme = \"light\"\nframes = 12\nmouse = false\n\
                [linear]\nevery = \"250ms\"\n[probation]\np99 = 0\nlasts = \"2min\"";
    let read = config(text).unwrap();
    assert_eq!((read.frames, read.mouse), (12, false));
    assert_eq!(read.terms.p99, None);
    assert_eq!(read.terms.lasts.as_secs(), 120);
    assert_eq!(config(&config_file(&read)), Ok(read));
}

#[test]
fn errors_name_line_column_and_key() {
    let cases = [
        (
            "\n[console]\ntheme = \"drak\"",
            "config.toml:3:9: console.theme: expected auto, dark, light, high-contrast or the name of a file in themes/, found `drak`",
        ),
        (
            "[console]\nframs = 3",
            "config.toml:2:1: console.frams: no such key; did you mean `frames`?",
        ),
        (
            "[consoel]",
            "config.toml:1:2: consoel: no such key; did you mean `console`?",
        ),
        (
            "[console]\nframes = 0",
            "config.toml:2:10: console.frames: expected a whole number from 1 to 60, found `0`",
        ),
        (
            "[console]\nmouse = \"yes\"",
            "config.toml:2:9: console.mouse: expected true or false, found `yes`",
        ),
        (
            "[linear]\nevery = \"5 parsecs\"",
            "config.toml:2:9: linear.every: expected a time such as \"30s\" or \"500ms\", from \"100ms\" to \"3600s\", found `5 parsecs`",
        ),
    ];
    for (text, said) in cases {
        assert_eq!(config(text).unwrap_err(), said);
    }
    assert!(config("a = ").unwrap_err().starts_with("config.toml:1:"));
}

#[test]
fn the_default_keys_do_not_clash() {
    assert_eq!(Keymap::default().check(), Ok(()));
}

#[test]
fn names_of_commands_are_their_own() {
    let mut names: Vec<String> = BINDINGS
        .iter()
        .map(|e| format!("{:?} {}", e.scope, e.name()))
        .collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), BINDINGS.len());
    assert!(names.iter().any(|n| n.ends_with(" apply-best")));
    assert!(names.iter().any(|n| n.ends_with(" focus-log")));
}

#[test]
fn keys_can_be_changed() {
    let mut bench = Bench::new(120, 40);
    let mut settings = Settings::default();
    settings.keys = keys("[keys]\nhelp = \"f1\"\nfreeze = [\"ctrl-f\", \"alt-f\"]").unwrap();
    bench
        .console
        .handle(ConsoleEvent::Configured(Ok(Box::new(settings))));
    bench.keys("?");
    assert!(bench.console.dialogs().is_empty());
    bench.press(KeyCode::Esc);
    assert!(bench.text().contains("F1 help"), "{}", bench.text());
    bench.press(KeyCode::F(1));
    assert_eq!(bench.console.dialogs().len(), 1);
    bench.keys("freeze");
    assert!(bench.text().contains("Ctrl-f Alt-f"), "{}", bench.text());
    bench.press(KeyCode::Esc);
    bench.control('f');
    assert!(bench.console.model().streams.frozen.is_some());
}

#[test]
fn ctrl_c_and_ctrl_z_cannot_be_taken() {
    let mut bench = Bench::new(80, 24);
    let mut settings = Settings::default();
    settings.keys = keys("[keys]\nquit = []\nsuspend = []").unwrap();
    bench.console.configure(settings);
    assert!(bench.press(KeyCode::Char('q')).is_empty());
    assert!(bench.control('c').is_empty());
    assert!(bench.text().contains("stop serving?"), "{}", bench.text());
    assert_eq!(bench.control('z'), [Effect::Suspend]);
    let wrong = keys("[keys]\nfreeze = \"ctrl-c\"").unwrap_err();
    assert_eq!(
        wrong,
        "keys.toml:2:10: keys.freeze: `ctrl-c` always quits or suspends"
    );
}

#[test]
fn errors_of_keys_name_both_commands() {
    let wrong = keys("[keys]\nsearch = \"f\"").unwrap_err();
    assert!(
        wrong.starts_with("keys.toml:2:10: keys.search: `f`"),
        "{wrong}"
    );
    assert!(
        wrong.contains("`search`") && wrong.contains("`freeze`"),
        "{wrong}"
    );
    let wrong = keys("[keys]\nserch = \"f\"").unwrap_err();
    assert_eq!(
        wrong,
        "keys.toml:2:1: keys.serch: no such key; did you mean `search`?"
    );
    let wrong = keys("[keys]\nsearch = [\"s\", \"hyper-s\"]").unwrap_err();
    assert!(
        wrong.starts_with("keys.toml:2:16: keys.search: expected a character, space"),
        "{wrong}"
    );
    let wrong = keys("[edit]\nraise = \"5\"").unwrap_err();
    assert!(wrong.contains("types a batch size"), "{wrong}");
    // Scopes that never meet may have the same key.
    assert!(keys("[edit]\nraise = \"f\"").is_ok());
}

/// Returns the TOML examples under a heading of `docs/reference/configuration.md`.
fn examples(heading: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/configuration.md");
    let text = fs::read_to_string(path).expect("text");
    let (_, below) = text
        .split_once(&format!("\n## {heading}\n"))
        .expect(heading);
    let section = below.split("\n## ").next().unwrap_or_default();
    let fenced = section.split("```").skip(1).step_by(2);
    let examples = fenced.filter_map(|block| block.strip_prefix("toml\n"));
    examples.map(str::to_owned).collect()
}

#[test]
fn the_example_of_keys_in_the_documents_is_one() {
    let examples = examples("Keys");
    let [example] = examples.as_slice() else {
        panic!("one example: {examples:?}");
    };
    let read = keys(example).unwrap_or_else(|wrong| panic!("{wrong}: {example}"));
    assert_ne!(read, Keymap::default());
    for table in ["[keys]", "[edit]"] {
        assert!(example.contains(table), "{table}: {example}");
    }
}

#[test]
fn the_first_error_of_each_file_is_told() {
    let folder = folder("errors");
    fs::create_dir_all(folder.file("layouts")).unwrap();
    let config = "[console]\ntheme = \"mine\"\nframes = 0\nmouse = 3";
    for (name, text) in [
        ("themes/mine.toml", "bass = \"light\""),
        ("themes/good.toml", "base = \"light\""),
        ("config.toml", config),
        ("keys.toml", "help = \"f1\""),
        ("layouts/wide.toml", "rows = 3"),
    ] {
        fs::write(folder.file(name), text).unwrap();
    }
    let mut check = Command::new(env!("CARGO_BIN_EXE_divisi"));
    check.args(["config", "check"]);
    let output = check.env("DIVISI_CONFIG_DIR", &folder.path).output();
    let output = output.expect("the program starts");
    let (code, error) = (
        output.status.code(),
        String::from_utf8(output.stderr).unwrap(),
    );
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!((code, lines.len()), (Some(1), 4), "{error}");
    for (line, said) in lines.iter().zip([
        "themes/mine.toml:1:1: bass: no such key",
        "config.toml:3:10: console.frames: expected a whole number",
        "keys.toml:1:1: help: no such key: expected one of keys, edit",
        "layouts/wide.toml:",
    ]) {
        assert!(line.contains(said), "{said} in {error}");
    }
    let first = Settings::read(Some(&folder)).unwrap_err().to_string();
    assert_eq!(lines[0], format!("divisi: {first}"));
    fs::remove_dir_all(&folder.path).unwrap();
}

#[test]
fn a_running_console_takes_changes_and_keeps_what_was_where_they_are_wrong() {
    let folder = folder("reload");
    let mut bench = Bench::new(120, 40);
    let file = folder.file("config.toml");
    fs::write(&file, "[console]\nglyphs = \"ascii\"").unwrap();
    let reload = |bench: &mut Bench| {
        let read = Settings::read(Some(&folder)).map(Box::new);
        bench.console.handle(ConsoleEvent::Configured(read));
    };
    reload(&mut bench);
    assert!(bench.text().is_ascii());
    assert!(bench.text().contains("configuration reloaded"));
    fs::write(&file, "[console]\nglyphs = \"runes\"").unwrap();
    reload(&mut bench);
    assert!(bench.text().is_ascii());
    let text = bench.text();
    assert!(text.contains("config.toml:2:10: console.glyphs"), "{text}");
    fs::remove_dir_all(&folder.path).unwrap();
}

#[test]
fn themes_of_the_user_are_offered() {
    let folder = folder("themes");
    fs::write(folder.file("themes/mine.toml"), "base = \"light\"").unwrap();
    fs::write(folder.file("config.toml"), "[console]\ntheme = \"mine\"").unwrap();
    let settings = Settings::read(Some(&folder)).unwrap();
    assert_eq!(settings.theme.name, "mine");
    let names: Vec<&str> = settings.themes.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["dark", "light", "high-contrast", "mine"]);
    fs::remove_dir_all(&folder.path).unwrap();
}

#[test]
fn schemas_know_every_key() {
    let config = schema("config").unwrap();
    let theme = &config["properties"]["console"]["properties"]["theme"];
    assert_eq!(theme["default"], "auto");
    let keys = schema("keys").unwrap();
    for entry in BINDINGS.iter() {
        let tables = ["keys", "edit"];
        let known = tables.iter().any(|table| {
            let commands = &keys["properties"][table]["properties"];
            commands.get(entry.name()).is_some()
        });
        assert!(known, "{}", entry.name());
    }
    assert!(schema("theme").unwrap()["properties"]["roles"]["properties"]["accent"].is_object());
}
