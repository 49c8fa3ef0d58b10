//! The samples in a GPU's memory: the bytes of the parts in the scheduler's pool.

use std::collections::HashMap;
use std::sync::Arc;

use crate::serving::batch::{PartKey, Transfer};
use divisi_runtime::device::gpu::{DeviceSlice, Event};

/// A part being copied.
pub(super) struct PartCopy {
    /// The part and its destination.
    pub transfer: Transfer,
    /// Recorded before the copy.
    pub begun: Arc<dyn Event>,
    /// Recorded after the copy.
    pub done: Arc<dyn Event>,
    /// Kept until the copy ends, even if the request ends first.
    pub memory: DeviceSlice,
}

/// Memory by part. A part without memory is in the scheduler's pool but was not copied; lanes copy
/// its samples themselves.
#[derive(Debug, Default)]
pub(super) struct SampleCache {
    parts: HashMap<PartKey, Option<DeviceSlice>>,
}

impl SampleCache {
    /// Records that a part is about to be copied.
    pub(super) fn expect(&mut self, part: PartKey) {
        self.parts.insert(part, None);
    }

    /// Records that a part was copied to `memory`. Drops it if the part has left.
    pub(super) fn fill(&mut self, part: PartKey, memory: DeviceSlice) {
        if let Some(place) = self.parts.get_mut(&part) {
            *place = Some(memory);
        }
    }

    /// Records that the copy of a part failed.
    pub(super) fn spoil(&mut self, part: PartKey) {
        if let Some(place) = self.parts.get_mut(&part) {
            *place = None;
        }
    }

    /// Returns the memory of a part, or `None` if it was not copied.
    pub(super) fn find(&self, part: &PartKey) -> Option<&DeviceSlice> {
        self.parts.get(part)?.as_ref()
    }

    /// Removes parts that left. Returns their memory, to be dropped without a lock.
    pub(super) fn let_go(&mut self, departed: &[PartKey]) -> Vec<DeviceSlice> {
        let gone = departed.iter().filter_map(|part| self.parts.remove(part));
        gone.flatten().collect()
    }

    /// Removes all parts. Returns their memory, to be dropped without a lock.
    pub(super) fn clear(&mut self) -> Vec<DeviceSlice> {
        let all = std::mem::take(&mut self.parts);
        all.into_values().flatten().collect()
    }
}
