//! The rows of a product: runs of the input, or of a copy of it in padded lines.

use std::ops::Range;

use super::super::memory::InputPixels;
use super::super::task::{Call, Split};
use crate::compute::buffers::{TensorView, ValuePlace};
use crate::network::Conv2d;

/// The input of an output pixel: `taps` runs of `depth` floats each.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Reads {
    conv: Conv2d,
    from: TensorView,
    to: TensorView,
    pub taps: usize,
    pub depth: usize,
    /// Whether a tap is a whole line of the kernel instead of one pixel.
    by_line: bool,
    /// Whether padding is part of the image that is read.
    padded: bool,
}

impl Reads {
    pub(in super::super) fn new(
        conv: Conv2d,
        from: TensorView,
        to: TensorView,
        padded: bool,
    ) -> Self {
        let kernel = conv.kernel;
        let inside = padded || conv.padding.width == 0;
        let gapless = from.pitch == from.channels && conv.dilation == 1 && conv.groups == 1;
        let by_line = inside && gapless && kernel.width > 1;
        let depth = from.channels / conv.groups;
        let (taps, depth) = if by_line {
            (kernel.height, kernel.width * depth)
        } else {
            (kernel.area(), depth)
        };
        Reads {
            conv,
            from,
            to,
            taps,
            depth,
            by_line,
            padded,
        }
    }

    /// Returns the floats of input that one more output pixel brings into cache.
    pub(in super::super) fn touched(&self) -> usize {
        let step = if self.conv.kernel.area() == 1 {
            1
        } else {
            self.conv.stride
        };
        self.from.channels * step * step
    }

    /// Lists the offsets of output pixels `rows` (counted over all samples), tap after tap,
    /// from the slot's start; `zeros` for taps outside of the image.
    pub(in super::super) fn list(
        &self,
        rows: Range<usize>,
        zeros: usize,
        offsets: &mut Vec<usize>,
    ) {
        offsets.clear();
        if self.is_pixelwise() {
            let (first, pitch) = (self.from.first, self.from.pitch);
            return offsets.extend(rows.map(|pixel| first + pixel * pitch));
        }
        let columns = if self.by_line {
            1
        } else {
            self.conv.kernel.width
        };
        for tap in 0..self.taps {
            self.list_tap(tap / columns, tap % columns, rows.clone(), zeros, offsets);
        }
    }

    /// Returns whether an output pixel reads only the input pixel of the same number.
    fn is_pixelwise(&self) -> bool {
        let same = |of: fn(&TensorView) -> usize| of(&self.from) == of(&self.to);
        let (kernel, stride) = (self.conv.kernel.area(), self.conv.stride);
        kernel == 1 && stride == 1 && same(|v| v.width) && same(|v| v.height)
    }

    /// Lists one tap of all rows, one line of the output after the other.
    fn list_tap(
        &self,
        ky: usize,
        kx: usize,
        rows: Range<usize>,
        zeros: usize,
        offsets: &mut Vec<usize>,
    ) {
        let width = self.to.width;
        let mut at = rows.start;
        while at < rows.end {
            let (line, x) = (at / width, at % width);
            let end = rows.end.min((line + 1) * width);
            let columns = x..x + end - at;
            let (sample, y) = (line / self.to.height, line % self.to.height);
            match self.line(sample, y, ky) {
                None => offsets.extend(columns.map(|_| zeros)),
                Some(first) => self.list_line(first, kx, columns, zeros, offsets),
            }
            at = end;
        }
    }

    /// Lists one tap of the output's `columns`, over the input line that begins with pixel
    /// `first`.
    fn list_line(
        &self,
        first: usize,
        kx: usize,
        columns: Range<usize>,
        zeros: usize,
        offsets: &mut Vec<usize>,
    ) {
        let (padding, stride) = (self.padding(self.conv.padding.width), self.conv.stride);
        let shift = kx * self.conv.dilation;
        // Columns whose tap falls left of the image, and right of it.
        let left = padding.saturating_sub(shift).div_ceil(stride);
        let right = (self.from.width + padding)
            .saturating_sub(shift)
            .div_ceil(stride);
        let inside =
            left.clamp(columns.start, columns.end)..right.clamp(columns.start, columns.end);
        let inside = inside.start..inside.end.max(inside.start);
        offsets.extend((columns.start..inside.start).map(|_| zeros));
        let step = stride * self.from.pitch;
        let at = (first + inside.start * stride + shift).wrapping_sub(padding);
        let start = at
            .wrapping_mul(self.from.pitch)
            .wrapping_add(self.from.first);
        offsets.extend((0..inside.len()).map(|i| start.wrapping_add(i * step)));
        offsets.extend((inside.end..columns.end).map(|_| zeros));
    }

