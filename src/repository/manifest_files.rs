//! The files named by a Divisi manifest. They must lie inside the repository.

use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::LoadFault;
use crate::folder::ModelFolder;

/// The fields of manifests that name files.
const FIELDS: [&str; 5] = ["file", "weights", "labels", "targets", "tokenizer"];

/// A file that a manifest names.
pub(crate) struct NamedFile {
    /// The path of field names that leads to it.
    field: String,
    /// Its path, relative to the manifest's folder.
    pub(crate) file: String,
    line: usize,
    /// The range of the quoted name in the text.
    pub(crate) place: Range<usize>,
}

/// Checks the files that a manifest names. The manifest's reader reports all other errors.
///
/// # Errors
/// A file lies outside the repository.
pub(crate) fn check(folder: &ModelFolder<'_>, manifest: &str) -> Result<(), LoadFault> {
    let text = folder.text(manifest)?;
    let outside = named(&text)
        .into_iter()
        .find(|named| folder.is_outside(&named.file));
    match outside {
        None => Ok(()),
        Some(named) => Err(named.outside(folder.display(manifest))),
    }
}

/// Returns the files that a manifest's text names, or an empty list if the text is malformed.
pub(crate) fn named(text: &str) -> Vec<NamedFile> {
    let mut named = Vec::new();
    if let Ok(table) = DeTable::parse(text) {
        collect_table(text, "", table.get_ref(), &mut named);
    }
    named
}

/// Collects the file names in a table at `path`.
fn collect_table(text: &str, path: &str, table: &DeTable<'_>, named: &mut Vec<NamedFile>) {
    for (name, value) in table {
        let name = name.get_ref();
        let field = match path {
            "" => name.to_string(),
            path => format!("{path}.{name}"),
        };
        match value.get_ref() {
            DeValue::String(file) if FIELDS.contains(&name.as_ref()) => named.push(NamedFile {
                field,
                file: file.to_string(),
                line: line_of(text, value.span().start),
                place: value.span(),
            }),
            _ => collect(text, &field, value, named),
        }
    }
}

/// Collects the file names in a value at `path`.
fn collect(text: &str, path: &str, value: &Spanned<DeValue<'_>>, named: &mut Vec<NamedFile>) {
    match value.get_ref() {
        DeValue::Table(table) => collect_table(text, path, table, named),
        DeValue::Array(values) => {
            let each = values.iter();
            each.for_each(|value| collect(text, path, value, named));
        }
        _ => {}
    }
}

/// Returns the line of a byte offset, from 1.
fn line_of(text: &str, at: usize) -> usize {
    let before = text.bytes().take(at);
    1 + before.filter(|byte| *byte == b'\n').count()
}

impl NamedFile {
    /// Returns the error of a file outside the repository.
    fn outside(self, manifest: String) -> LoadFault {
        let (field, file) = (self.field, self.file.escape_debug());
        let why =
            format_args!("{field}: expected a path inside the repository's folder, found `{file}`");
        LoadFault::of_line(&manifest, self.line, why)
    }
}

impl ModelFolder<'_> {
    /// Returns whether a path leaves the repository, also through links. A missing file does not.
    fn is_outside(&self, file: &str) -> bool {
        let real = || self.root().join(self.name()).join(file).canonicalize();
        let leaves = || real().is_ok_and(|real| !real.starts_with(self.root()));
        Path::new(file).is_absolute() || leaves()
    }
}
