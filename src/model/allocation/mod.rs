//! The allocation matrix: one row per device, one column per member, and a batch size in each
//! entry.

mod difference;
mod file;
mod history;
mod matrix;
mod memory;
mod pool;

pub use difference::{Difference, EntryChange, WorkerChange};
pub use file::{MatrixFile, MatrixFileError};
pub use history::UndoHistory;
pub use matrix::{Cell, Frame, InvalidMatrix, Matrix};
pub use memory::{DoesNotFit, Footprints};
pub use pool::{PoolBounds, PoolSize, SegmentTooLarge};
