//! Activations of rows that were just written and are still in cache.
//!
//! ReLU and ReLU6 are applied in registers as values are written, as is HardSwish for reduced
//! numbers. Other activations would make each of the many tile functions far longer. They run as a
//! pass over a tile's rows or a pixel after it is written.

use super::accuracy::{Accuracy, FloatAccuracy};
use super::functions::{
    elu, fake_quantise, gelu, gelu_tanh, hard_sigmoid, hard_swish, leaky_relu, mish, sigmoid, silu,
    softplus, tanh,
};
use super::tile::activated;
use super::vector::{Plain, Vector};
use crate::compute::family::Family;
use crate::network::Activation;

/// Rows of values that a tile wrote.
#[derive(Clone, Copy)]
pub(super) struct TileRows {
    pub start: *mut f32,
    /// Floats from one row to the next.
    pub stride: usize,
    pub rows: usize,
    pub columns: usize,
}

/// The destination of the answers of rows, and their accuracy.
///
/// # Safety
/// All methods: as for [`Vector`]; the row has the columns written, and nothing else uses them
/// meanwhile.
pub(super) trait ActivatedRows: Copy {
    type Accuracy: Accuracy;

    unsafe fn store<V: Vector>(self, answers: V, row: usize, column: usize);
    /// The first `n < LANES` answers.
    unsafe fn store_part<V: Vector>(self, answers: V, row: usize, column: usize, n: usize);
}

impl ActivatedRows for TileRows {
    type Accuracy = FloatAccuracy;

    #[inline(always)]
    unsafe fn store<V: Vector>(self, answers: V, row: usize, column: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe { answers.store(self.start.add(row * self.stride + column)) }
    }
    #[inline(always)]
    unsafe fn store_part<V: Vector>(self, answers: V, row: usize, column: usize, n: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe { answers.store_part(self.start.add(row * self.stride + column), n) }
    }
}

/// A function that applies an activation to rows in place.
///
/// # Safety
/// The processor has the family's instructions, the rows exist, and nothing else uses them
/// meanwhile.
type RowsFn = unsafe fn(Activation, TileRows);

/// An activation that passes over rows, for one family.
#[derive(Clone, Copy)]
pub(super) struct RowActivation {
    activation: Activation,
    run: RowsFn,
}

impl RowActivation {
    /// Returns the pass of `activation`, or `None` if there is no activation or it is applied in
    /// registers.
    ///
    /// # Safety
    /// The processor has the instructions of `family`.
    pub(super) unsafe fn new(family: Family, activation: Option<Activation>) -> Option<Self> {
        let activation = activation?;
        let run = match activation {
            Activation::Relu | Activation::Relu6 => return None,
            _ => rows_fn(family),
        };
        Some(RowActivation { activation, run })
    }

    /// As [`RowActivation::new`], of a tile that writes reduced numbers.
    ///
    /// # Safety
    /// As for [`RowActivation::new`].
    pub(super) unsafe fn of_reduced(
        family: Family,
        activation: Option<Activation>,
    ) -> Option<Self> {
        // SAFETY: guaranteed by the caller.
        unsafe { RowActivation::new(family, activation.filter(|&of| !is_short(Some(of)))) }
    }

    /// Returns the activation that is applied.
    pub(super) fn activation(&self) -> Activation {
        self.activation
    }

    /// Applies the activation to values.
    #[inline(always)]
    pub(super) fn row(&self, row: &mut [f32]) {
        // SAFETY: the family is available, as was promised when the pass was made; the slice
        // is one row.
        unsafe { (self.run)(self.activation, one_row(row)) }
    }

    /// Applies the activation to rows.
    ///
    /// # Safety
    /// The rows exist, and nothing else uses them meanwhile.
    pub(super) unsafe fn rows(&self, rows: TileRows) {
        // SAFETY: the family is available; the rows exist.
        unsafe { (self.run)(self.activation, rows) }
    }
}

/// Returns whether an activation takes only a few instructions. Tiles that write reduced numbers
/// apply it in registers.
pub(super) fn is_short(activation: Option<Activation>) -> bool {
    use Activation::{HardSwish, Relu, Relu6};
    matches!(activation, None | Some(Relu | Relu6 | HardSwish))
}

/// Applies an activation that [`is_short`]; any other one leaves the value as it is.
///
/// # Safety
/// As for [`Vector`].
#[inline(always)]
pub(super) unsafe fn activated_shortly<V: Vector>(value: V, activation: Option<Activation>) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match activation {
            Some(Activation::HardSwish) => hard_swish(value),
            activation => activated(value, activation),
        }
    }
}

