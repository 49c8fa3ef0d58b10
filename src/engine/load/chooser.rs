//! Chooses the entry of each request if there is no mix.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::serving::Engine;

/// Chooses the entry of each request, for instance the cheapest one that meets the request's goals.
pub trait EntryChooser: fmt::Debug + Send + Sync {
    /// Chooses the entry of the next request, which has `samples` samples.
    ///
    /// # Errors
    /// No entry can answer the request. Holds the reason in words.
    fn choose(&self, samples: usize) -> Result<ChosenEntry, String>;
}

/// The chosen entry of a request.
pub struct ChosenEntry {
    /// The engine that serves the entry. It may differ from request to request.
    pub engine: Arc<Engine>,
    /// The entry's name.
    pub name: String,
    /// The priority of the request, or 0 for the entry's default.
    pub priority: u64,
    /// The time until the answer is due. It orders requests of the same priority.
    pub due: Option<Duration>,
    /// Called with the latency of an answered request. Dropped if the request fails.
    pub answered: Box<dyn FnOnce(Duration) + Send>,
}
