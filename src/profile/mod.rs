//! The costs of a member's batches on a device: by a simulated device's law, or as measured.

mod batch_times;
mod costs;

pub use batch_times::{BatchTimes, Learnt, NotMeasured};
pub use costs::{Alone, BatchCost, CellCost, Costs, KernelCache};
