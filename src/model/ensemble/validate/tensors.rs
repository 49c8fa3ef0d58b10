//! Samples of several named tensors, and the tensors that a member takes.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;

use crate::ensemble::Input;
use crate::ensemble::lengths_table::LengthsTable;
use crate::ensemble::manifest::{EnsembleError, InputTable, ManifestSource};
use divisi_runtime::compute::{ComputeError, check_padding};
use divisi_runtime::network::{NetworkByLength, Shape};
use divisi_runtime::onnx::{OnnxError, OnnxModel, OnnxNetwork, OpenLengths};
use divisi_runtime::tensor::{Dimension, Lengths, Signature, TensorSpec};

/// The reason why a builder is refused.
pub(super) const NO_BUILDER: &str =
    "expected an .onnx file, since the ensemble's input has named tensors or is text";

/// Checks the tensors of a sample. Returns the shape of their row, and the lengths of samples if
/// dimensions vary.
pub(super) fn shape(
    source: &ManifestSource<'_>,
    table: &InputTable,
    written: &Spanned<Vec<TensorSpec>>,
    texts: Option<TextLengths>,
) -> Result<(Shape, Option<Lengths>), EnsembleError> {
    let at = written.span().start;
    let wrong = |why: String| Err(source.wrong(at, format!("input.tensors: {why}")));
    let steps = [&table.scale, &table.shift, &table.mean, &table.std];
    if steps.iter().any(|step| step.is_some()) {
        return wrong("named tensors are not normalised; remove scale, shift, mean and std".into());
    }
    let lengths = lengths(source, table, written.get_ref(), texts)?;
    let most = lengths.as_ref().map_or(0, Lengths::largest);
    let mut names = HashSet::new();
    let mut values = usize::from(lengths.is_some());
    for spec in written.get_ref() {
        source.check_name(at, "input.tensors.name", &spec.name)?;
        if !names.insert(&spec.name) {
            return wrong(format!("two tensors are named `{}`", spec.name));
        }
        if spec.data_type.size().is_none() {
            return wrong(format!(
                "`{}`: no network takes type {}",
                spec.name, spec.data_type
            ));
        }
        let Some(size) = spec.elements_at(most).filter(|size| *size > 0) else {
            let lengths = match spec.varies() {
                true => ", or `input.lengths`",
                false => "",
            };
            return wrong(format!(
                "`{}`: expected dimensions of at least 1{lengths}, found {spec}",
                spec.name
            ));
        };
        values = values.saturating_add(size);
    }
    let shape = Shape::vector(values);
    if shape.is_reasonable() {
        return Ok((shape, lengths));
    }
    wrong(format!(
        "expected tensors of 1 to 2^28 values in all, found {values}"
    ))
}

/// Refuses lengths for samples with fixed dimensions.
pub(super) fn no_lengths(
    source: &ManifestSource<'_>,
    table: &InputTable,
) -> Result<(), EnsembleError> {
    let lengths = table.lengths.as_ref().map(|l| ("lengths", l.span()));
    let mask = table.mask.as_ref().map(|m| ("mask", m.span()));
    match lengths.or(mask) {
        None => Ok(()),
        Some((field, span)) => {
            let expected = match &table.text {
                Some(_) => "networks that leave the length of texts open",
                None => "tensors with a dimension of -1",
            };
            let why = format!("input.{field}: expected {expected}, found none");
            Err(source.wrong(span.start, why))
        }
    }
}

/// The lengths of text samples.
pub(super) struct TextLengths {
    /// The number of tokens to which texts are cut.
    pub most: usize,
    /// The tensor that is 0 at padded positions of a text, if there is one.
    pub mask: Option<String>,
}

impl TextLengths {
    /// Returns the default lengths: the usual buckets if there is a mask, else every length.
    fn usual(self) -> Option<Lengths> {
        let lengths = match self.mask {
            Some(mask) => Lengths::padded(Lengths::usual_buckets(self.most), mask),
            None => Lengths::exact(self.most),
        };
        lengths.ok()
    }
}

