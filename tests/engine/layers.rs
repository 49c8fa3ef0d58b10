//! The house rules that the compiler does not hold: arrows between layers point
//! down, the engine knows no terminal, public items are documented.

use std::fs;
use std::path::{Path, PathBuf};

/// The rooms of `src/` from the bottom up. Rooms of one row may not use each other.
const LAYERS: &[&[&str]] = &[
    &["lock", "reading", "words"],
    &["ranged"],
    &["trace", "metrics", "device"],
    &["network"],
    &["compute"],
    &["ensemble"],
    &["allocation"],
    &["profile"],
    &["serving"],
    &["load"],
    &["simulation"],
    &["search"],
    &["changes"],
    &["session"],
    &["lib"],
];

fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = fs::read_to_string(&path).expect("text");
                found.push((path, text));
            }
        }
    }
    assert!(!found.is_empty(), "no source in {folder}");
    found
}

fn room(path: &Path) -> String {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let inside = path.strip_prefix(&src).expect("in src");
    // Its rooms are rooms of the engine's interface; its own root is below all that use it.
    let inside = inside.strip_prefix("runtime").unwrap_or(inside);
    let first = inside.components().next().expect("a name");
    first
        .as_os_str()
        .to_string_lossy()
        .trim_end_matches(".rs")
        .to_owned()
}

fn level(room: &str) -> usize {
    LAYERS
        .iter()
        .position(|row| row.contains(&room))
        .unwrap_or_else(|| panic!("`{room}` is in no layer"))
}

fn used_rooms(text: &str) -> impl Iterator<Item = &str> {
    text.split("crate::").skip(1).map(|rest| {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        &rest[..end.unwrap_or(rest.len())]
    })
}

#[test]
fn arrows_between_layers_point_down() {
    let no_root = |(path, _): &(PathBuf, String)| !path.ends_with("runtime/lib.rs");
    let no_build = |(path, _): &(PathBuf, String)| !path.ends_with("runtime/build.rs");
    let rooms = sources("src").into_iter().filter(no_root).filter(no_build);
    for (path, text) in rooms {
        let here = room(&path);
        for used in used_rooms(&text).filter(|used| *used != here) {
            assert!(
                level(used) < level(&here),
                "{}: `{here}` uses `{used}`",
                path.display()
            );
        }
    }
}

#[test]
fn the_engine_depends_on_no_terminal() {
    let manifest = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .expect("manifest");
    let manifest: toml::Table = manifest.parse().expect("TOML");
    let dependencies = manifest["dependencies"].as_table().expect("a table");
    for terminal in ["ratatui", "crossterm", "rfd", "clap", "anyhow", "tokio"] {
        assert!(!dependencies.contains_key(terminal), "{terminal}");
    }
}

#[test]
fn public_items_are_documented() {
    let starts = [
        "fn ",
        "struct ",
        "enum ",
        "trait ",
        "const ",
        "static ",
        "type ",
        "async fn ",
        "const fn ",
    ];
    for (path, text) in sources("src").into_iter().chain(sources("ui/src")) {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert!(
            lines.first().is_some_and(|l| l.starts_with("//!")),
            "{}: no text about the file",
            path.display()
        );
        for (i, line) in lines.iter().enumerate() {
            let Some(item) = line.strip_prefix("pub ") else {
                continue;
            };
            if !starts.iter().any(|s| item.starts_with(s)) || hidden(&path) {
                continue;
            }
            let above = lines[..i].iter().rev();
            let mut above = above.take_while(|l| !l.is_empty() && **l != "}" && !l.ends_with(';'));
            let documented = above.any(|l| l.starts_with("///"));
            assert!(documented, "{}:{}: {line}", path.display(), i + 1);
        }
    }
}

/// Files whose items are public only to their neighbours.
fn hidden(path: &Path) -> bool {
    let text = path.to_string_lossy();
    ["serving/live/", "session/live/", "compute/", "ui/src/"]
        .iter()
        .any(|p| text.contains(p))
}
