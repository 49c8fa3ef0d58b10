//! The rules that a reader of the sources may rely on: small circles, short files, plain words.

use std::collections::BTreeMap;

use crate::sources::{CRATES, Module, SourceFile, circles, files, imports, texts};

const MODULES_OF_A_CIRCLE: usize = 5;
const LINES_OF_A_FILE: usize = 400;
const NAMES_FOR_MORE_THAN_ONE_TYPE: usize = 15;

fn all() -> impl Iterator<Item = SourceFile> {
    CRATES.into_iter().flat_map(files)
}

fn joined(module: &Module) -> String {
    module.join("::")
}

#[test]
fn few_files_use_each_other_in_a_circle() {
    for folder in CRATES {
        let imports = imports(&files(folder));
        for circle in circles(&imports) {
            let names: Vec<String> = circle.iter().map(|m| joined(m)).collect();
            assert!(
                names.len() <= MODULES_OF_A_CIRCLE,
                "{folder}: {}",
                names.join(", ")
            );
        }
    }
}

#[test]
fn a_file_is_read_in_one_go() {
    let lengths = all().map(|f| (f.text.lines().count(), f.path));
    let long: Vec<_> = lengths.filter(|(n, _)| *n > LINES_OF_A_FILE).collect();
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn documentation_says_returns_and_does_not_begin_with_what() {
    let (mut gives, mut what) = (Vec::new(), Vec::new());
    let folders = ["src", "ui", "tests", "benches"];
    for (path, text) in folders.into_iter().flat_map(texts) {
        for (at, line) in text.lines().enumerate() {
            let Some(comment) = line.trim_start().strip_prefix("//") else {
                continue;
            };
            let place = format!("{}:{}", path.display(), at + 1);
            if comment.starts_with("/ What ") || comment.starts_with("! What ") {
                what.push(place.clone());
            }
            let mut words = comment.split(|c: char| !c.is_alphanumeric());
            if words.any(|w| w == "gives") {
                gives.push(place);
            }
        }
    }
    assert!(gives.is_empty(), "`returns`, not `gives`: {gives:#?}");
    assert!(what.is_empty(), "begin with what it is: {what:#?}");
}

/// The files that may sleep: between two looks at something outside of the program, or at the pace of a
/// second. None sleeps so that another thread comes first.
const SLEEPS: [&str; 8] = [
    "src/engine/search/profiling/mod.rs",
    "src/registry/store/file.rs",
    "src/runtime/device/host/monitor.rs",
    "src/server/control.rs",
    "src/tasks/jobs/lane.rs",
    "src/tasks/jobs/live.rs",
    "src/tasks/profiles/live.rs",
    "ui/src/cli/",
];

#[test]
fn no_sleep_orders_two_threads() {
    let sleeping = all().filter(|file| file.text.contains("thread::sleep"));
    let paths = sleeping.map(|file| file.path.display().to_string());
    let others = paths.filter(|path| !SLEEPS.iter().any(|known| path.contains(known)));
    assert_eq!(others.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn the_name_of_a_type_is_used_for_one_thing() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in all() {
        for name in file.text.lines().filter_map(type_name) {
            let place = format!("{}", file.path.display());
            places.entry(name.to_owned()).or_default().push(place);
        }
    }
    places.retain(|_, places| places.len() > 1);
    assert!(places.len() < NAMES_FOR_MORE_THAN_ONE_TYPE, "{places:#?}");
}

/// Returns the name of the type that a line at the left margin defines.
fn type_name(line: &str) -> Option<&str> {
    let line = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.trim_start(),
        None => line,
    };
    let kinds = ["struct ", "enum ", "trait ", "type "];
    let name = kinds.iter().find_map(|k| line.strip_prefix(k))?;
    name.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .next()
}

mod the_reader_of_sources {
    use super::*;

    fn file(module: &[&str], text: &str) -> SourceFile {
        SourceFile {
            path: module.join("/").into(),
            module: module.iter().map(|n| (*n).to_owned()).collect(),
            text: format!("\n{text}"),
        }
    }

    fn found(files: &[SourceFile]) -> Vec<String> {
        let imports = imports(files);
        let circles = circles(&imports);
        let names = circles
            .iter()
            .map(|c| c.iter().map(|m| joined(m)).collect::<Vec<_>>());
        names.map(|n| n.join(" ")).collect()
    }

    #[test]
    fn finds_a_circle_through_re_exports_nested_trees_and_paths_in_code() {
        let files = [
            file(&[], "pub mod a;"),
            file(
                &["a"],
                "mod b;\nmod c;\nmod d;\npub use b::{B, Other};\npub use c::C;",
            ),
            file(
                &["a", "b"],
                "use std::fmt;\nuse crate::a::{x::Y, c::{self, C as Renamed}};",
            ),
            file(&["a", "c"], "use super::d::D;\npub struct C;"),
            file(&["a", "d"], "pub fn d() -> super::B { crate::a::B }"),
        ];
        assert_eq!(found(&files), ["a::b a::c a::d"]);
    }

    #[test]
    fn sees_no_use_in_comments_strings_and_other_crates() {
        let files = [
            file(
                &["a"],
                "// use crate::b::B;\nconst TEXT: &str = \"crate::b::B\";",
            ),
            file(&["b"], "use crate::a::A;\nuse a::B;\nuse other::a::C;"),
        ];
        assert_eq!(found(&files), Vec::<String>::new());
    }

    #[test]
    fn finds_paths_in_code_that_begin_with_a_module_in_scope() {
        let files = [
            file(
                &["a"],
                "mod b;\nmod c;\nmod d;\npub fn a() { b::b(); self::c::c() }",
            ),
            file(&["a", "b"], "use super::a;"),
            file(
                &["a", "c"],
                "use super::d as renamed;\nfn c() { renamed::e::e() }",
            ),
            file(&["a", "d"], "mod e;\npub(crate) use e::e as also;"),
            file(&["a", "d", "e"], "pub fn e() { super::super::a() }"),
            file(&["f"], "mod g;\npub use g::g as h;\nfn f() { g::g() }"),
            file(&["f", "g"], "pub fn g() { super::h() }"),
        ];
        assert_eq!(found(&files), ["a a::b a::c a::d::e"]);
    }

    #[test]
    fn sees_no_use_in_methods_and_in_who_may_see_an_item() {
        let files = [
            file(
                &["a"],
                "mod parse;\npub fn a(text: &str) { text.parse::<f64>() }",
            ),
            file(
                &["a", "parse"],
                "use super::a;\npub(in crate::b) fn parse() {}",
            ),
            file(&["b"], "use crate::a::parse::parse;"),
        ];
        assert_eq!(found(&files), Vec::<String>::new());
    }
}
