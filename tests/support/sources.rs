//! The sources of the workspace read as text: modules, imports, and the circles they form.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The roots of the crates, from the bottom up.
pub const CRATES: [&str; 3] = ["src/runtime", "src", "ui/src"];

/// The names that lead to a module from its crate's root.
pub type Module = Vec<String>;

/// The modules that each module of a crate uses.
pub type Imports = BTreeMap<Module, BTreeSet<Module>>;

pub struct SourceFile {
    pub path: PathBuf,
    pub module: Module,
    pub text: String,
}

/// Returns the files of the crate whose root is `folder`, without those of a crate inside of it.
pub fn files(folder: &str) -> Vec<SourceFile> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = top.join(folder);
    let others = CRATES.map(|c| top.join(c)).into_iter();
    let others: Vec<PathBuf> = others.filter(|o| *o != root).collect();
    let texts = texts(folder).into_iter();
    let ours = texts.filter(|(path, _)| {
        !others
            .iter()
            .any(|o| path.starts_with(o) && o.starts_with(&root))
    });
    let ours = ours.filter(|(path, _)| !path.ends_with("build.rs"));
    let found = ours.map(|(path, text)| {
        let module = module_of(path.strip_prefix(&root).expect("a file of the crate"));
        SourceFile { path, module, text }
    });
    found.collect()
}

/// Returns all files of Rust below `folder` of the repository, with their texts.
pub fn texts(folder: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = fs::read_to_string(&path).expect("text");
                found.push((path, text));
            }
        }
    }
    assert!(!found.is_empty(), "no source in {folder}");
    found
}

fn module_of(path: &Path) -> Module {
    let names = path.with_extension("");
    let mut names: Module = names
        .components()
        .map(|c| c.as_os_str().to_string_lossy().into_owned())
        .collect();
    let last = names.last().map(String::as_str);
    if matches!(last, Some("mod" | "lib" | "main")) {
        names.pop();
    }
    names
}

/// Returns which modules each module uses. A re-export leads to where the item is defined
/// and is no use by itself.
pub fn imports(files: &[SourceFile]) -> Imports {
    let modules: BTreeSet<Module> = files.iter().map(|f| f.module.clone()).collect();
    let mut exports: BTreeMap<Module, BTreeMap<String, Module>> = BTreeMap::new();
    let mut used: Vec<(&Module, Module)> = Vec::new();
    for file in files {
        let text = code(&file.text);
        let (statements, rest) = use_statements(&text);
        for (public, tree) in statements {
            for path in expanded(&tree) {
                let Some(path) = resolved(&file.module, &path, &modules) else {
                    continue;
                };
                match path.last() {
                    Some(name) if public => {
                        let names = exports.entry(file.module.clone()).or_default();
                        names.insert(name.clone(), path);
                    }
                    _ => used.push((&file.module, path)),
                }
            }
        }
        let inline = inline_paths(&rest);
        used.extend(
            inline.filter_map(|p| Some((&file.module, resolved(&file.module, &p, &modules)?))),
        );
    }
    let mut imports: Imports = modules
        .iter()
        .map(|m| (m.clone(), BTreeSet::new()))
        .collect();
    for (module, path) in used {
        let target = definition(&path, &modules, &exports, 8);
        if target != *module {
            imports.entry(module.clone()).or_default().insert(target);
        }
    }
    imports
}

/// Returns `text` without comments, and with empty strings in place of those it has.
pub fn code(text: &str) -> String {
    let mut code = String::new();
    for line in text.lines() {
        let mut quoted = false;
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\\' if quoted => drop(chars.next()),
                '"' => quoted = !quoted,
                '/' if !quoted && chars.peek() == Some(&'/') => break,
                _ if quoted => {}
                c => code.push(c),
            }
        }
        code.push('\n');
    }
    code
}

