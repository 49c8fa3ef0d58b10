//! The GPU's time on the host's clock.
//!
//! The driver reports the time from one event to another as float32 milliseconds, which is
//! accurate to a quarter of a millisecond after an hour. So a new base event is recorded every
//! second, on a stream that is always idle, and each event refers to the base before it.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use candle_core::cuda_backend::cudarc::driver::sys::CUevent_flags;
use candle_core::cuda_backend::cudarc::driver::{CudaEvent, CudaStream, DriverError};

use crate::lock::lock;

/// How long a base is used.
const FRESH: Duration = Duration::from_secs(1);

/// An event whose time on the host's clock is known.
#[derive(Debug)]
pub(super) struct Base {
    event: CudaEvent,
    at: Instant,
}

impl Base {
    /// Returns the time at which `event`, recorded after this one, happened.
    pub(super) fn time_of(&self, event: &CudaEvent) -> Result<Instant, DriverError> {
        let after = self.event.elapsed_ms(event)?.max(0.0);
        Ok(self.at + Duration::from_secs_f64(f64::from(after) / 1e3))
    }
}

/// The clock of a GPU: base events with their times on the host.
#[derive(Debug)]
pub(super) struct GpuClock {
    stream: Arc<CudaStream>,
    base: Mutex<Arc<Base>>,
}

impl GpuClock {
    /// Creates a clock on `stream`, which has no other use.
    pub(super) fn new(stream: Arc<CudaStream>) -> Result<Self, DriverError> {
        let base = Mutex::new(Arc::new(mark(&stream)?));
        Ok(GpuClock { stream, base })
    }

    /// Returns the base for the event that is recorded next.
    pub(super) fn base(&self) -> Result<Arc<Base>, DriverError> {
        let mut base = lock(&self.base);
        if base.at.elapsed() > FRESH {
            *base = Arc::new(mark(&self.stream)?);
        }
        Ok(Arc::clone(&base))
    }
}

fn mark(stream: &Arc<CudaStream>) -> Result<Base, DriverError> {
    let event = stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT))?;
    event.synchronize()?;
    Ok(Base {
        event,
        at: Instant::now(),
    })
}
