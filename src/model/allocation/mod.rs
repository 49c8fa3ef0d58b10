//! The allocation matrix as a value: devices × members, an entry is a batch size.

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
