//! Activations of rows that were just written, and so are in cache.
//!
//! ReLU and ReLU6 are applied in registers as values are written. The others would make each of
//! the many tile functions far longer; they pass over a tile's rows, or a pixel's, behind them.

use super::functions::{
    elu, gelu, gelu_tanh, hard_sigmoid, hard_swish, leaky_relu, mish, sigmoid, silu, softplus, tanh,
};
use super::vector::{Plain, Vector};
use crate::compute::family::Family;
use crate::network::Activation;

/// A function that applies an activation to values in place.
///
/// # Safety
/// The processor has the family's instructions, and so many floats can be read and written.
type RowFn = unsafe fn(Activation, *mut f32, usize);

/// An activation that passes over rows, for one family.
#[derive(Clone, Copy)]
pub(super) struct RowActivation {
    activation: Activation,
    run: RowFn,
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
            _ => row_fn(family),
        };
        Some(RowActivation { activation, run })
    }

    /// Applies the activation to values.
    #[inline(always)]
    pub(super) fn row(&self, row: &mut [f32]) {
        // SAFETY: the family is available, as was promised when the pass was made.
        unsafe { (self.run)(self.activation, row.as_mut_ptr(), row.len()) }
    }

    /// Applies the activation to `rows` rows of `columns` values, the first at `start`.
    ///
    /// # Safety
    /// The rows exist, and nothing else uses them meanwhile.
    pub(super) unsafe fn rows(&self, start: *mut f32, stride: usize, rows: usize, columns: usize) {
        for row in 0..rows {
            // SAFETY: the family is available, and the row exists.
            unsafe { (self.run)(self.activation, start.add(row * stride), columns) }
        }
    }
}

/// Applies any activation to values, without particular instructions.
pub(in crate::compute) fn activate_plainly(activation: Activation, row: &mut [f32]) {
    // SAFETY: every processor runs the plain kernels.
    unsafe { run::<Plain>(activation, row.as_mut_ptr(), row.len()) }
}

fn row_fn(family: Family) -> RowFn {
    match family {
        #[cfg(target_arch = "x86_64")]
        Family::Avx512 => x86::avx512,
        #[cfg(target_arch = "x86_64")]
        Family::Avx2 => x86::avx2,
        #[cfg(target_arch = "aarch64")]
        Family::Neon => arm::neon,
        _ => run::<Plain>,
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::vector::{Avx2, Avx512};
    use super::run;
    use crate::network::Activation;

    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn avx512(activation: Activation, row: *mut f32, len: usize) {
        // SAFETY: as `RowFn` says.
        unsafe { run::<Avx512>(activation, row, len) }
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn avx2(activation: Activation, row: *mut f32, len: usize) {
        // SAFETY: as `RowFn` says.
        unsafe { run::<Avx2>(activation, row, len) }
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::super::vector::Neon;
    use super::run;
    use crate::network::Activation;

    #[target_feature(enable = "neon")]
    pub(super) unsafe fn neon(activation: Activation, row: *mut f32, len: usize) {
        // SAFETY: as `RowFn` says.
        unsafe { run::<Neon>(activation, row, len) }
    }
}

/// Replaces each vector of a row by an expression of it.
macro_rules! each {
    ($row:expr, $len:expr, $x:ident => $value:expr) => {{
        let mut at = 0;
        while at + V::LANES <= $len {
            let $x = V::load($row.add(at));
            $value.store($row.add(at));
            at += V::LANES;
        }
        if at < $len {
            let $x = V::load_part($row.add(at), $len - at);
            $value.store_part($row.add(at), $len - at);
        }
    }};
}

#[inline(always)]
unsafe fn run<V: Vector>(activation: Activation, row: *mut f32, len: usize) {
    // SAFETY: as `RowFn` says.
    unsafe {
        match activation {
            Activation::Relu => each!(row, len, x => x.relu()),
            Activation::Relu6 => each!(row, len, x => x.relu().at_most(6.0)),
            Activation::Clip { least, most } => {
                each!(row, len, x => x.at_least(least).at_most(most));
            }
            Activation::LeakyRelu { slope } => each!(row, len, x => leaky_relu(x, slope)),
            Activation::Elu { alpha } => each!(row, len, x => elu(x, alpha)),
            Activation::Sigmoid => each!(row, len, x => sigmoid(x)),
            Activation::HardSigmoid { slope, shift } => {
                each!(row, len, x => hard_sigmoid(x, slope, shift));
            }
            Activation::Silu => each!(row, len, x => silu(x)),
            Activation::HardSwish => each!(row, len, x => hard_swish(x)),
            Activation::Gelu => each!(row, len, x => gelu(x)),
            Activation::GeluTanh => each!(row, len, x => gelu_tanh(x)),
            Activation::Tanh => each!(row, len, x => tanh(x)),
            Activation::Softplus => each!(row, len, x => softplus(x)),
            Activation::Mish => each!(row, len, x => mish(x)),
        }
    }
}
