//! Local search with the model: moves of one and two entries, from several starts.

mod climb;
mod memory_budget;
mod moves;
mod position;

pub use climb::{LocalOptimum, LocalSearch};
pub use memory_budget::MemoryBudget;
pub use position::{EntryEdit, Position};
