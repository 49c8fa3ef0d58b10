//! What the documents say of files, and how long they may be.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    let text = fs::read_to_string(path);
    text.unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The documents at the root and in `docs`.
fn documents() -> Vec<PathBuf> {
    let folders = [root().to_owned(), root().join("docs")];
    let entries = folders
        .iter()
        .flat_map(|f| fs::read_dir(f).expect("a folder"));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .filter(|path| path.extension().is_some_and(|e| e == "md"))
        .collect()
}

/// What is linked to: `[…](TARGET)`.
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

/// The files that a document names between backticks, by their path from the root.
fn named_files(text: &str) -> impl Iterator<Item = &str> {
    let folders = [
        "src/", "ui/", "tests/", "benches/", "docs/", "assets/", ".ci/",
    ];
    let names = text.split('`').skip(1).step_by(2);
    let paths = names.filter(move |name| folders.iter().any(|f| name.starts_with(f)));
    // A pattern or a command names no single file.
    paths.filter(|name| !name.contains(['*', ' ', '…']))
}

#[test]
fn the_architecture_names_what_is_there() {
    let text = read(&root().join("ARCHITECTURE.md"));
    for name in named_files(&text) {
        assert!(root().join(name).exists(), "ARCHITECTURE.md: {name}");
    }
}

#[test]
fn the_readme_is_short() {
    let words = read(&root().join("README.md")).split_whitespace().count();
    assert!(words <= 900, "{words} words, expected at most 900");
}
