//! The sample pool in a GPU's memory: the bytes of the parts that the scheduler's pool
//! says are there.

use std::collections::HashMap;

use crate::device::gpu::DeviceSlice;
use crate::serving::batch::PartKey;

/// Memory by part. A part without memory is known to the scheduler but was not copied:
/// lanes copy its samples for themselves.
#[derive(Debug, Default)]
pub(super) struct SampleCache {
    parts: HashMap<PartKey, Option<DeviceSlice>>,
}

impl SampleCache {
    /// A part is about to be copied.
    pub fn expect(&mut self, part: PartKey) {
        self.parts.insert(part, None);
    }

    /// Its memory; nobody needs it where the part left meanwhile.
    pub fn fill(&mut self, part: PartKey, memory: DeviceSlice) {
        if let Some(place) = self.parts.get_mut(&part) {
            *place = Some(memory);
        }
    }

    /// Its copy failed.
    pub fn spoil(&mut self, part: PartKey) {
        if let Some(place) = self.parts.get_mut(&part) {
            *place = None;
        }
    }

    /// Where a part lies, if it was copied.
    pub fn find(&self, part: &PartKey) -> Option<&DeviceSlice> {
        self.parts.get(part)?.as_ref()
    }

    /// Parts that left; gives their memory, to be dropped where no lock is held.
    pub fn let_go(&mut self, departed: &[PartKey]) -> Vec<DeviceSlice> {
        let gone = departed.iter().filter_map(|part| self.parts.remove(part));
        gone.flatten().collect()
    }

    /// Everything leaves.
    pub fn clear(&mut self) -> Vec<DeviceSlice> {
        let all = std::mem::take(&mut self.parts);
        all.into_values().flatten().collect()
    }
}
