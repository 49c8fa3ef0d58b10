//! The documentation says of commands, keys and options what the program says.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cli::{divisi, fails, scratch};

const BEGIN: &str = "<!-- generated: divisi docs ";
const END: &str = "<!-- end of generated -->";

/// The generated parts that each of these documents must contain.
const HELD: [(&str, &[&str]); 4] = [
    (
        "docs/reference/command-line.md",
        &["commands", "environment"],
    ),
    ("docs/reference/keys.md", &["keys"]),
    ("docs/reference/pipelines.md", &["steps"]),
    ("docs/reference/configuration.md", &["config", "roles"]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The README and every document in `docs` and its folders.
fn documents() -> Vec<PathBuf> {
    let mut documents = vec![root().join("README.md")];
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                documents.push(path);
            }
        }
    }
    documents
}

/// The generated parts of a document: their names and texts.
fn parts(text: &str) -> Vec<(&str, &str)> {
    let parts = text.split(BEGIN).skip(1).map(|part| {
        let (name, rest) = part.split_once(" -->").expect("a marker that ends");
        let (held, _) = rest.split_once(END).expect("a marker at the end");
        (name, held.trim())
    });
    parts.collect()
}

fn generated(part: &str) -> String {
    let output = divisi(&["docs", part]);
    assert!(output.status.success(), "no part is called `{part}`");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn documents_hold_what_the_program_generates() {
    for path in documents() {
        let text = fs::read_to_string(&path).expect("text");
        for (part, held) in parts(&text) {
            assert!(
                held == generated(part).trim(),
                "{}: the part `{part}` is not what the program does; renew it by\n  \
                 cargo run -- docs --renew docs/*.md docs/*/*.md README.md",
                path.display()
            );
        }
    }
}

#[test]
fn documents_hold_the_parts_that_they_are_for() {
    for (path, held) in HELD {
        let text = fs::read_to_string(root().join(path));
        let text = text.unwrap_or_else(|e| panic!("{path}: {e}"));
        for part in held {
            let marker = format!("{BEGIN}{part} -->");
            assert!(text.contains(&marker), "{path}: no {marker}");
        }
    }
}

#[test]
fn generated_parts_are_renewed_where_they_stand() {
    let path = scratch("renewed.md");
    let old = format!("before\n{BEGIN}roles -->\nold\n{END}\nafter\n");
    fs::write(&path, old).expect("writes");
    let file = path.to_str().expect("text");
    assert!(divisi(&["docs", "--renew", file]).status.success());
    let new = fs::read_to_string(&path).expect("text");
    assert_eq!(parts(&new), [("roles", generated("roles").trim())]);
    assert!(new.starts_with("before\n") && new.ends_with("\nafter\n"));
    fs::write(&path, format!("{BEGIN}runes -->{END}")).expect("writes");
    let (code, error) = fails(&["docs", "--renew", file]);
    assert_eq!(code, Some(1));
    assert!(error.contains("no part of the documentation"), "{error}");
}

#[test]
fn the_command_line_is_described_whole() {
    let text = generated("commands");
    for command in ["divisi check", "divisi network bench", "divisi config init"] {
        assert!(text.contains(&format!("# `{command}`\n")), "{command}");
    }
    assert!(text.contains("| `--repeat <R>` |"), "{text}");
    assert!(!text.contains("__pick") && !text.contains("divisi docs"));
}
