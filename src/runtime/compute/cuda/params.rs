//! The parameters of the kernels: the structures of `kernels/params.h`, field by field.
//! Pointers are addresses on the device; views have a pitch, in values, from pixel to pixel.

use crate::compute::gpu::MOST_MASKS;
use crate::network::Activation;

/// Scale, bias, sum and activation of a value before it is written.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TailParams {
    /// Float32; 0 for none.
    pub scale: u64,
    /// Float32; 0 for none.
    pub bias: u64,
    /// 0 for none.
    pub residual: u64,
    pub residual_pitch: i32,
    /// 0 for none; otherwise as [`code`].
    pub activation: i32,
    /// The activation's own numbers.
    pub first: f32,
    pub second: f32,
}

/// Returns an activation's number and its parameters in the kernels' form.
pub(super) const fn code(activation: Option<Activation>) -> (i32, f32, f32) {
    match activation {
        None => (0, 0.0, 0.0),
        Some(Activation::Relu) => (1, 0.0, 0.0),
        Some(Activation::Relu6) => (2, 0.0, 0.0),
        Some(Activation::Clip { least, most }) => (3, least, most),
        Some(Activation::LeakyRelu { slope }) => (4, slope, 0.0),
        Some(Activation::Elu { alpha }) => (5, alpha, 0.0),
        Some(Activation::Sigmoid) => (6, 0.0, 0.0),
        Some(Activation::HardSigmoid { slope, shift }) => (7, slope, shift),
        Some(Activation::Silu) => (8, 0.0, 0.0),
        Some(Activation::HardSwish) => (9, 0.0, 0.0),
        Some(Activation::Gelu) => (10, 0.0, 0.0),
        Some(Activation::GeluTanh) => (11, 0.0, 0.0),
        Some(Activation::Tanh) => (12, 0.0, 0.0),
        Some(Activation::Softplus) => (13, 0.0, 0.0),
        Some(Activation::Mish) => (14, 0.0, 0.0),
        Some(Activation::FakeQuantise { scale, least, most }) => (15, scale, packed(least, most)),
    }
}

/// Returns the bits of two bounds, at most 65 535 below and above 0, as one number.
const fn packed(least: f32, most: f32) -> f32 {
    f32::from_bits(((-least) as u32) << 16 | most as u32 & 0xFFFF)
}

/// Rows whose addresses one launch carries.
pub(super) const PLACED: usize = 256;

