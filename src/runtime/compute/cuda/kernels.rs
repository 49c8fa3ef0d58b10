//! Our own kernels: loaded from PTX once for each GPU, and found by name.

use std::collections::HashMap;
use std::ffi::c_void;

use candle_core::cuda_backend::cudarc::driver::{CudaContext, CudaFunction, CudaStream, result};
use candle_core::cuda_backend::cudarc::nvrtc::Ptx;

use crate::compute::ComputeError;
use crate::compute::gpu::Precision;
use crate::device::cuda::gpu_error;

use super::params::{
    AnswerParams, AttentionParams, EnterParams, FlattenParams, GatherParams, GroupedParams,
    LayerNormParams, LookupParams, MapParams, MatrixProductParams, PairedParams, PlaceParams,
    PointwiseParams, PoolingParams, ReduceParams, RegionsParams, ResponseNormParams, ScanParams,
    ShuffleParams, SoftmaxParams,
};

/// The kernels, compiled with the crate for the oldest supported GPU. The driver translates them
/// for the actual GPU and caches the result on disk.
const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));

/// Threads of a block, of every kernel.
const BLOCK: u32 = 256;

/// The most blocks of a grid for each multiprocessor. Kernels go over their work in strides,
/// so more blocks than run at once gain nothing.
const BLOCKS: u32 = 16;

/// The name of a kernel, of all precisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum KernelName {
    Place,
    Enter,
    Pointwise,
    MaxPool,
    MeanPool,
    Regions,
    Resize,
    Depthwise,
    Grouped,
    Gather,
    Flatten,
    Paired,
    Shuffle,
    ResponseNorm,
    LayerNorm,
    Softmax,
    SoftmaxAnswer,
    Answer,
    Map,
    Reduce,
    Scan,
    Lookup,
    MatrixProduct,
    Attention,
}

impl KernelName {
    const ALL: [(KernelName, &'static str); 24] = [
        (KernelName::Place, "place"),
        (KernelName::Enter, "enter"),
        (KernelName::Pointwise, "pointwise"),
        (KernelName::MaxPool, "max_pool"),
        (KernelName::MeanPool, "mean_pool"),
        (KernelName::Regions, "regions"),
        (KernelName::Resize, "resize"),
        (KernelName::Depthwise, "depthwise"),
        (KernelName::Grouped, "grouped"),
        (KernelName::Gather, "gather"),
        (KernelName::Flatten, "flatten"),
        (KernelName::Paired, "paired"),
        (KernelName::Shuffle, "shuffle"),
        (KernelName::ResponseNorm, "response_norm"),
        (KernelName::LayerNorm, "layer_norm"),
        (KernelName::Softmax, "softmax"),
        (KernelName::SoftmaxAnswer, "softmax_answer"),
        (KernelName::Answer, "answer"),
        (KernelName::Map, "map"),
        (KernelName::Reduce, "reduce"),
        (KernelName::Scan, "scan"),
        (KernelName::Lookup, "lookup"),
        (KernelName::MatrixProduct, "product"),
        (KernelName::Attention, "attention"),
    ];
}

const fn suffix(precision: Precision) -> &'static str {
    match precision {
        Precision::F32 | Precision::Tf32 => "f32",
        Precision::Bf16 => "bf16",
        Precision::F16 => "f16",
    }
}

/// All kernels, loaded.
pub(super) struct Kernels {
    functions: HashMap<(KernelName, &'static str), CudaFunction>,
    most_blocks: u32,
}

impl Kernels {
    /// Loads them into `context`.
    pub(super) fn load(
        context: &std::sync::Arc<CudaContext>,
        units: u32,
    ) -> Result<Self, ComputeError> {
        let module = context.load_module(Ptx::from_src(PTX)).map_err(gpu_error)?;
        let mut functions = HashMap::new();
        for (name, text) in KernelName::ALL {
            for suffix in ["f32", "bf16", "f16"] {
                let function = module.load_function(&format!("{text}_{suffix}"));
                functions.insert((name, suffix), function.map_err(gpu_error)?);
            }
        }
        Ok(Kernels {
            functions,
            most_blocks: units.max(1) * BLOCKS,
        })
    }

