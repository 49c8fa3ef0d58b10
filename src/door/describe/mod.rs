//! Descriptions of servers and models, the same over HTTP and gRPC.

mod config;

use divisi::tensor::{DataType, TensorSpec};

use crate::service::ModelDescription;

pub(crate) use config::config;

/// The extensions of the protocol that are served, as servers name them.
pub(crate) const EXTENSIONS: [&str; 7] = [
    "classification",
    "model_repository",
    "model_configuration",
    "system_shared_memory",
    "binary_tensor_data",
    "parameters",
    "statistics",
];

/// The version of the server.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The platform and backend of all models but those that others compose.
const PLATFORM: &str = "divisi";

/// Returns the platform of a model.
pub(crate) fn platform(model: &ModelDescription) -> &'static str {
    match model.composing.is_empty() {
        true => PLATFORM,
        false => "ensemble",
    }
}

/// Returns the dimensions of a tensor, that of the batch first where there is one.
pub(crate) fn shape(spec: &TensorSpec, batched: bool) -> Vec<i64> {
    let dims = spec.dims.iter().map(|dim| i64::from(*dim));
    batched.then_some(-1).into_iter().chain(dims).collect()
}

/// Returns the name of a tensor's type in configurations.
pub(crate) fn config_type(spec: &TensorSpec) -> String {
    match spec.data_type {
        DataType::Bytes => "TYPE_STRING".to_owned(),
        other => format!("TYPE_{other}"),
    }
}
