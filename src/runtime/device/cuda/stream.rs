//! Streams and events.
//!
//! The bindings' own tracking of reads and writes is not used, because it does not see how other
//! streams use an address. Callers that use memory across streams order the uses by events, and
//! hold the memory until the work is done.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use candle_core::cuda_backend::cudarc::driver::sys::CUevent_flags;
use candle_core::cuda_backend::cudarc::driver::{CudaEvent, CudaStream, sys};

use crate::device::gpu::{DeviceSlice, Event, GpuError, HostSlice, Stream};
use crate::lock::lock;

use super::clock::{Base, GpuClock};
use super::error::gpu_error;

/// A stream of one GPU.
pub struct GpuStream {
    stream: Arc<CudaStream>,
    clock: Arc<GpuClock>,
    held: Arc<Mutex<Held>>,
}

/// Both ends of a copy.
type CopyEnds = (HostSlice, DeviceSlice);

/// The memory of copies that may still run.
#[derive(Debug, Default)]
struct Held {
    /// Memory of copies queued since the last event.
    unmarked: Vec<CopyEnds>,
    marked: VecDeque<(Arc<CudaEvent>, Vec<CopyEnds>)>,
}

impl GpuStream {
    pub(super) fn new(stream: Arc<CudaStream>, clock: Arc<GpuClock>) -> Self {
        GpuStream {
            stream,
            clock,
            held: Arc::default(),
        }
    }

    /// Returns the driver's stream, to queue kernels on.
    pub fn raw(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    fn hold(&self, host: &HostSlice, device: &DeviceSlice) {
        lock(&self.held)
            .unmarked
            .push((host.clone(), device.clone()));
    }

    fn check(host: &HostSlice, device: &DeviceSlice) -> Result<(), GpuError> {
        if host.bytes() == device.bytes {
            return Ok(());
        }
        Err(GpuError::Other(format!(
            "a copy of {} bytes, expected {}",
            host.bytes(),
            device.bytes
        )))
    }

    fn event(&self) -> Result<Arc<CudaEvent>, GpuError> {
        let flags = CUevent_flags::CU_EVENT_BLOCKING_SYNC;
        let event = self.stream.record_event(Some(flags)).map_err(gpu_error)?;
        Ok(Arc::new(event))
    }

    /// Releases the memory of copies queued before `event` once `event` has happened.
    fn mark(&self, event: &Arc<CudaEvent>) {
        let mut held = lock(&self.held);
        if !held.unmarked.is_empty() {
            let unmarked = std::mem::take(&mut held.unmarked);
            held.marked.push_back((Arc::clone(event), unmarked));
        }
        held.release();
    }
}

impl Held {
    /// Releases the memory of finished copies.
    fn release(&mut self) {
        while self.marked.front().is_some_and(|(e, _)| e.is_complete()) {
            self.marked.pop_front();
        }
    }
}

impl Stream for GpuStream {
    fn copy_in(&self, from: &HostSlice, to: &DeviceSlice) -> Result<(), GpuError> {
        GpuStream::check(from, to)?;
        self.stream.context().bind_to_thread().map_err(gpu_error)?;
        self.hold(from, to);
        // SAFETY: both ends have the length of the copy. They are held, so they stay alive until a
        // later event has happened.
        let queued = unsafe {
            sys::cuMemcpyHtoDAsync_v2(
                to.address(),
                from.pointer().cast(),
                to.bytes,
                self.stream.cu_stream(),
            )
        };
        queued.result().map_err(gpu_error)
    }

    fn copy_out(&self, from: &DeviceSlice, to: &HostSlice) -> Result<(), GpuError> {
        GpuStream::check(to, from)?;
        self.stream.context().bind_to_thread().map_err(gpu_error)?;
        self.hold(to, from);
        // SAFETY: as above.
        let queued = unsafe {
            sys::cuMemcpyDtoHAsync_v2(
                to.pointer().cast(),
                from.address(),
                from.bytes,
                self.stream.cu_stream(),
            )
        };
        queued.result().map_err(gpu_error)
    }

    fn record(&self) -> Result<Arc<dyn Event>, GpuError> {
        let base = self.clock.base().map_err(gpu_error)?;
        let event = self.event()?;
        self.mark(&event);
        Ok(Arc::new(GpuEvent {
            event,
            base,
            held: Arc::downgrade(&self.held),
        }))
    }

    fn wait(&self, event: &dyn Event) -> Result<(), GpuError> {
        let Some(event) = event.as_any().downcast_ref::<GpuEvent>() else {
            return Err(GpuError::Other("an event of another kind of GPU".into()));
        };
        self.stream.wait(&event.event).map_err(gpu_error)
    }

    fn synchronize(&self) -> Result<(), GpuError> {
        self.stream.synchronize().map_err(gpu_error)?;
        *lock(&self.held) = Held::default();
        Ok(())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl fmt::Debug for GpuStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GpuStream").finish_non_exhaustive()
    }
}

impl Drop for GpuStream {
    fn drop(&mut self) {
        // Running copies use the held memory. If the GPU is lost, no copies run and the error has
        // been reported.
        let _ = self.stream.synchronize();
    }
}

/// A place in a stream.
#[derive(Debug)]
struct GpuEvent {
    event: Arc<CudaEvent>,
    base: Arc<Base>,
    /// The memory that its stream holds.
    held: Weak<Mutex<Held>>,
}

impl GpuEvent {
    /// Releases the memory of copies queued before this event, which has happened.
    fn let_go(&self) {
        if let Some(held) = self.held.upgrade() {
            lock(&held).release();
        }
    }
}

/// How long a thread polls an event before it waits in the driver. The driver puts the thread to
/// sleep, and waking it takes some tens of microseconds.
const WORTH_LOOKING: Duration = Duration::from_micros(40);

impl Event for GpuEvent {
    fn wait(&self) -> Result<(), GpuError> {
        let start = Instant::now();
        while start.elapsed() < WORTH_LOOKING {
            if self.is_done()? {
                self.let_go();
                return Ok(());
            }
            std::thread::yield_now();
        }
        self.event.synchronize().map_err(gpu_error)?;
        self.let_go();
        Ok(())
    }

    fn is_done(&self) -> Result<bool, GpuError> {
        let context = self.event.context();
        context.bind_to_thread().map_err(gpu_error)?;
        self.event.try_is_complete().map_err(gpu_error)
    }

    fn happened(&self) -> Result<Instant, GpuError> {
        self.base.time_of(&self.event).map_err(gpu_error)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
