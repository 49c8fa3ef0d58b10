//! The steps of an ensemble.

use crate::text_format::TextFault;

use super::StepConfig;
use super::fields::ConfigFields;

/// The maximum number of steps of an ensemble.
const MOST_STEPS: usize = 1024;

/// Reads the steps, or returns `None` if the model is not an ensemble.
///
/// # Errors
/// The number of steps is 0 or too large, or a step has no model or an invalid version.
pub(super) fn steps(
    fields: &mut ConfigFields,
    unused: &mut Vec<String>,
) -> Result<Option<Vec<StepConfig>>, TextFault> {
    let Some(mut table) = fields.message("ensemble_scheduling") else {
        return Ok(None);
    };
    let (line, tables) = (table.line, table.messages("step"));
    if !(1..=MOST_STEPS).contains(&tables.len()) {
        let why = format!("expected 1 to {MOST_STEPS} steps, found {}", tables.len());
        return Err(table.wrong(line, "step", &why));
    }
    table.finish(unused);
    let steps = tables.into_iter().map(|table| step(table, unused));
    steps.collect::<Result<_, _>>().map(Some)
}

fn step(mut table: ConfigFields, unused: &mut Vec<String>) -> Result<StepConfig, TextFault> {
    let line = table.line;
    let Some(model) = named(&mut table) else {
        return Err(table.wrong(
            line,
            "model_name",
            "expected the name of a model, found none",
        ));
    };
    let written = table.whole("model_version").map(|version| version.value);
    let version = match written {
        // Protocol Buffers do not distinguish 0 from an absent value.
        None | Some(-1 | 0) => None,
        Some(version) => match u64::try_from(version) {
            Ok(version) => Some(version),
            Err(_) => {
                let why = format!("expected -1 or a version above 0, found {version}");
                return Err(table.wrong(line, "model_version", &why));
            }
        },
    };
    let (inputs, outputs) = (table.map("input_map")?, table.map("output_map")?);
    table.finish(unused);
    Ok(StepConfig {
        model,
        version,
        inputs,
        outputs,
        line,
    })
}

/// Takes the name of the model of a step.
fn named(table: &mut ConfigFields) -> Option<String> {
    let name = table.text("model_name")?.value;
    Some(name).filter(|name| !name.is_empty())
}
