//! One side of a Winograd tile: the transforms along a line, and the weights, with every filter
//! transformed, as a matrix for each point.
//!
//! Cook and Toom's algorithm for `outputs` values of a filter of `taps` needs one multiplication
//! for each point: as many as necessary of 0, ±1, ±2, ±½ and infinity (Lavin and Gray, "Fast
//! algorithms for convolutional neural networks", arXiv 1509.09308, section 4; Barabasz et al.,
//! arXiv 1803.10986, for the points). Points in pairs ±p share all but the last step.

use super::super::panels::{Filters, Panels};
use super::super::vector::Vector;

/// The transform of a line: `points` values of input for `outputs` values of a filter of
/// `taps`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TileAxis {
    pub points: usize,
    pub outputs: usize,
    pub taps: usize,
}

/// The most points of a line.
pub(super) const MAX_POINTS: usize = 8;

/// Points with their negatives, for up to 4, 6 and 8 points.
const PAIRS: [f64; 3] = [1.0, 2.0, 0.5];

impl TileAxis {
    /// Iterates over the transforms for a filter of `taps`; one tap needs none.
    ///
    /// Rounding errors grow with points and taps. These transforms keep a convolution within 1e-5
    /// of its largest answer; 8 points for 5 taps on both sides would not (1e-4). If channels are
    /// nearly alike and cancel, points are larger than answers, and 6 points for 5 taps stay within
    /// 5e-5.
    pub(super) fn for_taps(taps: usize) -> impl Iterator<Item = TileAxis> {
        let points: &[usize] = match taps {
            1 => &[1],
            3 => &[4, 6, 8],
            5 => &[6],
            7 => &[8],
            _ => &[],
        };
        points.iter().map(move |&points| TileAxis {
            points,
            outputs: points + 1 - taps,
            taps,
        })
    }

    /// Returns the tiles along a side of `side` outputs.
    pub(super) fn tiles(self, side: usize) -> usize {
        side.div_ceil(self.outputs)
    }

    /// Returns the filter's transform: a row of `taps` factors for each point. For points p_i, row
    /// i is `p_i^j / Π(p_i - p_k)`; the row of infinity is the last tap.
    fn filter(self) -> Vec<Vec<f64>> {
        if self.points == 1 {
            return vec![vec![1.0]];
        }
        let pairs = PAIRS[..self.points / 2 - 1].iter();
        let mut points = vec![0.0];
        points.extend(pairs.flat_map(|&p| [p, -p]));
        let powers = |p: f64| (0..self.taps).map(move |j| p.powi(j as i32));
        let mut rows: Vec<Vec<f64>> = points
            .iter()
            .map(|&p| {
                let others = points.iter().filter(|&&q| q != p);
                let norm: f64 = others.map(|q| p - q).product();
                powers(p).map(|v| v / norm).collect()
            })
            .collect();
        let last = (0..self.taps).map(|j| if j + 1 == self.taps { 1.0 } else { 0.0 });
        rows.push(last.collect());
        rows
    }
}

/// Transforms a line of `N` values of input to its `N` points.
///
/// Written without closures: these would be compiled without the family's instructions.
///
/// # Safety
/// As for [`Vector`].
#[inline(always)]
pub(super) unsafe fn forward<V: Vector, const N: usize>(d: [V; N]) -> [V; N] {
    let mut p = d;
    // SAFETY: guaranteed by the caller.
    unsafe {
        if N == 4 {
            p[0] = d[2].sub(d[0]);
            p[1] = d[2].add(d[1]);
            p[2] = d[2].sub(d[1]);
            p[3] = d[3].sub(d[1]);
        } else if N == 6 {
            p[0] = end6(d[0], d[2], d[4]);
            (p[1], p[2]) = pair(weigh(d[4], d[2], -4.0), weigh(d[3], d[1], -4.0), 1.0);
            (p[3], p[4]) = pair(d[4].sub(d[2]), d[3].sub(d[1]), 2.0);
            p[5] = end6(d[1], d[3], d[5]);
        } else if N == 8 {
            p[0] = end8(d[0], d[2], d[4], d[6]);
            let (even, odd) = ([d[2], d[4], d[6]], [d[1], d[3], d[5]]);
            (p[1], p[2]) = pair(inner8(even, -4.25, 1.0), inner8(odd, -4.25, 1.0), 1.0);
            (p[3], p[4]) = pair(inner8(even, -1.25, 0.25), inner8(odd, -1.25, 0.25), 2.0);
            (p[5], p[6]) = pair(inner8(even, -5.0, 4.0), inner8(odd, -5.0, 4.0), 0.5);
            p[7] = end8(d[1], d[3], d[5], d[7]);
        }
    }
    p
}

/// `a + c · b`.
#[inline(always)]
unsafe fn weigh<V: Vector>(a: V, b: V, c: f32) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe { a.mul_add(b, V::splat(c)) }
}

/// Returns the two points ±p from the sums over even and odd places.
#[inline(always)]
unsafe fn pair<V: Vector>(even: V, odd: V, p: f32) -> (V, V) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        if p == 1.0 {
            (even.add(odd), even.sub(odd))
        } else {
            (weigh(even, odd, p), weigh(even, odd, -p))
        }
    }
}

