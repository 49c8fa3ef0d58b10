//! Where the samples of a request lie: in the pool, or where they were received.
//!
//! Samples of 64 KiB or more that arrived over the network stay in the received buffer, and the
//! pool only counts their slots. They are copied to the pool if a GPU reads from the pool or if
//! they must be resized.

use std::sync::Arc;

use crate::serving::batch::Slice;
use crate::serving::pool::Storage;
use divisi_model::ensemble::{SamplePiece, SampleValues, SharedMemory};

/// The fewest bytes of samples that stay in place. Copying fewer costs less than tracking them.
const STAY_FROM: usize = 64 << 10;

/// Memory with the float32 samples of a request in little-endian bytes. The engine may read it
/// while the request is under way.
#[derive(Clone, Debug)]
pub struct SharedSamples(Arc<[SamplePiece]>);

impl SharedSamples {
    /// Shares immutable memory.
    pub fn new(memory: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        let memory: SharedMemory = Arc::new(memory);
        SharedSamples::of_pieces([memory])
    }

    /// Shares immutable memory that consists of consecutive pieces. A value may extend over two
    /// pieces.
    pub fn of_pieces(memories: impl IntoIterator<Item = SharedMemory>) -> Self {
        SharedSamples(SamplePiece::from_memories(memories))
    }

    /// Returns the values.
    pub fn values(&self) -> SampleValues<'_> {
        SampleValues::of_pieces(&self.0)
    }
}

/// Samples that stay in the received memory.
pub(super) struct HeldSamples {
    memory: SharedSamples,
    /// The first sample of each part of the request.
    first: Box<[usize]>,
}

impl HeldSamples {
    /// Keeps the samples of a request with these parts, or returns `None` if they must be in the
    /// pool.
    pub(super) fn hold(
        memory: Option<&SharedSamples>,
        storage: &Storage,
        slices: &[Slice],
    ) -> Option<Self> {
        let memory = memory.filter(|memory| memory.values().len() * size_of::<f32>() >= STAY_FROM);
        let memory = memory.filter(|_| storage.reads_elsewhere())?;
        let mut next = 0;
        let first = slices.iter().map(|slice| {
            let first = next;
            next += slice.len;
            first
        });
        Some(HeldSamples {
            first: first.collect(),
            memory: memory.clone(),
        })
    }
}

/// The samples of a request.
#[derive(Clone, Copy)]
pub(super) struct RequestSamples<'a> {
    storage: &'a Storage,
    held: Option<&'a HeldSamples>,
}

impl<'a> RequestSamples<'a> {
    /// Creates a view of samples in the pool or in their own memory.
    pub(super) fn new(storage: &'a Storage, held: Option<&'a HeldSamples>) -> Self {
        RequestSamples { storage, held }
    }

    /// Returns the values of a sample in the layout of a plane.
    pub(super) fn width(self, plane: usize) -> usize {
        self.storage.width(plane)
    }

    /// Copies samples of a part from its sample `first` on to `to`, in the layout of a plane. In
    /// the pool they are in `slice`.
    pub(super) fn read(
        self,
        part: usize,
        first: usize,
        slice: Slice,
        plane: usize,
        to: &mut [f32],
    ) {
        let Some(held) = self.held else {
            return self.storage.read_as(slice, plane, to);
        };
        let width = self.storage.sample_width();
        let first = held.first[part] + first;
        let values = held.memory.values();
        if let Some(values) = values.get(first * width..(first + slice.len) * width) {
            self.storage.convert(plane, values, to);
        }
    }
}