fn one_row(row: &mut [f32]) -> TileRows {
    TileRows {
        start: row.as_mut_ptr(),
        stride: 0,
        rows: 1,
        columns: row.len(),
    }
}

/// Applies any activation to values, without particular instructions.
pub fn activate_plainly(activation: Activation, row: &mut [f32]) {
    // SAFETY: every processor runs the plain kernels; the slice is one row.
    unsafe { in_place::<Plain>(activation, one_row(row)) }
}

fn rows_fn(family: Family) -> RowsFn {
    match family {
        #[cfg(target_arch = "x86_64")]
        Family::Avx512 => x86::avx512,
        #[cfg(target_arch = "x86_64")]
        Family::Avx2Vnni | Family::Avx2 => x86::avx2,
        #[cfg(target_arch = "aarch64")]
        Family::NeonDot | Family::Neon => arm::neon,
        _ => in_place::<Plain>,
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::vector::{Avx2, Avx512};
    use super::{TileRows, in_place};
    use crate::network::Activation;

    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn avx512(activation: Activation, rows: TileRows) {
        // SAFETY: guaranteed by `RowsFn`.
        unsafe { in_place::<Avx512>(activation, rows) }
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn avx2(activation: Activation, rows: TileRows) {
        // SAFETY: guaranteed by `RowsFn`.
        unsafe { in_place::<Avx2>(activation, rows) }
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::super::vector::Neon;
    use super::{TileRows, in_place};
    use crate::network::Activation;

    #[target_feature(enable = "neon")]
    pub(super) unsafe fn neon(activation: Activation, rows: TileRows) {
        // SAFETY: guaranteed by `RowsFn`.
        unsafe { in_place::<Neon>(activation, rows) }
    }
}

/// Writes an expression of each vector of all rows.
macro_rules! each {
    ($rows:expr, $to:expr, $x:ident => $value:expr) => {
        for row in 0..$rows.rows {
            let start = $rows.start.add(row * $rows.stride);
            let mut at = 0;
            while at + V::LANES <= $rows.columns {
                let $x = V::load(start.add(at));
                $to.store($value, row, at);
                at += V::LANES;
            }
            if at < $rows.columns {
                let $x = V::load_part(start.add(at), $rows.columns - at);
                $to.store_part($value, row, at, $rows.columns - at);
            }
        }
    };
}

/// # Safety
/// As for [`RowsFn`].
#[inline(always)]
unsafe fn in_place<V: Vector>(activation: Activation, rows: TileRows) {
    // SAFETY: guaranteed by the caller.
    unsafe { activate::<V, _>(Some(activation), rows, rows) }
}

/// Writes activated rows to their destination.
///
/// # Safety
/// As for [`RowsFn`], of the rows read, and of the destination.
#[inline(always)]
pub(super) unsafe fn activate<V: Vector, T: ActivatedRows>(
    activation: Option<Activation>,
    rows: TileRows,
    to: T,
) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let Some(activation) = activation else {
            each!(rows, to, x => x);
            return;
        };
        match activation {
            Activation::Relu => each!(rows, to, x => x.relu()),
            Activation::Relu6 => each!(rows, to, x => x.relu().at_most(6.0)),
            Activation::Clip { least, most } => {
                each!(rows, to, x => x.at_least(least).at_most(most));
            }
            Activation::LeakyRelu { slope } => each!(rows, to, x => leaky_relu(x, slope)),
            Activation::Elu { alpha } => each!(rows, to, x => elu(x, alpha)),
            Activation::Sigmoid => each!(rows, to, x => sigmoid::<V, T::Accuracy>(x)),
            Activation::HardSigmoid { slope, shift } => {
                each!(rows, to, x => hard_sigmoid(x, slope, shift));
            }
            Activation::Silu => each!(rows, to, x => silu::<V, T::Accuracy>(x)),
            Activation::HardSwish => each!(rows, to, x => hard_swish(x)),
            Activation::Gelu => each!(rows, to, x => gelu::<V, T::Accuracy>(x)),
            Activation::GeluTanh => each!(rows, to, x => gelu_tanh::<V, T::Accuracy>(x)),
            Activation::Tanh => each!(rows, to, x => tanh(x)),
            Activation::Softplus => each!(rows, to, x => softplus(x)),
            Activation::Mish => each!(rows, to, x => mish(x)),
            Activation::FakeQuantise { scale, least, most } => {
                each!(rows, to, x => fake_quantise(x, scale, [least, most]));
            }
        }
    }
}
