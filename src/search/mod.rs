//! Which matrix: worst-fit decreasing, bounded greedy, local search by a model, and
//! the baseline.

mod bench;
mod best_batch;
mod cache;
mod checksummed;
mod comparison;
mod confirm;
mod control;
mod doubt;
mod evaluator;
mod found;
mod goal;
mod goals;
mod greedy;
mod halving;
mod job;
pub mod local;
mod measured;
mod method;
pub mod model;
mod model_search;
mod plan;
pub mod profiling;
mod progress;
mod rebalance;
mod refine;
mod virtual_bench;
mod worst_fit;

pub use bench::BenchEvaluator;
pub use best_batch::best_batch;
pub use cache::{Cache, CacheKey};
pub use comparison::Comparison;
pub use confirm::confirm;
pub use control::{Control, Stopped};
pub use doubt::Doubt;
pub use evaluator::{Evaluator, Score, SearchError};
pub use found::{Found, Gap};
pub use goal::{Goal, LoadedLatency, Objective};
pub use greedy::{Bounds, Ties, greedy, greedy_by};
pub use job::{Job, Outcome};
pub use method::{Algorithm, EvaluatorKind, Method};
pub use plan::{Kind, Offer, PlanOrder, Planned, plan};
pub use progress::{Accepted, Progress, Tried};
pub use rebalance::{evacuate, propose_move};
pub use virtual_bench::{Arriving, VirtualBench};
pub use worst_fit::worst_fit;
