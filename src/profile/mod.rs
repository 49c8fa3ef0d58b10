//! What a batch of a member costs on a device: by a simulated device's law, or as it
//! was measured.

mod costs;
mod learnt;
mod measured;

pub use costs::{Alone, BatchCost, CellCost, Costs, KernelCache};
pub use learnt::Learnt;
pub use measured::{Measured, NotMeasured};
