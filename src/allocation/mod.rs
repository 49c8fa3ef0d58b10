//! The allocation matrix as a value: devices × members, an entry is a batch size.

mod file;
mod history;
mod matrix;
mod memory;
mod pool;

pub use file::{MatrixFile, MatrixFileError};
pub use history::UndoHistory;
pub use matrix::{Cell, Difference, EntryChange, Frame, InvalidMatrix, Matrix, WorkerChange};
pub use memory::{DoesNotFit, Footprints};
pub use pool::{PoolBounds, PoolSize, SegmentTooLarge};
