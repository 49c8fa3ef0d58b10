//! The places of bytes, their scales and ranges in scratch.

use std::ops::Range;

use super::super::buffer::LINE;
use super::super::task::Call;
use super::{Quantized, is_pixelwise};

/// The parts of shared scratch, each from a line on: bytes, then scales with zero points, then
/// ranges of lines.
#[derive(Clone, Copy)]
pub(super) struct ByteRegions {
    affine: usize,
    ranges: usize,
    pub end: usize,
}

impl ByteRegions {
    pub(super) fn for_step(step: &Quantized, samples: usize) -> Self {
        let (scales, lines) = match is_pixelwise(step.conv) {
            true => (step.output.pixels(), 0),
            false => (1, step.input.height),
        };
        let affine = (samples * step.copy.sample_stride() / 4).next_multiple_of(LINE);
        let ranges = affine + (2 * samples * scales).next_multiple_of(LINE);
        ByteRegions {
            affine,
            ranges,
            end: ranges + 2 * samples * lines,
        }
    }

    /// Returns the range of some floats' worth of bytes.
    pub(super) fn bytes(self, call: &Call<'_>, of: Range<usize>) -> Range<usize> {
        inside(call, of, self.affine)
    }

    /// Returns the range of the scales of rows or samples.
    pub(super) fn affine(self, call: &Call<'_>, of: Range<usize>) -> Range<usize> {
        let of = self.affine + 2 * of.start..self.affine + 2 * of.end;
        inside(call, of, self.ranges)
    }

    /// Returns the range of the ranges of lines.
    pub(super) fn ranges(self, call: &Call<'_>, of: Range<usize>) -> Range<usize> {
        let of = self.ranges + 2 * of.start..self.ranges + 2 * of.end;
        inside(call, of, self.end)
    }
}

/// Returns a range of shared scratch, which ends at most at `most`.
fn inside(call: &Call<'_>, of: Range<usize>, most: usize) -> Range<usize> {
    let shared = call.memory.shared();
    assert!(
        of.end <= most && most <= shared.len(),
        "a part outside of its scratch"
    );
    shared.start + of.start..shared.start + of.end
}
