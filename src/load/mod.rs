//! Who asks: arrival patterns, a generator that drives them, and saturating runs.

mod arrivals;
mod generator;
mod pattern;
mod replay;
mod saturate;

pub use arrivals::Arrivals;
pub use generator::{Generator, Tally};
pub use pattern::{Clients, LoadPattern, Period, Rate, RequestSize, Speed};
pub use replay::LoadError;
pub use saturate::{Run, RunError, Until, saturate, saturate_for};
