//! What is looked at: a setup that is staged, spans over time, whose figures.

mod edit;
mod scope;
mod streams;
pub(crate) mod timeline;

pub(crate) use edit::{SetupEdit, TakenWorker};
pub(crate) use scope::{Scopes, Whose};
pub(crate) use streams::{RowOrder, SpanReading, Streams, ZOOMS};
