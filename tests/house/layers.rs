//! The house rules that the compiler does not hold: arrows between layers point
//! down, the engine knows no terminal, public items are documented.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::place::root;
use crate::sources::{Module, files, imports, texts};

/// The packages from the bottom up. One may use those of the rows below it.
const PACKAGES: &[&[&str]] = &[
    &["divisi-runtime", "divisi-modelless"],
    &["divisi-model"],
    &["divisi-engine"],
    &[
        "divisi-session",
        "divisi-inference",
        "divisi-registry",
        "divisi-repository",
    ],
    &["divisi-door", "divisi-tasks"],
    &["divisi-server"],
    &["divisi"],
];

/// Dependencies of the console alone: a terminal, a command line, errors without types.
const OF_THE_CONSOLE: [&str; 5] = ["anyhow", "clap", "crossterm", "ratatui", "rfd"];

/// Dependencies of the door, and of packages that use it: a network.
const OF_THE_DOOR: [&str; 5] = ["hyper", "rustls", "tokio-rustls", "tonic", "tower"];

/// The rooms of `src/runtime/` from the bottom up. Rooms of one row may not use each other.
const RUNTIME_LAYERS: &[&[&str]] = &[
    &["lock", "reading", "words"],
    &["named"],
    &["tensor"],
    &["device"],
    &["network"],
    &["onnx"],
    &["compute"],
    &["lib"],
];

/// The rooms of `src/model/`.
const MODEL_LAYERS: &[&[&str]] = &[
    &["ranged", "replace", "codes", "user_folders", "wall_clock"],
    &["error_kind"],
    &["metrics"],
    &["trace", "dataflow"],
    &["pipeline"],
    &["ensemble"],
    &["catalogue"],
    &["allocation"],
    &["profile", "setup"],
    &["lib"],
];

/// The rooms of `src/engine/`.
const ENGINE_LAYERS: &[&[&str]] = &[
    &["serving"],
    &["load"],
    &["simulation"],
    &["search"],
    &["deployment"],
    &["changes"],
    &["lib"],
];

/// The rooms of `src/session/`.
const SESSION_LAYERS: &[&[&str]] = &[
    &[
        "entries",
        "failure_watch",
        "figures",
        "host_view",
        "playback",
        "refusal",
        "setup_file",
        "wall_start",
    ],
    &["command", "door_view", "task_scaling"],
    &["model_view", "what_if"],
    &["client_door", "snapshot"],
    &["arrange", "live", "wire"],
    &["record", "remote"],
    &["replay"],
    &["lib"],
];

/// The rooms of `src/inference/`.
const INFERENCE_LAYERS: &[&[&str]] = &[
    &["error"],
    &["bounds"],
    &["protocol"],
    &["service"],
    &["ensemble"],
    &["lib"],
];

/// The rooms of `src/door/`.
const DOOR_LAYERS: &[&[&str]] = &[
    &["clock", "notices", "watched"],
    &["background", "keys", "limits", "tls"],
    &["packing"],
    &[
        "cache", "callers", "client", "describe", "metrics", "net", "regions",
    ],
    &["calls"],
    &["options"],
    &["gateway"],
    &["grpc", "http"],
    &["server"],
    &["lib"],
];

/// The rooms of `src/server/`.
const SERVER_LAYERS: &[&[&str]] = &[
    &["error", "devices", "samples"],
    &["control", "files", "matrix_file", "sources"],
    &["store"],
    &["profiles", "watch"],
    &["board", "models"],
    &["door"],
    &["server"],
    &["lib"],
];

/// The rooms of `src/repository/`.
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

/// The rooms of `src/modelless/`.
const MODELLESS_LAYERS: &[&[&str]] = &[
    &["quantities"],
    &["accuracy"],
    &["variants"],
    &["goals", "placement"],
    &["states"],
    &["choice", "jobs", "policies"],
    &["demands"],
    &["fleet"],
    &["lib"],
];

