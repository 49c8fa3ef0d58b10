//! Which matrix: worst-fit decreasing, bounded greedy, and the baseline.

mod bench;
mod best_batch;
mod cache;
mod control;
mod evaluator;
mod greedy;
mod job;
mod worst_fit;

pub use bench::BenchEvaluator;
pub use best_batch::best_batch;
pub use cache::{Cache, CacheKey};
pub use control::{Control, Progress, Stopped};
pub use evaluator::{Evaluator, Score, SearchError};
pub use greedy::{Bounds, Found, greedy};
pub use job::{Algorithm, Job, Outcome};
pub use worst_fit::worst_fit;
