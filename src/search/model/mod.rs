//! Evaluator `model`: throughput predicted from what batches cost.

mod batching;
mod drain;
mod evaluator;
mod limits;
mod place;
mod program;
mod rates;
mod simplex;

pub use batching::Batching;
pub use drain::{Drain, Runner, steady};
pub use evaluator::ModelEvaluator;
pub use limits::Limits;
pub use program::{Bottlenecks, Programme, WorkerRate};
pub use rates::{RUN, Rate, Rates};
