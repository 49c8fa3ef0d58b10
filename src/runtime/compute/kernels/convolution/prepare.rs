//! The first phase of a convolution over few channels: its input in padded lines.

use crate::compute::view::{TensorView, ValuePlace};
use crate::network::Conv2d;

use super::super::memory::InputPixels;
use super::super::split::Split;
use super::Call;

/// The copy: the image with its padding around it.
pub(super) fn padded(conv: Conv2d, input: TensorView) -> TensorView {
    TensorView {
        place: ValuePlace::Shared,
        first: 0,
        channels: input.channels,
        height: input.height + 2 * conv.padding.height,
        width: input.width + 2 * conv.padding.width,
        pitch: input.channels,
    }
}

/// Tasks are runs of lines of the copy.
pub(super) fn split(copy: TensorView, samples: usize, threads: usize) -> Split {
    let grain = 8 * 1024 / (copy.width * copy.pitch).max(1);
    Split::new(samples * copy.height, grain, threads)
}

/// Copies the lines of one task.
///
/// # Safety
/// As [`super::super::run`].
pub(super) unsafe fn run(
    conv: Conv2d,
    entry: bool,
    input: TensorView,
    copy: TensorView,
    call: &Call<'_>,
    task: usize,
) {
    let lines = split(copy, call.samples, call.threads).range(task);
    let line = copy.width * copy.pitch;
    let start = call.memory.shared().start;
    let range = start + lines.start * line..start + lines.end * line;
    // SAFETY: tasks copy disjoint lines, and nobody reads them in this phase; the input is
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

/// One line of a channels-first sample, channels last.
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
