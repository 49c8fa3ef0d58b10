//! What a batch of a member costs on a device: by a simulated device's law, or as it
//! was measured.

mod batch_times;
mod costs;

pub use batch_times::{BatchTimes, Learnt, NotMeasured};
pub use costs::{Alone, BatchCost, CellCost, Costs, KernelCache};
