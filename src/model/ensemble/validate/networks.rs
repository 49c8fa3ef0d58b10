//! The networks of members: built, or read from a file.

use std::sync::Arc;

use crate::ensemble::files::Files;
use crate::ensemble::manifest::{EnsembleError, ManifestSource, MemberTable, line_of};
use crate::ensemble::{AnswerKind, Input};
use divisi_runtime::network::builders::Builder;
use divisi_runtime::network::file::LayersFile;
use divisi_runtime::network::{Graph, GraphError, NetworkByLength, Shape, Weights};
use divisi_runtime::onnx::{OnnxModel, OnnxNetwork};
use divisi_runtime::tensor::{Signature, TensorSpec};

use super::input::{self, SampleInput};
use super::network_file::NetworkFile;
use super::tensors::{self, TakenNetwork};

/// A member's network, its weights if its file contains them, and its part of a sample.
pub(super) struct MemberNetwork {
    pub graph: Graph,
    pub by_length: Option<Arc<dyn NetworkByLength>>,
    pub own: Option<Weights>,
    pub input: Input,
}

impl MemberNetwork {
    /// Reads the network of a member whose input is `input`, or some of a sample's tensors.
    pub(super) fn read(
        source: &ManifestSource<'_>,
        table: &MemberTable,
        input: Input,
        sample: &SampleInput,
        answers: AnswerKind,
    ) -> Result<Self, EnsembleError> {
        let at = table.network.span().start;
        let fail = |why: String| source.wrong(at, format!("network of `{}`: {why}", table.name));
        let spec = table.network.get_ref();
        let tensors = sample.signature();
        let named = tensors
            .as_ref()
            .map(|tensors| (tensors, sample.text.is_some()));
        let read = match (NetworkFile::read(spec).map_err(fail)?, &tensors) {
            (Some(file), _) => from_file(source.files, file, input, named.as_ref())?,
            (None, Some(_)) => return Err(fail(tensors::NO_BUILDER.into())),
            (None, None) if matches!(answers, AnswerKind::Boxes { .. }) => {
                let why = "expected a file of layers or an .onnx file, since the answers are boxes";
                return Err(fail(why.into()));
            }
            (None, None) => built(spec, input, answers.width()).map_err(fail)?,
        };
        let graph = shaped(read.graph, answers).map_err(fail)?;
        let width = match answers {
            // Members return candidates, from which answers are made.
            AnswerKind::Boxes { .. } => graph.output().elements(),
            _ => answers.width(),
        };
        let graph = graph.answers(width).map_err(|e| match e {
            GraphError::Classes { found, .. } => fail(format!(
                "the network returns {found} per sample, but the ensemble expects {answers}"
            )),
            other => fail(other.to_string()),
        })?;
        Ok(MemberNetwork { graph, ..read })
    }
}

impl MemberNetwork {
    /// Reads the network of a pipeline's model, and its own tensors.
    pub(super) fn alone(
        source: &ManifestSource<'_>,
        table: &MemberTable,
        sample: &SampleInput,
        answers: AnswerKind,
    ) -> Result<(Self, Signature), EnsembleError> {
        let at = table.network.span().start;
        let fail = |why: String| source.wrong(at, format!("network of `{}`: {why}", table.name));
        let spec = table.network.get_ref();
        let input = match &table.input {
            None => sample.input.clone(),
            Some(own) => input::model(source, own, sample)?,
        };
        let read = match NetworkFile::read(spec).map_err(fail)? {
            Some(file) if file.is_onnx() => {
                let shape = table.input.as_ref().map(|_| input.shape);
                let read = file.model(source.files)?.network(shape);
                let OnnxNetwork { graph, weights, .. } = read.map_err(|e| fail(e.to_string()))?;
                MemberNetwork {
                    input,
                    graph,
                    by_length: None,
                    own: Some(weights),
                }
            }
            Some(file) => from_file(source.files, file, input, None)?,
            None => built(spec, input, answers.width()).map_err(fail)?,
        };
        let signature = read.graph.signature();
        Ok((read, signature))
    }
}

/// Builds a network of `width` answers for samples of `input`.
fn built(spec: &toml::Table, input: Input, width: usize) -> Result<MemberNetwork, String> {
    let builder = Builder::from_table(spec).map_err(|e| e.to_string())?;
    let graph = builder.build(input.shape, width);
    Ok(MemberNetwork {
        graph: graph.map_err(|e| e.to_string())?,
        by_length: None,
        own: None,
        input,
    })
}

