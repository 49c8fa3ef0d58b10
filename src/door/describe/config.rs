//! The configuration of a model, in the form of the published interface file.

use divisi_model::catalogue::{ComposingStep, EntryConfig, InstanceGroup};
use divisi_model::ensemble::{QueuePolicy, Queueing, TimeoutAction};
use divisi_runtime::tensor::{DataType, TensorSpec};

use crate::proto::inference as proto;
use crate::proto::inference::model_config::SchedulingChoice;
use crate::proto::inference::model_queue_policy::TimeoutAction as TimeoutActionMessage;
use divisi_inference::service::ModelDescription;

use super::{backend, fixed_rows, platform, shape, written};

/// Returns the configuration of a model with its running instances.
pub(crate) fn config(model: &ModelDescription, instances: &[InstanceGroup]) -> proto::ModelConfig {
    let fixed = fixed_rows(model);
    let most = model.batch.filter(|_| fixed.is_none());
    let composed = !model.composing.is_empty();
    proto::ModelConfig {
        name: model.name.clone(),
        platform: platform(model).to_owned(),
        backend: backend(model).to_owned(),
        default_model_filename: model.config.model_file.clone().unwrap_or_default(),
        max_batch_size: i32::try_from(most.unwrap_or(0)).unwrap_or(i32::MAX),
        input: model
            .signature
            .inputs
            .iter()
            .map(|spec| input(spec, fixed, &model.config))
            .collect(),
        output: model
            .signature
            .outputs
            .iter()
            .map(|spec| output(spec, fixed, &model.config))
            .collect(),
        version_policy: Some(written::versions(&model.config.versions)),
        instance_group: written::instances(&model.name, instances),
        model_warmup: model.config.warmup.iter().map(written::warmup).collect(),
        parameters: written::parameters(&model.config),
        scheduling_choice: match composed {
            true => Some(SchedulingChoice::EnsembleScheduling(ensemble(
                &model.composing,
            ))),
            false => {
                let batching = most.map(|_| batching(model));
                batching.map(SchedulingChoice::DynamicBatching)
            }
        },
        ..proto::ModelConfig::default()
    }
}

/// Returns the number of a type.
pub(super) fn data_type(data_type: DataType) -> i32 {
    let known = proto::DataType::from_str_name(&super::config_type(data_type));
    known.unwrap_or(proto::DataType::TypeInvalid).into()
}

fn input(spec: &TensorSpec, rows: Option<i64>, config: &EntryConfig) -> proto::ModelInput {
    let own = written::tensor(&config.inputs, &spec.name);
    proto::ModelInput {
        name: spec.name.clone(),
        data_type: data_type(spec.data_type),
        format: own.map_or(0, |own| written::format(own.format)),
        dims: shape(spec, rows),
        reshape: own.and_then(written::reshape),
        ..proto::ModelInput::default()
    }
}

fn output(spec: &TensorSpec, rows: Option<i64>, config: &EntryConfig) -> proto::ModelOutput {
    let own = written::tensor(&config.outputs, &spec.name);
    let label_file = own.and_then(|own| own.label_file.clone());
    proto::ModelOutput {
        name: spec.name.clone(),
        data_type: data_type(spec.data_type),
        dims: shape(spec, rows),
        reshape: own.and_then(written::reshape),
        label_filename: label_file.unwrap_or_default(),
        ..proto::ModelOutput::default()
    }
}

fn ensemble(steps: &[ComposingStep]) -> proto::ModelEnsembling {
    let step = |step: &ComposingStep| proto::model_ensembling::Step {
        model_name: step.model.clone(),
        model_version: match step.version {
            None => -1,
            Some(version) => i64::try_from(version.get()).unwrap_or(i64::MAX),
        },
        input_map: step.inputs.iter().cloned().collect(),
        output_map: step.outputs.iter().cloned().collect(),
        ..proto::model_ensembling::Step::default()
    };
    proto::ModelEnsembling {
        step: steps.iter().map(step).collect(),
        ..proto::ModelEnsembling::default()
    }
}

fn batching(model: &ModelDescription) -> proto::ModelDynamicBatching {
    let written = model.config.batching.as_ref();
    // Without configured sizes, these are the running ones.
    let sizes = written.map_or(&model.batch_sizes, |written| &written.preferred);
    let sizes = sizes.iter().filter_map(|size| i32::try_from(*size).ok());
    let delay = u64::try_from(model.delay.as_micros());
    proto::ModelDynamicBatching {
        preferred_batch_size: sizes.collect(),
        max_queue_delay_microseconds: delay.unwrap_or(u64::MAX),
        preserve_ordering: written.is_some_and(|written| written.preserve_ordering),
        ..model.queueing.as_deref().map(queue).unwrap_or_default()
    }
}

fn queue(queueing: &Queueing) -> proto::ModelDynamicBatching {
    let default = queueing.default_level();
    let usual = queueing.policy(default);
    let levels = queueing.levels();
    let has_levels = levels.len() > 1;
    let own = levels.filter(|level| has_levels && queueing.policy(*level) != usual);
    let own = own.map(|level| (level.number() as u64, policy(queueing.policy(level))));
    proto::ModelDynamicBatching {
        priority_levels: if has_levels {
            queueing.levels().len() as u64
        } else {
            0
        },
        default_priority_level: if has_levels {
            default.number() as u64
        } else {
            0
        },
        default_queue_policy: Some(policy(usual)),
        priority_queue_policy: own.collect(),
        ..proto::ModelDynamicBatching::default()
    }
}

fn policy(policy: QueuePolicy) -> proto::ModelQueuePolicy {
    let timeout = policy.timeout;
    let action = timeout.map(|timeout| timeout.action).unwrap_or_default();
    let micros = timeout.map_or(0, |timeout| timeout.after.as_micros());
    proto::ModelQueuePolicy {
        timeout_action: match action {
            TimeoutAction::Reject => TimeoutActionMessage::Reject,
            TimeoutAction::Delay => TimeoutActionMessage::Delay,
        }
        .into(),
        default_timeout_microseconds: u64::try_from(micros).unwrap_or(u64::MAX),
        allow_timeout_override: timeout.is_some_and(|timeout| timeout.may_be_shorter),
        max_queue_size: policy.most.map_or(0, |most| most.get()),
    }
}
