//! Reads the steps of a pipeline.

use std::sync::Arc;
use std::time::Duration;

use toml::Spanned;

use crate::ensemble::Member;
use crate::ensemble::manifest::{EnsembleError, Manifest, ManifestSource};
use crate::ensemble::steps_table::{OneOrMore, StepTable, TensorNames};
use crate::pipeline::{HostStep, LONGEST_WAIT, Pipeline, StepSpec, WorkSpec};
use divisi_runtime::device::MemberIndex;
use divisi_runtime::tensor::{DataType, Signature, TensorSpec};

use super::input::SampleInput;

/// A member of a pipeline with the tensors of its network.
pub(super) type NamedModel = (Arc<Member>, Signature);

/// The name of a sample's tensor if it is a single tensor of float32.
const INPUT: &str = "input";

/// Reads the pipeline over `models`.
pub(super) fn pipeline(
    source: &ManifestSource<'_>,
    manifest: &Manifest,
    sample: &SampleInput,
    models: &[NamedModel],
) -> Result<Option<Arc<Pipeline>>, EnsembleError> {
    let Some(steps) = &manifest.steps else {
        return match &manifest.outputs {
            None => Ok(None),
            Some(outputs) => {
                let why = "outputs: only valid with `steps`";
                Err(source.wrong(outputs.span().start, why))
            }
        };
    };
    let Some(outputs) = &manifest.outputs else {
        let why = "outputs: expected the names of the pipeline's output tensors, found none";
        return Err(source.wrong(steps.span().start, why));
    };
    let unused = [
        ("rule", manifest.rule.as_ref().map(Spanned::span)),
        (
            "temperature",
            manifest.temperature.as_ref().map(Spanned::span),
        ),
    ];
    if let Some((field, at)) = unused.into_iter().find_map(|(f, at)| Some((f, at?.start))) {
        let why = format!("{field}: not valid in a pipeline; its steps process the answers");
        return Err(source.wrong(at, why));
    }
    let table = &manifest.input;
    let fields = [&table.scale, &table.shift, &table.mean, &table.std];
    if let Some(written) = fields.into_iter().flatten().next() {
        let why = "input: scale, shift, mean and std are not valid in a pipeline; add a step \
                   `normalise`";
        return Err(source.wrong(written.span().start, why));
    }
    let specs = steps
        .get_ref()
        .iter()
        .map(|step| spec(source, step, models));
    let specs = specs.collect::<Result<Vec<_>, _>>()?;
    let inputs = inputs(sample);
    let places: Vec<usize> = steps.get_ref().iter().map(|s| s.span().start).collect();
    let names: Vec<String> = specs.iter().map(|spec| spec.name.clone()).collect();
    let pipeline = Pipeline::new(inputs, specs, outputs.get_ref()).map_err(|why| {
        let text = why.to_string();
        let named = names
            .iter()
            .position(|name| text.contains(&format!("`{name}`")));
        let at = named.map_or(outputs.span().start, |step| places[step]);
        source.wrong(at, format!("steps: {text}"))
    })?;
    Ok(Some(Arc::new(pipeline)))
}

/// Returns the tensors of a sample.
fn inputs(sample: &SampleInput) -> Vec<TensorSpec> {
    match &sample.tensors {
        Some(tensors) => tensors.clone(),
        None => {
            let dims: Vec<usize> = sample.input.shape.into();
            vec![TensorSpec::fixed(INPUT, DataType::Fp32, &dims)]
        }
    }
}

fn spec(
    source: &ManifestSource<'_>,
    written: &Spanned<StepTable>,
    models: &[NamedModel],
) -> Result<StepSpec, EnsembleError> {
    let (table, at) = (written.get_ref(), written.span().start);
    let (kind, work) = match (&table.model, &table.host) {
        (Some(model), None) => (model, model_step(source, table, model, models)?),
        (None, Some(kind)) => (kind, host_step(source, table, kind)?),
        (Some(_), Some(_)) | (None, None) => {
            let why = "steps: expected either `model`, the name of a member, or `host`, a kind of \
                       step";
            return Err(source.wrong(at, why));
        }
    };
    let name = table.name.clone().unwrap_or_else(|| kind.get_ref().clone());
    source.check_name(at, "steps.name", &name)?;
    let when = table.when.as_ref().map(|when| {
        let parsed = when.get_ref().parse();
        parsed.map_err(|why| source.wrong(when.span().start, format!("steps.when: {why}")))
    });
    Ok(StepSpec {
        name,
        work,
        when: when.transpose()?,
        quorum: quorum(source, table)?,
    })
}

