//! The state of views: a staged setup, the timeline, and the scope of figures.

mod edit;
mod scope;
mod streams;
pub(crate) mod timeline;

pub(crate) use edit::{SetupEdit, TakenWorker};
pub(crate) use scope::{Scopes, Whose};
pub(crate) use streams::{RowOrder, SpanReading, Streams, ZOOMS};
