//! Activations of rows that were just written, and so are in cache.
//!
//! ReLU and ReLU6 are applied in registers as values are written. The others would make each of
//! the many tile functions far longer; they pass over a tile's rows, or a pixel's, behind them.

use super::functions::{
    elu, fake_quantise, gelu, gelu_tanh, hard_sigmoid, hard_swish, leaky_relu, mish, sigmoid, silu,
    softplus, tanh,
};
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
    /// Returns the pass of `activation`, or `None` where there is none or it is applied in
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

fn one_row(row: &mut [f32]) -> TileRows {
    TileRows {
        start: row.as_mut_ptr(),
        stride: 0,
        rows: 1,
        columns: row.len(),
    }
}

/// Applies any activation to values, without particular instructions.
pub(in crate::compute) fn activate_plainly(activation: Activation, row: &mut [f32]) {
    // SAFETY: every processor runs the plain kernels; the slice is one row.
    unsafe { run::<Plain>(activation, one_row(row)) }
}

fn rows_fn(family: Family) -> RowsFn {
    match family {
        #[cfg(target_arch = "x86_64")]
        Family::Avx512 => x86::avx512,
        #[cfg(target_arch = "x86_64")]
        Family::Avx2Vnni | Family::Avx2 => x86::avx2,
        #[cfg(target_arch = "aarch64")]
        Family::NeonDot | Family::Neon => arm::neon,
        _ => run::<Plain>,
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::vector::{Avx2, Avx512};
    use super::{TileRows, run};
    use crate::network::Activation;

    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn avx512(activation: Activation, rows: TileRows) {
        // SAFETY: as `RowsFn` says.
        unsafe { run::<Avx512>(activation, rows) }
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn avx2(activation: Activation, rows: TileRows) {
        // SAFETY: as `RowsFn` says.
        unsafe { run::<Avx2>(activation, rows) }
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::super::vector::Neon;
    use super::{TileRows, run};
    use crate::network::Activation;

    #[target_feature(enable = "neon")]
    pub(super) unsafe fn neon(activation: Activation, rows: TileRows) {
        // SAFETY: as `RowsFn` says.
        unsafe { run::<Neon>(activation, rows) }
    }
}

/// Replaces each vector of all rows by an expression of it.
macro_rules! each {
    ($rows:expr, $x:ident => $value:expr) => {
        for row in 0..$rows.rows {
            let start = $rows.start.add(row * $rows.stride);
            let mut at = 0;
            while at + V::LANES <= $rows.columns {
                let $x = V::load(start.add(at));
                $value.store(start.add(at));
                at += V::LANES;
            }
            if at < $rows.columns {
                let $x = V::load_part(start.add(at), $rows.columns - at);
                $value.store_part(start.add(at), $rows.columns - at);
            }
        }
    };
}

#[inline(always)]
unsafe fn run<V: Vector>(activation: Activation, rows: TileRows) {
    // SAFETY: as `RowsFn` says.
    unsafe {
        match activation {
            Activation::Relu => each!(rows, x => x.relu()),
            Activation::Relu6 => each!(rows, x => x.relu().at_most(6.0)),
            Activation::Clip { least, most } => {
                each!(rows, x => x.at_least(least).at_most(most));
            }
            Activation::LeakyRelu { slope } => each!(rows, x => leaky_relu(x, slope)),
            Activation::Elu { alpha } => each!(rows, x => elu(x, alpha)),
            Activation::Sigmoid => each!(rows, x => sigmoid(x)),
            Activation::HardSigmoid { slope, shift } => {
                each!(rows, x => hard_sigmoid(x, slope, shift));
            }
            Activation::Silu => each!(rows, x => silu(x)),
            Activation::HardSwish => each!(rows, x => hard_swish(x)),
            Activation::Gelu => each!(rows, x => gelu(x)),
            Activation::GeluTanh => each!(rows, x => gelu_tanh(x)),
            Activation::Tanh => each!(rows, x => tanh(x)),
            Activation::Softplus => each!(rows, x => softplus(x)),
            Activation::Mish => each!(rows, x => mish(x)),
            Activation::FakeQuantise { scale, least, most } => {
                each!(rows, x => fake_quantise(x, scale, [least, most]));
            }
        }
    }
}