fn model_step(
    source: &ManifestSource<'_>,
    table: &StepTable,
    model: &Spanned<String>,
    models: &[NamedModel],
) -> Result<WorkSpec, EnsembleError> {
    let wrong = |why: String| Err(source.wrong(model.span().start, why));
    let mut known = MemberIndex::enumerate(models);
    let Some((member, (_, signature))) = known.find(|(_, (m, _))| m.name == *model.get_ref())
    else {
        let names: Vec<&str> = models.iter().map(|(m, _)| m.name.as_str()).collect();
        return wrong(format!(
            "steps.model: expected one of {}, found `{}`",
            names.join(", "),
            model.get_ref()
        ));
    };
    if let Some(field) = table.own_fields().first() {
        let why = format!("steps.{}: not valid for a step with `model`", field.name);
        return Err(source.wrong(field.at, why));
    }
    let named = |side: &str, names: &Option<TensorNames>, own: &[TensorSpec]| match names {
        None => Ok(Vec::new()),
        Some(TensorNames::Map(map)) => Ok(map
            .iter()
            .map(|(own, t)| (own.clone(), t.clone()))
            .collect()),
        Some(TensorNames::One(tensor)) => in_order(side, std::slice::from_ref(tensor), own),
        Some(TensorNames::List(tensors)) => in_order(side, tensors, own),
    };
    let fail = |why| source.wrong(model.span().start, why);
    Ok(WorkSpec::Model {
        member,
        inputs: named("inputs", &table.inputs, &signature.inputs).map_err(fail)?,
        outputs: named("outputs", &table.outputs, &signature.outputs).map_err(fail)?,
        signature: signature.clone(),
    })
}

/// Pairs tensors with a model's own tensors, in order.
fn in_order(
    side: &str,
    tensors: &[String],
    own: &[TensorSpec],
) -> Result<Vec<(String, String)>, String> {
    if tensors.len() != own.len() {
        let names: Vec<&str> = own.iter().map(|spec| spec.name.as_str()).collect();
        let (expected, found) = (names.join(", "), tensors.len());
        return Err(format!(
            "steps.{side}: expected a tensor for each of {expected}, found {found}"
        ));
    }
    let pairs = own.iter().zip(tensors);
    Ok(pairs
        .map(|(own, t)| (own.name.clone(), t.clone()))
        .collect())
}

fn host_step(
    source: &ManifestSource<'_>,
    table: &StepTable,
    kind: &Spanned<String>,
) -> Result<WorkSpec, EnsembleError> {
    let wrong = |why: String| source.wrong(kind.span().start, why);
    let mut kinds = HostStep::KINDS.iter();
    let Some(known) = kinds.find(|known| known.name == kind.get_ref()) else {
        let names: Vec<&str> = HostStep::KINDS.iter().map(|known| known.name).collect();
        let (names, found) = (names.join(", "), kind.get_ref());
        return Err(wrong(format!(
            "steps.host: expected one of {names}, found `{found}`"
        )));
    };
    let mut fields = table.own_fields().into_iter();
    if let Some(field) = fields.find(|field| !known.fields.contains(&field.name)) {
        let why = format!("steps.{}: not valid for `{}`", field.name, known.name);
        return Err(source.wrong(field.at, why));
    }
    let listed = |side: &str, names: &Option<TensorNames>| match names {
        Some(TensorNames::One(name)) => Ok(vec![name.clone()]),
        Some(TensorNames::List(names)) => Ok(names.clone()),
        Some(TensorNames::Map(_)) | None => Err(wrong(format!(
            "steps.{side}: expected the names of tensors, in order"
        ))),
    };
    Ok(WorkSpec::Host {
        step: host(table, known.name).map_err(|fault| {
            let at = fault.at.unwrap_or(kind.span().start);
            source.wrong(at, fault.why)
        })?,
        inputs: listed("inputs", &table.inputs)?,
        outputs: listed("outputs", &table.outputs)?,
    })
}

/// An invalid field of a step.
struct FieldFault {
    /// The offset of the field, if it is set.
    at: Option<usize>,
    why: String,
}

/// Returns the fault of a field with an unexpected value.
fn fault<T>(field: &str, written: Option<&Spanned<T>>, expected: &str) -> FieldFault {
    FieldFault {
        at: written.map(|written| written.span().start),
        why: format!("steps.{field}: expected {expected}"),
    }
}