/// `4a - 5b + c`, which has the roots ±1 and ±2.
#[inline(always)]
unsafe fn end6<V: Vector>(a: V, b: V, c: V) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe { weigh(weigh(c, b, -5.0), a, 4.0) }
}

/// `-a + 5.25b - 5.25c + d`, which has the roots ±1, ±2 and ±½.
#[inline(always)]
unsafe fn end8<V: Vector>(a: V, b: V, c: V, d: V) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe { weigh(d.sub(a), c.sub(b), -5.25) }
}

/// `a · x0 + b · x1 + x2`.
#[inline(always)]
unsafe fn inner8<V: Vector>(x: [V; 3], b: f32, a: f32) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe {
        if a == 1.0 {
            weigh(x[2].add(x[0]), x[1], b)
        } else {
            weigh(weigh(x[2], x[1], b), x[0], a)
        }
    }
}

/// Transforms a line of `N` points' products back to `M` outputs: output j is the sum of
/// all products times `p^j`; 0 is in the first, infinity in the last.
///
/// # Safety
/// As for [`Vector`].
#[inline(always)]
pub(super) unsafe fn back<V: Vector, const N: usize, const M: usize>(p: [V; N]) -> [V; M] {
    let mut out = [p[0]; M];
    if N == 1 {
        return out;
    }
    // SAFETY: guaranteed by the caller.
    unsafe {
        for (j, value) in out.iter_mut().enumerate() {
            let mut sum = term(p[1], p[2], j);
            for i in 1..N / 2 - 1 {
                let power = PAIRS[i].powi(j as i32) as f32;
                sum = weigh(sum, term(p[2 * i + 1], p[2 * i + 2], j), power);
            }
            if j == 0 {
                sum = sum.add(p[0]);
            }
            if j + 1 == M {
                sum = sum.add(p[N - 1]);
            }
            *value = sum;
        }
    }
    out
}

/// Returns the contribution of a pair ±p to output `j`, without the factor `|p|^j`.
#[inline(always)]
unsafe fn term<V: Vector>(plus: V, minus: V, j: usize) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe {
        if j.is_multiple_of(2) {
            plus.add(minus)
        } else {
            plus.sub(minus)
        }
    }
}

/// The most taps of a filter's side.
const MAX_TAPS: usize = 7;

/// Columns that are transformed together, one after the other in memory.
const COLUMNS: usize = 16;

type FilterColumns = [f32; COLUMNS];

/// Fills `packed` with the panels of each point of `rows × columns`.
pub(super) fn pack(filters: Filters<'_>, sides: [TileAxis; 2], panels: Panels, packed: &mut [f32]) {
    let transform = sides.map(TileAxis::filter);
    for panel in (0..panels.count()).map(|i| panels.panel(i)) {
        let width = panel.vectors * panels.shape.lanes;
        for input in 0..panels.depth {
            for first in (0..width).step_by(COLUMNS) {
                let column = panel.column + first;
                let count = panels.columns.saturating_sub(column).min(COLUMNS);
                let taps = gather(filters, column, count, input);
                let line = panel.at + input * width + first;
                let wide = COLUMNS.min(width - first);
                spread(&taps, &transform, |point, values| {
                    let at = point * panels.floats() + line;
                    packed[at..at + wide].copy_from_slice(&values[..wide]);
                });
            }
        }
    }
}

/// Returns the taps of `count` filters from `column` on, for one input channel.
fn gather(
    filters: Filters<'_>,
    column: usize,
    count: usize,
    input: usize,
) -> [FilterColumns; MAX_TAPS * MAX_TAPS] {
    let mut taps = [[0.0; COLUMNS]; MAX_TAPS * MAX_TAPS];
    for c in 0..count {
        let factor = filters.factor(column + c);
        for (tap, &weight) in taps.iter_mut().zip(filters.kernel(column + c, input)) {
            tap[c] = factor * weight;
        }
    }
    taps
}

/// Transforms lines, then columns, and calls `give` with each point and its values.
fn spread(
    taps: &[FilterColumns],
    [rows, columns]: &[Vec<Vec<f64>>; 2],
    mut give: impl FnMut(usize, &FilterColumns),
) {
    let mut lines = [[[0.0; COLUMNS]; MAX_TAPS]; MAX_POINTS];
    let width = columns[0].len();
    for (line, factors) in lines.iter_mut().zip(rows) {
        for (x, value) in line[..width].iter_mut().enumerate() {
            *value = weighted(factors, |y| &taps[y * width + x]);
        }
    }
    for (y, line) in lines[..rows.len()].iter().enumerate() {
        for (x, factors) in columns.iter().enumerate() {
            give(y * columns.len() + x, &weighted(factors, |i| &line[i]));
        }
    }
}

#[inline(always)]
fn weighted<'a>(factors: &[f64], value: impl Fn(usize) -> &'a FilterColumns) -> FilterColumns {
    let mut sum = [0.0; COLUMNS];
    for (i, &factor) in factors.iter().enumerate() {
        for (s, v) in sum.iter_mut().zip(value(i)) {
            *s += factor as f32 * v;
        }
    }
    sum
}
