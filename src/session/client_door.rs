//! The door to the network as a session steers it. A session does not know how clients are answered:
//! a server implements [`ClientDoor`].

use std::collections::BTreeMap;

use super::{DoorView, ModelCallers, Refusal, VariantView};

/// Answers clients over the network.
pub trait ClientDoor: Send + Sync {
    /// Returns its present state.
    fn view(&self) -> DoorView;

    /// Returns the clients of each version of a model within the window, by the names of the model
    /// and of the version.
    fn callers_of_models(&self) -> BTreeMap<(String, String), ModelCallers> {
        BTreeMap::new()
    }

    /// Returns the models that are variants of tasks, by their names.
    fn variants_of_models(&self) -> BTreeMap<String, VariantView> {
        BTreeMap::new()
    }

    /// Begins to accept connections.
    ///
    /// # Errors
    /// It is open already, or an address cannot be used.
    fn open(&self) -> Result<(), Refusal>;

    /// Accepts no more connections. Requests under way are answered, for a while.
    ///
    /// # Errors
    /// It is not open.
    fn close(&self) -> Result<(), Refusal>;
}