/// The rooms of `src/registry/`.
const REGISTRY_LAYERS: &[&[&str]] = &[
    &["counts", "profiles", "records"],
    &["registration", "store"],
    &["lib"],
];

/// The rooms of `src/tasks/`.
const TASKS_LAYERS: &[&[&str]] = &[
    &["served"],
    &["routing"],
    &["scaling"],
    &["jobs", "profiles", "service", "views"],
    &["lib"],
];

/// The rooms of `ui/src/`.
const CONSOLE_LAYERS: &[&[&str]] = &[
    &["text"],
    &["look", "layout", "files"],
    &["commands"],
    &["config"],
    &["view"],
    &["incident"],
    &["model"],
    &["panels"],
    &["dialogs"],
    &["actions"],
    &["demo"],
    &["console", "linear"],
    &["web"],
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

/// The folders of crates with more than one room, and their rooms.
const CRATES: [(&str, &[&[&str]]); 12] = [
    ("src/runtime", RUNTIME_LAYERS),
    ("src/model", MODEL_LAYERS),
    ("src/engine", ENGINE_LAYERS),
    ("src/session", SESSION_LAYERS),
    ("src/inference", INFERENCE_LAYERS),
    ("src/door", DOOR_LAYERS),
    ("src/repository", REPOSITORY_LAYERS),
    ("src/modelless", MODELLESS_LAYERS),
    ("src/registry", REGISTRY_LAYERS),
    ("src/tasks", TASKS_LAYERS),
    ("src/server", SERVER_LAYERS),
    ("ui/src", CONSOLE_LAYERS),
];

#[test]
fn every_room_is_there() {
    for (folder, layers) in CRATES {
        let modules: Vec<Module> = files(folder).into_iter().map(|s| s.module).collect();
        for name in layers.iter().copied().flatten() {
            let there = modules.iter().any(|m| room(m) == *name);
            assert!(there, "{folder}: no room `{name}`");
        }
    }
}

#[test]
fn arrows_between_rooms_point_down() {
    for (folder, layers) in CRATES {
        let imports = imports(&files(folder));
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
            assert!(below < above, "{folder}: `{from}` uses `{to}`");
        }
        // Without any the reader of imports would be broken.
        assert!(seen >= layers.len(), "{folder}: only {seen} arrows");
    }
}

fn manifest(folder: &str) -> toml::Table {
    let text = fs::read_to_string(root().join(folder).join("Cargo.toml"));
    text.expect("a manifest").parse().expect("TOML")
}

/// Returns the folders of the crates, and the names of their packages.
fn packages() -> Vec<(String, String)> {
    let entries = fs::read_dir(root().join("src")).expect("src");
    let names = entries.map(|e| {
        e.expect("an entry")
            .file_name()
            .into_string()
            .expect("text")
    });
    let folders = names
        .map(|name| format!("src/{name}"))
        .chain(["ui".to_owned()]);
    let named = folders.map(|folder| {
        let name = manifest(&folder)["package"]["name"]
            .as_str()
            .expect("text")
            .to_owned();
        (folder, name)
    });
    named.collect()
}

fn dependencies(folder: &str) -> Vec<String> {
    let manifest = manifest(folder);
    let dependencies = manifest["dependencies"].as_table().expect("a table");
    dependencies.keys().cloned().collect()
}

#[test]
fn every_folder_of_src_is_a_crate_of_a_layer() {
    for (folder, package) in packages() {
        let last = folder.rsplit('/').next().expect("a name");
        let expected = if folder == "ui" {
            "divisi"
        } else {
            &format!("divisi-{last}")
        };
        assert_eq!(package, expected, "{folder}");
        level(PACKAGES, &package);
    }
}

