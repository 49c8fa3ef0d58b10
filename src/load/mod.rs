//! Loads: arrival patterns, a generator that sends requests by them, and saturating runs.

mod arrivals;
mod generator;
mod pattern;
mod saturate;
mod usual;

pub use arrivals::{Arrivals, LoadError, TimesError};
pub use generator::{Generator, LoadTally};
pub use pattern::{Clients, LoadPattern, PatternError, Period, Rate, RequestSize, Speed};
pub use saturate::{Run, RunError, Until, saturate, saturate_for};
pub use usual::usual_load;
