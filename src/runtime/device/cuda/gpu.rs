//! A GPU, opened once for each process.

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
/// Candle uses the same context. The bindings' own tracking of reads and writes is turned off: it
/// costs two events for each allocation and two calls for each argument, is not allowed during the
/// capture of a graph, and does not see reads of kernels through tables of addresses. Only the
/// events of [`Stream`] order streams.
pub struct CudaGpu {
    info: GpuInfo,
    context: Arc<CudaContext>,
    memory: Arc<MemoryPool>,
    clock: Arc<GpuClock>,
    bus_id: String,
    shared: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

/// The open GPUs. They stay open to keep their choices and kernels. Releasing a primary context
/// would also break the threads that are bound to it.
static OPEN: Mutex<Vec<(usize, Arc<CudaGpu>)>> = Mutex::new(Vec::new());

/// Returns the GPUs of the driver, and the reasons why some cannot be used.
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
    // Free memory can only be read in a context. Opening the GPU reuses the same context.
    let gpu = open(index)?;
    Ok(gpu.info().clone())
}

/// Opens GPU number `index`. Returns the same GPU every time, unless it was lost.
///
/// # Errors
/// The GPU does not exist or cannot be used.
pub fn open(index: usize) -> Result<Arc<dyn Gpu>, GpuError> {
    Ok(opened(index)?)
}

/// Opens GPU number `index` as [`open`] does, and returns its own type.
///
/// # Errors
/// As for [`open`].
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

/// Destroys a broken context, unless handles of it remain. Handles must not be used after the
/// context is destroyed, not even to release them. The GPU can be opened again once they are
/// dropped.
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

    /// Returns whether the context accepts work. The bindings report an earlier error once, so this
    /// checks twice.
    fn works(&self) -> bool {
        let asked = || self.context.mem_get_info();
        asked().or_else(|_| asked()).is_ok()
    }

    /// Returns the driver's context.
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// Creates a stream, and returns its own type.
    ///
    /// # Errors
    /// The driver reports an error.
    pub fn gpu_stream(&self) -> Result<Arc<GpuStream>, GpuError> {
        let stream = self.context.new_stream().map_err(gpu_error)?;
        Ok(Arc::new(GpuStream::new(stream, Arc::clone(&self.clock))))
    }

    /// Returns the only `T` of this GPU. The first call makes it with `make`.
    ///
    /// # Errors
    /// Returns the errors of `make`.
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

/// Creates the memory pool and the clock. Both need a stream. Creating the first stream of a
/// context waits for all work, so the streams are created before any work is queued.
fn insides(context: &Arc<CudaContext>) -> Result<(MemoryPool, GpuClock), DriverError> {
    // SAFETY: nothing relies on the tracking: memory is never the bindings' own, and events order
    // all streams.
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
