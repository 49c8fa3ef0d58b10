//! The members: their names, networks and weights.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;

use crate::ensemble::answers_table::WrittenOutputs;
use crate::ensemble::manifest::{
    EnsembleError, Files, Manifest, ManifestSource, MemberTable, line_of,
};
use crate::ensemble::rule::Temperature;
use crate::ensemble::{AnswerKind, Input, Member, NormalisationSteps, OutputKind, VoteWeight};
use crate::network::builders::Builder;
use crate::network::file::LayersFile;
use crate::network::{Graph, GraphError, Naming, Pattern, Shape, Weights, WeightsError};
use crate::onnx::{OnnxError, OnnxModel, OnnxNetwork};

use super::input;

/// Reads the members.
pub(super) fn members(
    source: &ManifestSource<'_>,
    manifest: &Manifest,
    input: &(Input, NormalisationSteps),
    answers: AnswerKind,
) -> Result<Vec<Arc<Member>>, EnsembleError> {
    let tables = manifest.members.get_ref();
    if tables.is_empty() {
        return Err(source.wrong(
            manifest.members.span().start,
            "members: expected at least one",
        ));
    }
    let of_all = match &manifest.temperature {
        None => Temperature::ONE,
        Some(written) => Temperature::new(*written.get_ref())
            .map_err(|why| source.wrong(written.span().start, format!("temperature: {why}")))?,
    };
    let mut names = HashSet::new();
    let mut members = Vec::new();
    for (index, table) in tables.iter().enumerate() {
        let member = table.get_ref();
        source.check_name(table.span().start, "members.name", &member.name)?;
        if !names.insert(&member.name) {
            let why = format!("members.name: `{}` appears twice", member.name);
            return Err(source.wrong(table.span().start, why));
        }
        let built = build_member(source, member, index, input, answers, of_all)?;
        members.push(Arc::new(built));
    }
    if members.iter().any(|m| m.vote_weight.is_some()) {
        Ok(members)
    } else {
        let at = manifest.members.span().start;
        Err(source.wrong(at, "members.vote_weight: expected at least one above 0"))
    }
}

fn build_member(
    source: &ManifestSource<'_>,
    table: &MemberTable,
    index: usize,
    input: &(Input, NormalisationSteps),
    answers: AnswerKind,
    of_all: Temperature,
) -> Result<Member, EnsembleError> {
    let input = input::member(source, table.input.as_ref(), input)?;
    let (graph, own) = network(source, table, input.shape, answers)?;
    let naming = naming(source, table)?;
    let weights = match (&table.weights, own) {
        (None, Some(own)) => own,
        (None, None) => Weights::synthetic(&graph, index as u64),
        (Some(written), None) => weights(source, written, &table.name, &graph, &naming)?,
        (Some(written), Some(_)) => {
            let why = "members.weights: expected none, since an .onnx file holds its own";
            return Err(source.wrong(written.span().start, why));
        }
    };
    let outputs = outputs(source, table, answers)?;
    Ok(Member {
        name: table.name.clone(),
        graph: Arc::new(graph),
        weights: Arc::new(weights),
        input,
        temperature: temperature(source, table, outputs, of_all)?,
        outputs,
        vote_weight: vote_weight(source, table)?,
    })
}

/// Reads the kind of numbers that a member's network returns.
fn outputs(
    source: &ManifestSource<'_>,
    table: &MemberTable,
    answers: AnswerKind,
) -> Result<OutputKind, EnsembleError> {
    let written = table.outputs.as_ref();
    let found = written.map(|w| *w.get_ref());
    let wrong = |expected: &str| {
        let at = written.map_or(0, |w| w.span().start);
        let kind = answers.name();
        let why = format!("members.outputs: expected {expected}, since the answers are {kind}");
        Err(source.wrong(at, why))
    };
    Ok(match (answers, found) {
        (AnswerKind::Classes { .. }, None | Some(WrittenOutputs::Logits)) => OutputKind::Logits,
        (AnswerKind::Classes { .. }, Some(WrittenOutputs::Probabilities)) => {
            OutputKind::Probabilities
        }
        (AnswerKind::Classes { .. } | AnswerKind::Values { .. }, Some(WrittenOutputs::Values))
        | (AnswerKind::Values { .. }, None) => OutputKind::Values,
        (AnswerKind::Labels { .. }, None | Some(WrittenOutputs::Logits)) => OutputKind::LabelLogits,
        (AnswerKind::Labels { .. }, Some(WrittenOutputs::Probabilities)) => {
            OutputKind::LabelProbabilities
        }
        (AnswerKind::Values { .. }, Some(_)) => return wrong("`values`"),
        (AnswerKind::Labels { .. }, Some(WrittenOutputs::Values)) => {
            return wrong("`logits` or `probabilities`");
        }
    })
}

/// Returns a member's own temperature, or that of all; values have none.
fn temperature(
    source: &ManifestSource<'_>,
    table: &MemberTable,
    outputs: OutputKind,
    of_all: Temperature,
) -> Result<Temperature, EnsembleError> {
    let values = outputs == OutputKind::Values;
    let Some(written) = &table.temperature else {
        return Ok(if values { Temperature::ONE } else { of_all });
    };
    let at = written.span().start;
    if values {
        let why = "members.temperature: expected none, since `outputs = \"values\"` are no \
                   probabilities";
        return Err(source.wrong(at, why));
    }
    let parsed = Temperature::new(*written.get_ref());
    parsed.map_err(|why| source.wrong(at, format!("members.temperature: {why}")))
}

