//! Matrix products through the `gemm` crate, Candle's own.

use gemm::{Parallelism, gemm};

/// A row-major matrix whose rows may lie apart.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a> {
    pub data: &'a [f32],
    pub rows: usize,
    pub columns: usize,
    /// Floats from one row to the next.
    pub stride: usize,
}

impl Matrix<'_> {
    fn is_inside(&self, len: usize) -> bool {
        self.columns <= self.stride
            && (self.rows == 0 || (self.rows - 1) * self.stride + self.columns <= len)
    }
}

#[allow(unsafe_code, reason = "the product's interface takes pointers")]
/// `out = left · right`, `out` with `stride` floats a row, on this thread alone.
pub(super) fn multiply(out: &mut [f32], stride: usize, left: Matrix<'_>, right: Matrix<'_>) {
    let (rows, columns, depth) = (left.rows, right.columns, left.columns);
    assert_eq!(depth, right.rows, "inner sizes of a product");
    assert!(left.is_inside(left.data.len()) && right.is_inside(right.data.len()));
    assert!(columns <= stride && (rows == 0 || (rows - 1) * stride + columns <= out.len()));
    // SAFETY: the assertions above keep every row and column that is read or
    // written inside its slice, and `out` is borrowed mutably, so it overlaps neither.
    unsafe {
        gemm(
            rows,
            columns,
            depth,
            out.as_mut_ptr(),
            1,
            stride as isize,
            false,
            left.data.as_ptr(),
            1,
            left.stride as isize,
            right.data.as_ptr(),
            1,
            right.stride as isize,
            0.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}
