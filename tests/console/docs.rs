//! The documentation says of commands, keys and options what the program says.

use std::fs;
use std::path::{Path, PathBuf};

use crate::generated::{BEGIN, END, generated, renewed};

/// The variable that asks for renewed documents instead of a comparison.
const RENEW: &str = "DIVISI_RENEW_DOCUMENTS";

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

#[test]
fn documents_hold_what_the_program_generates() {
    let renews = std::env::var_os(RENEW).is_some();
    for path in documents() {
        let shown = path.display();
        let text = fs::read_to_string(&path).expect("text");
        let renewed = renewed(&text).unwrap_or_else(|why| panic!("{shown}: {why}"));
        if renews {
            fs::write(&path, renewed).expect("writes");
            continue;
        }
        assert!(
            text == renewed,
            "{shown}: a generated part is not what the program does; renew it by\n  \
             {RENEW}=1 cargo test --test console documents_hold",
        );
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
    let old = format!("before\n{BEGIN}roles -->\nold\n{END}\nafter\n");
    let roles = generated("roles").expect("a part");
    let new = format!(
        "before\n{BEGIN}roles -->\n\n{}\n\n{END}\nafter\n",
        roles.trim()
    );
    assert_eq!(renewed(&old).as_deref(), Ok(new.as_str()));
    let error = renewed(&format!("{BEGIN}runes -->{END}")).expect_err("no such part");
    assert!(error.contains("no part of the documentation"), "{error}");
}

#[test]
fn the_command_line_is_described_whole() {
    let text = generated("commands").expect("a part");
    for command in ["divisi check", "divisi network bench", "divisi config init"] {
        assert!(text.contains(&format!("# `{command}`\n")), "{command}");
    }
    assert!(text.contains("| `--repeat <R>` |"), "{text}");
    assert!(!text.contains("__pick"));
}
