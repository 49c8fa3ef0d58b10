//! House rules that the compiler does not hold: arrows between the rooms of the console
//! point down, and no more than five files lean on each other in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The rooms of `ui/src/` from the bottom up. Rooms of one row may not use each other.
const LAYERS: [&[&str]; 14] = [
    &["text", "replace"],
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
    &["main"],
    &["lib"],
];

/// Files of a circle at most.
const MOST: usize = 5;

/// A module by the names that lead to it.
type Module = Vec<String>;

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Every module of the crate with its text, comments left out.
fn modules() -> BTreeMap<Module, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![source()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = fs::read_to_string(&path).expect("text");
                let code = text.lines().map(|l| l.split("//").next().unwrap_or(l));
                found.insert(module(&path), code.collect::<Vec<_>>().join("\n"));
            }
        }
    }
    found
}

fn module(path: &Path) -> Module {
    let inside = path.strip_prefix(source()).expect("in src");
    let inside = inside.with_extension("");
    let names = inside.components();
    let mut names: Module = names
        .map(|name| name.as_os_str().to_string_lossy().into_owned())
        .collect();
    if names.last().is_some_and(|last| last == "mod") {
        names.pop();
    }
    if names == ["lib"] {
        names.clear();
    }
    names
}

/// The paths that a text says from the crate's root, `super` and lists resolved.
fn paths(here: &Module, text: &str) -> Vec<Module> {
    let mut found = Vec::new();
    for start in ["crate::", "super::"] {
        for (at, _) in text.match_indices(start) {
            let inner = text[..at].ends_with("::") || text[..at].ends_with(char::is_alphanumeric);
            if !inner {
                expand(here, &text[at..], &mut found);
            }
        }
    }
    found
}

/// Follows a path to its ends.
fn expand(here: &Module, text: &str, found: &mut Vec<Module>) {
    let mut base = here.clone();
    let mut rest = text;
    if let Some(tail) = rest.strip_prefix("crate::") {
        base.clear();
        rest = tail;
    }
    while let Some(tail) = rest.strip_prefix("super::") {
        base.pop();
        rest = tail;
    }
    ends(base, rest, found);
}

fn ends(mut base: Module, mut rest: &str, found: &mut Vec<Module>) {
    loop {
        if let Some(list) = rest.strip_prefix('{') {
            for item in items(list) {
                ends(base.clone(), item.trim(), found);
            }
            return;
        }
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        let (name, tail) = rest.split_at(end.unwrap_or(rest.len()));
        if !name.is_empty() && name != "self" {
            base.push(name.to_owned());
        }
        match tail.strip_prefix("::") {
            Some(next) => rest = next,
            None => {
                found.push(base);
                return;
            }
        }
    }
}

/// The items of a list up to its end.
fn items(list: &str) -> Vec<&str> {
    let (mut depth, mut from, mut found) = (0, 0, Vec::new());
    for (at, sign) in list.char_indices() {
        match sign {
            '{' => depth += 1,
            '}' if depth == 0 => {
                found.push(&list[from..at]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                found.push(&list[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    found.retain(|item| !item.trim().is_empty());
    found
}

fn room(module: &[String]) -> &str {
    module.first().map_or("lib", String::as_str)
}

fn level(room: &str) -> usize {
    let at = LAYERS.iter().position(|row| row.contains(&room));
    at.unwrap_or_else(|| panic!("`{room}` is in no layer"))
}

#[test]
fn arrows_between_rooms_point_down() {
    for (here, text) in modules() {
        for path in paths(&here, &text) {
            let (from, to) = (room(&here), room(&path));
            if from != to && LAYERS.iter().any(|row| row.contains(&to)) {
                assert!(
                    level(to) < level(from),
                    "{}: `{from}` uses `{to}`",
                    here.join("::")
                );
            }
        }
    }
}

/// What a room gives on under its own name: from which of its files each name comes.
fn given_on(modules: &BTreeMap<Module, String>) -> BTreeMap<Module, Module> {
    let mut found = BTreeMap::new();
    for (here, text) in modules {
        for (at, _) in text.match_indices("pub use ") {
            let said = text[at + 8..].split(';').next().unwrap_or_default();
            let mut ends_here = Vec::new();
            match said.starts_with("crate::") || said.starts_with("super::") {
                true => expand(here, said, &mut ends_here),
                false => ends(here.clone(), said, &mut ends_here),
            }
            for end in ends_here {
                let mut name = here.clone();
                name.extend(end.last().cloned());
                found.insert(name, end);
            }
        }
    }
    found
}

/// The file that a path leads to.
fn file(
    path: &Module,
    modules: &BTreeMap<Module, String>,
    given_on: &BTreeMap<Module, Module>,
) -> Module {
    let mut path = path.clone();
    for _ in 0..4 {
        let through = (1..=path.len()).find_map(|n| given_on.get(&path[..n].to_vec()));
        match through {
            Some(next) if *next != path => path = next.clone(),
            _ => break,
        }
    }
    let known = |n: &usize| modules.contains_key(&path[..*n].to_vec());
    let length = (0..=path.len()).rev().find(known);
    path.truncate(length.unwrap_or(0));
    path
}

/// All that can be reached from a module.
fn reached(from: &Module, arrows: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<Module> {
    let mut seen = BTreeSet::new();
    let mut next = vec![from];
    while let Some(module) = next.pop() {
        for to in arrows.get(module).into_iter().flatten() {
            if seen.insert(to.clone()) {
                next.push(to);
            }
        }
    }
    seen
}

#[test]
fn no_circle_of_files_is_large() {
    let modules = modules();
    let given_on = given_on(&modules);
    let mut arrows: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    for (here, text) in &modules {
        for path in paths(here, text) {
            let to = file(&path, &modules, &given_on);
            if to != *here && !to.is_empty() {
                arrows.entry(here.clone()).or_default().insert(to);
            }
        }
    }
    for here in modules.keys() {
        let all = reached(here, &arrows);
        let circle = all.iter().filter(|m| reached(m, &arrows).contains(here));
        let circle: Vec<String> = circle.map(|m| m.join("::")).collect();
        assert!(circle.len() <= MOST, "a circle of files: {circle:#?}");
    }
}
