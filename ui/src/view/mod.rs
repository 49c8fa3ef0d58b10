//! What is looked at: a setup that is staged, spans over time, whose figures.

mod edit;
mod scope;
mod streams;
pub mod timeline;

pub use edit::{SetupEdit, TakenWorker};
pub use scope::{Scopes, Whose};
pub use streams::{RowOrder, SpanReading, Streams, ZOOMS};