/// Reads the fields of a kind of step.
fn host(table: &StepTable, kind: &str) -> Result<HostStep, FieldFault> {
    Ok(match kind {
        "mean" => HostStep::Mean,
        "weighted-mean" => HostStep::WeightedMean {
            weights: weights(table)?,
        },
        "vote" => HostStep::Vote,
        "first" => HostStep::First,
        "concat" => HostStep::Concat,
        "softmax" => HostStep::Softmax,
        "sigmoid" => HostStep::Sigmoid,
        "arg-max" => HostStep::ArgMax,
        "top-k" => HostStep::TopK { k: count(table)? },
        "threshold" => HostStep::Threshold {
            at: finite("at", table.at.as_ref(), 0.5)?,
        },
        "normalise" => HostStep::Normalise {
            scale: finite("scale", table.scale.as_ref(), 1.0)?,
            mean: numbers("mean", table.mean.as_ref(), 0.0, f32::MIN, "finite numbers")?,
            std: numbers(
                "std",
                table.std.as_ref(),
                1.0,
                f32::MIN_POSITIVE,
                "numbers above 0",
            )?,
        },
        _ => size(table)?,
    })
}

fn weights(table: &StepTable) -> Result<Vec<f32>, FieldFault> {
    let written = table.weights.as_ref();
    let weights = written.iter().flat_map(|weights| weights.get_ref());
    let weights: Vec<f32> = weights.map(|w| *w as f32).collect();
    match !weights.is_empty() && weights.iter().all(|w| *w > 0.0 && w.is_finite()) {
        true => Ok(weights),
        false => Err(fault("weights", written, "a number above 0 for each input")),
    }
}

/// Reads finite numbers of at least `least`, or the default.
fn numbers(
    field: &str,
    written: Option<&Spanned<OneOrMore>>,
    usual: f32,
    least: f32,
    expected: &str,
) -> Result<Vec<f32>, FieldFault> {
    let numbers = written.map_or_else(|| vec![usual], |written| written.get_ref().numbers());
    match numbers.iter().all(|n| *n >= least && n.is_finite()) {
        true => Ok(numbers),
        false => Err(fault(field, written, expected)),
    }
}

fn finite(field: &str, written: Option<&Spanned<f64>>, usual: f32) -> Result<f32, FieldFault> {
    let number = written.map_or(usual, |written| *written.get_ref() as f32);
    let finite = number.is_finite().then_some(number);
    finite.ok_or_else(|| fault(field, written, "a finite number"))
}

/// The maximum number of values that a step keeps, and the maximum side of an image.
const MOST: i64 = 1 << 15;

fn within(number: i64) -> Option<usize> {
    (1..=MOST).contains(&number).then_some(number as usize)
}

fn count(table: &StepTable) -> Result<usize, FieldFault> {
    let Some(written) = &table.k else {
        return Err(fault("k", table.k.as_ref(), "a whole number, found none"));
    };
    let found = *written.get_ref();
    within(found).ok_or_else(|| {
        let expected = format!("a whole number from 1 to {MOST}, found {found}");
        fault("k", Some(written), &expected)
    })
}

fn size(table: &StepTable) -> Result<HostStep, FieldFault> {
    let Some(written) = &table.size else {
        let expected = "[height, width], found none";
        return Err(fault("size", table.size.as_ref(), expected));
    };
    let found = written.get_ref();
    let sides = match found[..] {
        [height, width] => within(height).zip(within(width)),
        _ => None,
    };
    let (height, width) = sides.ok_or_else(|| {
        let expected = format!("[height, width], each from 1 to {MOST}, found {found:?}");
        fault("size", Some(written), &expected)
    })?;
    Ok(HostStep::Resize { height, width })
}

fn quorum(
    source: &ManifestSource<'_>,
    table: &StepTable,
) -> Result<Option<(usize, Duration)>, EnsembleError> {
    let longest = LONGEST_WAIT.as_secs_f64() * 1e3;
    let wait = match &table.wait_ms {
        None => LONGEST_WAIT,
        Some(ms) if (0.0..=longest).contains(ms.get_ref()) => {
            Duration::from_secs_f64(ms.get_ref() / 1000.0)
        }
        Some(ms) => {
            let why = format!("steps.wait_ms: expected 0 to {longest}");
            return Err(source.wrong(ms.span().start, why));
        }
    };
    match &table.quorum {
        Some(written) => Ok(Some((
            source.count("steps.quorum", written, 1 << 15)?,
            wait,
        ))),
        None if table.wait_ms.is_some() => {
            let at = table.wait_ms.as_ref().map_or(0, |w| w.span().start);
            Err(source.wrong(at, "steps.wait_ms: only valid with `quorum`"))
        }
        None => Ok(None),
    }
}
