//! The accuracy of exponentials and quotients, chosen by the numbers that the answers become.

use super::functions::{exp, polynomial};
use super::vector::Vector;

/// An accuracy of exponentials and quotients.
///
/// # Safety
/// All methods: as for [`Vector`].
pub(super) trait Accuracy {
    /// Returns eˣ.
    unsafe fn exp<V: Vector>(x: V) -> V;
    /// Returns `x / by`.
    unsafe fn divide<V: Vector>(x: V, by: V) -> V;
}

/// The accuracy of float32: relative errors of 2e-7.
pub(super) struct FloatAccuracy;

impl Accuracy for FloatAccuracy {
    #[inline(always)]
    unsafe fn exp<V: Vector>(x: V) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe { exp(x) }
    }
    #[inline(always)]
    unsafe fn divide<V: Vector>(x: V, by: V) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe { x.div(by) }
    }
}

/// The accuracy for answers that are rounded to brain floats: relative errors up to 2⁻¹³ for an
/// exponential and up to 2⁻¹⁴ for a quotient, while rounding adds 2⁻⁸.
pub(super) struct HalfAccuracy;

/// `2ʳ` for |r| up to 1/2, fitted by least squares with weights for even errors: relative error
/// 7.5e-5.
const POWER_OF_TWO: [f32; 4] = [0.999_928_06, 0.693_261, 0.242_611_17, 0.055_171_34];

impl Accuracy for HalfAccuracy {
    #[inline(always)]
    unsafe fn exp<V: Vector>(x: V) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let power = x.mul(V::splat(std::f32::consts::LOG2_E));
            // Beyond these the answer is 0 or infinite.
            let power = power.at_least(-150.0).at_most(129.0);
            let whole = power.nearest();
            polynomial(power.sub(whole), &POWER_OF_TWO).times_two_to(whole)
        }
    }
    #[inline(always)]
    unsafe fn divide<V: Vector>(x: V, by: V) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe { x.mul(by.approximate_reciprocal()) }
    }
}
