//! Evaluator `model`: throughput predicted from what batches cost.
//!
//! 1. Costs ([`crate::profile::Costs`]): the law of a simulated device, or profiles of each network
//!    at each batch size, measured with every partition of the kind busy with the same work, so that
//!    what they take from each other is in the figure.
//! 2. The linear program (`program`, `simplex`): a bounded primal simplex with a dense inverse,
//!    members + devices on a side. A neighbour starts from the basis of the matrix it differs from:
//!    workers that come enter at rate 0, and one that goes is charged twice what a sample can be
//!    worth, so that the same primal steps empty it. The prices name what binds.
//! 3. The run (`drain`): the program shares work out as well as can be, and a run does not. Without
//!    this step the model preferred matrices that served worse.
//! 4. The bound (`limits`): the program with a worker at every entry, each as cheap and fast as at its
//!    best batch size that fits alone. No matrix's program, and no run, exceeds it.
//!
//! Rates and limits follow the batching policy (`batching`): rates predict, limits bound, and only
//! limits rule anything out.

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
