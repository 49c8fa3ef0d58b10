//! The operands of one tile of a product of reduced numbers.

use super::super::tile::Tile;
use super::form::ByteForm;

/// One tile of a product of reduced precision.
#[derive(Clone, Copy)]
pub(super) struct ReducedTile {
    /// The address that offsets of rows count from, in numbers.
    pub values: *const u8,
    /// First of the rows to add as reduced numbers, or null.
    pub residual: *const u8,
    pub residual_stride: usize,
    /// Where reduced numbers go, or null.
    pub out: *mut u8,
    pub out_stride: usize,
    /// Of bytes, the scale of each column's sums, and what these begin with.
    pub scales: *const f32,
    pub starts: *const i32,
    /// Of bytes, the numbers that are added and those that are written.
    pub added: ByteForm,
    pub written: ByteForm,
    /// Weights, bias, and the floats that are added and written, each null if there are none. A float
    /// of its panel is a group of weights of a column, and its depth counts these; its base is not
    /// used.
    pub end: Tile,
}
