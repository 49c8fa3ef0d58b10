//! Phrases that make texts hard to read, counted in the comments and strings of each crate and in the
//! documents. Counts may only fall.

use std::fs;
use std::path::{Path, PathBuf};

use crate::place::root;
use crate::sources::texts;

/// Words and phrases, each with a plainer form.
const HARD: [(&str, &str); 25] = [
    ("nobody", "no client, not ..."),
    ("whoever", "the client"),
    ("somebody", "a client"),
    ("everybody", "every client"),
    ("likewise", "also"),
    ("anew", "again"),
    ("beside", "next to, in addition to"),
    ("mended", "fixed"),
    ("dearest", "most expensive"),
    ("dearer", "more expensive"),
    ("is none", "is not a ..."),
    ("are none", "are not ..."),
    ("none any more", "no longer applies"),
    ("where there", "if there"),
    ("where it", "if it"),
    ("where no", "if no"),
    ("where a", "if a"),
    ("where one", "if one"),
    ("what is", "a noun"),
    ("what was", "a noun"),
    ("what runs", "the running setup"),
    ("what it", "a noun"),
    ("who asks", "the client"),
    ("is told", "is reported"),
    ("of before", "previous"),
];

/// The hard phrases of each folder. Lower a number when a text becomes plainer; never raise one.
const CEILINGS: [(&str, usize); 13] = [
    ("src/runtime", 17),
    ("src/modelless", 2),
    ("src/model", 2),
    ("src/engine", 7),
    ("src/session", 4),
    ("src/inference", 2),
    ("src/registry", 0),
    ("src/repository", 2),
    ("src/door", 7),
    ("src/tasks", 2),
    ("src/server", 0),
    ("ui/src", 0),
    ("docs", 0),
];

/// Returns the prose of a file of Rust: its comments, and its strings of several words.
fn prose(text: &str) -> String {
    let lines = text.lines().map(|line| match line.split_once("//") {
        Some((code, comment)) if code.matches('"').count() % 2 == 0 => {
            format!("{} {}", strings(code), without_code(comment))
        }
        _ => strings(line),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn strings(code: &str) -> String {
    let quoted = code.split('"').skip(1).step_by(2);
    let texts = quoted.filter(|text| text.contains(' '));
    texts.collect::<Vec<_>>().join(" ")
}

/// Returns a text without its parts between backticks.
fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join("x")
}

/// Returns the prose of a document: the text outside of fences and code.
fn document(text: &str) -> String {
    let outside = text.split("\n```").step_by(2);
    outside.map(without_code).collect::<Vec<_>>().join("\n")
}

/// Returns the hard phrases of a text, each with its line.
fn hard(text: &str) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let words = line.split(|c: char| !c.is_alphanumeric());
        let words: Vec<String> = words
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        let line = format!(" {} ", words.join(" "));
        let here = HARD.iter().filter(|(phrase, _)| {
            let phrase = format!(" {phrase} ");
            line.contains(&phrase)
        });
        found.extend(here.map(|(phrase, _)| (at + 1, *phrase)));
    }
    found
}

/// Returns the prose of a folder's files.
fn folder(folder: &str) -> Vec<(PathBuf, String)> {
    match folder {
        "docs" => documents(&root().join("docs")),
        folder => {
            let files = texts(folder).into_iter();
            files.map(|(path, text)| (path, prose(&text))).collect()
        }
    }
}

fn documents(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(documents(&path));
        } else if path.extension().is_some_and(|e| e == "md") {
            let text = fs::read_to_string(&path).expect("text");
            found.push((path, document(&text)));
        }
    }
    found
}

#[test]
fn hard_phrases_become_fewer() {
    let mut wrong = Vec::new();
    for (name, ceiling) in CEILINGS {
        let mut found = Vec::new();
        for (path, text) in folder(name) {
            let here = hard(&text).into_iter();
            found.extend(here.map(|(line, phrase)| format!("{}:{line} {phrase}", path.display())));
        }
        if found.len() > ceiling {
            let places = found.join("\n  ");
            wrong.push(format!(
                "{name}: {} phrases, at most {ceiling}:\n  {places}",
                found.len()
            ));
        }
        if found.len() < ceiling {
            wrong.push(format!("{name}: lower the ceiling to {}", found.len()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_hard_phrase_is_found_in_comments_strings_and_documents() {
    let code = "/// Nobody listens.\nlet a = \"what is it\"; // beside it\nlet b = nobody;";
    let found: Vec<&str> = hard(&prose(code)).into_iter().map(|(_, p)| p).collect();
    assert_eq!(found, ["nobody", "beside", "what is"]);
    let text = "Where it runs `nobody` is\n```text\nwhoever\n```\nlikewise";
    let found: Vec<&str> = hard(&document(text)).into_iter().map(|(_, p)| p).collect();
    assert_eq!(found, ["where it", "likewise"]);
}
