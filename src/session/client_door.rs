//! The network server as a session controls it. A session does not know how requests are answered:
//! a server implements [`ClientDoor`].

use std::collections::BTreeMap;

use super::{DoorView, ModelCallers, Refusal, VariantView};

/// Serves clients over the network.
pub trait ClientDoor: Send + Sync {
    /// Returns the current state.
    fn view(&self) -> DoorView;

    /// Returns the clients of each version of a model within the window, by model name and version
    /// name.
    fn callers_of_models(&self) -> BTreeMap<(String, String), ModelCallers> {
        BTreeMap::new()
    }

    /// Returns the models that are variants of tasks, by model name.
    fn variants_of_models(&self) -> BTreeMap<String, VariantView> {
        BTreeMap::new()
    }

    /// Starts to accept connections.
    ///
    /// # Errors
    /// Returns an error if it is already open or an address cannot be used.
    fn open(&self) -> Result<(), Refusal>;

    /// Stops accepting connections. Requests in progress get a limited time to finish.
    ///
    /// # Errors
    /// Returns an error if it is not open.
    fn close(&self) -> Result<(), Refusal>;
}
