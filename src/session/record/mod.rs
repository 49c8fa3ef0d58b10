//! A session written to a file while it goes on.
//!
//! The file is a hello and blocks after it. A block begins with a whole snapshot and
//! stands for itself: a file cut off by a crash is readable up to its last whole block,
//! and playing from anywhere means reading one block. Owner alone may read it.

mod block;
mod blocks;
mod file;
mod recorder;
mod writer;

pub use file::{Decoded, RecordingReader};
pub use recorder::Recorder;

pub(in crate::session) use block::{Record, Records};
