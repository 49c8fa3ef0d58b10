//! A loaded model as a catalogue entry.

use std::sync::Arc;

use divisi_model::catalogue::{
    BatchDimension, ComposingStep, ConfiguredBatching, ConfiguredTensor, EntryConfig, Interface,
    NewEntry, Version,
};
use divisi_model::ensemble::BatchSize;

use crate::batch::ModelRows;
use crate::config::TensorConfig;
use crate::loaded::{LoadedModel, ModelOrigin};

/// Returns the models that run the steps of an ensemble.
fn composing(model: &LoadedModel) -> Vec<ComposingStep> {
    let steps = model.config.steps.iter().flatten();
    let steps = steps.map(|step| ComposingStep {
        model: step.model.clone(),
        version: step.version.and_then(Version::new),
        inputs: step.inputs.clone(),
        outputs: step.outputs.clone(),
    });
    steps.collect()
}

/// Returns the part of a model's configuration that clients see as written.
fn client_config(model: &LoadedModel) -> EntryConfig {
    let config = &model.config;
    let batching = config.batching.as_ref();
    EntryConfig {
        platform: config.platform.clone(),
        backend: config.backend.clone(),
        model_file: config.model_file.clone(),
        versions: config.versions.clone(),
        inputs: config.inputs.iter().map(told_tensor).collect(),
        outputs: config.outputs.iter().map(told_tensor).collect(),
        batching: batching.map(|batching| ConfiguredBatching {
            preferred: batching.preferred.clone(),
            preserve_ordering: batching.preserve_ordering,
        }),
        warmup: config.warmup.clone(),
        parameters: config.parameters.clone(),
    }
}

fn told_tensor(tensor: &TensorConfig) -> ConfiguredTensor {
    ConfiguredTensor {
        name: tensor.name.clone(),
        reshape: tensor.reshape.clone(),
        format: tensor.format,
        label_file: tensor.labels.clone(),
    }
}

/// Returns the largest batch size that a configuration prefers, else the largest that it allows, or
/// `None` if it sets no bound.
fn first_batch(model: &LoadedModel) -> Option<BatchSize> {
    let (ModelRows::UpTo(most) | ModelRows::Exactly(most)) = model.batch else {
        return None;
    };
    let preferred = model.config.batching.iter().flat_map(|b| &b.preferred);
    let wanted = preferred.copied().filter(|size| *size <= most).max();
    let offered = model.ensemble.batch_sizes.iter();
    offered
        .filter(|size| size.get() <= wanted.unwrap_or(most))
        .max()
}

/// Returns the smallest batch size that a configuration prefers. A batch of this size does not wait
/// for more samples.
fn enough(model: &LoadedModel) -> Option<BatchSize> {
    let preferred = model.config.batching.iter().flat_map(|b| &b.preferred);
    BatchSize::new(u32::try_from(*preferred.min()?).ok()?)
}

/// Returns a model as a catalogue entry, or `None` for version 0, which does not exist.
pub(crate) fn entry(model: &LoadedModel) -> Option<NewEntry> {
    let labels = model.labels.iter();
    Some(NewEntry {
        name: model.name.clone(),
        version: Version::new(model.version)?,
        ensemble: Arc::clone(&model.ensemble),
        interface: Interface {
            network: model.answers_itself(),
            batch: match model.batch {
                ModelRows::Absent => BatchDimension::None,
                ModelRows::Exactly(size) => BatchDimension::Exactly(size),
                ModelRows::UpTo(most) => BatchDimension::AtMost(most),
                ModelRows::Open => BatchDimension::Any,
            },
            one_sample: model.config.has_no_batch(),
            labels: labels.cloned().collect(),
            uncached: !model.config.cached,
            non_finite: !matches!(model.source, ModelOrigin::Manifest(_)),
            composing: composing(model),
            config: Arc::new(client_config(model)),
        },
        warmup: Arc::clone(&model.warmup),
        instances: model.config.instances.clone(),
        first_batch: first_batch(model),
        enough: enough(model),
    })
}
