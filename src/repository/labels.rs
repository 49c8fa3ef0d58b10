//! The names of output values, from files with one name per line.

use std::sync::Arc;

use crate::config::{StepConfig, TensorConfig};
use crate::error::LoadFault;
use crate::folder::ModelFolder;

/// The names of output values, by output name.
pub type OutputLabels = Vec<(String, Arc<[String]>)>;

/// Reads the label files of outputs.
///
/// # Errors
/// A file cannot be read, lies outside the model's folder, or contains no names.
pub(crate) fn labels(
    folder: &ModelFolder<'_>,
    outputs: &[TensorConfig],
) -> Result<OutputLabels, LoadFault> {
    let mut all = Vec::new();
    for output in outputs {
        let Some(file) = output.labels.as_ref().filter(|file| !file.is_empty()) else {
            continue;
        };
        let names = names(folder, file).map_err(|fault| {
            let why = format!(
                "output `{}`: label_filename: expected a file in the model's folder with one name \
                 per line; {fault}",
                output.name
            );
            folder.wrong(output.line, why)
        })?;
        all.push((output.name.clone(), names.into()));
    }
    Ok(all)
}

/// Returns the names of an ensemble's output values, from the models of its steps.
pub(crate) fn of_steps<'s>(
    steps: impl Iterator<Item = (&'s StepConfig, &'s OutputLabels)>,
    outputs: &[TensorConfig],
) -> OutputLabels {
    let is_output = |name: &String| outputs.iter().any(|output| output.name == *name);
    let of_step = move |(step, known): (&'s StepConfig, &'s OutputLabels)| {
        let made = step
            .outputs
            .iter()
            .filter(move |(_, tensor)| is_output(tensor));
        made.filter_map(move |(own, tensor)| {
            let mut labels = known.iter();
            let (_, names) = labels.find(|(output, _)| output == own)?;
            Some((tensor.clone(), Arc::clone(names)))
        })
    };
    steps.flat_map(of_step).collect()
}

/// Adds names for outputs that have none.
pub(crate) fn inherit(own: &mut OutputLabels, inherited: OutputLabels) {
    for (output, names) in inherited {
        if own.iter().all(|(named, _)| *named != output) {
            own.push((output, names));
        }
    }
}

/// Reads the names in a file.
fn names(folder: &ModelFolder<'_>, file: &str) -> Result<Vec<String>, LoadFault> {
    let text = folder.text(file)?;
    let lines = text.lines().map(|line| line.trim_end().to_owned());
    let mut names: Vec<String> = lines.collect();
    while names.last().is_some_and(String::is_empty) {
        names.pop();
    }
    match names.is_empty() {
        true => Err(folder.failed(file, &"the file has no names")),
        false => Ok(names),
    }
}
