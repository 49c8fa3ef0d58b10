//! The interface to a GPU's driver.
//!
//! Work is queued on streams. A stream runs its work in order, side by side with other
//! streams. An event marks a place in a stream; other streams and the host can wait for it.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Instant;

use super::error::GpuError;
use super::gauges::Gauges;
use super::info::GpuInfo;
use super::pinned::{HostSlice, PinnedBlock};

/// An open GPU. Every method may be called from any thread.
pub trait Gpu: Send + Sync + Debug {
    /// Returns the description of the GPU.
    fn info(&self) -> &GpuInfo;

    /// Returns the GPU as `Any`, so that a lowering can downcast it to its own kind.
    fn as_any(&self) -> &dyn Any;

    /// Creates a stream.
    ///
    /// # Errors
    /// The driver reports an error.
    fn stream(&self) -> Result<Arc<dyn Stream>, GpuError>;

    /// Allocates memory that every stream may use as soon as this returns.
    ///
    /// # Errors
    /// [`GpuError::OutOfMemory`], or another error of the driver.
    fn allocate(&self, bytes: usize) -> Result<Arc<dyn DeviceMemory>, GpuError>;

    /// Allocates `floats` zeros in page-locked memory of the host. Copies read and write this
    /// memory directly.
    ///
    /// # Errors
    /// The host cannot lock enough memory.
    fn pinned(&self, floats: usize) -> Result<PinnedBlock, GpuError>;

    /// Returns the use of the GPU's memory.
    ///
    /// # Errors
    /// The driver does not report it.
    fn usage(&self) -> Result<Usage, GpuError>;

    /// Returns the latest gauges: load, temperature, power, memory.
    fn gauges(&self) -> Gauges;
}

/// The use of a GPU's memory as the driver counts it, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes that this process has allocated.
    pub used: u64,
    /// Bytes that this process's pool holds, allocated or not.
    pub reserved: u64,
    /// Bytes that any process may allocate.
    pub free: u64,
    /// Bytes of the whole memory.
    pub total: u64,
}

/// An allocation in device memory, freed when the last handle is dropped.
///
/// Before dropping the last handle, the owner waits for the work that uses the memory. A
/// stream keeps the memory of its own copies alive.
pub trait DeviceMemory: Send + Sync + Debug {
    /// Returns the address on the device.
    fn address(&self) -> u64;
    /// Returns the length in bytes.
    fn bytes(&self) -> usize;
}

/// A part of an allocation in device memory, which it keeps alive.
#[derive(Clone, Debug)]
pub struct DeviceSlice {
    /// The allocation.
    pub memory: Arc<dyn DeviceMemory>,
    /// First byte within the allocation.
    pub offset: usize,
    /// Length in bytes.
    pub bytes: usize,
}

impl DeviceSlice {
    /// Returns all of `memory`.
    pub fn whole(memory: Arc<dyn DeviceMemory>) -> Self {
        DeviceSlice {
            offset: 0,
            bytes: memory.bytes(),
            memory,
        }
    }

    /// Returns `bytes` bytes from `offset` on, within this slice.
    #[must_use]
    pub fn part(&self, offset: usize, bytes: usize) -> Self {
        debug_assert!(offset + bytes <= self.bytes, "a part lies within the whole");
        DeviceSlice {
            memory: Arc::clone(&self.memory),
            offset: self.offset + offset,
            bytes,
        }
    }

    /// Returns the address of the first byte on the device.
    pub fn address(&self) -> u64 {
        self.memory.address() + self.offset as u64
    }
}

/// A queue of work on a GPU. Queuing does not wait for the work.
pub trait Stream: Send + Sync + Debug {
    /// Queues a copy to the device. Both slices stay alive until the copy is done. Writing to
    /// `from` before that corrupts the copy.
    ///
    /// # Errors
    /// The slices differ in length, or the driver refuses.
    fn copy_in(&self, from: &HostSlice, to: &DeviceSlice) -> Result<(), GpuError>;

    /// Queues a copy to the host. The values may be read once an event recorded after the copy has
    /// happened.
    ///
    /// # Errors
    /// The slices differ in length, or the driver reports an error.
    fn copy_out(&self, from: &DeviceSlice, to: &HostSlice) -> Result<(), GpuError>;

    /// Records an event at this place of the queue.
    ///
    /// # Errors
    /// The driver refuses.
    fn record(&self) -> Result<Arc<dyn Event>, GpuError>;

    /// Makes work that is queued from now on wait for `event`, of any stream of this GPU.
    ///
    /// # Errors
    /// The driver refuses.
    fn wait(&self, event: &dyn Event) -> Result<(), GpuError>;

    /// Waits until all queued work is done.
    ///
    /// # Errors
    /// Queued work failed, mostly with [`GpuError::Lost`].
    fn synchronize(&self) -> Result<(), GpuError>;

    /// Returns the stream as `Any`, so that a lowering can downcast it to its own kind.
    fn as_any(&self) -> &dyn Any;
}

/// A recorded place in a stream's queue.
pub trait Event: Send + Sync + Debug {
    /// Waits until the event has happened.
    ///
    /// # Errors
    /// Work queued before it failed, mostly with [`GpuError::Lost`].
    fn wait(&self) -> Result<(), GpuError>;

    /// Returns whether the event has happened.
    ///
    /// # Errors
    /// As for [`Event::wait`].
    fn is_done(&self) -> Result<bool, GpuError>;

    /// Returns the time at which the event happened, on the host's clock.
    ///
    /// # Errors
    /// The event has not happened yet, or the driver does not report its time.
    fn happened(&self) -> Result<Instant, GpuError>;

    /// Returns the event as `Any`, so that streams of its GPU can downcast it.
    fn as_any(&self) -> &dyn Any;
}
