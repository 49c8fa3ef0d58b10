//! Steps that combine two values channel by channel, and steps that reorder channels.

use super::elementwise::Epilogue;
use super::memory::{InputPixels, OutputPixels};
use super::vector::Vector;
use crate::compute::buffers::TensorView;
use crate::compute::fuse::Pairing;

/// Multiplies or adds two images, or an image and a row for each sample.
///
/// # Safety
/// The processor has the family's instructions.
#[inline(always)]
pub(super) unsafe fn paired<V: Vector>(
    pairing: Pairing,
    inputs: &[InputPixels<'_>],
    to: TensorView,
    end: &Epilogue<'_>,
    out: &mut OutputPixels<'_>,
) {
    let pixels = to.pixels();
    // If both are images, or both rows, neither is repeated.
    let (image, other) = match inputs[0].view.pixels() == pixels {
        true => (inputs[0], inputs[1]),
        false => (inputs[1], inputs[0]),
    };
    let shared = if other.view.pixels() == pixels {
        1
    } else {
        pixels
    };
    for pixel in out.pixels.clone() {
        let (one, two) = (image.pixel(pixel), other.pixel(pixel / shared));
        let row = out.row(pixel);
        assert!(row.len() <= one.len().min(two.len()));
        // SAFETY: guaranteed by the caller; the rows were checked.
        unsafe {
            end.write::<V>(&[], pixel..pixel + 1, row, |lanes| {
                paired_value(pairing, lanes.load::<V>(one), lanes.load(two))
            });
        }
    }
}

/// Multiplies or adds two values.
///
/// # Safety
/// As for [`Vector`].
#[inline(always)]
pub(super) unsafe fn paired_value<V: Vector>(pairing: Pairing, a: V, b: V) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match pairing {
            Pairing::Product => a.mul(b),
            Pairing::Sum => a.add(b),
        }
    }
}

/// Writes channel `i` of each group before channel `i + 1` of any.
#[inline(always)]
pub(super) fn shuffle(groups: usize, input: InputPixels<'_>, out: &mut OutputPixels<'_>) {
    let each = input.view.channels / groups;
    for pixel in out.pixels.clone() {
        let (from, row) = (input.pixel(pixel), out.row(pixel));
        if groups == 2 {
            // The common case, in a form that becomes vectors.
            let (first, second) = from.split_at(each);
            for ((to, a), b) in row.chunks_exact_mut(2).zip(first).zip(second) {
                (to[0], to[1]) = (*a, *b);
            }
            continue;
        }
        for (group, values) in from.chunks_exact(each).enumerate() {
            for (to, v) in row[group..].iter_mut().step_by(groups).zip(values) {
                *to = *v;
            }
        }
    }
}