/// Addresses of samples for a lane's table.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct PlaceParams {
    pub to: u64,
    pub count: i32,
    pub unused: i32,
    pub addresses: [u64; PLACED],
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EnterParams {
    pub samples: u64,
    pub to: u64,
    pub rows: i32,
    pub channels: i32,
    pub padded: i32,
    pub pixels: i32,
    pub pitch: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PointwiseParams {
    pub from: u64,
    pub to: u64,
    pub from_pitch: i32,
    pub to_pitch: i32,
    pub pixels: i64,
    pub channels: i32,
    pub tail: TailParams,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowParams {
    pub rows: i32,
    pub channels: i32,
    pub in_height: i32,
    pub in_width: i32,
    pub out_height: i32,
    pub out_width: i32,
    pub kernel_height: i32,
    pub kernel_width: i32,
    pub stride: i32,
    pub pad_height: i32,
    pub pad_width: i32,
    pub dilation: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PoolingParams {
    pub from: u64,
    pub to: u64,
    pub from_pitch: i32,
    pub to_pitch: i32,
    pub window: WindowParams,
    pub count_padding: i32,
}

/// Also for resizing.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RegionsParams {
    pub from: u64,
    pub to: u64,
    pub from_pitch: i32,
    pub to_pitch: i32,
    pub rows: i32,
    pub channels: i32,
    pub in_height: i32,
    pub in_width: i32,
    pub out_height: i32,
    pub out_width: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GroupedParams {
    pub from: u64,
    pub weights: u64,
    pub to: u64,
    pub from_pitch: i32,
    pub to_pitch: i32,
    pub window: WindowParams,
    pub in_channels: i32,
    pub groups: i32,
    pub tail: TailParams,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GatherParams {
    pub from: u64,
    pub to: u64,
    pub from_pitch: i32,
    pub to_pitch: i32,
    pub window: WindowParams,
    pub in_channels: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FlattenParams {
    pub from: u64,
    pub to: u64,
    pub from_pitch: i32,
    pub to_pitch: i32,
    pub rows: i32,
    pub channels: i32,
    pub pixels: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PairedParams {
    pub from: u64,
    pub other: u64,
    pub to: u64,
    pub from_pitch: i32,
    pub other_pitch: i32,
    pub to_pitch: i32,
    /// 0: sum.
    pub product: i32,
    pub pixels: i64,
    pub channels: i32,
    /// Pixels of `from` for which a pixel of `other` is used.
    pub shared: i32,
    pub tail: TailParams,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ShuffleParams {
    pub from: u64,
    pub to: u64,
    pub from_pitch: i32,
    pub to_pitch: i32,
    pub pixels: i64,
    pub channels: i32,
    pub groups: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ResponseNormParams {
    pub from: u64,
    pub to: u64,
    pub from_pitch: i32,
    pub to_pitch: i32,
    pub pixels: i64,
    pub channels: i32,
    pub before: i32,
    pub behind: i32,
    pub share: f32,
    pub beta: f32,
    pub k: f32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LayerNormParams {
    pub from: u64,
    pub to: u64,
    pub from_pitch: i32,
    pub to_pitch: i32,
    pub pixels: i64,
    pub channels: i32,
    pub eps: f32,
    pub tail: TailParams,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SoftmaxParams {
    pub from: u64,
    pub to: u64,
    pub from_pitch: i32,
    pub to_pitch: i32,
    pub rows: i32,
    pub channels: i32,
    pub masked: i32,
    pub unused: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AnswerParams {
    pub from: u64,
    pub to: u64,
    pub from_pitch: i32,
    pub rows: i32,
    pub channels: i32,
    pub pixels: i32,
}

/// Axes of a tensor.
pub(super) const AXES: usize = 8;

/// The place of a tensor.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TensorParams {
    pub at: u64,
    /// Values from a row (sample) to the next.
    pub row: i64,
    pub strides: [i32; AXES],
    /// 1: float32 whatever the kernel's type.
    pub wide: i32,
    pub unused: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MapParams {
    pub first: TensorParams,
    pub second: TensorParams,
    pub third: TensorParams,
    pub to: TensorParams,
    pub sizes: [i32; AXES],
    pub rows: i64,
    pub values: i32,
    /// As `gpu::functions` has them.
    pub function: i32,
    pub number: f32,
    pub unused: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReduceParams {
    pub from: TensorParams,
    pub to: TensorParams,
    pub sizes: [i32; AXES],
    pub along: [i32; AXES],
    pub steps: [i32; AXES],
    pub rows: i64,
    pub values: i32,
    pub count: i32,
    /// As `gpu::functions` has them.
    pub reduction: i32,
    /// 0: a thread for each value, else a block.
    pub together: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ScanParams {
    pub from: TensorParams,
    pub to: TensorParams,
    pub sizes: [i32; AXES],
    pub rows: i64,
    pub values: i32,
    pub count: i32,
    pub from_step: i32,
    pub to_step: i32,
    pub exclusive: i32,
    pub reverse: i32,
    pub product: i32,
    pub unused: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LookupParams {
    pub table: u64,
    pub indices: u64,
    pub to: u64,
    pub table_row: i64,
    pub indices_row: i64,
    pub to_row: i64,
    pub rows: i64,
    pub before: i32,
    pub count: i32,
    pub after: i32,
    pub listed: i32,
    pub wide_table: i32,
    pub wide_indices: i32,
    pub wide_to: i32,
    pub unused: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MatrixProductParams {
    pub left: TensorParams,
    pub right: TensorParams,
    pub to: TensorParams,
    pub sizes: [i32; AXES],
    pub rows: i64,
    pub matrices: i32,
    pub lines: i32,
    pub depth: i32,
    pub columns: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AttentionParams {
    pub query: TensorParams,
    pub key: TensorParams,
    pub value: TensorParams,
    pub to: TensorParams,
    pub masks: [TensorParams; MOST_MASKS],
    pub scale: u64,
    pub sizes: [i32; AXES],
    pub rows: i64,
    pub heads: i32,
    pub queries: i32,
    pub keys: i32,
    pub depth: i32,
    pub features: i32,
    pub mask_count: i32,
    pub guarded: i32,
    pub unused: i32,
}
