//! Evaluator `model`: throughput predicted from what batches cost.

mod bound;
mod drain;
mod evaluator;
mod program;
mod rates;
mod simplex;

pub use bound::{best_workers, bound};
pub use drain::{Drain, Runner, steady};
pub use evaluator::ModelEvaluator;
pub use program::{Bottlenecks, Programme, WorkerRate};
pub use rates::{RUN, Rate, Rates};
