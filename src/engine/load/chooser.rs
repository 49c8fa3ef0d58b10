//! Who chooses the entry that each request asks, where a mix does not.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::serving::Engine;

/// Chooses the entry that each request asks, such as the cheapest that meets the request's goals.
pub trait EntryChooser: fmt::Debug + Send + Sync {
    /// Chooses the entry of the next request, of `samples` samples.
    ///
    /// # Errors
    /// None answers it; in words.
    fn choose(&self, samples: usize) -> Result<ChosenEntry, String>;
}

/// The entry that a request asks.
pub struct ChosenEntry {
    /// The engine that serves it, which may be another one for each request.
    pub engine: Arc<Engine>,
    /// Its name.
    pub name: String,
    /// The priority of the request, where the entry has some; 0 for the default.
    pub priority: u64,
    /// The time until it is to be answered, by which requests of one priority are ordered.
    pub due: Option<Duration>,
    /// Is told the latency once the request is answered; it is dropped where that fails.
    pub answered: Box<dyn FnOnce(Duration) + Send>,
}