/// Returns the `use` statements, public or not, and the text without them.
fn use_statements(text: &str) -> (Vec<(bool, String)>, String) {
    let (mut found, mut rest) = (Vec::new(), String::new());
    for statement in text.split_inclusive(';') {
        let start = ["use ", "pub use ", "pub(crate) use ", "pub(super) use "]
            .iter()
            .filter_map(|word| Some((statement.rfind(&format!("\n{word}"))?, word)))
            .min_by_key(|(at, _)| *at);
        match start {
            Some((at, word)) => {
                rest.push_str(&statement[..at]);
                let tree = statement[at + 1 + word.len()..].trim_end_matches(';');
                found.push((word.starts_with("pub"), tree.to_owned()));
            }
            None => rest.push_str(statement),
        }
    }
    (found, rest)
}

/// Returns the paths of a tree such as `a::{b, c::{d, e}}`.
fn expanded(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((before, inside)) = tree.strip_suffix('}').and_then(|t| t.split_once('{')) else {
        let path = tree.split(" as ").next().unwrap_or(tree);
        return vec![path.trim().trim_end_matches("::self").to_owned()];
    };
    let (mut depth, mut part, mut paths) = (0, String::new(), Vec::new());
    for c in inside.chars().chain([',']) {
        match c {
            ',' if depth == 0 => {
                let branch = std::mem::take(&mut part);
                let ends = expanded(&branch);
                let ends = ends.iter().filter(|e| !e.is_empty());
                paths.extend(
                    ends.map(|e| format!("{before}{e}").trim_end_matches("::self").to_owned()),
                );
                continue;
            }
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        part.push(c);
    }
    paths
}

/// Returns the paths in expressions and types that begin with `crate` or `super`.
fn inline_paths(text: &str) -> impl Iterator<Item = String> + '_ {
    let starts = text
        .match_indices("crate::")
        .chain(text.match_indices("super::"));
    starts
        .filter(|(at, _)| !text[..*at].ends_with("::"))
        .map(|(at, _)| {
            let inside = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
            let end = text[at..].find(|c| !inside(c)).unwrap_or(text.len() - at);
            text[at..at + end].trim_end_matches(':').to_owned()
        })
}

/// Returns the path from the crate's root, or `None` for another crate's.
fn resolved(here: &Module, path: &str, modules: &BTreeSet<Module>) -> Option<Module> {
    let mut names = path.split("::").peekable();
    let mut from = match *names.peek()? {
        "crate" => Vec::new(),
        "self" | "super" => here.clone(),
        name => {
            let mut child = here.clone();
            child.push(name.to_owned());
            let ours = modules.contains(&child);
            return ours.then(|| {
                here.iter()
                    .cloned()
                    .chain(names.map(str::to_owned))
                    .collect()
            });
        }
    };
    while let Some(name) = names.next_if(|n| matches!(*n, "crate" | "self" | "super")) {
        if name == "super" {
            from.pop();
        }
    }
    from.extend(names.map(str::to_owned));
    Some(from)
}

/// Returns the module that defines what `path` leads to, following re-exports.
fn definition(
    path: &Module,
    modules: &BTreeSet<Module>,
    exports: &BTreeMap<Module, BTreeMap<String, Module>>,
    steps: usize,
) -> Module {
    let known = (0..=path.len())
        .rev()
        .find(|n| modules.contains(&path[..*n]));
    let (module, rest) = path.split_at(known.unwrap_or(0));
    let exported = rest.first().and_then(|name| exports.get(module)?.get(name));
    match exported {
        Some(to) if steps > 0 && to != path => {
            let to = to.iter().chain(&rest[1..]).cloned().collect();
            definition(&to, modules, exports, steps - 1)
        }
        _ => module.to_vec(),
    }
}

/// Returns the sets of at least two modules that all reach each other.
pub fn circles(imports: &Imports) -> Vec<Vec<&Module>> {
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        imports.keys().map(|m| (m, reachable(m, imports))).collect();
    let mut placed = BTreeSet::new();
    let mut circles = Vec::new();
    for module in imports.keys() {
        let others = reached[module].iter().copied();
        let circle: Vec<&Module> = others.filter(|m| reached[m].contains(module)).collect();
        if circle.len() > 1 && placed.insert(circle.clone()) {
            circles.push(circle);
        }
    }
    circles
}

fn reachable<'a>(from: &Module, imports: &'a Imports) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&Module> = imports[from].iter().collect();
    while let Some(module) = open.pop() {
        if reached.insert(module) {
            open.extend(imports.get(module).into_iter().flatten());
        }
    }
    reached
}
