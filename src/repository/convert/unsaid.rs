//! Model settings that Divisi manifests do not support.

use crate::batch::ModelRows;
use crate::loaded::LoadedModel;

use super::written::OutFolder;

/// Notes the settings of a model that its manifest does not contain.
pub(super) fn unsaid(model: &LoadedModel, out: &mut OutFolder) {
    match model.batch {
        ModelRows::Open if model.config.has_no_batch() => {
            let why = "max_batch_size 0: converted back, the first dimension becomes the batch";
            out.unsaid(&model.name, why);
        }
        ModelRows::Open => {}
        ModelRows::UpTo(most) => {
            out.unsaid(
                &model.name,
                format!("max_batch_size {most}: clients see a larger limit"),
            );
        }
        ModelRows::Absent | ModelRows::Exactly(_) => {
            out.unsaid(
                &model.name,
                "the number of rows: requests may have any number",
            );
        }
    }
    let batching = model.config.batching.as_ref();
    if batching.is_some_and(|batching| !batching.preferred.is_empty()) {
        let why = "dynamic_batching.preferred_batch_size: the sizes are allowed, not preferred";
        out.unsaid(&model.name, why);
    }
    for field in &model.config.unused {
        out.unsaid(&model.name, field);
    }
    if model.config.cached {
        out.unsaid(&model.name, "response_cache: not supported in manifests");
    }
    let (instances, warmup) = (&model.config.instances, &model.config.warmup);
    if !instances.is_empty() {
        out.unsaid(&model.name, "instance_group");
    }
    if !warmup.is_empty() {
        out.unsaid(&model.name, "model_warmup");
    }
    if !model.labels.is_empty() && model.ensemble.answer_names.is_none() {
        out.unsaid(
            &model.name,
            "label_filename: an answer of several tensors has no class names",
        );
    }
}
