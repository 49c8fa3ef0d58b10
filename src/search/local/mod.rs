//! Local search with the model: moves of one and two entries, from several starts.
//!
//! It climbs from worst-fit's matrix and from best-batch's. Equal scores are told apart by the
//! throughput that the program allows in the long run (`Evaluator::steady`), so that a climb does
//! not stop on a plateau. A neighbour costs one or two microseconds, since entries are numbers and
//! memory is sums.

mod climb;
mod memory_budget;
mod moves;
mod position;

pub use climb::{LocalOptimum, LocalSearch};
pub use memory_budget::MemoryBudget;
pub use position::{EntryEdit, Position};
