//! The names of the values of outputs, from files with one name a line.

use std::sync::Arc;

use crate::config::TensorConfig;
use crate::error::LoadFault;
use crate::folder::ModelFolder;

/// The names of the values of outputs, by the outputs' names.
pub type OutputLabels = Vec<(String, Arc<[String]>)>;

/// Reads the files that outputs name.
///
/// # Errors
/// A file cannot be read.
pub(crate) fn labels(
    folder: &ModelFolder<'_>,
    outputs: &[TensorConfig],
) -> Result<OutputLabels, LoadFault> {
    let mut all = Vec::new();
    for output in outputs {
        let Some(file) = output.labels.as_ref().filter(|file| !file.is_empty()) else {
            continue;
        };
        let text = folder.text(file)?;
        let lines = text.lines().map(|line| line.trim_end().to_owned());
        let mut names: Vec<String> = lines.collect();
        while names.last().is_some_and(String::is_empty) {
            names.pop();
        }
        if names.is_empty() {
            return Err(folder.failed(file, &"expected a name on each line, found none"));
        }
        all.push((output.name.clone(), names.into()));
    }
    Ok(all)
}