/// Returns a member's weight, or `None` if it does not vote.
fn vote_weight(
    source: &ManifestSource<'_>,
    table: &MemberTable,
) -> Result<Option<VoteWeight>, EnsembleError> {
    let Some(written) = &table.vote_weight else {
        return Ok(Some(VoteWeight::default()));
    };
    VoteWeight::written(*written.get_ref())
        .map_err(|why| source.wrong(written.span().start, format!("vote_weight: {why}")))
}

/// Reads a member's file of weights. The manifest is wrong where the file cannot be read, the
/// file where it does not suit the network.
fn weights(
    source: &ManifestSource<'_>,
    written: &Spanned<String>,
    member: &str,
    graph: &Graph,
    naming: &Naming,
) -> Result<Weights, EnsembleError> {
    let (files, name) = (source.files, written.get_ref());
    let read = match files.path(name) {
        Some(path) => Weights::open_as(&path, graph, naming),
        None => Weights::from_safetensors_as(&files.read(name)?, graph, naming),
    };
    let file = files.display(name);
    read.map_err(|e| match e {
        WeightsError::Io(why) => {
            let message = format!("members.weights: {file}: {why}");
            source.wrong(written.span().start, message)
        }
        other => EnsembleError::File {
            reason: format!("member `{member}`: {other}"),
            file,
        },
    })
}

/// Returns a member's network, and its weights where the network's file holds them.
fn network(
    source: &ManifestSource<'_>,
    table: &MemberTable,
    input: Shape,
    answers: AnswerKind,
) -> Result<(Graph, Option<Weights>), EnsembleError> {
    let width = answers.width();
    let Range { start, .. } = table.network.span();
    let spec = table.network.get_ref();
    let fail = |why: String| source.wrong(start, format!("network of `{}`: {why}", table.name));
    let (graph, weights) = match spec.get("file") {
        Some(toml::Value::String(file)) if spec.len() == 1 => from_file(source.files, file, input)?,
        Some(_) => {
            return Err(fail(
                "expected `file` alone, the name of a file of layers or of ONNX".into(),
            ));
        }
        None => {
            let builder = Builder::from_table(spec).map_err(|e| fail(e.to_string()))?;
            let graph = builder.build(input, width);
            (graph.map_err(|e| fail(e.to_string()))?, None)
        }
    };
    let graph = graph.answers(width).map_err(|e| match e {
        GraphError::Classes { found, .. } => fail(format!(
            "the network answers {found} per sample where the ensemble has {answers}"
        )),
        other => fail(other.to_string()),
    })?;
    Ok((graph, weights))
}

/// Reads a file of layers, or one of ONNX by its name's end.
fn from_file(
    files: &Files,
    file: &str,
    input: Shape,
) -> Result<(Graph, Option<Weights>), EnsembleError> {
    if !file.ends_with(".onnx") {
        return Ok((layers(files, file, input)?, None));
    }
    let wrong = |error: OnnxError| EnsembleError::File {
        file: files.display(file),
        reason: error.to_string(),
    };
    let model = match files.path(file) {
        Some(path) => OnnxModel::open(&path),
        None => OnnxModel::from_bytes(files.read(file)?),
    };
    let network = model.and_then(|model| model.network(Some(input)));
    let OnnxNetwork { graph, weights } = network.map_err(wrong)?;
    Ok((graph, Some(weights)))
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

/// Reads how the names in a member's file of weights become those of its network.
fn naming(source: &ManifestSource<'_>, table: &MemberTable) -> Result<Naming, EnsembleError> {
    let spans = [
        ("prefix", table.prefix.as_ref().map(Spanned::span)),
        ("rename", table.rename.as_ref().map(Spanned::span)),
        ("ignore", table.ignore.as_ref().map(Spanned::span)),
    ];
    let mut written = spans.into_iter().filter_map(|(f, s)| Some((f, s?)));
    match (&table.weights, written.next()) {
        (None, Some((field, span))) => {
            let why = format!("members.{field}: belongs to `weights`, a file; there is none");
            Err(source.wrong(span.start, why))
        }
        _ => Ok(Naming {
            prefix: prefix(source, table.prefix.as_ref())?,
            rename: rename(source, table.rename.as_ref())?,
            ignore: ignore(source, table.ignore.as_ref())?,
        }),
    }
}

fn prefix(
    source: &ManifestSource<'_>,
    written: Option<&Spanned<String>>,
) -> Result<Option<String>, EnsembleError> {
    match written {
        Some(w) if w.get_ref().is_empty() => {
            let why = "members.prefix: expected what names begin with, found nothing";
            Err(source.wrong(w.span().start, why))
        }
        written => Ok(written.map(|w| w.get_ref().clone())),
    }
}

fn rename(
    source: &ManifestSource<'_>,
    written: Option<&Spanned<BTreeMap<String, String>>>,
) -> Result<BTreeMap<String, String>, EnsembleError> {
    let Some(written) = written else {
        return Ok(BTreeMap::new());
    };
    let names = written.get_ref();
    if names
        .iter()
        .any(|(from, to)| from.is_empty() || to.is_empty())
    {
        let why = "members.rename: expected names, from the file's to the network's, found nothing";
        return Err(source.wrong(written.span().start, why));
    }
    Ok(names.clone())
}

fn ignore(
    source: &ManifestSource<'_>,
    written: Option<&Spanned<Vec<String>>>,
) -> Result<Vec<Pattern>, EnsembleError> {
    let Some(written) = written else {
        return Ok(Vec::new());
    };
    if written.get_ref().iter().any(String::is_empty) {
        let why = "members.ignore: expected names (`*` stands for anything), found nothing";
        return Err(source.wrong(written.span().start, why));
    }
    Ok(written.get_ref().iter().map(Pattern::new).collect())
}
