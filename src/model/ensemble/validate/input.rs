//! Reads the ensemble's input, and the inputs of members that have their own.

use std::sync::Arc;

use toml::Spanned;

use super::tensors;
use super::text;

use crate::ensemble::manifest::{EnsembleError, Manifest, ManifestSource, MemberInput};
use crate::ensemble::{Input, Member, Normalisation, NormalisationSteps, PerChannel, TextInput};
use crate::pipeline::Pipeline;
use divisi_runtime::network::Shape;
use divisi_runtime::tensor::{Lengths, RowCheck, Signature, TensorSpec};
use divisi_runtime::words;

/// The input that clients send for each sample.
pub(super) struct SampleInput {
    /// The shape and normalisation of a sample.
    pub input: Input,
    /// The steps that members inherit.
    pub steps: NormalisationSteps,
    /// The tensors of a sample, if they are named.
    pub tensors: Option<Vec<TensorSpec>>,
    /// The conversion of texts to these tensors, if samples are texts.
    pub text: Option<TextInput>,
    /// The lengths of samples, if dimensions vary.
    pub lengths: Option<Lengths>,
}

impl SampleInput {
    /// Returns the tensors of a sample, or `None` if they are not named.
    pub(super) fn signature(&self) -> Option<Signature> {
        self.tensors.as_ref().map(|tensors| Signature {
            inputs: tensors.clone(),
            outputs: Vec::new(),
            lengths: self.lengths.clone(),
        })
    }
}

impl SampleInput {
    /// Returns the input limited to ids for which all members have rows.
    pub(super) fn narrowed(self, members: &[Arc<Member>]) -> Self {
        let narrowed = |spec: TensorSpec| {
            members.iter().fold(spec, |spec, member| {
                let taken = member.graph.signature().inputs;
                match taken.iter().find(|other| other.name == spec.name) {
                    Some(other) => spec.narrowed(other),
                    None => spec,
                }
            })
        };
        let tensors = self.tensors;
        SampleInput {
            tensors: tensors.map(|specs| specs.into_iter().map(narrowed).collect()),
            ..self
        }
    }

    /// Returns the input limited to values that the models of a pipeline accept.
    pub(super) fn of_pipeline(self, pipeline: &Pipeline) -> Self {
        SampleInput {
            tensors: self.tensors.map(|_| pipeline.inputs().to_vec()),
            ..self
        }
    }

    /// Returns the check of samples: of named tensors, or of a single tensor that members take
    /// unchanged.
    pub(super) fn row_check(&self, members: &[Arc<Member>]) -> RowCheck {
        if let Some(signature) = self.signature() {
            return RowCheck::new(&signature);
        }
        let as_it_is = members.iter().filter(|member| member.input == self.input);
        let is_changed = self.input.normalisation != Normalisation::IDENTITY;
        let mut signatures = as_it_is
            .filter(|_| !is_changed)
            .map(|m| m.graph.signature());
        let Some(first) = signatures.next() else {
            return RowCheck::default();
        };
        let single = signatures.fold(first, |first, other| {
            let pairs = first.inputs.into_iter().zip(&other.inputs);
            Signature {
                inputs: pairs.map(|(spec, other)| spec.narrowed(other)).collect(),
                ..first
            }
        });
        RowCheck::new(&single)
    }
}

/// Reads the input that clients send, and the steps that members inherit.
pub(super) fn ensemble(
    source: &ManifestSource<'_>,
    manifest: &Manifest,
) -> Result<SampleInput, EnsembleError> {
    let table = &manifest.input;
    let named = text::tensors(source, manifest)?;
    let (shape, lengths) = match (&table.shape, &named) {
        (Some(written), None) => {
            tensors::no_lengths(source, table)?;
            (shape(source, "input.shape", written)?, None)
        }
        (None, Some(named)) => {
            let texts = text::lengths(source, manifest, named.get_ref())?;
            tensors::shape(source, table, named, texts)?
        }
        (Some(both), Some(_)) => {
            let why = match &table.text {
                None => "input: expected `shape` or `tensors`, found both",
                Some(_) => "input: expected `shape` or `text`, found both",
            };
            return Err(source.wrong(both.span().start, why));
        }
        (None, None) => {
            let why = "input: expected `shape`, `text` (a tokenizer), or `tensors` with names, \
                       types and shapes";
            return Err(source.wrong(0, why));
        }
    };
    let written = NormalisationFields {
        field: "input",
        scale: table.scale.as_ref(),
        shift: table.shift.as_ref(),
        mean: table.mean.as_ref(),
        std: table.std.as_ref(),
    };
    let steps = written.steps(source, shape, NormalisationSteps::default())?;
    let input = written.input(source, shape, &steps)?;
    let tensors = named.map(Spanned::into_inner);
    let text = text::input(source, manifest, tensors.as_deref(), lengths.is_some())?;
    let lengths = lengths.map(|lengths| filled(lengths, manifest, text.as_ref()));
    Ok(SampleInput {
        input,
        steps,
        tensors,
        text,
        lengths,
    })
}

