//! The configuration of a model in JSON.

mod written;

use serde_json::{Map, Value, json};

use crate::proto::inference as proto;
use crate::proto::inference::model_config::SchedulingChoice;
use crate::proto::inference::model_input::Format;
use crate::proto::inference::model_queue_policy::TimeoutAction;

/// Returns the JSON of a configuration, with the supported fields.
pub(super) fn config(config: &proto::ModelConfig) -> Value {
    let inputs = config.input.iter().map(input);
    let outputs = config.output.iter().map(output);
    let mut json = json!({
        "name": config.name,
        "platform": config.platform,
        "backend": config.backend,
        "default_model_filename": config.default_model_filename,
        "max_batch_size": config.max_batch_size,
        "input": inputs.collect::<Vec<_>>(),
        "output": outputs.collect::<Vec<_>>(),
        "version_policy": config.version_policy.as_ref().map(written::versions),
        "instance_group": config.instance_group.iter().map(written::instances).collect::<Vec<_>>(),
        "parameters": written::parameters(&config.parameters),
        "model_warmup": config.model_warmup.iter().map(written::warmup).collect::<Vec<_>>(),
    });
    match &config.scheduling_choice {
        Some(SchedulingChoice::DynamicBatching(of)) => json["dynamic_batching"] = batching(of),
        Some(SchedulingChoice::EnsembleScheduling(of)) => {
            json["ensemble_scheduling"] = ensemble(of);
        }
        Some(SchedulingChoice::SequenceBatching(_)) | None => {}
    }
    if let Some(cache) = &config.response_cache {
        json["response_cache"] = json!({ "enable": cache.enable });
    }
    json
}

fn tensor(
    name: &str,
    data_type: i32,
    dims: &[i64],
    reshape: Option<&proto::ModelTensorReshape>,
) -> Value {
    let mut json = json!({"name": name, "data_type": type_name(data_type), "dims": dims});
    if let Some(reshape) = reshape {
        json["reshape"] = json!({ "shape": reshape.shape });
    }
    json
}

fn input(input: &proto::ModelInput) -> Value {
    let reshape = input.reshape.as_ref();
    let mut json = tensor(&input.name, input.data_type, &input.dims, reshape);
    let format = Format::try_from(input.format).unwrap_or_default();
    json["format"] = format.as_str_name().into();
    json
}

fn output(output: &proto::ModelOutput) -> Value {
    let reshape = output.reshape.as_ref();
    let mut json = tensor(&output.name, output.data_type, &output.dims, reshape);
    json["label_filename"] = output.label_filename.clone().into();
    json
}

fn type_name(data_type: i32) -> &'static str {
    let data_type = proto::DataType::try_from(data_type).unwrap_or_default();
    data_type.as_str_name()
}

fn ensemble(ensemble: &proto::ModelEnsembling) -> Value {
    let step = |step: &proto::model_ensembling::Step| {
        json!({
            "model_name": step.model_name,
            "model_version": step.model_version,
            "input_map": step.input_map,
            "output_map": step.output_map,
        })
    };
    json!({"step": ensemble.step.iter().map(step).collect::<Vec<_>>()})
}

fn batching(batching: &proto::ModelDynamicBatching) -> Value {
    let mut json = json!({
        "preferred_batch_size": batching.preferred_batch_size,
        "max_queue_delay_microseconds": batching.max_queue_delay_microseconds,
        "preserve_ordering": batching.preserve_ordering,
    });
    if batching.priority_levels > 0 {
        json["priority_levels"] = batching.priority_levels.into();
        json["default_priority_level"] = batching.default_priority_level.into();
    }
    if let Some(usual) = &batching.default_queue_policy {
        json["default_queue_policy"] = policy(usual);
    }
    if !batching.priority_queue_policy.is_empty() {
        let own = batching.priority_queue_policy.iter();
        let own = own.map(|(level, of)| (level.to_string(), policy(of)));
        json["priority_queue_policy"] = Value::Object(own.collect::<Map<_, _>>());
    }
    json
}

fn policy(policy: &proto::ModelQueuePolicy) -> Value {
    let action = TimeoutAction::try_from(policy.timeout_action).unwrap_or_default();
    json!({
        "timeout_action": action.as_str_name(),
        "default_timeout_microseconds": policy.default_timeout_microseconds,
        "allow_timeout_override": policy.allow_timeout_override,
        "max_queue_size": policy.max_queue_size,
    })
}
