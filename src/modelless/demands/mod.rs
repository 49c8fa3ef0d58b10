//! Streams of queries with the same goals, counted per second.

mod counts;
mod stream;

pub use counts::{MEAN_INTERVALS, StreamCounts};
pub use stream::QueryStream;
