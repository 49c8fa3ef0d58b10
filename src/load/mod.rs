//! Who asks: arrival patterns, a generator that drives them, and saturating runs.

mod arrivals;
mod generator;
mod pattern;
mod saturate;

pub use arrivals::{Arrivals, LoadError};
pub use generator::{Generator, LoadTally};
pub use pattern::{Clients, LoadPattern, Period, Rate, RequestSize, Speed};
pub use saturate::{Run, RunError, Until, saturate, saturate_for};