#[test]
fn packages_use_those_of_lower_layers() {
    for (folder, package) in packages() {
        let ours = dependencies(&folder)
            .into_iter()
            .filter(|d| d.starts_with("divisi"));
        for used in ours {
            let below = level(PACKAGES, &used) < level(PACKAGES, &package);
            assert!(below, "{package} uses {used}");
        }
    }
}

/// Returns a package and all that it uses, as `Cargo.lock` has them: with what its tests use.
fn used_by(package: &str) -> BTreeSet<String> {
    let lock = fs::read_to_string(root().join("Cargo.lock")).expect("Cargo.lock");
    let lock: toml::Table = lock.parse().expect("TOML");
    let all = lock["package"].as_array().expect("a list");
    let mut found = BTreeSet::new();
    let mut open = vec![package.to_owned()];
    while let Some(name) = open.pop() {
        let packages = all.iter().filter(|p| p["name"].as_str() == Some(&name));
        let used = packages.filter_map(|p| p.get("dependencies")?.as_array());
        // A name may be followed by a version.
        let names = used.flatten().filter_map(|d| d.as_str()?.split(' ').next());
        if found.insert(name.clone()) {
            open.extend(names.map(str::to_owned));
        }
    }
    found
}

#[test]
fn what_a_package_uses_is_read_from_the_lock() {
    let used = used_by("divisi");
    for name in [
        "divisi",
        "divisi-runtime",
        "candle-core",
        "hyper",
        "ratatui",
    ] {
        assert!(used.contains(name), "{name}");
    }
}

#[test]
fn packages_below_the_door_have_no_network() {
    for package in [
        "divisi-tasks",
        "divisi-inference",
        "divisi-session",
        "divisi-repository",
    ] {
        let used = used_by(package);
        let found: Vec<_> = OF_THE_DOOR.iter().filter(|d| used.contains(**d)).collect();
        assert!(found.is_empty(), "{package}: {found:?}");
    }
}

#[test]
fn the_engine_has_no_second_runtime_of_tasks() {
    for package in ["divisi-session", "divisi-repository", "divisi-registry"] {
        assert!(!used_by(package).contains("tokio"), "{package}");
    }
}

#[test]
fn values_are_served_by_no_package_below_them() {
    let used = used_by("divisi-model");
    let ours: Vec<_> = used.iter().filter(|d| d.starts_with("divisi")).collect();
    assert_eq!(ours, ["divisi-model", "divisi-runtime"]);
}

#[test]
fn the_console_alone_has_a_terminal_and_a_command_line() {
    for (folder, package) in packages().into_iter().filter(|(_, p)| p != "divisi") {
        let used = dependencies(&folder);
        let found = used.iter().find(|d| OF_THE_CONSOLE.contains(&d.as_str()));
        assert_eq!(found, None, "{package}");
    }
}

#[test]
fn unit_tests_are_in_crates_that_run_them() {
    for (folder, package) in packages() {
        let manifest = manifest(&folder);
        let test = manifest["lib"].get("test").and_then(toml::Value::as_bool);
        let sources = texts(&folder).into_iter();
        let with_tests = sources.filter(|(_, text)| text.contains("#[cfg(test)]"));
        let lost: Vec<_> = with_tests.filter(|_| test == Some(false)).collect();
        assert!(
            lost.is_empty(),
            "{package} runs no unit tests: {}",
            lost[0].0.display()
        );
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
        "recent",
        "run_log",
        "step_graph",
    ],
    &["counters", "factory"],
    &["served"],
    &["request"],
    &["drivers"],
    &["state"],
    &["kept_requests", "recorded"],
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
    let live = root().join("src/engine/serving/live");
    for (path, text) in texts("src/engine/serving/live") {
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
    let runtime = root().join("src/runtime");
    let above = texts("src").into_iter();
    for (path, text) in above.filter(|(path, _)| !path.starts_with(&runtime)) {
        let mut words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        let lock = words.find(|word| ["Mutex", "RwLock"].contains(word));
        assert_eq!(lock, None, "{}: a lock without a rank", path.display());
    }
}
