//! The documents name files that exist, their links lead somewhere, and they stay short.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::place::root;

fn read(path: &Path) -> String {
    let text = fs::read_to_string(path);
    text.unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The paths of the files and folders in `folder`.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

/// The documents in `folder` and in all folders in it.
fn documents_below(folder: PathBuf) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder]);
    while let Some(folder) = folders.pop() {
        for path in entries(&folder) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                found.push(path);
            }
        }
    }
    found
}

/// The documents at the root, and those below `docs` and `benches`.
fn documents() -> Vec<PathBuf> {
    let mut found = entries(&root());
    found.retain(|path| path.extension().is_some_and(|e| e == "md"));
    for folder in ["docs", "benches"] {
        found.extend(documents_below(root().join(folder)));
    }
    found
}

/// Returns the number of words. The rules of tables are none.
fn count_words(path: &Path) -> usize {
    let text = read(path);
    let words = text.split_whitespace();
    words
        .filter(|word| word.contains(char::is_alphanumeric))
        .count()
}

/// Returns the targets of links: `[…](TARGET)`.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let behind = text.split("](").skip(1);
    let targets = behind.filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
    targets.filter(|target| !target.starts_with("http"))
}

/// The names under which the headings of a document can be linked to.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let named = headings.map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = |c: &char| c.is_alphanumeric() || [' ', '-', '_'].contains(c);
        title
            .chars()
            .filter(kept)
            .collect::<String>()
            .replace(' ', "-")
    });
    named.collect()
}

#[test]
fn links_lead_somewhere() {
    for document in documents() {
        let text = read(&document);
        for link in links(&text) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let folder = document.parent().expect("a folder");
            let target = match file {
                "" => document.clone(),
                file => folder.join(file),
            };
            assert!(target.exists(), "{}: {link}", document.display());
            let found = anchor.is_empty() || anchors(&read(&target)).contains(anchor);
            assert!(found, "{}: no heading for {link}", document.display());
        }
    }
}

/// Every file of the repository, by its path from the root.
fn files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let inside = path.strip_prefix(root()).expect("inside");
            if inside.ends_with("target") || inside.starts_with(".git") {
                continue;
            }
            found.push(inside.to_owned());
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    found
}

/// Whether a name between backticks is that of files or folders.
fn names_a_file(name: &str) -> bool {
    let other = name.contains([' ', '…', ':', '<']);
    !other && (name.ends_with(".rs") || name.contains('/'))
}

/// Whether `path` is what a document calls `name`, where `*` stands for a part of a file's name.
fn is_called(path: &Path, name: &str) -> bool {
    let Some((beginning, ending)) = name.split_once('*') else {
        return path.ends_with(name);
    };
    let path = path.to_str().expect("text");
    let rest = path.strip_prefix(beginning);
    let rest = rest.and_then(|rest| rest.strip_suffix(ending));
    rest.is_some_and(|part| !part.contains('/'))
}

#[test]
fn a_pattern_is_found_by_its_beginning_and_its_end() {
    let called = |path: &str, name| is_called(Path::new(path), name);
    assert!(called(
        "tests/engine/weights_made.rs",
        "tests/engine/weights*.rs"
    ));
    assert!(!called("tests/engine/gpu/mod.rs", "tests/engine/gpu*.rs"));
    assert!(!called("tests/engine/gpu_names.rs", "tests/engine/gqu*.rs"));
    assert!(called("src/serving/live/locks.rs", "live/locks.rs"));
}

/// Returns the words between backticks outside of examples.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let prose = text.split("```").step_by(2);
    prose.flat_map(|part| part.split('`').skip(1).step_by(2))
}

#[test]
fn the_architecture_names_what_is_there() {
    let text = read(&root().join("ARCHITECTURE.md"));
    let files = files();
    for name in names(&text).filter(|name| names_a_file(name)) {
        let there = files.iter().any(|file| is_called(file, name));
        assert!(there, "ARCHITECTURE.md: {name}");
    }
}

#[test]
fn documents_name_what_is_there() {
    let folders = ["src/", "ui/", "tests/", "benches/", "assets/", ".ci/"];
    let is_ours = |name: &&str| names_a_file(name) && folders.iter().any(|f| name.starts_with(f));
    let files = files();
    let is_there = |name: &str| match name.contains('*') {
        true => files.iter().any(|file| is_called(file, name)),
        false => root().join(name).exists(),
    };
    for document in documents() {
        let text = read(&document);
        for name in names(&text).filter(is_ours) {
            assert!(is_there(name), "{}: {name}", document.display());
        }
    }
}

#[test]
fn documents_are_short() {
    let limits = [
        ("README.md", 900),
        ("ARCHITECTURE.md", 1_800),
        ("CHANGELOG.md", 600),
        ("CONTRIBUTING.md", 700),
    ];
    for (name, most) in limits {
        let words = count_words(&root().join(name));
        assert!(words <= most, "{name}: {words} words, at most {most}");
    }
    let mut for_users = documents_below(root().join("docs"));
    for_users.push(root().join("README.md"));
    let words: usize = for_users.iter().map(|path| count_words(path)).sum();
    assert!(
        words <= 26_000,
        "README.md and docs: {words} words, at most 26 000"
    );
}
