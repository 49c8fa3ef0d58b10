//! Memory of GPUs, from the driver's pool, and page-locked memory of the host.

use std::fmt;
use std::sync::Arc;

use candle_core::cuda_backend::cudarc::driver::sys::CUmemPool_attribute_enum as Attribute;
use candle_core::cuda_backend::cudarc::driver::{
    CudaContext, CudaStream, DriverError, result, sys,
};

use crate::device::format_bytes;
use crate::device::gpu::{DeviceMemory, GpuError, PinnedBlock, PinnedMemory, Usage};

use super::error::gpu_error;

/// The device's default pool, set for several streams.
#[derive(Debug)]
pub(super) struct MemoryPool {
    context: Arc<CudaContext>,
    /// Allocations are made and freed here, in its order.
    stream: Arc<CudaStream>,
    pool: DriverPool,
}

#[derive(Clone, Copy, Debug)]
struct DriverPool(sys::CUmemoryPool);

// SAFETY: a handle of the driver, which takes calls from any thread.
unsafe impl Send for DriverPool {}
// SAFETY: as above.
unsafe impl Sync for DriverPool {}

impl MemoryPool {
    /// Configures the pool to keep freed memory mapped, and never to make one stream wait for
    /// another to reuse a block. By default every synchronisation releases freed memory.
    pub(super) fn new(
        context: Arc<CudaContext>,
        stream: Arc<CudaStream>,
    ) -> Result<Self, DriverError> {
        // SAFETY: the device is that of a live context.
        let pool = unsafe { result::device::get_default_mem_pool(context.cu_device()) }?;
        set(pool, Attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, u64::MAX)?;
        let depend = Attribute::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
        set(pool, depend, 0i32)?;
        Ok(MemoryPool {
            context,
            stream,
            pool: DriverPool(pool),
        })
    }

    /// Allocates memory that every stream may use as soon as this returns.
    pub(super) fn allocate(
        self: &Arc<Self>,
        bytes: usize,
    ) -> Result<Arc<dyn DeviceMemory>, GpuError> {
        self.context.bind_to_thread().map_err(gpu_error)?;
        let wanted = bytes.max(1);
        let refused = |error| match gpu_error(error) {
            GpuError::OutOfMemory(_) => GpuError::OutOfMemory(wanted as u64),
            other => other,
        };
        // SAFETY: the stream lives as long as the pool.
        let allocated = unsafe { result::malloc_async(self.stream.cu_stream(), wanted) };
        let address = allocated.map_err(refused)?;
        let memory = Arc::new(PoolAllocation {
            pool: Arc::clone(self),
            address,
            bytes,
        });
        self.stream.synchronize().map_err(refused)?;
        Ok(memory)
    }

    /// Returns the use of the pool and of the device, after all frees are done.
    pub(super) fn usage(&self) -> Result<Usage, GpuError> {
        self.stream.synchronize().map_err(gpu_error)?;
        let (free, total) = self.context.mem_get_info().map_err(gpu_error)?;
        let of = |attribute| read(self.pool.0, attribute).map_err(gpu_error);
        Ok(Usage {
            used: of(Attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)?,
            reserved: of(Attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)?,
            free: free as u64,
            total: total as u64,
        })
    }
}

fn set<T>(pool: sys::CUmemoryPool, attribute: Attribute, mut value: T) -> Result<(), DriverError> {
    // SAFETY: the attribute takes a value of this type (the driver interface's table).
    unsafe { result::mem_pool::set_attribute(pool, attribute, (&raw mut value).cast()) }
}

fn read(pool: sys::CUmemoryPool, attribute: Attribute) -> Result<u64, DriverError> {
    let mut value = 0u64;
    // SAFETY: the requested attributes have 64 bits.
    unsafe { result::mem_pool::get_attribute(pool, attribute, (&raw mut value).cast()) }?;
    Ok(value)
}

struct PoolAllocation {
    pool: Arc<MemoryPool>,
    address: sys::CUdeviceptr,
    bytes: usize,
}

impl DeviceMemory for PoolAllocation {
    fn address(&self) -> u64 {
        self.address
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl fmt::Debug for PoolAllocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at {:#x}", self.bytes, self.address)
    }
}

impl Drop for PoolAllocation {
    fn drop(&mut self) {
        // If the GPU is lost, its memory is gone already and the error has been reported.
        let _ = self.pool.context.bind_to_thread();
        // SAFETY: this pool allocated the memory, and it is freed once. Its holder has waited for
        // the work that uses it.
        let _ = unsafe { result::free_async(self.address, self.pool.stream.cu_stream()) };
    }
}

/// Allocates zeros in page-locked memory, for every GPU.
///
/// # Errors
/// The driver cannot lock this many bytes.
pub(super) fn pinned(context: &Arc<CudaContext>, floats: usize) -> Result<PinnedBlock, GpuError> {
    context.bind_to_thread().map_err(gpu_error)?;
    let bytes = (floats * size_of::<f32>()).max(1);
    // Not write-combined, because the processor reads it too. SAFETY: `Locked` frees the pointer.
    let pointer = unsafe { result::malloc_host(bytes, sys::CU_MEMHOSTALLOC_PORTABLE) };
    let pointer = pointer.map_err(|error| match gpu_error(error) {
        GpuError::OutOfMemory(_) => GpuError::Other(format!(
            "{} of the host's memory could not be locked",
            format_bytes(bytes as u64)
        )),
        other => other,
    })?;
    // SAFETY: the allocation has `bytes` bytes.
    unsafe { pointer.cast::<u8>().write_bytes(0, bytes) };
    Ok(PinnedBlock::new(Arc::new(Locked {
        context: Arc::clone(context),
        pointer: pointer.cast(),
        floats,
    })))
}

#[derive(Debug)]
struct Locked {
    context: Arc<CudaContext>,
    pointer: *mut f32,
    floats: usize,
}

// SAFETY: plain memory; `PinnedBlock` controls reads and writes.
unsafe impl Send for Locked {}
// SAFETY: as above.
unsafe impl Sync for Locked {}

impl PinnedMemory for Locked {
    fn pointer(&self) -> *mut f32 {
        self.pointer
    }

    fn floats(&self) -> usize {
        self.floats
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        let _ = self.context.bind_to_thread();
        // SAFETY: allocated by `pinned`, freed once; copies hold it until they are done.
        let _ = unsafe { result::free_host(self.pointer.cast()) };
    }
}