/// Returns the lengths of samples, with ids padded as in texts.
fn filled(lengths: Lengths, manifest: &Manifest, text: Option<&TextInput>) -> Lengths {
    match manifest.input.text.as_ref().zip(text) {
        Some((table, input)) => {
            lengths.filled(text::ids(table.get_ref()), input.tokenizer().padding())
        }
        None => lengths,
    }
}

/// Reads a member's input. Missing fields come from the ensemble.
pub(super) fn member(
    source: &ManifestSource<'_>,
    table: Option<&MemberInput>,
    of_ensemble: &SampleInput,
) -> Result<Input, EnsembleError> {
    let (ensemble, inherited) = (&of_ensemble.input, &of_ensemble.steps);
    let Some(table) = table else {
        return Ok(ensemble.clone());
    };
    let shape = match &table.shape {
        None => ensemble.shape,
        Some(written) => own_shape(source, written, ensemble.shape)?,
    };
    let written = NormalisationFields {
        field: "members.input",
        scale: table.scale.as_ref(),
        shift: table.shift.as_ref(),
        mean: table.mean.as_ref(),
        std: table.std.as_ref(),
    };
    let mut steps = written.steps(source, shape, inherited.clone())?;
    if let Some(asked) = &table.transform_input {
        steps.transform_input = transform_input(source, asked, shape)?;
    }
    written.input(source, shape, &steps)
}

/// Reads the input of a pipeline's model, which does not inherit from the pipeline's input.
pub(super) fn model(
    source: &ManifestSource<'_>,
    table: &MemberInput,
    sample: &SampleInput,
) -> Result<Input, EnsembleError> {
    let fields = [&table.scale, &table.shift, &table.mean, &table.std];
    if let Some(written) = fields.into_iter().flatten().next() {
        let why = "members.input: scale, shift, mean and std are not valid in a pipeline; add a \
                   step `normalise`";
        return Err(source.wrong(written.span().start, why));
    }
    let Some(written) = &table.shape else {
        return Ok(sample.input.clone());
    };
    let shape = shape(source, "members.input.shape", written)?;
    Ok(Input::from_value_ranges(Vec::new()).with_shape(shape))
}

fn own_shape(
    source: &ManifestSource<'_>,
    written: &Spanned<Vec<i64>>,
    sample: Shape,
) -> Result<Shape, EnsembleError> {
    let own = shape(source, "members.input.shape", written)?;
    match not_convertible(sample, own) {
        None => Ok(own),
        Some(why) => {
            let why = format!("members.input.shape: {why}");
            Err(source.wrong(written.span().start, why))
        }
    }
}

fn transform_input(
    source: &ManifestSource<'_>,
    asked: &Spanned<bool>,
    shape: Shape,
) -> Result<bool, EnsembleError> {
    if !*asked.get_ref() || matches!(shape, Shape::Image { channels: 3, .. }) {
        return Ok(*asked.get_ref());
    }
    let why = format!(
        "members.input.transform_input: expected an image of 3 channels (red, green, blue), found {shape}"
    );
    Err(source.wrong(asked.span().start, why))
}

/// The fields of normalisation in a table.
struct NormalisationFields<'a> {
    /// The name of the table.
    field: &'a str,
    scale: Option<&'a Spanned<PerChannel>>,
    shift: Option<&'a Spanned<PerChannel>>,
    mean: Option<&'a Spanned<PerChannel>>,
    std: Option<&'a Spanned<PerChannel>>,
}

