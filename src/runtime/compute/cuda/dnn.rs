//! Convolutions by cuDNN, channels-last, with bias, sum and ReLU if cuDNN fuses them.
//!
//! Descriptions are made once for each number of rows. The algorithm is given, so serving needs no
//! lookup.

use std::ffi::{c_int, c_void};

use candle_core::cuda_backend::cudarc::cudnn::{result, sys};
use candle_core::cuda_backend::cudarc::driver::CudaStream;

use crate::compute::ComputeError;
use crate::compute::buffers::TensorView;
use crate::compute::gpu::Precision;
use crate::device::gpu::{DeviceSlice, GpuError};
use crate::network::Conv2d;

/// A handle of the library. Each lane has its own: a handle belongs to one stream, and to
/// one thread at a time.
pub(super) struct Dnn(sys::cudnnHandle_t);

// SAFETY: the library allows a handle to move between threads; it is not shared.
unsafe impl Send for Dnn {}

impl Dnn {
    /// A handle that works on `stream`.
    pub(super) fn new(stream: &CudaStream) -> Result<Self, ComputeError> {
        let dnn = Dnn(result::create_handle().map_err(refused)?);
        // SAFETY: both are alive; the lane drops the handle before the stream.
        unsafe { result::set_stream(dnn.0, stream.cu_stream().cast()) }.map_err(refused)?;
        Ok(dnn)
    }
}

impl Drop for Dnn {
    fn drop(&mut self) {
        // SAFETY: created by `new`, destroyed once.
        let _ = unsafe { result::destroy_handle(self.0) };
    }
}

/// An algorithm of the library.
pub(super) type DnnAlgorithm = sys::cudnnConvolutionFwdAlgo_t;

/// Algorithms that may take channels-last images, likely ones first.
pub(super) const ALGORITHMS: [DnnAlgorithm; 4] = [
    DnnAlgorithm::CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
    DnnAlgorithm::CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM,
    DnnAlgorithm::CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED,
    DnnAlgorithm::CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD,
];

/// Operands of one convolution: views with their addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operands {
    pub precision: Precision,
    pub rows: usize,
    pub conv: Conv2d,
    pub input: (u64, TensorView),
    pub output: (u64, TensorView),
    pub filters: u64,
    /// Operations applied with the convolution, or `None` for only the convolution.
    pub ends: Option<FusedEnds>,
}

/// The operations that follow the convolution in the same call.
#[derive(Clone, Copy, Debug)]
pub(super) struct FusedEnds {
    /// The address of the bias, in the operands' precision.
    pub bias: u64,
    pub residual: Option<(u64, TensorView)>,
    pub relu: bool,
}

/// One convolution, ready to be queued again and again.
pub(super) struct DnnConvolution {
    operands: Operands,
    algorithm: DnnAlgorithm,
    workspace: usize,
    input: TensorDescriptor,
    output: TensorDescriptor,
    residual: Option<TensorDescriptor>,
    bias: TensorDescriptor,
    filter: FilterDescriptor,
    window: ConvolutionDescriptor,
    activation: ActivationDescriptor,
}

impl DnnConvolution {
    /// Describes the convolution.
    ///
    /// # Errors
    /// The library does not support it, or needs more than `workspace` bytes.
    pub(super) fn new(
        dnn: &Dnn,
        operands: Operands,
        algorithm: DnnAlgorithm,
        workspace: usize,
    ) -> Result<Self, ComputeError> {
        let (rows, precision) = (operands.rows, operands.precision);
        let channels = operands.output.1.channels;
        let residual = operands.ends.and_then(|ends| ends.residual);
        let residual = residual.map(|(_, view)| TensorDescriptor::image(rows, view, precision));
        let bias = [1, number(channels), 1, 1];
        let mut made = DnnConvolution {
            input: TensorDescriptor::image(rows, operands.input.1, precision)?,
            output: TensorDescriptor::image(rows, operands.output.1, precision)?,
            residual: residual.transpose()?,
            bias: TensorDescriptor::packed(bias, [number(channels), 1, 1, 1], precision)?,
            filter: FilterDescriptor::new(operands.conv, operands.input.1.channels, precision)?,
            window: ConvolutionDescriptor::new(operands.conv, precision)?,
            activation: ActivationDescriptor::new(operands.ends.is_some_and(|e| e.relu))?,
            operands,
            algorithm,
            workspace: 0,
        };
        made.workspace = made.asked(dnn)?;
        match made.workspace <= workspace {
            true => Ok(made),
            false => Err(GpuError::Other("cuDNN needs too large a workspace".into()).into()),
        }
    }

