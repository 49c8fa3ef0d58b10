//! Reads the members: their names, networks and weights.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use toml::Spanned;

use crate::ensemble::answers_table::{BoxesTable, MemberOutputs, WrittenOutputKind, WrittenScores};
use crate::ensemble::manifest::{EnsembleError, Manifest, ManifestSource, MemberTable};
use crate::ensemble::rule::Temperature;
use crate::ensemble::{AnswerKind, Member, OutputKind, VoteWeight};
use divisi_runtime::compute::probabilities;
use divisi_runtime::network::{
    Graph, Naming, Pattern, Probabilities, Shape, Weights, WeightsError,
};

use super::boxes;
use super::calibration;
use super::defaults::MemberDefaults;
use super::input::{self, SampleInput};
use super::networks::MemberNetwork;
use super::steps::NamedModel;

/// Reads the members.
pub(super) fn members(
    source: &ManifestSource<'_>,
    manifest: &Manifest,
    input: &SampleInput,
    answers: AnswerKind,
) -> Result<Vec<NamedModel>, EnsembleError> {
    let tables = manifest.members.get_ref();
    if tables.is_empty() {
        return Err(source.wrong(
            manifest.members.span().start,
            "members: expected at least one",
        ));
    }
    let of_all = MemberDefaults::read(source, manifest)?;
    let mut names = HashSet::new();
    let mut members = Vec::new();
    for (index, table) in tables.iter().enumerate() {
        let member = table.get_ref();
        source.check_name(table.span().start, "members.name", &member.name)?;
        if !names.insert(&member.name) {
            let why = format!("members.name: `{}` appears twice", member.name);
            return Err(source.wrong(table.span().start, why));
        }
        let built = match manifest.steps {
            None => {
                let built = build_member(source, member, index, input, answers, of_all)?;
                let signature = built.graph.signature();
                (Arc::new(built), signature)
            }
            Some(_) => build_model(source, member, index, input, answers, of_all)?,
        };
        members.push(built);
    }
    if manifest.steps.is_some() || members.iter().any(|(m, _)| m.vote_weight.is_some()) {
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
    sample: &SampleInput,
    answers: AnswerKind,
    of_all: MemberDefaults,
) -> Result<Member, EnsembleError> {
    let input = input::member(source, table.input.as_ref(), sample)?;
    let MemberNetwork {
        graph,
        by_length,
        own,
        input,
    } = MemberNetwork::read(source, table, input, sample, answers)?;
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
    let shapes = [input.shape, sample.input.shape];
    let ends_in = match (&table.outputs, answers) {
        (Some(_), _) | (None, AnswerKind::Values { .. } | AnswerKind::Boxes { .. }) => None,
        (None, _) => probabilities(&graph, &weights, answers.count()),
    };
    let outputs = outputs(source, table, answers, ends_in, &graph, shapes)?;
    let calibration = calibration::read(source, table, &graph, &weights)?;
    Ok(Member {
        name: table.name.clone(),
        graph: Arc::new(graph),
        by_length,
        weights: Arc::new(weights),
        input,
        precision: of_all.precision(source, table)?,
        calibration,
        temperature: temperature(source, table, outputs, of_all.temperature)?,
        outputs,
        ends_in,
        vote_weight: vote_weight(source, table)?,
    })
}

/// Builds a member of a pipeline: a model that takes and returns its own tensors.
fn build_model(
    source: &ManifestSource<'_>,
    table: &MemberTable,
    index: usize,
    sample: &SampleInput,
    answers: AnswerKind,
    of_all: MemberDefaults,
) -> Result<NamedModel, EnsembleError> {
    let unused = [
        ("outputs", table.outputs.as_ref().map(Spanned::span)),
        ("vote_weight", table.vote_weight.as_ref().map(Spanned::span)),
        ("temperature", table.temperature.as_ref().map(Spanned::span)),
    ];
    if let Some((field, at)) = unused.into_iter().find_map(|(f, at)| Some((f, at?.start))) {
        let why =
            format!("members.{field}: not valid in a pipeline; its steps process the answers");
        return Err(source.wrong(at, why));
    }
    let (network, signature) = MemberNetwork::alone(source, table, sample, answers)?;
    let weights = match (&table.weights, network.own) {
        (None, Some(own)) => own,
        (None, None) => Weights::synthetic(&network.graph, index as u64),
        (Some(written), None) => {
            let naming = naming(source, table)?;
            weights(source, written, &table.name, &network.graph, &naming)?
        }
        (Some(written), Some(_)) => {
            let why = "members.weights: expected none, since an .onnx file holds its own";
            return Err(source.wrong(written.span().start, why));
        }
    };
    let calibration = calibration::read(source, table, &network.graph, &weights)?;
    let member = Member::from_model(table.name.clone(), network.graph, None, weights);
    let at = table.network.span().start;
    let named = |why| source.wrong(at, format!("network of `{}`: {why}", table.name));
    let member = Member {
        precision: of_all.precision(source, table)?,
        calibration,
        ..member.map_err(named)?
    };
    Ok((Arc::new(member), signature))
}

/// Reads the kind of numbers that a member's network returns, which may end in probabilities.
fn outputs(
    source: &ManifestSource<'_>,
    table: &MemberTable,
    answers: AnswerKind,
    ends_in: Option<Probabilities>,
    graph: &Graph,
    shapes: [Shape; 2],
) -> Result<OutputKind, EnsembleError> {
    let written = table.outputs.as_ref();
    let outputs = written.map(|w| *w.get_ref());
    if let AnswerKind::Boxes { .. } = answers {
        let table = boxes_table(source, table, outputs)?;
        let boxes = boxes::outputs(&table.1, answers.count(), graph, shapes);
        let named = |why| source.wrong(table.0, format!("members.outputs: {why}"));
        return boxes.map(OutputKind::Boxes).map_err(named);
    }
    let wrong = |expected: &str| {
        let at = written.map_or(0, |w| w.span().start);
        let kind = answers.name();
        let why = format!("members.outputs: expected {expected}, since the answers are {kind}");
        Err(source.wrong(at, why))
    };
    let found = match outputs {
        Some(MemberOutputs::Kind(kind)) => Some(kind),
        None => None,
        Some(MemberOutputs::Boxes(_)) => return wrong("no table"),
    };
    let found = found.or_else(|| outputs_of(answers, ends_in?));
    Ok(match (answers, found) {
        (AnswerKind::Classes { .. }, None | Some(WrittenOutputKind::Logits)) => OutputKind::Logits,
        (AnswerKind::Classes { .. }, Some(WrittenOutputKind::Probabilities)) => {
            OutputKind::Probabilities
        }
        (
            AnswerKind::Classes { .. } | AnswerKind::Values { .. },
            Some(WrittenOutputKind::Values),
        )
        | (AnswerKind::Values { .. }, None) => OutputKind::Values,
        (AnswerKind::Labels { .. }, None | Some(WrittenOutputKind::Logits)) => {
            OutputKind::LabelLogits
        }
        (AnswerKind::Labels { .. }, Some(WrittenOutputKind::Probabilities)) => {
            OutputKind::LabelProbabilities
        }
        (AnswerKind::Masks { .. } | AnswerKind::Tokens { .. }, found) => {
            // A single class at each position works like a label.
            let is_binary = answers.count() == 1;
            match (found.unwrap_or(WrittenOutputKind::Logits), is_binary) {
                (WrittenOutputKind::Logits, true) => OutputKind::LabelLogits,
                (WrittenOutputKind::Logits, false) => OutputKind::PositionLogits,
                (WrittenOutputKind::Probabilities, true) => OutputKind::LabelProbabilities,
                (WrittenOutputKind::Probabilities, false) => OutputKind::PositionProbabilities,
                (WrittenOutputKind::Values, _) => return wrong("`logits` or `probabilities`"),
            }
        }
        (AnswerKind::Values { .. } | AnswerKind::Boxes { .. }, _) => return wrong("`values`"),
        (AnswerKind::Labels { .. }, Some(WrittenOutputKind::Values)) => {
            return wrong("`logits` or `probabilities`");
        }
    })
}

/// Returns the kind of numbers of a network that ends in probabilities, or `None` if these do not
/// match the answers' rows. Another softmax would even out its answers.
fn outputs_of(answers: AnswerKind, ends_in: Probabilities) -> Option<WrittenOutputKind> {
    let count = answers.count();
    match (answers, ends_in) {
        (AnswerKind::Values { .. } | AnswerKind::Boxes { .. }, _) => None,
        (AnswerKind::Labels { .. }, _) => Some(WrittenOutputKind::Probabilities),
        // Nothing makes the sigmoids of classes sum to 1.
        (AnswerKind::Classes { .. }, Probabilities::Each) => Some(WrittenOutputKind::Values),
        (_, Probabilities::Each) => Some(WrittenOutputKind::Probabilities),
        (_, Probabilities::Shares { row }) => {
            (row == count).then_some(WrittenOutputKind::Probabilities)
        }
    }
}

/// Returns the description of a member's boxes, and its offset in the manifest.
fn boxes_table(
    source: &ManifestSource<'_>,
    table: &MemberTable,
    outputs: Option<MemberOutputs>,
) -> Result<(usize, BoxesTable), EnsembleError> {
    let at = table.outputs.as_ref().map(|w| w.span().start);
    let at = at.unwrap_or(table.network.span().start);
    let of_scores = |scores| BoxesTable {
        scores: Some(scores),
        ..BoxesTable::default()
    };
    match outputs {
        None => Ok((at, BoxesTable::default())),
        Some(MemberOutputs::Boxes(boxes)) => Ok((at, boxes)),
        Some(MemberOutputs::Kind(WrittenOutputKind::Logits)) => {
            Ok((at, of_scores(WrittenScores::Logits)))
        }
        Some(MemberOutputs::Kind(WrittenOutputKind::Probabilities)) => {
            Ok((at, of_scores(WrittenScores::Probabilities)))
        }
        Some(MemberOutputs::Kind(WrittenOutputKind::Values)) => {
            let why = "members.outputs: expected `logits`, `probabilities` or a table, since the \
                       answers are boxes";
            Err(source.wrong(at, why))
        }
    }
}

/// Returns a member's own temperature or the default. Values have no temperature.
fn temperature(
    source: &ManifestSource<'_>,
    table: &MemberTable,
    outputs: OutputKind,
    of_all: Temperature,
) -> Result<Temperature, EnsembleError> {
    let values = !outputs.has_temperature();
    let Some(written) = &table.temperature else {
        return Ok(if values { Temperature::ONE } else { of_all });
    };
    let at = written.span().start;
    if values {
        let why = match outputs {
            OutputKind::Boxes(_) => {
                "members.temperature: expected none, since boxes have no temperature"
            }
            _ => {
                "members.temperature: expected none, since `outputs = \"values\"` are not \
                 probabilities"
            }
        };
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

/// Reads a member's weights file. An error refers to the manifest if the file cannot be read, and
/// to the file if it does not match the network.
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

/// Reads the mapping from names in a member's weights file to names of its network.
fn naming(source: &ManifestSource<'_>, table: &MemberTable) -> Result<Naming, EnsembleError> {
    let spans = [
        ("prefix", table.prefix.as_ref().map(Spanned::span)),
        ("rename", table.rename.as_ref().map(Spanned::span)),
        ("ignore", table.ignore.as_ref().map(Spanned::span)),
    ];
    let mut written = spans.into_iter().filter_map(|(f, s)| Some((f, s?)));
    match (&table.weights, written.next()) {
        (None, Some((field, span))) => {
            let why = format!("members.{field}: only valid with `weights`");
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
            let why = "members.prefix: expected the first characters of names, found an empty text";
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
        let why = "members.rename: expected pairs of names (the file's and the network's), found \
                   none";
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
        let why = "members.ignore: expected names (`*` matches anything), found none";
        return Err(source.wrong(written.span().start, why));
    }
    Ok(written.get_ref().iter().map(Pattern::new).collect())
}
