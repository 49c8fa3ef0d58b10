//! A model of the catalogue as a console shows it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use divisi_model::catalogue::Version;
use divisi_model::metrics::{ErrorKey, LatencySummary};
use divisi_runtime::device::MemberIndex;

use super::door_view::ModelCallers;

/// A version of a model, a pipeline or an ensemble.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CatalogueView {
    /// The name by which clients request it.
    pub name: String,
    /// Its version, or `None` if none was read.
    pub version: Option<Version>,
    /// Its kind, or `None` if it is not served.
    pub kind: Option<ModelKind>,
    /// The matrix columns of its members.
    pub members: Vec<MemberIndex>,
    /// The reason why it is not served, if it is not.
    pub unserved: Option<String>,
    /// The reason why its newest files are not served, if they are not.
    pub failure: Option<String>,
    /// The outcomes of its requests.
    pub figures: ModelFigures,
    /// The clients that requested it over the network lately, or `None` without any.
    pub asked: Option<ModelCallers>,
    /// The errors of its requests within the last minute, the most frequent first.
    pub errors: Vec<(ErrorKey, u64)>,
    /// The task that it is a variant of, if any.
    pub variant: Option<VariantView>,
}

/// A variant of a task, which answers requests with goals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariantView {
    /// The task.
    pub task: String,
    /// The share of rows of its registration that it classified correctly.
    pub accuracy: f64,
    /// The 95 % interval of the accuracy and the number of rows, if they were counted.
    pub counted: Option<CountedAccuracy>,
    /// The profile of its batches, or `None` if no variant of it runs.
    pub running: Option<RunningBatches>,
    /// The queries of the task that it has answered since it was first served.
    pub goals: GoalCounts,
}

/// A measured accuracy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CountedAccuracy {
    /// The lower bound of the interval.
    pub low: f64,
    /// The upper bound of the interval.
    pub high: f64,
    /// The number of rows.
    pub rows: u32,
}

/// The profiled batches that a variant runs in.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunningBatches {
    /// The maximum number of samples.
    pub size: u32,
    /// The 99th percentile of the time of a batch of one sample.
    pub alone: Duration,
    /// The 99th percentile of the time of a full batch.
    pub full: Duration,
    /// The cost of a million queries.
    pub cost: f64,
}

/// The queries that a variant answered, by the goals that its answers met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GoalCounts {
    /// All answered queries.
    pub answered: u64,
    /// Queries whose answers met all goals.
    pub met: u64,
    /// Queries whose answers were less accurate than requested.
    pub missed_accuracy: u64,
    /// Queries whose answers were late.
    pub missed_latency: u64,
    /// Queries whose answers were too expensive.
    pub missed_cost: u64,
    /// The cost of all answers.
    pub cost: f64,
}

/// The kinds of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ModelKind {
    /// One network.
    Model,
    /// Several steps over networks.
    Pipeline,
    /// Several networks whose answers are combined.
    Ensemble,
}

impl ModelKind {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            ModelKind::Model => "model",
            ModelKind::Pipeline => "pipeline",
            ModelKind::Ensemble => "ensemble",
        }
    }
}

/// The figures of a model's requests. Answers are counted since it was loaded, refused and failed
/// requests since the start of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelFigures {
    /// Requests answered.
    pub answered: u64,
    /// Samples answered.
    pub samples: u64,
    /// Requests that were accepted and failed.
    pub failed: u64,
    /// Requests that were refused: invalid, late, or without room.
    pub refused: u64,
    /// Requests answered a second, over the last second.
    pub requests_per_s: f64,
    /// Samples answered a second, over the last second.
    pub samples_per_s: f64,
    /// Recent request latencies.
    pub latency: LatencySummary,
}
