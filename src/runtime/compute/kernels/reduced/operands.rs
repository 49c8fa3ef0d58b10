//! The operands of one task of a product of reduced numbers, and of one tile.

use std::ops::Range;

use super::super::activations::RowActivation;
use super::super::tile::Tile;
use super::form::ByteForm;
use super::kernel::ReducedKernel;
use super::residual::Residual;
use super::rows::StepOutputs;
use crate::network::Activation;

/// Rows of one task.
pub(super) struct ReducedBlock<'a> {
    /// The fastest kernel that is exact for the weights.
    pub kernel: ReducedKernel,
    pub values: *const u8,
    pub rows: Range<usize>,
    pub outputs: StepOutputs<'a>,
    pub residual: Residual<'a>,
    /// Whether answers that become bytes may be NaN.
    pub may_make_nan: bool,
    /// The activation, if it is applied after each tile.
    pub pass: Option<RowActivation>,
}

/// One tile of a product of reduced precision.
#[derive(Clone, Copy)]
pub(super) struct ReducedTile {
    /// The address that offsets of rows count from, in numbers.
    pub values: *const u8,
    /// First of the rows to add as reduced numbers, or null.
    pub residual: *const u8,
    pub residual_stride: usize,
    /// The destination of reduced numbers, or null.
    pub out: *mut u8,
    pub out_stride: usize,
    /// For bytes: the scale of each column's sums, and the initial values of the sums.
    pub scales: *const f32,
    pub starts: *const i32,
    /// For bytes: the numbers to which answers are rounded before the sum, if they are; those that
    /// are added; and those that are written.
    pub rounding: Option<ByteForm>,
    /// Constants of columns, added after the rounding, or null.
    pub shift: *const f32,
    pub added: ByteForm,
    pub written: ByteForm,
    /// Weights, bias, and the floats to add and to write, each null if there are none. A float of
    /// its panel is a group of weights of a column, and its depth counts groups; its base is not
    /// used.
    pub end: Tile,
}

impl ReducedTile {
    /// Returns whether it adds and writes only bytes, and its activation does not depend on their
    /// scale.
    #[inline(always)]
    pub(super) fn is_of_bytes_alone(&self) -> bool {
        let end = &self.end;
        let scales = matches!(end.activation, None | Some(Activation::Relu));
        !self.out.is_null() && end.out.is_null() && end.residual.is_null() && scales
    }
}
