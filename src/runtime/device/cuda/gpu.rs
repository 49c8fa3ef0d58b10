//! One GPU, opened once a process.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use candle_core::cuda_backend::cudarc::driver::sys::CUctx_flags;
use candle_core::cuda_backend::cudarc::driver::{CudaContext, DriverError, sys};

use crate::device::gpu::{
    DeviceMemory, FoundGpus, Gauges, Gpu, GpuError, GpuInfo, PinnedBlock, Stream, Usage,
};
use crate::lock::lock;

use super::clock::GpuClock;
use super::discovery;
use super::error::gpu_error;
use super::memory::{MemoryPool, pinned};
use super::stream::GpuStream;

/// A GPU over the CUDA driver, in its primary context.
///
/// The context is the one that Candle uses too. Its own tracking of reads and writes is
/// turned off: it costs two events an allocation and two calls an argument, is not allowed
/// while a graph is captured, and does not see what kernels read through tables of
/// addresses. Streams are ordered by the events of [`Stream`] alone.
pub struct CudaGpu {
    info: GpuInfo,
    context: Arc<CudaContext>,
    memory: Arc<MemoryPool>,
    clock: Arc<GpuClock>,
    bus_id: String,
    shared: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

/// A GPU stays open: what was chosen and loaded for it is kept, and a primary context that
/// is given back while other threads still name it as theirs breaks them.
static OPEN: Mutex<Vec<(usize, Arc<CudaGpu>)>> = Mutex::new(Vec::new());

/// All GPUs, and what is wrong with those that cannot be used.
///
/// # Errors
/// There is no driver, or it is too old.
pub fn find() -> Result<FoundGpus, GpuError> {
    discovery::check_driver()?;
    let mut found = FoundGpus::default();
    for index in 0..discovery::count()? {
        match look_at(index) {
            Ok(info) => found.usable.push(info),
            Err(error) => found.unusable.push((index, error)),
        }
    }
    Ok(found)
}

fn look_at(index: usize) -> Result<GpuInfo, GpuError> {
    // A context is made, since only it knows how much memory is free; the same one is
    // used when the GPU is opened.
    let gpu = open(index)?;
    Ok(gpu.info().clone())
}

/// Opens GPU number `index`; the same one every time, unless it was lost since.
///
/// # Errors
/// It is not there or cannot be used.
pub fn open(index: usize) -> Result<Arc<dyn Gpu>, GpuError> {
    Ok(opened(index)?)
}

/// The same, as what it is.
///
/// # Errors
/// As [`open`].
pub fn opened(index: usize) -> Result<Arc<CudaGpu>, GpuError> {
    let mut open = lock(&OPEN);
    if let Some(at) = open.iter().position(|(number, _)| *number == index) {
        let known = &open[at].1;
        if known.works() {
            return Ok(Arc::clone(known));
        }
        close(open.swap_remove(at).1);
    }
    let gpu = Arc::new(CudaGpu::new(index)?);
    open.push((index, Arc::clone(&gpu)));
    Ok(gpu)
}

/// Destroys what is left of a context in which nothing works any more, unless somebody
/// still holds something of it: handles of a context that is gone must not be used, not
/// even to be given back. The GPU cannot be opened then until they are.
fn close(lost: Arc<CudaGpu>) {
    let context = Arc::clone(&lost.context);
    drop(lost);
    if Arc::strong_count(&context) == 1 {
        // SAFETY: this is the last handle of the context, and every call on it fails.
        let _ = unsafe { sys::cuDevicePrimaryCtxReset_v2(context.cu_device()) };
    }
}

impl CudaGpu {
    fn new(index: usize) -> Result<Self, GpuError> {
        discovery::check_driver()?;
        discovery::check_number(index)?;
        let context = CudaContext::new(index).map_err(gpu_error)?;
        let info = discovery::describe(index, &context)?;
        let bus_id = discovery::bus_id(&context).unwrap_or_default();
        let (memory, clock) = insides(&context).map_err(gpu_error)?;
        Ok(CudaGpu {
            info,
            context,
            memory: Arc::new(memory),
            clock: Arc::new(clock),
            bus_id,
            shared: Mutex::default(),
        })
    }

    /// Whether its context takes work. The bindings tell an error of the past once, so it
    /// is asked again.
    fn works(&self) -> bool {
        let asked = || self.context.mem_get_info();
        asked().or_else(|_| asked()).is_ok()
    }

    /// The driver's context.
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// A stream, as what it is.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn gpu_stream(&self) -> Result<Arc<GpuStream>, GpuError> {
        let stream = self.context.new_stream().map_err(gpu_error)?;
        Ok(Arc::new(GpuStream::new(stream, Arc::clone(&self.clock))))
    }

    /// What there is one of for this GPU, made by `make` when it is first asked for.
    ///
    /// # Errors
    /// What `make` says.
    pub fn shared<T, E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<Arc<T>, E>
    where
        T: Send + Sync + 'static,
    {
        let mut all = lock(&self.shared);
        let known = all.get(&TypeId::of::<T>()).cloned();
        if let Some(known) = known.and_then(|k| k.downcast::<T>().ok()) {
            return Ok(known);
        }
        let made = Arc::new(make()?);
        let kept: Arc<dyn Any + Send + Sync> = Arc::<T>::clone(&made);
        all.insert(TypeId::of::<T>(), kept);
        Ok(made)
    }
}

/// Streams for memory and for the clock are made before any traffic: making the first one
/// of a context waits for all of it.
fn insides(context: &Arc<CudaContext>) -> Result<(MemoryPool, GpuClock), DriverError> {
    // SAFETY: nothing relies on the tracking: memory is never the bindings' own, and every
    // order between streams is made by events.
    unsafe { context.disable_event_tracking() };
    context.set_flags(CUctx_flags::CU_CTX_SCHED_BLOCKING_SYNC)?;
    let memory = MemoryPool::new(Arc::clone(context), context.new_stream()?)?;
    Ok((memory, GpuClock::new(context.new_stream()?)?))
}

impl Gpu for CudaGpu {
    fn info(&self) -> &GpuInfo {
        &self.info
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn stream(&self) -> Result<Arc<dyn Stream>, GpuError> {
        Ok(self.gpu_stream()?)
    }

    fn allocate(&self, bytes: usize) -> Result<Arc<dyn DeviceMemory>, GpuError> {
        self.memory.allocate(bytes)
    }

    fn pinned(&self, floats: usize) -> Result<PinnedBlock, GpuError> {
        pinned(&self.context, floats)
    }

    fn usage(&self) -> Result<Usage, GpuError> {
        self.memory.usage()
    }

    fn gauges(&self) -> Gauges {
        super::nvml::gauges(&self.bus_id)
    }
}

impl fmt::Debug for CudaGpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaGpu")
            .field("info", &self.info)
            .finish_non_exhaustive()
    }
}
