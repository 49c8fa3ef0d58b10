//! Requests that wait between two engines, by model.

use std::collections::BTreeMap;
use std::sync::Arc;

use divisi_runtime::lock::Leaf;

use crate::protocol::ModelId;

/// A name, and a version if one was requested.
type Asked = (String, Option<String>);

/// Counts the waiting requests.
#[derive(Default)]
pub(super) struct WaitingBetween(Leaf<BTreeMap<Asked, usize>>);

/// A waiting request, counted until this is dropped.
pub(super) struct WaitsBetween {
    of: Arc<WaitingBetween>,
    asked: Asked,
}

impl WaitingBetween {
    /// Counts a request as waiting.
    pub(super) fn enter(self: &Arc<Self>, model: &ModelId) -> WaitsBetween {
        let asked = (model.name.clone(), model.version.clone());
        *self.0.lock().entry(asked.clone()).or_default() += 1;
        WaitsBetween {
            of: Arc::clone(self),
            asked,
        }
    }

    /// Returns the number of waiting requests for this model.
    pub(super) fn count(&self, name: &str, version: Option<&str>) -> usize {
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
