//! The files that a manifest of ours names: none of them outside of the repository.

use std::path::Path;

use crate::error::LoadFault;
use crate::folder::ModelFolder;

/// The fields of manifests that name files.
const FIELDS: [&str; 5] = ["file", "weights", "labels", "targets", "tokenizer"];

/// Checks the files that a manifest names. What else is wrong with it is for its reader to say.
pub(crate) fn check(folder: &ModelFolder<'_>, manifest: &str) -> Result<(), LoadFault> {
    let text = folder.text(manifest)?;
    let Ok(table) = text.parse::<toml::Table>() else {
        return Ok(());
    };
    let mut named = Vec::new();
    collect(&toml::Value::Table(table), &mut named);
    named.iter().try_for_each(|file| folder.check_path(file))
}

/// Collects the names of files.
fn collect(value: &toml::Value, named: &mut Vec<String>) {
    match value {
        toml::Value::Table(table) => {
            for (field, value) in table {
                match value {
                    toml::Value::String(file) if FIELDS.contains(&field.as_str()) => {
                        named.push(file.clone());
                    }
                    value => collect(value, named),
                }
            }
        }
        toml::Value::Array(values) => values.iter().for_each(|value| collect(value, named)),
        _ => {}
    }
}

impl ModelFolder<'_> {
    /// Checks that a path that may lead to other folders stays in the repository. One that is not
    /// there does.
    fn check_path(&self, file: &str) -> Result<(), LoadFault> {
        let outside = || LoadFault::Outside {
            file: self.shown(file),
        };
        if Path::new(file).is_absolute() {
            return Err(outside());
        }
        match self.root().join(self.name()).join(file).canonicalize() {
            Ok(real) if !real.starts_with(self.root()) => Err(outside()),
            _ => Ok(()),
        }
    }
}