/// Checks that a network for answers with positions returns them in the right order. For classes
/// and labels, flattens images to rows.
fn shaped(graph: Graph, answers: AnswerKind) -> Result<Graph, String> {
    let Some(positions) = answers.positions() else {
        return match answers {
            AnswerKind::Boxes { .. } | AnswerKind::Values { .. } => {
                graph.flattened().map_err(|e| e.to_string())
            }
            _ => match &graph.signature().outputs[..] {
                several @ [_, _, ..] => Err(format!(
                    "expected one output for {answers}, found {}; name it in `network`: {{ file = ..., output = \"...\" }}",
                    listed(several)
                )),
                _ => Ok(graph),
            },
        };
    };
    let signature = graph.signature();
    let outputs = &signature.outputs;
    let may_vary = matches!(answers, AnswerKind::Tokens { .. });
    let found = match &outputs[..] {
        [single] if may_vary || !single.varies() => single.dims_at(signature.largest_length()),
        _ => Vec::new(),
    };
    let (expected, is_row) = (positions.dims(), found == [positions.width()]);
    let is_plane = positions.is_binary() && found == positions.sides();
    match found == expected || is_row || is_plane {
        true => graph.flattened().map_err(|e| e.to_string()),
        false => {
            let found: Vec<String> = outputs.iter().map(ToString::to_string).collect();
            let found = found.join(", ");
            Err(format!(
                "expected an output of {expected:?} for {answers}, found {found}"
            ))
        }
    }
}

/// Reads a layer file or, by its extension, an ONNX file, for samples of `input` or of these
/// tensors, which may come from texts.
fn from_file(
    files: &Files,
    file: NetworkFile<'_>,
    input: Input,
    tensors: Option<&(&Signature, bool)>,
) -> Result<MemberNetwork, EnsembleError> {
    let wrong = |reason: String| files.wrong(file.name, reason);
    if !file.is_onnx() {
        if tensors.is_some() {
            let why = "a file of layers takes one unnamed tensor, but the ensemble's input has \
                       named tensors";
            return Err(wrong(why.into()));
        }
        return Ok(MemberNetwork {
            graph: layers(files, file.name, input.shape)?,
            by_length: None,
            own: None,
            input,
        });
    }
    let model = file.model(files)?;
    let TakenNetwork {
        network,
        by_length,
        input,
    } = match tensors {
        Some((tensors, texts)) => match tensors::network(model, tensors) {
            // The file only works at one length, to which its texts are padded.
            Err(_) if *texts && tensors.lengths.is_some() => {
                tensors::padded_network(file.model(files)?, tensors)
            }
            network => network,
        }
        .map_err(wrong)?,
        None => TakenNetwork {
            network: of_one_tensor(&model, input.shape).map_err(wrong)?,
            by_length: None,
            input,
        },
    };
    let OnnxNetwork { graph, weights, .. } = network;
    Ok(MemberNetwork {
        graph,
        by_length,
        own: Some(weights),
        input,
    })
}

/// Returns the network for samples of a single tensor of `shape`.
///
/// # Errors
/// The network takes other samples, or cannot be computed. The error is a text.
fn of_one_tensor(model: &OnnxModel, shape: Shape) -> Result<OnnxNetwork, String> {
    let network = model.network(Some(shape)).map_err(|e| e.to_string())?;
    let inputs = network.graph.signature().inputs;
    match inputs.len() == 1 && network.graph.input().elements() == shape.elements() {
        true => Ok(network),
        false => Err(format!(
            "the network takes {}, but the ensemble's input is one tensor of {shape}; name the \
             tensors with `[[input.tensors]]`",
            listed(&inputs)
        )),
    }
}

/// Returns the names, types and dimensions of tensors as a text.
fn listed(tensors: &[TensorSpec]) -> String {
    let each = tensors.iter().map(|spec| format!("`{}` {spec}", spec.name));
    each.collect::<Vec<_>>().join(", ")
}

fn layers(files: &Files, file: &str, input: Shape) -> Result<Graph, EnsembleError> {
    let text = files.read_text(file)?;
    let parsed: LayersFile =
        toml::from_str(&text).map_err(|e| EnsembleError::toml(files.display(file), &text, &e))?;
    parsed.build(input).map_err(|e| EnsembleError::Place {
        file: files.display(file),
        line: line_of(&text, e.offset),
        message: e.error.to_string(),
    })
}
