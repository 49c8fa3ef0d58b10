//! Queries of the same goals as one stream, counted second by second.

mod counts;
mod stream;

pub use counts::{MEAN_INTERVALS, StreamCounts};
pub use stream::QueryStream;
