//! A model of the catalogue as a console shows it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use divisi_model::catalogue::Version;
use divisi_model::metrics::LatencySummary;
use divisi_runtime::device::MemberIndex;

use super::door_view::ModelCallers;

/// A version of a model, a pipeline or an ensemble.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CatalogueView {
    /// The name by which it is asked.
    pub name: String,
    /// Its version, or `None` where none was read.
    pub version: Option<Version>,
    /// Its kind, or `None` where it is not served.
    pub kind: Option<ModelKind>,
    /// The columns of the matrix that its members have.
    pub members: Vec<MemberIndex>,
    /// Why it is not served, if it is not.
    pub unserved: Option<String>,
    /// Why its newest files are not those that are served, if so.
    pub failure: Option<String>,
    /// The outcomes of its requests.
    pub figures: ModelFigures,
    /// Who asks it over the network, or `None` where nobody did lately.
    pub asked: Option<ModelCallers>,
    /// The task that it is a variant of, if it is one.
    pub variant: Option<VariantView>,
}

/// A variant of a task, which requests with goals are answered by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariantView {
    /// The task.
    pub task: String,
    /// The part of the rows of its registration that it was right on.
    pub accuracy: f64,
    /// The 95 % interval of that, and the number of rows, where they were counted.
    pub counted: Option<CountedAccuracy>,
    /// The profile of its batches, or `None` where none of its variants runs.
    pub running: Option<RunningBatches>,
    /// The queries of the task that it answered since it was first served.
    pub goals: GoalCounts,
}

/// An accuracy that was counted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CountedAccuracy {
    /// The least of the interval.
    pub low: f64,
    /// The most of it.
    pub high: f64,
    /// The rows.
    pub rows: u32,
}

/// The batches that a variant runs in, as they were profiled.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunningBatches {
    /// The most samples.
    pub size: u32,
    /// The 99th percentile of the time of one sample alone.
    pub alone: Duration,
    /// The 99th percentile of the time of a full batch.
    pub full: Duration,
    /// The cost of a million queries.
    pub cost: f64,
}

/// The queries that a variant answered, by the goals that its answers met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GoalCounts {
    /// All of them.
    pub answered: u64,
    /// Those whose answers met all goals.
    pub met: u64,
    /// Those whose answers were less accurate than asked for.
    pub missed_accuracy: u64,
    /// Those whose answers came too late.
    pub missed_latency: u64,
    /// Those whose answers were too dear.
    pub missed_cost: u64,
    /// The cost of all.
    pub cost: f64,
}

/// The kinds of what is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ModelKind {
    /// One network.
    Model,
    /// Steps over networks.
    Pipeline,
    /// Networks side by side that are combined.
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

/// The figures of a model's requests since it was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelFigures {
    /// Requests answered.
    pub answered: u64,
    /// Samples answered.
    pub samples: u64,
    /// Requests that were let in and failed.
    pub failed: u64,
    /// Requests that were not let in: wrong, too late, or no room for them.
    pub refused: u64,
    /// Requests answered a second, over the last second.
    pub requests_per_s: f64,
    /// Samples answered a second, over the last second.
    pub samples_per_s: f64,
    /// Latencies of requests lately.
    pub latency: LatencySummary,
}