    fn asked(&self, dnn: &Dnn) -> Result<usize, ComputeError> {
        // SAFETY: all descriptions are alive.
        let asked = unsafe {
            result::get_convolution_forward_workspace_size(
                dnn.0,
                self.input.0,
                self.filter.0,
                self.window.0,
                self.output.0,
                self.algorithm,
            )
        };
        asked.map_err(refused)
    }

    /// Queues it on the handle's stream.
    pub(super) fn queue(&self, dnn: &Dnn, workspace: &DeviceSlice) -> Result<(), ComputeError> {
        let queued = match self.operands.ends {
            Some(ends) => self.queue_fused(dnn, workspace, ends),
            None => self.queue_alone(dnn, workspace),
        };
        queued.map_err(refused)
    }

    fn queue_alone(&self, dnn: &Dnn, workspace: &DeviceSlice) -> result::CudnnResult<()> {
        let (alpha, beta) = (1f32, 0f32);
        let o = &self.operands;
        // SAFETY: descriptions fit the operands, which live until the stream is done; the workspace
        // has the size that the library requested.
        unsafe {
            result::convolution_forward(
                dnn.0,
                (&raw const alpha).cast(),
                self.input.0,
                o.input.0 as *const c_void,
                self.filter.0,
                o.filters as *const c_void,
                self.window.0,
                self.algorithm,
                workspace.address() as *mut c_void,
                self.workspace,
                (&raw const beta).cast(),
                self.output.0,
                o.output.0 as *mut c_void,
            )
        }
    }

    fn queue_fused(
        &self,
        dnn: &Dnn,
        workspace: &DeviceSlice,
        ends: FusedEnds,
    ) -> result::CudnnResult<()> {
        let o = &self.operands;
        let one = 1f32;
        let added = if ends.residual.is_some() { 1f32 } else { 0f32 };
        // The library requires a residual tensor even if nothing is added, and does not read it.
        let other = ends.residual.map_or(o.output.0, |(address, _)| address);
        let other_shape = self.residual.as_ref().unwrap_or(&self.output);
        // SAFETY: as above.
        unsafe {
            sys::cudnnConvolutionBiasActivationForward(
                dnn.0,
                (&raw const one).cast(),
                self.input.0,
                o.input.0 as *const c_void,
                self.filter.0,
                o.filters as *const c_void,
                self.window.0,
                self.algorithm,
                workspace.address() as *mut c_void,
                self.workspace,
                (&raw const added).cast(),
                other_shape.0,
                other as *const c_void,
                self.bias.0,
                ends.bias as *const c_void,
                self.activation.0,
                self.output.0,
                o.output.0 as *mut c_void,
            )
        }
        .result()
    }
}

const fn kind(precision: Precision) -> sys::cudnnDataType_t {
    match precision {
        Precision::F32 | Precision::Tf32 => sys::cudnnDataType_t::CUDNN_DATA_FLOAT,
        Precision::Bf16 => sys::cudnnDataType_t::CUDNN_DATA_BFLOAT16,
        Precision::F16 => sys::cudnnDataType_t::CUDNN_DATA_HALF,
    }
}

/// Returns a number in the library's type. Pixels and strides fit, since shapes are checked
/// when a network is built.
fn number(value: usize) -> c_int {
    c_int::try_from(value).unwrap_or(c_int::MAX)
}

struct TensorDescriptor(sys::cudnnTensorDescriptor_t);

// SAFETY: descriptions are plain memory that is only read once they are made.
unsafe impl Send for TensorDescriptor {}

impl TensorDescriptor {
    /// An image of a batch, channels-last at its pitch.
    fn image(rows: usize, view: TensorView, precision: Precision) -> Result<Self, ComputeError> {
        let (height, width) = (number(view.height), number(view.width));
        let shape = [number(rows), number(view.channels), height, width];
        let line = number(view.width * view.pitch);
        let strides = [number(view.sample_stride()), 1, line, number(view.pitch)];
        TensorDescriptor::packed(shape, strides, precision)
    }

    fn packed(
        shape: [c_int; 4],
        strides: [c_int; 4],
        precision: Precision,
    ) -> Result<Self, ComputeError> {
        let made = TensorDescriptor(result::create_tensor_descriptor().map_err(refused)?);
        // SAFETY: just created.
        let set =
            unsafe { result::set_tensor4d_descriptor_ex(made.0, kind(precision), shape, strides) };
        set.map_err(refused)?;
        Ok(made)
    }
}

