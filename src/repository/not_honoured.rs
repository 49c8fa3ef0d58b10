//! The names of configuration fields that are not applied as written.

use divisi_model::ensemble::{QueuePolicy, Queueing};
use divisi_runtime::tensor::{DataType, TensorSpec};

use crate::config::MOST_LENGTH_PARAMETER;
use crate::loaded::LoadedModel;

/// Returns the fields of a model that are set but not applied as written: fields of its own
/// configuration, tensors with more precision than the computation, and fields of its steps' models
/// (`used`) that apply only to requests for these models.
pub(crate) fn fields<'m>(
    model: &LoadedModel,
    used: impl Iterator<Item = &'m LoadedModel>,
) -> Vec<String> {
    let mut all = model.config.unused.clone();
    all.extend(doubles("input", &model.inputs()));
    all.extend(doubles("output", &model.outputs()));
    all.extend(of_lengths(model));
    for used in used {
        let own = of_step(used).map(|field| format!("step `{}`: {field}", used.name));
        let new: Vec<String> = own.filter(|field| !all.contains(field)).collect();
        all.extend(new);
    }
    all
}

/// Returns the tensors of a side that are computed with lower precision than their type.
fn doubles(side: &str, specs: &[TensorSpec]) -> Vec<String> {
    let doubles = specs.iter().filter(|spec| spec.data_type == DataType::Fp64);
    let each = doubles.map(|spec| {
        let name = &spec.name;
        format!("{side} `{name}`: data_type: TYPE_FP64 is computed as TYPE_FP32")
    });
    each.collect()
}

/// Returns the differences between the configuration of a model for samples of any length and its
/// behaviour.
fn of_lengths(model: &LoadedModel) -> Vec<String> {
    let config = &model.config;
    let Some(lengths) = model
        .ensemble
        .lengths
        .as_ref()
        .filter(|_| model.answers_itself())
    else {
        return Vec::new();
    };
    let is_named = |name: &String| config.outputs.iter().any(|output| output.name == *name);
    let outputs = model.outputs().into_iter().map(|spec| spec.name);
    let unnamed = outputs.filter(|name| !config.outputs.is_empty() && !is_named(name));
    let mut all: Vec<String> = unnamed
        .map(|name| format!("output: `{name}` is also available"))
        .collect();
    if !config.inputs.is_empty() && config.parameter(MOST_LENGTH_PARAMETER).is_none() {
        let most = lengths.largest();
        all.push(format!(
            "input.dims: -1 allows lengths up to {most}; set the parameter \
             `{MOST_LENGTH_PARAMETER}` for another limit"
        ));
    }
    all
}

/// Returns the fields of a model that do not apply to requests of an ensemble over it.
fn of_step(model: &LoadedModel) -> impl Iterator<Item = &'static str> {
    let batching = model.config.batching.as_ref();
    let queueing = batching.and_then(|batching| batching.queueing.as_deref());
    let cache = model.config.cached.then_some("response_cache");
    queueing.into_iter().flat_map(queue).chain(cache)
}

/// Returns the queue fields.
fn queue(queueing: &Queueing) -> Vec<&'static str> {
    let usual = queueing.policy(queueing.default_level());
    let has_own = queueing
        .levels()
        .any(|level| queueing.policy(level) != usual);
    let fields = [
        (
            queueing.levels().len() > 1,
            "dynamic_batching.priority_levels",
        ),
        (
            usual != QueuePolicy::default(),
            "dynamic_batching.default_queue_policy",
        ),
        (has_own, "dynamic_batching.priority_queue_policy"),
    ];
    let set = fields.into_iter().filter(|(is_set, _)| *is_set);
    set.map(|(_, field)| field).collect()
}
