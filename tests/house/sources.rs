//! The sources of the workspace read as text: modules, imports, and the circles they form.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::place::root;

/// The roots of the crates, from the bottom up.
pub const CRATES: [&str; 12] = [
    "src/runtime",
    "src/modelless",
    "src/model",
    "src/engine",
    "src/session",
    "src/inference",
    "src/registry",
    "src/repository",
    "src/door",
    "src/tasks",
    "src/server",
    "ui/src",
];

/// The names that lead to a module from its crate's root.
pub type Module = Vec<String>;

/// The modules that each module of a crate uses.
pub type Imports = BTreeMap<Module, BTreeSet<Module>>;

/// Names, and the paths from the crate's root that they stand for.
type Names = BTreeMap<String, Module>;

pub struct SourceFile {
    pub path: PathBuf,
    pub module: Module,
    pub text: String,
}

/// Returns the files of the crate whose root is `folder`.
pub fn files(folder: &str) -> Vec<SourceFile> {
    let root = root().join(folder);
    let ours = texts(folder).into_iter();
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
    let mut folders = vec![root().join(folder)];
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
    let mut paths: BTreeMap<Module, ModulePaths> = BTreeMap::new();
    for file in files {
        let of_module = paths.entry(file.module.clone()).or_default();
        of_module.add(file, &modules);
    }
    let used = paths.iter().map(|(module, of_module)| {
        let targets = of_module.used.iter();
        let targets = targets.map(|path| definition(path, &modules, &paths, 8));
        let others = targets.filter(|target| target != module);
        (module.clone(), others.collect())
    });
    used.collect()
}

/// The paths that a module names, from the crate's root.
#[derive(Default)]
struct ModulePaths {
    /// The paths that it re-exports, by the names that they have there.
    exports: Names,
    /// The paths that it uses.
    used: Vec<Module>,
}

impl ModulePaths {
    /// Adds the paths of a file, for roots of crates have more than one.
    fn add(&mut self, file: &SourceFile, modules: &BTreeSet<Module>) {
        let text = code(&file.text);
        let (statements, rest) = use_statements(&text);
        let mut scope = Names::new();
        for (public, branch) in statements {
            let Some(path) = resolved(&file.module, &branch.path, modules) else {
                continue;
            };
            scope.insert(branch.name.clone(), path.clone());
            if public {
                self.exports.insert(branch.name, path);
            } else {
                self.used.push(path);
            }
        }
        let inline = inline_paths(&rest).filter_map(|path| {
            in_scope(&scope, path).or_else(|| resolved(&file.module, path, modules))
        });
        self.used.extend(inline);
    }
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

/// Returns what the `use` statements bring in, publicly or not, and the text without them.
fn use_statements(text: &str) -> (Vec<(bool, Branch)>, String) {
    let (mut found, mut rest) = (Vec::new(), String::new());
    for statement in text.split_inclusive(';') {
        let mut lines = statement.match_indices('\n').map(|(at, _)| at + 1).rev();
        let start = lines.find_map(|at| Some((at, use_tree(&statement[at..])?)));
        match start {
            Some((at, (public, tree))) => {
                rest.push_str(&statement[..at]);
                let branches = expanded(tree.trim_end_matches(';'));
                found.extend(branches.into_iter().map(|b| (public, b)));
            }
            None => rest.push_str(statement),
        }
    }
    (found, rest)
}

/// Returns whether a `use` statement is public, and its tree; `None` for another statement.
fn use_tree(statement: &str) -> Option<(bool, &str)> {
    let (public, rest) = match statement.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => (true, rest.split_once(") ")?.1),
        Some(rest) => (true, rest.strip_prefix(' ')?),
        None => (false, statement),
    };
    Some((public, rest.strip_prefix("use ")?))
}

/// A path that a `use` statement brings in, and the name that it has from then on.
struct Branch {
    path: String,
    name: String,
}

impl Branch {
    fn new(tree: &str) -> Self {
        let (path, name) = match tree.split_once(" as ") {
            Some((path, name)) => (path, Some(name)),
            None => (tree, None),
        };
        let path = path.trim().trim_end_matches("::self");
        let last = path.rsplit("::").next().unwrap_or(path);
        Branch {
            path: path.to_owned(),
            name: name.unwrap_or(last).trim().to_owned(),
        }
    }
}

/// Returns the paths of a tree such as `a::{b, c::{d, e}}`.
fn expanded(tree: &str) -> Vec<Branch> {
    let tree = tree.trim();
    let Some((before, inside)) = tree.strip_suffix('}').and_then(|t| t.split_once('{')) else {
        return vec![Branch::new(tree)];
    };
    let (mut depth, mut part, mut branches) = (0, String::new(), Vec::new());
    for c in inside.chars().chain([',']) {
        match c {
            ',' if depth == 0 => {
                let part = std::mem::take(&mut part);
                if !part.trim().is_empty() {
                    branches.extend(expanded(&format!("{before}{}", part.trim())));
                }
                continue;
            }
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        part.push(c);
    }
    branches
}

/// Returns the paths in expressions and types, without those that say who may see an item.
fn inline_paths(text: &str) -> impl Iterator<Item = &str> {
    let mut parts = text.split("pub(in ");
    let first = parts.next();
    let others = parts.filter_map(|part| Some(part.split_once(')')?.1));
    let outside = |c: char| !(c.is_alphanumeric() || c == '_' || c == ':');
    let words = first.into_iter().chain(others);
    let words = words.flat_map(move |part| part.split(outside));
    words
        .filter(|word| word.contains("::"))
        .map(|word| word.trim_end_matches(':'))
        // A method may have the name of a module: `parse::<f64>()`.
        .filter(|path| path.contains("::") || matches!(*path, "crate" | "self" | "super"))
}

/// Returns the path from the crate's root of one that begins with a name of `scope`.
fn in_scope(scope: &Names, path: &str) -> Option<Module> {
    let mut names = path.split("::");
    let from = scope.get(names.next()?)?.iter().cloned();
    Some(from.chain(names.map(str::to_owned)).collect())
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
    paths: &BTreeMap<Module, ModulePaths>,
    steps: usize,
) -> Module {
    let known = (0..=path.len())
        .rev()
        .find(|n| modules.contains(&path[..*n]));
    let (module, rest) = path.split_at(known.unwrap_or(0));
    let exported = rest
        .first()
        .and_then(|name| paths.get(module)?.exports.get(name));
    match exported {
        Some(to) if steps > 0 && to != path => {
            let to = to.iter().chain(&rest[1..]).cloned().collect();
            definition(&to, modules, paths, steps - 1)
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
