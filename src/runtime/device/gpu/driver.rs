//! What the engine asks of a GPU's driver.
//!
//! Work is queued on streams and runs in a stream's order, beside that of other streams.
//! An event marks a place in a stream: others can be made to wait for it, and the host can.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Instant;

use super::error::GpuError;
use super::gauges::Gauges;
use super::info::GpuInfo;
use super::pinned::{HostSlice, PinnedBlock};

/// One GPU, opened. Everything here may be called from any thread.
pub trait Gpu: Send + Sync + Debug {
    /// What it is.
    fn info(&self) -> &GpuInfo;

    /// Itself as what it is, for who lowers networks for it.
    fn as_any(&self) -> &dyn Any;

    /// A new stream.
    ///
    /// # Errors
    /// The driver refuses.
    fn stream(&self) -> Result<Arc<dyn Stream>, GpuError>;

    /// Memory that every stream may use from now on.
    ///
    /// # Errors
    /// [`GpuError::OutOfMemory`], or the driver refuses.
    fn allocate(&self, bytes: usize) -> Result<Arc<dyn DeviceMemory>, GpuError>;

    /// Page-locked memory of the host, zeroed, that copies read and write directly.
    ///
    /// # Errors
    /// The host has not enough memory that can be locked.
    fn pinned(&self, floats: usize) -> Result<PinnedBlock, GpuError>;

    /// Memory as the driver counts it.
    ///
    /// # Errors
    /// The driver does not say.
    fn usage(&self) -> Result<Usage, GpuError>;

    /// How it is doing.
    fn gauges(&self) -> Gauges;
}

/// Memory as the driver counts it, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Allocated by this process and not given back.
    pub used: u64,
    /// Held by this process's pool, used or not.
    pub reserved: u64,
    /// Free for anybody.
    pub free: u64,
    pub total: u64,
}

/// Device memory. It is given back when the last handle is dropped; whoever drops that
/// has waited for the work that uses it. (A stream keeps what its copies use by itself.)
pub trait DeviceMemory: Send + Sync + Debug {
    /// Its address on the device.
    fn address(&self) -> u64;
    fn bytes(&self) -> usize;
}

/// A part of device memory, kept alive.
#[derive(Clone, Debug)]
pub struct DeviceSlice {
    pub memory: Arc<dyn DeviceMemory>,
    /// First byte within the memory.
    pub offset: usize,
    pub bytes: usize,
}

impl DeviceSlice {
    /// All of `memory`.
    pub fn whole(memory: Arc<dyn DeviceMemory>) -> Self {
        DeviceSlice {
            offset: 0,
            bytes: memory.bytes(),
            memory,
        }
    }

    /// `bytes` from `offset` on, within this one.
    #[must_use]
    pub fn part(&self, offset: usize, bytes: usize) -> Self {
        debug_assert!(offset + bytes <= self.bytes, "a part lies within the whole");
        DeviceSlice {
            memory: Arc::clone(&self.memory),
            offset: self.offset + offset,
            bytes,
        }
    }

    /// Address of its first byte on the device.
    pub fn address(&self) -> u64 {
        self.memory.address() + self.offset as u64
    }
}

/// A queue of work. Queuing does not wait for the work.
pub trait Stream: Send + Sync + Debug {
    /// Queues a copy to the device. What is at both ends stays alive until it is done;
    /// who writes to `from` meanwhile spoils it.
    ///
    /// # Errors
    /// The slices differ in length, or the driver refuses.
    fn copy_in(&self, from: &HostSlice, to: &DeviceSlice) -> Result<(), GpuError>;

    /// Queues a copy to the host; what is there may be read after an event recorded
    /// behind it has happened.
    ///
    /// # Errors
    /// The slices differ in length, or the driver refuses.
    fn copy_out(&self, from: &DeviceSlice, to: &HostSlice) -> Result<(), GpuError>;

    /// Marks this place in the queue.
    ///
    /// # Errors
    /// The driver refuses.
    fn record(&self) -> Result<Arc<dyn Event>, GpuError>;

    /// What is queued from now on waits for `event`, of any stream of this GPU.
    ///
    /// # Errors
    /// The driver refuses.
    fn wait(&self, event: &dyn Event) -> Result<(), GpuError>;

    /// Waits until everything queued is done.
    ///
    /// # Errors
    /// What was queued failed: [`GpuError::Lost`] mostly.
    fn synchronize(&self) -> Result<(), GpuError>;

    /// Itself as what it is, for who queues kernels on it.
    fn as_any(&self) -> &dyn Any;
}

/// A place in a stream's queue.
pub trait Event: Send + Sync + Debug {
    /// Waits until it has happened.
    ///
    /// # Errors
    /// What was queued before it failed: [`GpuError::Lost`] mostly.
    fn wait(&self) -> Result<(), GpuError>;

    /// Whether it has happened.
    ///
    /// # Errors
    /// As [`Event::wait`].
    fn is_done(&self) -> Result<bool, GpuError>;

    /// When it happened, on the host's clock. Ask after it has.
    ///
    /// # Errors
    /// It has not, or the driver does not say.
    fn happened(&self) -> Result<Instant, GpuError>;

    /// Itself as what it is, for the streams of its GPU.
    fn as_any(&self) -> &dyn Any;
}