    /// Returns a launch of `name` with work for `threads` threads.
    pub(super) fn launch(
        &self,
        name: KernelName,
        precision: Precision,
        threads: u64,
        params: Params,
    ) -> Launch {
        let blocks = threads.div_ceil(u64::from(BLOCK));
        let most = match name {
            // A block a row, or a pixel.
            KernelName::Softmax | KernelName::SoftmaxAnswer | KernelName::LayerNorm => threads,
            _ => blocks,
        };
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        Launch {
            function: self.functions[&(name, suffix(precision))].clone(),
            blocks: most.clamp(1, self.most_blocks),
            params,
        }
    }
}

/// One launch, ready to be queued again and again.
pub(super) struct Launch {
    function: CudaFunction,
    blocks: u32,
    params: Params,
}

impl Launch {
    /// Queues the launch; the thread is bound to the context already.
    pub(super) fn queue(&self, stream: &CudaStream) -> Result<(), ComputeError> {
        // SAFETY: the kernel takes one structure of this kind (`params.h`), whose addresses
        // are of memory that lives until the stream is done with them.
        let queued = unsafe {
            result::launch_kernel(
                self.function.cu_function(),
                (self.blocks, 1, 1),
                (BLOCK, 1, 1),
                0,
                stream.cu_stream(),
                &mut [self.params.pointer()],
            )
        };
        Ok(queued.map_err(gpu_error)?)
    }
}

/// The structure of one launch.
#[derive(Clone, Debug)]
pub(super) enum Params {
    Place(Box<PlaceParams>),
    Enter(EnterParams),
    Pointwise(PointwiseParams),
    Pooling(PoolingParams),
    Regions(RegionsParams),
    Grouped(GroupedParams),
    Gather(GatherParams),
    Flatten(FlattenParams),
    Paired(PairedParams),
    Shuffle(ShuffleParams),
    ResponseNorm(ResponseNormParams),
    LayerNorm(LayerNormParams),
    Softmax(SoftmaxParams),
    Answer(AnswerParams),
    Map(Box<MapParams>),
    Reduce(Box<ReduceParams>),
    Scan(Box<ScanParams>),
    Lookup(LookupParams),
    MatrixProduct(Box<MatrixProductParams>),
    Attention(Box<AttentionParams>),
}

impl Params {
    /// Returns the address of the structure for the driver, which copies it at a launch.
    pub(super) fn pointer(&self) -> *mut c_void {
        let first = match self {
            Params::Place(p) => (&raw const **p).cast::<c_void>(),
            Params::Enter(p) => (&raw const *p).cast(),
            Params::Pointwise(p) => (&raw const *p).cast(),
            Params::Pooling(p) => (&raw const *p).cast(),
            Params::Regions(p) => (&raw const *p).cast(),
            Params::Grouped(p) => (&raw const *p).cast(),
            Params::Gather(p) => (&raw const *p).cast(),
            Params::Flatten(p) => (&raw const *p).cast(),
            Params::Paired(p) => (&raw const *p).cast(),
            Params::Shuffle(p) => (&raw const *p).cast(),
            Params::ResponseNorm(p) => (&raw const *p).cast(),
            Params::LayerNorm(p) => (&raw const *p).cast(),
            Params::Softmax(p) => (&raw const *p).cast(),
            Params::Answer(p) => (&raw const *p).cast(),
            Params::Map(p) => (&raw const **p).cast(),
            Params::Reduce(p) => (&raw const **p).cast(),
            Params::Scan(p) => (&raw const **p).cast(),
            Params::Lookup(p) => (&raw const *p).cast(),
            Params::MatrixProduct(p) => (&raw const **p).cast(),
            Params::Attention(p) => (&raw const **p).cast(),
        };
        first.cast_mut()
    }
}