impl NormalisationFields<'_> {
    /// Reads the steps. Missing steps come from `inherited`.
    fn steps(
        &self,
        source: &ManifestSource<'_>,
        shape: Shape,
        inherited: NormalisationSteps,
    ) -> Result<NormalisationSteps, EnsembleError> {
        let read = |name: &str, written: Option<&Spanned<PerChannel>>, inherited| match written {
            None => Ok(inherited),
            Some(written) => per_channel(source, &format!("{}.{name}", self.field), written, shape),
        };
        Ok(NormalisationSteps {
            scale: read("scale", self.scale, inherited.scale)?,
            shift: read("shift", self.shift, inherited.shift)?,
            mean: read("mean", self.mean, inherited.mean)?,
            std: read("std", self.std, inherited.std)?,
            transform_input: inherited.transform_input,
        })
    }

    fn input(
        &self,
        source: &ManifestSource<'_>,
        shape: Shape,
        steps: &NormalisationSteps,
    ) -> Result<Input, EnsembleError> {
        Input::new(shape, steps).map_err(|why| {
            let all = [self.std, self.scale, self.mean, self.shift];
            let at = all
                .into_iter()
                .flatten()
                .next()
                .map_or(0, |w| w.span().start);
            source.wrong(at, format!("{}: {why}", self.field))
        })
    }
}

/// Checks that there is one number or one per channel, that all numbers are finite, and that
/// standard deviations are above 0.
fn per_channel(
    source: &ManifestSource<'_>,
    field: &str,
    written: &Spanned<PerChannel>,
    shape: Shape,
) -> Result<PerChannel, EnsembleError> {
    let wrong = |why: String| Err(source.wrong(written.span().start, format!("{field}: {why}")));
    let value = written.get_ref();
    let numbers = value.numbers();
    if !value.covers(shape.channels()) {
        let (expected, found) = (shape.channels(), numbers.len());
        let what = match shape {
            Shape::Image { .. } => "channel",
            Shape::Vector { .. } | Shape::Tensor(_) => "feature",
        };
        return wrong(format!(
            "expected one number, or a list of {expected} (one per {what}), found {found}"
        ));
    }
    if let Some(number) = numbers.iter().find(|n| !(**n as f32).is_finite()) {
        let found = words::number(*number);
        return wrong(format!("expected a finite number, found {found}"));
    }
    match numbers
        .iter()
        .find(|n| field.ends_with(".std") && **n <= 0.0)
    {
        Some(number) => {
            let found = words::number(*number);
            wrong(format!("expected a number above 0, found {found}"))
        }
        None => Ok(value.clone()),
    }
}

/// Returns the reason why samples of shape `sample` cannot be converted to shape `own`, or `None`
/// if they can: the shapes are equal, or images with the same number of channels.
fn not_convertible(sample: Shape, own: Shape) -> Option<String> {
    match (sample, own) {
        _ if sample == own => None,
        (Shape::Image { channels, .. }, Shape::Image { channels: c, .. }) if channels == c => None,
        (Shape::Image { channels, .. }, _) => Some(format!(
            "expected an image of {channels} channels, as in the ensemble's input ({sample}), \
             found {own}"
        )),
        (Shape::Vector { .. }, _) => Some(format!(
            "expected {sample}, as in the ensemble's input, since a vector cannot be resized, \
             found {own}"
        )),
        (Shape::Tensor(_), _) => Some(format!(
            "expected {sample}, as in the ensemble's input, since a tensor cannot be resized, \
             found {own}"
        )),
    }
}

fn shape(
    source: &ManifestSource<'_>,
    field: &str,
    written: &Spanned<Vec<i64>>,
) -> Result<Shape, EnsembleError> {
    let dims = written.get_ref().iter().map(|&d| usize::try_from(d).ok());
    dims.collect::<Option<Vec<usize>>>()
        .ok_or_else(|| "no dimension may be negative".to_owned())
        .and_then(|dims| Shape::try_from(dims).map_err(|e| e.to_string()))
        .map_err(|why| source.wrong(written.span().start, format!("{field}: {why}")))
}
