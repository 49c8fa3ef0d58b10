//! The terms of `docs/glossary.md` exist in the sources, and replaced names are not used again.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::place::root;

use crate::sources::{code, texts};

const FOLDERS: [&str; 6] = ["src", "ui", "tests", "benches", "examples", "fuzz"];

/// A file of Rust.
struct Source {
    /// In the repository, without its extension.
    path: PathBuf,
    /// All of its identifiers and keywords.
    words: BTreeSet<String>,
    /// The types that it defines.
    types: BTreeSet<String>,
}

impl Source {
    fn new(path: &Path, text: &str) -> Self {
        let code = code(text);
        let words: Vec<&str> = identifiers(&code).collect();
        let keywords = ["struct", "enum", "trait", "type"];
        let defines = |pair: &&[&str]| keywords.contains(&pair[0]);
        let types = words.windows(2).filter(defines).map(|pair| pair[1]);
        let path = path.strip_prefix(root()).expect("inside");
        Source {
            path: path.with_extension(""),
            types: types.map(str::to_owned).collect(),
            words: words.into_iter().map(str::to_owned).collect(),
        }
    }

    /// Whether the file is one of, or lies in, all of these modules.
    fn is_in(&self, modules: &[&str]) -> bool {
        let parts: Vec<_> = self.path.iter().filter_map(|part| part.to_str()).collect();
        modules.iter().all(|module| parts.contains(module))
    }
}

/// Every file of Rust.
fn sources() -> Vec<Source> {
    let files = FOLDERS.into_iter().flat_map(texts);
    files
        .map(|(path, text)| Source::new(&path, &text))
        .collect()
}

fn identifiers(code: &str) -> impl Iterator<Item = &str> {
    let words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|word| !word.is_empty())
}

/// The rows of the table below `heading`, each with its cells.
fn table(heading: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(root().join("docs/glossary.md")).expect("the glossary");
    let part = text.split("\n## ").find(|p| p.starts_with(heading));
    let lines = part.expect("the heading").lines();
    let rows = lines.filter(|line| line.starts_with("| ") && !line.starts_with("| term"));
    let rows: Vec<Vec<String>> = rows.map(cells).collect();
    assert!(rows.len() > 10, "{heading}: few rows");
    rows
}

fn cells(row: &str) -> Vec<String> {
    let cells = row.split(" | ").map(|cell| cell.trim_matches(['|', ' ']));
    cells.map(str::to_owned).collect()
}

/// Returns the words between backticks.
fn names(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

#[test]
fn every_term_is_in_the_sources() {
    let sources = sources();
    let ours = |source: &&Source| source.path.starts_with("src");
    for row in table("Terms") {
        let [term, meaning, place] = row.as_slice() else {
            panic!("three cells: {row:?}");
        };
        assert!(!meaning.is_empty(), "{term}: no meaning");
        assert!(names(place).next().is_some(), "{term}: no type or module");
        for name in names(place) {
            let path: Vec<&str> = name.split("::").collect();
            let (last, modules) = path.split_last().expect("a name");
            let is_type = last.starts_with(char::is_uppercase);
            let is_there = |source: &Source| match is_type {
                true => source.is_in(modules) && source.types.contains(*last),
                false => source.is_in(&path),
            };
            let there = sources.iter().filter(ours).any(is_there);
            assert!(there, "{term}: `{name}` is not in the sources");
        }
    }
}

/// Names that are not used any more, and the names that replace them.
const REPLACED: [(&str, &str); 42] = [
    ("Ballot ballot", "MemberSample"),
    ("befall", "inject"),
    ("Board", "GpuSlot"),
    ("By", "CallingThread"),
    ("Chronicle", "ChangeLog"),
    ("Climber climber", "LocalSearch"),
    ("Crew crew", "GpuWorker"),
    ("Fate", "DeviceFault"),
    ("finals", "halving"),
    ("foremost", "preferred"),
    ("Hand", "BoundedThread"),
    ("Happened", "DeviceEvent"),
    ("Heard", "ReceivedRequest"),
    ("knock", "probe"),
    ("Lobby", "Connections"),
    ("LossWatch", "FailureWatch"),
    ("Modelled", "ModelSearch"),
    ("Opened", "GpuContext"),
    ("Page with_page", "ConfigSource ManifestSource"),
    ("Pen pen", "Painter"),
    ("polish", "refine"),
    ("Post", "LaneHandle"),
    ("Programme programme programmes", "LinearProgram"),
    ("Ran", "HistoryEntry"),
    ("refuge", "fallback"),
    ("relief", "propose_move"),
    ("Room", "MemoryBudget"),
    ("Rounds", "HubLoop"),
    ("Scales", "MemberEvaluation"),
    ("Scribe scribe", "RecordingWriter"),
    ("Seat seat seats", "ViewerState"),
    ("Sorry", "Refused"),
    ("Standing", "MemberContribution"),
    ("strangers", "pending"),
    ("Summit summit summits", "LocalOptimum"),
    ("Tape tape", "RecordingReader"),
    ("Then", "ConfirmedAction"),
    ("Told", "LossLog"),
    ("Watched", "EngineCounters"),
    ("Weighed", "MemberFigures"),
    ("Weighing", "MemberSampler"),
    ("Wrong", "ConfigError FieldError"),
];

#[test]
fn replaced_names_are_not_used() {
    let sources = sources();
    for (old, new) in REPLACED {
        for name in old.split(' ') {
            let found = sources.iter().find(|source| source.words.contains(name));
            let path = found.map(|source| source.path.display());
            assert!(found.is_none(), "`{name}` is {new} now: {path:?}");
        }
        for name in new.split(' ') {
            let is_used = sources.iter().any(|source| source.words.contains(name));
            assert!(is_used, "{old}: `{name}` is not in the sources");
        }
    }
}
