//! The values that a product of reduced numbers adds.

use super::super::memory::InputPixels;
use super::super::reduced_pixels::ReducedPixels;
use super::super::task::Call;
use crate::compute::buffers::ValuePlace;
use crate::compute::reduced::ReducedNumbers;

/// The values that are added, if there are any.
pub(super) enum Residual<'a> {
    Floats(InputPixels<'a>),
    Reduced(ReducedPixels<'a>),
    Nothing,
}

impl<'a> Residual<'a> {
    /// Returns the values that a step adds: floats if they are kept.
    pub(super) fn from_call(call: &Call<'a>) -> Self {
        let step = call.step;
        match (step.residual, step.reduced.residual) {
            (Some(view), _) if view.place != ValuePlace::Nowhere => {
                // SAFETY: a step never reads the slot that it writes.
                Residual::Floats(unsafe { call.memory.source(view) })
            }
            (_, Some(view)) => Residual::Reduced(call.memory.reduced(view)),
            _ => Residual::Nothing,
        }
    }

    /// Returns the reduced numbers, or `None` for floats or no residual.
    pub(super) fn numbers(&self) -> Option<ReducedNumbers> {
        match self {
            Residual::Reduced(from) => Some(from.of.numbers),
            Residual::Floats(_) | Residual::Nothing => None,
        }
    }

    /// Returns the addresses of floats and of reduced numbers, one of them at most, and the lengths
    /// from one row to the next.
    pub(super) fn at(
        &self,
        pixel: usize,
        first: usize,
    ) -> ((*const f32, usize), (*const u8, usize)) {
        let (no_floats, no_numbers) = ((std::ptr::null(), 0), (std::ptr::null(), 0));
        match self {
            Residual::Floats(from) => {
                let floats = from.ptr(pixel).wrapping_add(first);
                ((floats, from.view.pitch), no_numbers)
            }
            Residual::Reduced(from) => {
                let numbers = from.ptr(pixel, first).cast_const();
                (no_floats, (numbers, from.of.view.pitch))
            }
            Residual::Nothing => (no_floats, no_numbers),
        }
    }
}
