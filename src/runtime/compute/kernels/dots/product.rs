//! The inner loop of products of numbers of fewer bits.

use super::super::tile::Tile;
use super::super::vector::Vector;
use super::DotVector;

/// Adds the products of a tile to its sums; offsets of rows count numbers from `values` on. A float of the
/// tile's panel is a group of weights of a column, and its depth counts these.
///
/// # Safety
/// The processor has the kernel's instructions; `depth` groups can be read at each row of each tap, and
/// the panel has `taps · depth` lines.
#[inline(always)]
pub(in super::super) unsafe fn multiply<D: DotVector, const M: usize, const N: usize>(
    values: *const u8,
    end: &Tile,
    sums: &mut [[D; N]; M],
) {
    // SAFETY: `depth` groups at each row of each tap, and `taps · depth` lines of the panel.
    unsafe {
        let mut line = end.panel;
        let mut ahead = line.wrapping_add(end.prefetch.from);
        for tap in 0..end.taps {
            let mut rows = [values; M];
            for (m, row) in rows.iter_mut().enumerate() {
                let offset = *end.rows.add(tap * end.rows_stride + m);
                // Offsets of zeros wrap around to before the base.
                *row = row.wrapping_add(offset.wrapping_mul(D::BYTES));
            }
            for k in 0..end.depth {
                let mut weights = [D::weights(line); N];
                for (n, w) in weights.iter_mut().enumerate().skip(1) {
                    *w = D::weights(line.add(n * D::Float::LANES));
                }
                line = line.add(N * D::Float::LANES);
                D::Float::prefetch_l2(ahead);
                ahead = ahead.wrapping_add(end.prefetch.step);
                for m in 0..M {
                    let values = D::spread(rows[m].add(4 * k));
                    for n in 0..N {
                        sums[m][n] = sums[m][n].dot(values, weights[n]);
                    }
                }
            }
        }
    }
}