    /// Returns the first pixel of the input line under line `ky` of the kernel, or `None` if the
    /// line lies outside of the image.
    fn line(&self, sample: usize, y: usize, ky: usize) -> Option<usize> {
        let padding = self.padding(self.conv.padding.height);
        let y = (y * self.conv.stride + ky * self.conv.dilation).checked_sub(padding)?;
        (y < self.from.height).then(|| (sample * self.from.height + y) * self.from.width)
    }

    /// Returns the padding that is not part of the image that is read.
    fn padding(&self, padding: usize) -> usize {
        if self.padded { 0 } else { padding }
    }
}

/// Returns the view of the copy: the image with its padding around it.
pub(in super::super) fn padded(conv: Conv2d, input: TensorView) -> TensorView {
    TensorView {
        place: ValuePlace::Shared,
        first: 0,
        channels: input.channels,
        height: input.height + 2 * conv.padding.height,
        width: input.width + 2 * conv.padding.width,
        pitch: input.channels,
    }
}

/// Divides the copy into tasks, which are runs of lines.
pub(in super::super) fn copied_lines(copy: TensorView, samples: usize, threads: usize) -> Split {
    let grain = 8 * 1024 / (copy.width * copy.pitch).max(1);
    Split::new(samples * copy.height, grain, threads)
}

/// Copies the lines of one task.
///
/// # Safety
/// As for [`PlannedStep::run`](super::super::step::PlannedStep::run).
pub(super) unsafe fn copy_lines(
    conv: Conv2d,
    entry: bool,
    input: TensorView,
    copy: TensorView,
    call: &Call<'_>,
    task: usize,
) {
    let lines = copied_lines(copy, call.samples, call.threads).range(task);
    let line = copy.width * copy.pitch;
    let start = call.memory.shared().start;
    let range = start + lines.start * line..start + lines.end * line;
    // SAFETY: tasks copy disjoint lines, and no task reads them in this phase; the input is
    // another slot.
    let (to, from) = unsafe { (call.memory.floats_mut(range), call.memory.source(input)) };
    for (line, to) in lines.zip(to.chunks_exact_mut(line)) {
        let (sample, y) = (line / copy.height, line % copy.height);
        match y
            .checked_sub(conv.padding.height)
            .filter(|&y| y < input.height)
        {
            None => to.fill(0.0),
            Some(y) => {
                let (left, rest) = to.split_at_mut(conv.padding.width * copy.pitch);
                let (inside, right) = rest.split_at_mut(input.width * copy.pitch);
                left.fill(0.0);
                right.fill(0.0);
                if entry {
                    turn(from, sample, y, inside);
                } else {
                    copy_line(from, sample * input.height + y, inside);
                }
            }
        }
    }
}

fn copy_line(from: InputPixels<'_>, line: usize, to: &mut [f32]) {
    let first = line * from.view.width;
    for (x, pixel) in to.chunks_exact_mut(from.view.channels).enumerate() {
        pixel.copy_from_slice(from.pixel(first + x));
    }
}

/// Copies one line of a channels-first sample, channels last.
fn turn(from: InputPixels<'_>, sample: usize, y: usize, to: &mut [f32]) {
    let view = from.view;
    let plane = view.pixels();
    for c in 0..view.channels {
        let at = (sample * view.channels + c) * plane + y * view.width;
        let line = &from.data[at..at + view.width];
        for (pixel, &v) in to.chunks_exact_mut(view.channels).zip(line) {
            pixel[c] = v;
        }
    }
}