/// Reads the lengths of samples, and the tensor that masks padding.
fn lengths(
    source: &ManifestSource<'_>,
    table: &InputTable,
    tensors: &[TensorSpec],
    texts: Option<TextLengths>,
) -> Result<Option<Lengths>, EnsembleError> {
    if !tensors.iter().any(TensorSpec::varies) {
        return no_lengths(source, table).map(|()| None);
    }
    let mask = match (&table.mask, &texts) {
        (None, Some(texts)) => texts.mask.clone(),
        (written, _) => mask(source, written.as_ref(), tensors)?,
    };
    let Some(written) = &table.lengths else {
        // The check of the tensors reports missing lengths.
        return Ok(texts.and_then(TextLengths::usual));
    };
    let wrong = |why: String| source.wrong(written.span().start, format!("input.lengths: {why}"));
    let lengths = written_lengths(written.get_ref(), mask).map_err(wrong)?;
    match texts.filter(|texts| texts.most != lengths.largest()) {
        None => Ok(Some(lengths)),
        Some(texts) => Err(wrong(format!(
            "expected {} as the largest (the length of texts), found {}",
            texts.most,
            lengths.largest()
        ))),
    }
}

fn written_lengths(written: &LengthsTable, mask: Option<String>) -> Result<Lengths, String> {
    let lengths = match (written, mask) {
        (LengthsTable::UpTo { most, step: None }, None) => Lengths::exact(*most),
        (_, None) => return Err("padding requires `mask`, the name of a tensor".into()),
        (LengthsTable::Buckets(buckets), Some(mask)) => Lengths::padded(buckets.clone(), mask),
        (LengthsTable::UpTo { most, step: None }, Some(mask)) => {
            Lengths::padded(Lengths::usual_buckets(*most), mask)
        }
        (LengthsTable::UpTo { step: Some(0), .. }, _) => {
            return Err("step: expected at least 1, found 0".into());
        }
        (
            LengthsTable::UpTo {
                most,
                step: Some(step),
            },
            Some(mask),
        ) => {
            // One more than the maximum, so that the list is refused.
            let below = (1..=MOST_STEPS).map(|n| n.saturating_mul(*step));
            let buckets = below.take_while(|bucket| bucket < most).chain([*most]);
            Lengths::padded(buckets.collect(), mask)
        }
    };
    lengths.map_err(|why| why.to_string())
}

/// The maximum number of steps that are generated before the list is refused.
const MOST_STEPS: usize = 1024;

fn mask(
    source: &ManifestSource<'_>,
    written: Option<&Spanned<String>>,
    tensors: &[TensorSpec],
) -> Result<Option<String>, EnsembleError> {
    let Some(written) = written else {
        return Ok(None);
    };
    let name = written.get_ref();
    let wrong = |why: String| source.wrong(written.span().start, format!("input.mask: {why}"));
    let known = || tensors.iter().map(|spec| spec.name.as_str());
    match tensors.iter().find(|spec| spec.name == *name) {
        Some(spec) if spec.varies() => Ok(Some(name.clone())),
        Some(spec) => Err(wrong(format!(
            "expected a tensor with a dimension of -1, found `{name}` of {spec}"
        ))),
        None => {
            let known = known().collect::<Vec<_>>().join(", ");
            Err(wrong(format!("expected one of {known}, found `{name}`")))
        }
    }
}

/// A network, the networks for other lengths, and its part of a sample.
pub(super) struct TakenNetwork {
    pub network: OnnxNetwork,
    pub by_length: Option<Arc<dyn NetworkByLength>>,
    pub input: Input,
}

/// Returns the network of a model for its tensors of a sample, and its input.
///
/// # Errors
/// The model takes other tensors, or cannot be computed. The error is a text.
pub(super) fn network(model: OnnxModel, sample: &Signature) -> Result<TakenNetwork, String> {
    let taken = taken(&model, sample);
    let open = open(&taken);
    let takes = |mask: &str| taken.iter().any(|spec| spec.name == mask);
    let lengths = sample.lengths.as_ref().map(|lengths| match lengths.mask() {
        // The mask does not hide padding from this network.
        Some(mask) if !takes(mask) => lengths.unpadded(),
        _ => lengths.clone(),
    });
    let Some(lengths) = lengths else {
        return padded_network(model, sample);
    };
    let (network, by_length) = varying(model, &open, lengths)?;
    of_sample(network, Some(by_length), sample)
}

