//! The house rules that the compiler does not hold: arrows between layers point
//! down, the engine knows no terminal, public items are documented.

use std::fs;
use std::path::Path;

use crate::sources::{Module, files, imports, texts};

/// The rooms of `src/` from the bottom up. Rooms of one row may not use each other.
const LAYERS: &[&[&str]] = &[
    &["lock", "reading", "words", "tensor"],
    &["ranged", "replace", "codes", "user_folders"],
    &["metrics", "device"],
    &["trace", "network", "dataflow"],
    &["onnx"],
    &["compute"],
    &["pipeline"],
    &["ensemble"],
    &["catalogue"],
    &["allocation"],
    &["profile"],
    &["serving"],
    &["load"],
    &["simulation"],
    &["search"],
    &["changes", "deployment"],
    &["session"],
    &["lib"],
];

/// The rooms of `src/door/`, likewise.
const DOOR_LAYERS: &[&[&str]] = &[
    &["error", "notices", "watched"],
    &["background", "keys", "limits", "tls"],
    &["protocol"],
    &["packing", "service"],
    &[
        "cache", "callers", "client", "describe", "ensemble", "metrics", "net", "regions",
    ],
    &["calls"],
    &["options"],
    &["gateway"],
    &["grpc", "http"],
    &["server"],
    &["lib"],
];

/// The rooms of `src/repository/`, likewise.
const REPOSITORY_LAYERS: &[&[&str]] = &[
    &["batch", "error", "order", "text_format"],
    &["config", "folder"],
    &["labels", "manifest_files", "model", "overrides"],
    &["described", "loaded"],
    &["not_honoured", "steps", "warmup"],
    &["entry", "versions"],
    &["known", "repository"],
    &["convert", "source"],
    &["lib"],
];

/// The rooms of `src/modelless/`, likewise.
const MODELLESS_LAYERS: &[&[&str]] = &[
    &["quantities"],
    &["accuracy"],
    &["variants"],
    &["goals", "placement", "states"],
    &["choice", "jobs", "policies"],
    &["demands"],
    &["fleet"],
    &["lib"],
];

/// The rooms of `src/registry/`, likewise.
const REGISTRY_LAYERS: &[&[&str]] = &[
    &["counts", "profiles", "records"],
    &["registration", "store"],
    &["lib"],
];

/// The rooms of `src/tasks/`, likewise.
const TASKS_LAYERS: &[&[&str]] = &[
    &["served"],
    &["routing"],
    &["scaling"],
    &["jobs", "service", "views"],
    &["lib"],
];

/// The rooms of `ui/src/`, likewise.
const CONSOLE_LAYERS: &[&[&str]] = &[
    &["text"],
    &["look", "layout", "files"],
    &["commands"],
    &["config"],
    &["view"],
    &["model"],
    &["panels"],
    &["dialogs"],
    &["actions"],
    &["demo"],
    &["console", "linear"],
    &["cli"],
    &["lib"],
];

/// Returns the room that a module lies in; the root of a crate is one by itself.
fn room(module: &Module) -> &str {
    module.first().map_or("lib", String::as_str)
}

fn level(layers: &[&[&str]], room: &str) -> usize {
    let at = layers.iter().position(|row| row.contains(&room));
    at.unwrap_or_else(|| panic!("`{room}` is in no layer"))
}

/// The folders of the rooms. The engine offers the rooms of the runtime as its own.
const CRATES: [(&[&str], &[&[&str]]); 7] = [
    (&["src/runtime", "src"], LAYERS),
    (&["src/door"], DOOR_LAYERS),
    (&["src/repository"], REPOSITORY_LAYERS),
    (&["src/modelless"], MODELLESS_LAYERS),
    (&["src/registry"], REGISTRY_LAYERS),
    (&["src/tasks"], TASKS_LAYERS),
    (&["ui/src"], CONSOLE_LAYERS),
];

#[test]
fn every_room_is_there() {
    for (folders, layers) in CRATES {
        let sources = folders.iter().flat_map(|f| files(f));
        let modules: Vec<Module> = sources.map(|s| s.module).collect();
        for name in layers.iter().copied().flatten() {
            let there = modules.iter().any(|m| room(m) == *name);
            assert!(there, "{folders:?}: no room `{name}`");
        }
    }
}

#[test]
fn arrows_between_rooms_point_down() {
    for (folders, layers) in CRATES {
        let sources: Vec<_> = folders.iter().flat_map(|f| files(f)).collect();
        let imports = imports(&sources);
        let arrows = imports
            .iter()
            .flat_map(|(from, all)| all.iter().map(move |to| (from, to)));
        let mut seen = 0;
        // What the root itself defines is macros.
        let arrows = arrows.filter(|(_, to)| !to.is_empty());
        for (from, to) in arrows.filter(|(from, to)| room(from) != room(to)) {
            seen += 1;
            let (above, below) = (level(layers, room(from)), level(layers, room(to)));
            let (from, to) = (from.join("::"), to.join("::"));
            assert!(below < above, "{folders:?}: `{from}` uses `{to}`");
        }
        // The registry has five rooms, tasks have three.
        let least = match folders {
            ["src/tasks"] => 3,
            ["src/registry"] => 10,
            _ => 20,
        };
        assert!(
            seen > least,
            "{folders:?}: only {seen} arrows between rooms"
        );
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
    for (path, text) in texts("src").into_iter().chain(texts("ui/src")) {
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
    &["columns", "locks", "options"],
    &["samples"],
    &[
        "graph",
        "member_sampler",
        "promise",
        "run_log",
        "step_graph",
    ],
    &["counters", "factory"],
    &["served"],
    &["request"],
    &["drivers"],
    &["state"],
    &["answers"],
    &["host_steps"],
    &["host", "pending"],
    FACADE,
    &["running"],
];

/// The engine, in as many files as its views: no more than may form a circle.
const FACADE: &[&str] = &["apply", "engine", "faults", "reserve", "telemetry"];

/// The same of `serving/live/drivers`: a device's driver uses no other device's.
const DRIVERS: [&[&str]; 3] = [&["driver"], &["thread"], &["gpu", "partition", "simulated"]];

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
    for (path, text) in texts("src/serving/live") {
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
fn locks_above_the_runtime_have_ranks() {
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/runtime");
    let above = texts("src").into_iter();
    for (path, text) in above.filter(|(path, _)| !path.starts_with(&runtime)) {
        let mut words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        let lock = words.find(|word| ["Mutex", "RwLock"].contains(word));
        assert_eq!(lock, None, "{}: a lock without a rank", path.display());
    }
}
