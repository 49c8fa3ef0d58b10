//! The house rules that the compiler does not hold: arrows between layers point
//! down, the engine knows no terminal, public items are documented.

use std::fs;
use std::path::{Path, PathBuf};

/// The rooms of `src/` from the bottom up. Rooms of one row may not use each other.
const LAYERS: &[&[&str]] = &[
    &["lock", "reading", "words"],
    &["ranged", "replace", "codes"],
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
    text.split("crate::").skip(1).flat_map(|rest| {
        let several = rest.strip_prefix('{').and_then(|list| list.split_once('}'));
        let paths = several.map_or(vec![rest], |(list, _)| list.split(',').collect());
        paths
            .into_iter()
            .map(first_name)
            .filter(|name| !name.is_empty())
    })
}

fn first_name(path: &str) -> &str {
    let path = path.trim_start();
    let end = path.find(|c: char| !(c.is_alphanumeric() || c == '_'));
    &path[..end.unwrap_or(path.len())]
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

/// The files of `serving/live` from the bottom up. Files of one row do not use each other,
/// except those of [`FACADE`].
const LIVE: &[&[&str]] = &[
    &["panics", "locks"],
    &["member_sampler"],
    &["promise", "factory"],
    &["request", "counters"],
    &["folding"],
    &["drivers"],
    &["losses"],
    &["state"],
    &["answers", "host", "pending"],
    &["settings"],
    FACADE,
];

/// The engine, in as many files as its views: no more than may form a circle.
const FACADE: &[&str] = &["apply", "engine", "faults", "reserve", "telemetry"];

/// The same of `serving/live/drivers`: a device's driver uses no other device's.
const DRIVERS: [&[&str]; 3] = [
    &["driver"],
    &["thread"],
    &["absent", "gpu", "partition", "simulated"],
];

/// The same of the driver of GPUs: batches go around between dispatcher and lanes.
const GPU: [&[&str]; 7] = [
    &["buffers", "cache", "worker"],
    &["context"],
    &["slot"],
    &["serving"],
    &["copies"],
    GPU_BATCHES,
    &["driver"],
];

const GPU_BATCHES: &[&str] = &["dispatch", "lane", "making"];

/// How far up each path of `super` in `text` goes, and what it names there.
fn upward(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let code = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    code.filter_map(|line| {
        let start = line.find("super::")?;
        let mut rest = &line[start..];
        let mut up = 0;
        while let Some(more) = rest.strip_prefix("super::") {
            (up, rest) = (up + 1, more);
        }
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        let name = &rest[..end.unwrap_or(rest.len())];
        // The other paths say who may see an item.
        (name != "super").then_some((up, name))
    })
}

fn check_row(table: &[&[&str]], here: &str, used: &str, path: &Path) {
    let row = |name: &str| table.iter().position(|row| row.contains(&name));
    let (Some(below), Some(above)) = (row(used), row(here)) else {
        panic!("{}: `{here}` or `{used}` is in no row", path.display());
    };
    let together = table[above] == FACADE || table[above] == GPU_BATCHES;
    assert!(
        used == here || below < above || (below == above && together),
        "{}: `{here}` uses `{used}`",
        path.display()
    );
}

#[test]
fn files_of_the_live_engine_use_those_below_them() {
    let live = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/serving/live");
    for (path, text) in sources("src/serving/live") {
        let inside = path.strip_prefix(&live).expect("inside").with_extension("");
        let names: Vec<&str> = inside.iter().map(|n| n.to_str().expect("text")).collect();
        let is_root = names.last() == Some(&"mod");
        let depth = names.len() - usize::from(is_root);
        let tables: [&[&[&str]]; 3] = [LIVE, &DRIVERS, &GPU];
        for (up, used) in upward(&text) {
            // So many levels up lie the files beside the ancestor that `level` counts to.
            let Some(level) = depth.checked_sub(up) else {
                continue;
            };
            check_row(tables[level], names[level], used, &path);
        }
    }
}

#[test]
fn locks_of_the_live_engine_have_ranks() {
    for (path, text) in sources("src/serving/live") {
        assert!(
            !text.contains("Mutex"),
            "{}: a lock without a rank",
            path.display()
        );
    }
}
