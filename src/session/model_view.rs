//! A model of the catalogue as a console shows it.

use serde::{Deserialize, Serialize};

use crate::catalogue::Version;
use crate::device::MemberIndex;
use crate::metrics::LatencySummary;

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
