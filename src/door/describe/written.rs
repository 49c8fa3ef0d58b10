//! The configured parts of a model's configuration, and the placement of its instances.

use std::collections::HashMap;

use divisi_model::catalogue::{
    ConfiguredTensor, EntryConfig, InstanceGroup, InstancePlace, TensorFormat, VersionPolicy,
    Warmup, WarmupData, WarmupInput,
};

use crate::proto::inference as proto;
use crate::proto::inference::model_input::Format;
use crate::proto::inference::model_instance_group::Kind;
use crate::proto::inference::model_version_policy::{All, Latest, PolicyChoice, Specific};
use crate::proto::inference::model_warmup::Input;
use crate::proto::inference::model_warmup::input::InputDataType;

/// Returns the served versions of a model.
pub(super) fn versions(policy: &VersionPolicy) -> proto::ModelVersionPolicy {
    let choice = match policy {
        VersionPolicy::Latest(count) => PolicyChoice::Latest(Latest {
            num_versions: *count,
        }),
        VersionPolicy::All => PolicyChoice::All(All {}),
        VersionPolicy::Specific(versions) => {
            let versions = versions.iter().map(|version| whole(*version));
            let versions = versions.collect();
            PolicyChoice::Specific(Specific { versions })
        }
    };
    proto::ModelVersionPolicy {
        policy_choice: Some(choice),
    }
}

/// Returns the parameters of a model.
pub(super) fn parameters(config: &EntryConfig) -> HashMap<String, proto::ModelParameter> {
    let all = config.parameters.iter().map(|(name, value)| {
        let string_value = value.clone();
        (name.clone(), proto::ModelParameter { string_value })
    });
    all.collect()
}

/// Returns the configured tensor with this name, or `None` if it is not configured.
pub(super) fn tensor<'c>(side: &'c [ConfiguredTensor], name: &str) -> Option<&'c ConfiguredTensor> {
    side.iter().find(|tensor| tensor.name == name)
}

/// Returns the dimensions that the model itself uses for a tensor, if they differ.
pub(super) fn reshape(tensor: &ConfiguredTensor) -> Option<proto::ModelTensorReshape> {
    let shape = tensor.reshape.clone()?;
    Some(proto::ModelTensorReshape { shape })
}

/// Returns the number of a dimension order.
pub(super) fn format(format: TensorFormat) -> i32 {
    match format {
        TensorFormat::None => Format::None,
        TensorFormat::Nhwc => Format::Nhwc,
        TensorFormat::Nchw => Format::Nchw,
    }
    .into()
}

/// Returns a warm-up request.
pub(super) fn warmup(warmup: &Warmup) -> proto::ModelWarmup {
    let inputs = warmup.inputs.iter();
    proto::ModelWarmup {
        name: warmup.name.clone(),
        batch_size: u32::try_from(warmup.rows).unwrap_or(u32::MAX),
        inputs: inputs.map(|of| (of.name.clone(), input(of))).collect(),
        count: u32::try_from(warmup.count).unwrap_or(u32::MAX),
    }
}

fn input(input: &WarmupInput) -> Input {
    Input {
        data_type: super::config::data_type(input.data_type),
        dims: input.dims.clone(),
        input_data_type: input.data.as_ref().map(|data| match data {
            WarmupData::Zeros => InputDataType::ZeroData(true),
            WarmupData::Random => InputDataType::RandomData(true),
            WarmupData::File(name) => InputDataType::InputDataFile(name.clone()),
        }),
    }
}

/// Returns the instance groups of the model `model`.
pub(super) fn instances(model: &str, groups: &[InstanceGroup]) -> Vec<proto::ModelInstanceGroup> {
    let groups = groups.iter().enumerate().map(|(number, group)| {
        let kind = match group.place {
            InstancePlace::Any => Kind::Auto,
            InstancePlace::Gpus => Kind::Gpu,
            InstancePlace::Processors => Kind::Cpu,
        };
        let gpus = group.gpus.iter();
        proto::ModelInstanceGroup {
            name: format!("{model}_{number}"),
            kind: kind.into(),
            count: i32::try_from(group.count).unwrap_or(i32::MAX),
            gpus: gpus
                .map(|gpu| i32::try_from(*gpu).unwrap_or(i32::MAX))
                .collect(),
            ..proto::ModelInstanceGroup::default()
        }
    });
    groups.collect()
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