impl Drop for TensorDescriptor {
    fn drop(&mut self) {
        // SAFETY: created above, destroyed once.
        let _ = unsafe { result::destroy_tensor_descriptor(self.0) };
    }
}

struct FilterDescriptor(sys::cudnnFilterDescriptor_t);

// SAFETY: as for tensors.
unsafe impl Send for FilterDescriptor {}

impl FilterDescriptor {
    fn new(conv: Conv2d, inputs: usize, precision: Precision) -> Result<Self, ComputeError> {
        let made = FilterDescriptor(result::create_filter_descriptor().map_err(refused)?);
        let (height, width) = (number(conv.kernel.height), number(conv.kernel.width));
        let shape = [number(conv.channels), number(inputs), height, width];
        let last = sys::cudnnTensorFormat_t::CUDNN_TENSOR_NHWC;
        // SAFETY: just created.
        unsafe { result::set_filter4d_descriptor(made.0, kind(precision), last, shape) }
            .map_err(refused)?;
        Ok(made)
    }
}

impl Drop for FilterDescriptor {
    fn drop(&mut self) {
        // SAFETY: created above, destroyed once.
        let _ = unsafe { result::destroy_filter_descriptor(self.0) };
    }
}

struct ConvolutionDescriptor(sys::cudnnConvolutionDescriptor_t);

// SAFETY: as for tensors.
unsafe impl Send for ConvolutionDescriptor {}

impl ConvolutionDescriptor {
    fn new(conv: Conv2d, precision: Precision) -> Result<Self, ComputeError> {
        use sys::cudnnMathType_t as Math;
        let made = ConvolutionDescriptor(result::create_convolution_descriptor().map_err(refused)?);
        let (stride, dilation) = (number(conv.stride), number(conv.dilation));
        let math = match precision {
            // Without TF32, which the default allows.
            Precision::F32 => Math::CUDNN_FMA_MATH,
            Precision::Tf32 => Math::CUDNN_DEFAULT_MATH,
            Precision::Bf16 | Precision::F16 => Math::CUDNN_TENSOR_OP_MATH,
        };
        // SAFETY: just created.
        unsafe {
            result::set_convolution2d_descriptor(
                made.0,
                number(conv.padding.height),
                number(conv.padding.width),
                stride,
                stride,
                dilation,
                dilation,
                sys::cudnnConvolutionMode_t::CUDNN_CROSS_CORRELATION,
                sys::cudnnDataType_t::CUDNN_DATA_FLOAT,
            )
            .map_err(refused)?;
            result::set_convolution_math_type(made.0, math).map_err(refused)?;
        }
        Ok(made)
    }
}

impl Drop for ConvolutionDescriptor {
    fn drop(&mut self) {
        // SAFETY: created above, destroyed once.
        let _ = unsafe { result::destroy_convolution_descriptor(self.0) };
    }
}

struct ActivationDescriptor(sys::cudnnActivationDescriptor_t);

// SAFETY: as for tensors.
unsafe impl Send for ActivationDescriptor {}

impl ActivationDescriptor {
    fn new(relu: bool) -> Result<Self, ComputeError> {
        use sys::cudnnActivationMode_t as Mode;
        let mode = match relu {
            true => Mode::CUDNN_ACTIVATION_RELU,
            false => Mode::CUDNN_ACTIVATION_IDENTITY,
        };
        let nan = sys::cudnnNanPropagation_t::CUDNN_NOT_PROPAGATE_NAN;
        let mut made = ActivationDescriptor(std::ptr::null_mut());
        // SAFETY: the description is written before it is set.
        unsafe {
            let created = sys::cudnnCreateActivationDescriptor(&raw mut made.0);
            created.result().map_err(refused)?;
            let set = sys::cudnnSetActivationDescriptor(made.0, mode, nan, 0.0);
            set.result().map_err(refused)?;
        }
        Ok(made)
    }
}

impl Drop for ActivationDescriptor {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: created above, destroyed once.
            let _ = unsafe { sys::cudnnDestroyActivationDescriptor(self.0) };
        }
    }
}

fn refused(error: result::CudnnError) -> ComputeError {
    GpuError::Other(format!("cuDNN: {error}")).into()
}
