//! The JSON answers of the protocol.

use divisi_runtime::tensor::TensorSpec;
use serde::Serialize;

use crate::describe::{EXTENSIONS, VERSION, platform, rows, shape, versions};
use crate::metrics::{BatchStatistics, ModelStatistics, TimedCount};
use crate::regions::RegionStatus;
use divisi_inference::protocol::ModelId;
use divisi_inference::service::{ListedModel, ModelDescription};

#[derive(Serialize)]
pub(super) struct ErrorView {
    pub error: String,
}

#[derive(Serialize)]
pub(super) struct LiveView {
    pub live: bool,
}

#[derive(Serialize)]
pub(super) struct ReadyView {
    pub ready: bool,
}

#[derive(Serialize)]
pub(super) struct ServerView {
    name: String,
    version: &'static str,
    extensions: [&'static str; EXTENSIONS.len()],
}

impl ServerView {
    pub(super) fn new(name: String) -> Self {
        ServerView {
            name,
            version: VERSION,
            extensions: EXTENSIONS,
        }
    }
}

#[derive(Serialize)]
struct TensorMetadataView<'a> {
    name: &'a str,
    datatype: &'static str,
    shape: Vec<i64>,
}

fn tensors(specs: &[TensorSpec], rows: Option<i64>) -> Vec<TensorMetadataView<'_>> {
    let view = |spec: &'_ TensorSpec| -> (Vec<i64>, &'static str) {
        (shape(spec, rows), spec.data_type.name())
    };
    let named = specs.iter().map(|spec| (&*spec.name, view(spec)));
    let views = named.map(|(name, (shape, datatype))| TensorMetadataView {
        name,
        datatype,
        shape,
    });
    views.collect()
}

#[derive(Serialize)]
pub(super) struct ModelView<'a> {
    name: &'a str,
    versions: &'a [String],
    platform: &'a str,
    inputs: Vec<TensorMetadataView<'a>>,
    outputs: Vec<TensorMetadataView<'a>>,
}

impl<'a> ModelView<'a> {
    /// Creates the view of a model for the request `asked`.
    pub(super) fn new(model: &'a ModelDescription, asked: &ModelId) -> Self {
        let rows = rows(model);
        ModelView {
            name: &model.name,
            versions: versions(model, asked),
            platform: platform(model),
            inputs: tensors(&model.signature.inputs, rows),
            outputs: tensors(&model.signature.outputs, rows),
        }
    }
}

#[derive(Serialize)]
struct Empty {}

#[derive(Serialize)]
pub(super) struct IndexView<'a> {
    name: &'a str,
    version: &'a str,
    state: &'static str,
    reason: &'a str,
}

impl<'a> IndexView<'a> {
    pub(super) fn new(listed: &'a ListedModel) -> Self {
        IndexView {
            name: &listed.model.name,
            version: listed.model.version.as_deref().unwrap_or_default(),
            state: listed.state.name(),
            reason: listed.reason(),
        }
    }
}

#[derive(Serialize)]
pub(super) struct RegionView<'a> {
    name: &'a str,
    key: &'a str,
    offset: u64,
    byte_size: u64,
}

impl<'a> RegionView<'a> {
    pub(super) fn new(region: &'a RegionStatus) -> Self {
        RegionView {
            name: &region.name,
            key: &region.key,
            offset: region.offset,
            byte_size: region.size,
        }
    }
}

#[derive(Serialize)]
struct TimedCountView {
    count: u64,
    ns: u64,
}

impl From<TimedCount> for TimedCountView {
    fn from(TimedCount { count, ns }: TimedCount) -> Self {
        TimedCountView { count, ns }
    }
}

#[derive(Serialize)]
pub(super) struct StatisticsView<'a> {
    model_stats: Vec<ModelStatisticsView<'a>>,
}

#[derive(Serialize)]
struct ModelStatisticsView<'a> {
    name: &'a str,
    version: &'a str,
    last_inference: u64,
    inference_count: u64,
    execution_count: u64,
    inference_stats: InferenceStatisticsView,
    batch_stats: Vec<BatchStatisticsView>,
    memory_usage: [(); 0],
    response_stats: Empty,
}

#[derive(Serialize)]
struct BatchStatisticsView {
    batch_size: u64,
    compute_input: TimedCountView,
    compute_infer: TimedCountView,
    compute_output: TimedCountView,
}

impl From<&BatchStatistics> for BatchStatisticsView {
    fn from(of: &BatchStatistics) -> Self {
        BatchStatisticsView {
            batch_size: of.size,
            compute_input: of.input.into(),
            compute_infer: of.compute.into(),
            compute_output: of.output.into(),
        }
    }
}

#[derive(Serialize)]
struct InferenceStatisticsView {
    success: TimedCountView,
    fail: TimedCountView,
    queue: TimedCountView,
    compute_input: TimedCountView,
    compute_infer: TimedCountView,
    compute_output: TimedCountView,
    cache_hit: TimedCountView,
    cache_miss: TimedCountView,
}

impl<'a> StatisticsView<'a> {
    pub(super) fn new(models: &'a [ModelStatistics]) -> Self {
        let view = |model: &'a ModelStatistics| ModelStatisticsView {
            name: &model.name,
            version: &model.version,
            last_inference: model.last,
            inference_count: model.samples,
            execution_count: model.executions,
            inference_stats: InferenceStatisticsView::new(model),
            batch_stats: model.batches.iter().map(Into::into).collect(),
            memory_usage: [],
            response_stats: Empty {},
        };
        StatisticsView {
            model_stats: models.iter().map(view).collect(),
        }
    }
}

impl InferenceStatisticsView {
    fn new(model: &ModelStatistics) -> Self {
        InferenceStatisticsView {
            success: model.success.into(),
            fail: model.fail.into(),
            queue: model.queue.into(),
            compute_input: model.input.into(),
            compute_infer: model.compute.into(),
            compute_output: model.output.into(),
            cache_hit: model.hits.into(),
            cache_miss: model.misses.into(),
        }
    }
}
