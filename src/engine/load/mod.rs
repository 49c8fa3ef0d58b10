//! Loads: arrival patterns, a generator that sends requests by them, and saturating runs.

mod arrivals;
mod asked;
mod chooser;
mod generator;
mod pattern;
mod saturate;
mod tally;
mod usual;

pub use arrivals::{Arrivals, LoadError};
pub use asked::{EntryOrder, LoadSamples, MissingSamples};
pub use chooser::{ChosenEntry, EntryChooser};
pub use generator::Generator;
pub use pattern::{Clients, LoadPattern, PatternError, Period, Rate, RequestSize, Speed};
pub use saturate::{Run, RunError, Until, saturate, saturate_for, saturate_mix};
pub use tally::LoadTally;
pub use usual::usual_load;
