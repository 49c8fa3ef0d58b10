//! Which matrix: worst-fit decreasing, bounded greedy, and the baseline.

mod bench;
mod best_batch;
mod cache;
mod control;
mod evaluator;
mod greedy;
mod job;
pub mod local;
pub mod model;
pub mod profiling;
mod relief;
mod sealed;
mod worst_fit;

pub use bench::BenchEvaluator;
pub use best_batch::best_batch;
pub use cache::{Cache, CacheKey};
pub use control::{Control, Progress, Stopped};
pub use evaluator::{Evaluator, Score, SearchError};
pub use greedy::{Bounds, Found, greedy};
pub use job::{Algorithm, Job, Outcome};
pub use relief::{evacuate, propose_move};
pub use worst_fit::worst_fit;
