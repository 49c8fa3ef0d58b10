//! Samples in a GPU's memory: the bytes of the parts that the scheduler's pool says are
//! there.

use std::collections::HashMap;
use std::sync::Arc;

use crate::serving::batch::{PartKey, Transfer};
use divisi_runtime::device::gpu::{DeviceSlice, Event};

/// A part on its way there.
pub(super) struct PartCopy {
    /// Which part, and for whom.
    pub transfer: Transfer,
    /// Before the copy.
    pub begun: Arc<dyn Event>,
    /// After it.
    pub done: Arc<dyn Event>,
    /// Kept until it is there, whatever becomes of the request.
    pub memory: DeviceSlice,
}

/// Memory by part. A part without memory is known to the scheduler but was not copied:
/// lanes copy its samples for themselves.
#[derive(Debug, Default)]
pub(super) struct SampleCache {
    parts: HashMap<PartKey, Option<DeviceSlice>>,
}

impl SampleCache {
    /// A part is about to be copied.
    pub(super) fn expect(&mut self, part: PartKey) {
        self.parts.insert(part, None);
    }

    /// A part was copied to `memory`. Nobody needs it where the part left meanwhile.
    pub(super) fn fill(&mut self, part: PartKey, memory: DeviceSlice) {
        if let Some(place) = self.parts.get_mut(&part) {
            *place = Some(memory);
        }
    }

    /// The copy of a part failed.
    pub(super) fn spoil(&mut self, part: PartKey) {
        if let Some(place) = self.parts.get_mut(&part) {
            *place = None;
        }
    }

    /// Returns where a part lies, if it was copied.
    pub(super) fn find(&self, part: &PartKey) -> Option<&DeviceSlice> {
        self.parts.get(part)?.as_ref()
    }

    /// Removes parts that left, and returns their memory, to be dropped where no lock is
    /// held.
    pub(super) fn let_go(&mut self, departed: &[PartKey]) -> Vec<DeviceSlice> {
        let gone = departed.iter().filter_map(|part| self.parts.remove(part));
        gone.flatten().collect()
    }

    /// The same for all parts.
    pub(super) fn clear(&mut self) -> Vec<DeviceSlice> {
        let all = std::mem::take(&mut self.parts);
        all.into_values().flatten().collect()
    }
}
