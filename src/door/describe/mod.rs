//! Descriptions of servers and models for both HTTP and gRPC.

mod config;
mod written;

use divisi_runtime::compute::kernels_in_use;
use divisi_runtime::tensor::{DataType, TensorSpec};

use divisi_inference::protocol::ModelId;
use divisi_inference::service::{Gauge, ModelDescription};

pub(crate) use config::config;

/// The supported protocol extensions by name.
pub(crate) const EXTENSIONS: [&str; 9] = [
    "classification",
    "model_repository",
    "model_repository(unload_dependents)",
    "schedule_policy",
    "model_configuration",
    "system_shared_memory",
    "binary_tensor_data",
    "parameters",
    "statistics",
];

/// The version of the server.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Returns the build as a metric, whose value is 1.
pub(crate) fn build_info() -> Gauge {
    Gauge {
        name: "divisi_build_info",
        help: "1 for the version and the kernels of the program",
        counts: false,
        labels: vec![
            ("version", VERSION.to_owned()),
            ("kernels", kernels_in_use()),
            ("architecture", std::env::consts::ARCH.to_owned()),
        ],
        value: 1.0,
    }
}

/// The platform and backend of all models without a configured one, except composed models.
const PLATFORM: &str = "divisi";

/// Returns the platform of a model: the configured one, if there is one.
pub(crate) fn platform(model: &ModelDescription) -> &str {
    match model.composing.is_empty() {
        true => model.config.platform.as_deref().unwrap_or(PLATFORM),
        // Clients recognise ensembles by this platform.
        false => "ensemble",
    }
}

/// Returns the backend of a model: the configured one, if there is one.
fn backend(model: &ModelDescription) -> &str {
    let unnamed = match model.composing.is_empty() {
        true => PLATFORM,
        false => "",
    };
    model.config.backend.as_deref().unwrap_or(unnamed)
}

/// Returns the versions in the metadata of a model: the requested one, or all.
pub(crate) fn versions<'m>(model: &'m ModelDescription, asked: &ModelId) -> &'m [String] {
    match asked.version {
        Some(_) => std::slice::from_ref(&model.version),
        None => &model.versions,
    }
}

/// Returns the first dimension of a model's tensors: -1 for a batch.
pub(crate) fn rows(model: &ModelDescription) -> Option<i64> {
    let any = model.batch.map(|_| -1);
    fixed_rows(model).or(any)
}

/// Returns the first dimension if it is not a batch for clients: constant, or -1.
fn fixed_rows(model: &ModelDescription) -> Option<i64> {
    let fixed = model.exactly;
    let fixed = fixed.map(|rows| i64::try_from(rows).unwrap_or(i64::MAX));
    let any = model.batch.filter(|_| model.one_sample).map(|_| -1);
    fixed.or(any)
}

/// Returns the dimensions of a tensor, after the leading `rows`.
pub(crate) fn shape(spec: &TensorSpec, rows: Option<i64>) -> Vec<i64> {
    let dims = spec.dims.iter().map(|dim| i64::from(*dim));
    rows.into_iter().chain(dims).collect()
}

/// Returns the name of a type in configurations.
pub(crate) fn config_type(data_type: DataType) -> String {
    match data_type {
        DataType::Bytes => "TYPE_STRING".to_owned(),
        other => format!("TYPE_{other}"),
    }
}
