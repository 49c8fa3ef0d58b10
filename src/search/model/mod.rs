//! Evaluator `model`: throughput predicted from what batches cost.

mod program;
mod rates;
mod simplex;

pub use program::{Bottlenecks, Programme, WorkerRate};
pub use rates::{Rate, Rates};
