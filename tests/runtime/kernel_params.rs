//! The structures that GPU kernels are handed are written down twice, for C++ and for Rust:
//! both must say the same.

use crate::place::root;
use std::collections::BTreeMap;
use std::fs;

/// Fields of each structure, with their types by the names that Rust has for them.
type Structures = BTreeMap<String, Vec<(String, String)>>;

fn read(file: &str) -> String {
    let path = root().join("src/runtime/compute/cuda");
    fs::read_to_string(path.join(file)).unwrap()
}

/// The lines between the opening of each structure and its end, without comments.
fn structures(
    text: &str,
    opening: &str,
    field: impl Fn(&str) -> Vec<(String, String)>,
) -> Structures {
    let lines = text
        .lines()
        .map(|line| line.split("//").next().unwrap().trim());
    let mut all = Structures::new();
    let mut open: Option<String> = None;
    for line in lines {
        if let Some(name) = line.strip_prefix(opening) {
            open = Some(name.trim_end_matches(['{', ' ']).to_owned());
        } else if line.starts_with('}') {
            open = None;
        } else if let Some(name) = open.as_ref().filter(|_| !line.is_empty()) {
            all.entry(name.clone()).or_default().extend(field(line));
        }
    }
    all
}

/// `const float *scale;`, `int32_t rows, channels;`, `uint64_t addresses[256];`
fn cpp_fields(line: &str) -> Vec<(String, String)> {
    let line = line
        .strip_prefix("const ")
        .unwrap_or(line)
        .trim_end_matches(';');
    let (kind, names) = line.split_once(' ').unwrap();
    let field = |name: &str| match name.trim().strip_prefix('*') {
        Some(name) => (name.to_owned(), "u64".to_owned()),
        None => match name.trim().split_once('[') {
            // Lengths have names in Rust; both check the sizes of their structures.
            Some((name, _)) => (name.to_owned(), format!("[{}]", rust_name(kind))),
            None => (name.trim().to_owned(), rust_name(kind).to_owned()),
        },
    };
    names.split(',').map(field).collect()
}

fn rust_name(kind: &str) -> &str {
    match kind {
        "int32_t" | "Activation" => "i32",
        "int64_t" => "i64",
        "float" => "f32",
        "uint64_t" => "u64",
        other => other,
    }
}

/// `pub rows: i32,`
fn rust_fields(line: &str) -> Vec<(String, String)> {
    let field = line
        .strip_prefix("pub ")
        .and_then(|line| line.split_once(':'));
    let (name, kind) = field.unwrap_or_else(|| panic!("expected a field, found `{line}`"));
    let kind = kind.trim().trim_end_matches(',');
    let plain = |kind: &str| kind.trim_end_matches("Params").to_owned();
    let kind = match kind.strip_prefix('[').and_then(|k| k.split_once(';')) {
        Some((each, _)) => format!("[{}]", plain(each)),
        None => plain(kind),
    };
    vec![(name.to_owned(), kind)]
}

#[test]
fn kernels_are_handed_what_they_read() {
    let cpp = structures(&read("kernels/params.h"), "struct ", cpp_fields);
    let rust = structures(&read("params.rs"), "pub(super) struct ", rust_fields);
    let plain = |name: &str| name.trim_end_matches("Params").to_owned();
    let rust: Structures = rust
        .into_iter()
        .map(|(name, f)| (plain(&name), f))
        .collect();
    assert!(cpp.len() > 5, "found {cpp:?}");
    assert_eq!(cpp, rust);
}

#[test]
fn structures_are_c_structures() {
    let text = read("params.rs");
    let structs = text.matches("pub(super) struct ").count();
    assert_eq!(text.matches("#[repr(C)]").count(), structs);
}