/// Returns the network of a model for samples that are padded to their largest length.
///
/// # Errors
/// As for [`network`].
pub(super) fn padded_network(model: OnnxModel, sample: &Signature) -> Result<TakenNetwork, String> {
    let open = open(&taken(&model, sample));
    let network = model
        .network_at(&open, sample.largest_length())
        .map_err(in_words)?;
    of_sample(network, None, sample)
}

/// Returns a network with its part of a sample.
fn of_sample(
    network: OnnxNetwork,
    by_length: Option<Arc<dyn NetworkByLength>>,
    sample: &Signature,
) -> Result<TakenNetwork, String> {
    let signature = network.graph.signature();
    let lead = (signature.leading_values() > 0).then_some(0..1);
    let runs = signature.inputs.iter().map(|wanted| run(sample, wanted));
    let runs = runs.collect::<Result<Vec<_>, _>>()?;
    let runs = lead.into_iter().chain(runs).collect();
    let input = Input::from_ranges(network.graph.input(), runs);
    Ok(TakenNetwork {
        network,
        by_length,
        input,
    })
}

/// Returns the network of a model for samples of several lengths, and the networks for other
/// lengths. A network whose answers depend on padding runs every sample at its own length.
fn varying(
    model: OnnxModel,
    open: &OpenLengths,
    lengths: Lengths,
) -> Result<(OnnxNetwork, Arc<dyn NetworkByLength>), String> {
    let (network, model) = model.varying(open, lengths).map_err(in_words)?;
    let padded = check_padding(&network.graph, &network.weights, model.as_ref());
    let graph = match padded {
        Err(ComputeError::Padding { .. }) => network.graph.unpadded(),
        _ => network.graph,
    };
    let network = OnnxNetwork { graph, ..network };
    Ok((network, model))
}

/// Returns the tensors of a sample that a model takes.
fn taken<'s>(model: &OnnxModel, sample: &'s Signature) -> Vec<&'s TensorSpec> {
    let takes = |spec: &&TensorSpec| model.input_names().any(|name| name == spec.name);
    sample.inputs.iter().filter(takes).collect()
}

/// Returns tensors as inputs with a batch of 1.
fn open(taken: &[&TensorSpec]) -> OpenLengths {
    let batched = |spec: &&TensorSpec| {
        let batch = std::iter::once(Dimension::Fixed(1));
        let dims = batch.chain(spec.dims.iter().copied());
        (spec.name.clone(), dims.collect())
    };
    OpenLengths::new(taken.iter().map(batched).collect())
}

fn in_words(error: OnnxError) -> String {
    error.to_string()
}

/// Returns whether a tensor of samples of up to `most` matches the tensor `wanted` of a network,
/// which may only take that length.
fn is_taken(spec: &TensorSpec, most: usize, wanted: &TensorSpec) -> bool {
    let padded = TensorSpec::fixed(&spec.name, spec.data_type, &spec.dims_at(most));
    spec.is_like(wanted) || padded.is_like(wanted)
}

/// Returns the range of a sample's values for the tensor `wanted`.
fn run(sample: &Signature, wanted: &TensorSpec) -> Result<Range<usize>, String> {
    let tensors = &sample.inputs;
    let mut first = sample.leading_values();
    for spec in tensors {
        let end = first + spec.elements_at(sample.largest_length()).unwrap_or(0);
        if spec.name == wanted.name {
            return match is_taken(spec, sample.largest_length(), wanted) {
                true => Ok(first..end),
                false => Err(format!(
                    "input `{}`: the network takes {wanted}, but the ensemble has {spec}",
                    spec.name
                )),
            };
        }
        first = end;
    }
    let known: Vec<&str> = tensors.iter().map(|spec| spec.name.as_str()).collect();
    Err(format!(
        "the network takes `{}`, but the ensemble's input has {}",
        wanted.name,
        known.join(", ")
    ))
}
