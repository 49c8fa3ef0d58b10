//! Evaluator `model`: throughput predicted from what batches cost.

mod batching;
mod evaluator;
mod limits;
mod program;
mod rates;
mod simplex;

pub use batching::Batching;
pub use evaluator::{Drain, ModelEvaluator, RunWorker, steady};
pub use limits::Limits;
pub use program::{Bottlenecks, Programme, WorkerRate};
pub use rates::{EntryRate, RUN, Rates};
