//! The configured parts of a configuration, in JSON.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::proto::inference as proto;
use crate::proto::inference::model_instance_group::Kind;
use crate::proto::inference::model_version_policy::PolicyChoice;
use crate::proto::inference::model_warmup::Input;
use crate::proto::inference::model_warmup::input::InputDataType;

/// Returns the JSON of the served versions.
pub(super) fn versions(policy: &proto::ModelVersionPolicy) -> Value {
    match &policy.policy_choice {
        Some(PolicyChoice::Latest(of)) => json!({"latest": {"num_versions": of.num_versions}}),
        Some(PolicyChoice::All(_)) => json!({"all": {}}),
        Some(PolicyChoice::Specific(of)) => json!({"specific": {"versions": of.versions}}),
        None => json!({}),
    }
}

/// Returns the JSON of a group of instances.
pub(super) fn instances(group: &proto::ModelInstanceGroup) -> Value {
    json!({
        "name": group.name,
        "kind": Kind::try_from(group.kind).unwrap_or_default().as_str_name(),
        "count": group.count,
        "gpus": group.gpus,
    })
}

/// Returns the JSON of parameters.
pub(super) fn parameters(all: &HashMap<String, proto::ModelParameter>) -> Value {
    let all = all.iter().map(|(name, parameter)| {
        let value = json!({"string_value": parameter.string_value});
        (name.clone(), value)
    });
    Value::Object(all.collect::<Map<_, _>>())
}

/// Returns the JSON of a warm-up request.
pub(super) fn warmup(warmup: &proto::ModelWarmup) -> Value {
    let inputs = warmup.inputs.iter();
    let inputs = inputs.map(|(name, of)| (name.clone(), input(of)));
    json!({
        "name": warmup.name,
        "batch_size": warmup.batch_size,
        "inputs": inputs.collect::<Map<_, _>>(),
        "count": warmup.count,
    })
}

fn input(input: &Input) -> Value {
    let mut json = json!({
        "data_type": super::type_name(input.data_type),
        "dims": input.dims,
    });
    match &input.input_data_type {
        Some(InputDataType::ZeroData(is)) => json["zero_data"] = (*is).into(),
        Some(InputDataType::RandomData(is)) => json["random_data"] = (*is).into(),
        Some(InputDataType::InputDataFile(name)) => json["input_data_file"] = name.clone().into(),
        None => {}
    }
    json
}
