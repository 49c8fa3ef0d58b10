//! Requests that wait between two engines, by the model that they ask.

use std::collections::BTreeMap;
use std::sync::Arc;

use divisi_runtime::lock::Leaf;

use crate::protocol::ModelId;

/// A name, and a version where one was asked for.
type Asked = (String, Option<String>);

/// Counts those who wait.
#[derive(Default)]
pub(super) struct WaitingBetween(Leaf<BTreeMap<Asked, usize>>);

/// One that waits, until it is dropped.
pub(super) struct WaitsBetween {
    of: Arc<WaitingBetween>,
    asked: Asked,
}

impl WaitingBetween {
    /// A request waits from now on.
    pub(super) fn enter(self: &Arc<Self>, model: &ModelId) -> WaitsBetween {
        let asked = (model.name.clone(), model.version.clone());
        *self.0.lock().entry(asked.clone()).or_default() += 1;
        WaitsBetween {
            of: Arc::clone(self),
            asked,
        }
    }

    /// Returns how many wait that asked for this.
    pub(super) fn of(&self, name: &str, version: Option<&str>) -> usize {
        let asked = (name.to_owned(), version.map(str::to_owned));
        self.0.lock().get(&asked).copied().unwrap_or_default()
    }
}

impl Drop for WaitsBetween {
    fn drop(&mut self) {
        let mut all = self.of.0.lock();
        if let Some(count) = all.get_mut(&self.asked) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.asked);
            }
        }
    }
}
