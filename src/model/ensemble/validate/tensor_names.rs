//! The fields `input_name` and `output_name`.

use toml::Spanned;

use crate::ensemble::manifest::{EnsembleError, Manifest, ManifestSource};
use crate::ensemble::{AnswerKind, InterfaceNames};

/// Reads the names of the single input and output of an ensemble.
pub(super) fn tensor_names(
    source: &ManifestSource<'_>,
    manifest: &Manifest,
    answers: AnswerKind,
) -> Result<InterfaceNames, EnsembleError> {
    let input = &manifest.input;
    let own_inputs = if input.tensors.is_some() {
        Some("input.tensors names the inputs")
    } else {
        input
            .text
            .as_ref()
            .map(|_| "texts become the inputs of the networks")
    };
    let own_outputs = match answers {
        _ if manifest.steps.is_some() => Some("outputs names the outputs of a pipeline"),
        AnswerKind::Boxes { .. } => Some("boxes are two outputs, `count` and `boxes`"),
        _ => None,
    };
    let read = |field, name: &Option<Spanned<String>>, own: Option<&str>| {
        let Some(name) = name else {
            return Ok(None);
        };
        let at = name.span().start;
        if let Some(why) = own {
            return Err(source.wrong(at, format!("{field}: not valid here, since {why}")));
        }
        source.check_name(at, field, name.get_ref())?;
        Ok(Some(name.get_ref().clone()))
    };
    Ok(InterfaceNames {
        input: read("input_name", &manifest.input_name, own_inputs)?,
        output: read("output_name", &manifest.output_name, own_outputs)?,
    })
}
