//! The search for a matrix: worst-fit decreasing, bounded greedy, local search by a model, and the
//! baseline. Also the profiles, the choice of precisions, and the plan of devices for a goal.

mod bench;
mod cache;
mod checked;
mod control;
mod error;
mod evaluations;
mod evaluator;
mod extension;
mod greedy;
mod job;
mod law;
pub mod local;
mod measured;
mod method;
pub mod model;
mod model_search;
mod occasion;
mod placement;
mod plan;
pub mod precisions;
mod predicting;
mod prediction;
pub mod profiling;
mod progress;
mod rehearsal;
mod result;
mod under_load;
mod virtual_bench;

pub use bench::BenchEvaluator;
pub use cache::{Cache, CacheKey, ProfileRenewal};
pub use checked::processor;
pub use control::Control;
pub use error::{AskedError, EvaluationError, MethodError, SearchError, Stopped};
pub use evaluations::MeasuredAccuracy;
pub use evaluator::{Doubt, Evaluator, Score};
pub use extension::extend_matrix;
pub use greedy::{Bounds, Ties, greedy, greedy_by};
pub use job::{SearchJob, SearchOutcome};
pub use law::{FittedLaw, MeasuredBatch, fit_law, measure_law};
pub use method::{Algorithm, EvaluatorKind, Goal, Method, Objective};
pub use occasion::{Occasion, age_in_words};
pub use placement::{best_batch, complete, evacuate, propose_move, worst_fit};
pub use plan::{FleetDevice, Offer, PlanOrder, Planned, plan};
pub use prediction::{
    CapacityWatch, Correction, PastError, Predicted, PredictedFigure, PredictionBasis,
    PredictionBook, PredictionLedger, Question, TypicalError, setup_number, subject_number,
};
pub use progress::{Accepted, FleetProgress, SearchProgress, Tried};
pub use rehearsal::{Rehearsal, Rehearsed};
pub use result::{Comparison, EntryLatency, Gap, LoadedLatency, SearchResult, confirm};
pub use virtual_bench::{LatencyRun, VirtualBench};
