//! The allocation matrix as a value: devices × members, an entry is a batch size.

mod difference;
mod file;
mod fit;
mod history;
mod matrix;
mod pool;

pub use difference::{Change, Difference, EntryChange};
pub use file::{MatrixFile, MatrixFileError};
pub use fit::{DoesNotFit, Footprints};
pub use history::UndoHistory;
pub use matrix::{Cell, Frame, InvalidMatrix, Matrix};
pub use pool::{PoolBounds, PoolSize, SegmentTooLarge};
