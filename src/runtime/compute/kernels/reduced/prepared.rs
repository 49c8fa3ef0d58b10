//! Images of few channels, copied into padded lines of reduced numbers.
//!
//! Their channels are filled up to whole groups, so that a line of a kernel is one run of groups.

use super::super::convolution::reads::{copied_lines, padded};
use super::super::memory::InputPixels;
use super::super::task::{Call, Split};
use super::rows::reduce_run;
use crate::compute::buffers::{ReducedView, TensorView};
use crate::compute::reduced::ReducedNumbers;
use crate::network::Conv2d;
use std::sync::atomic::Ordering;

/// An image of few channels and its copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct PreparedImage {
    conv: Conv2d,
    from: TensorView,
    /// Whether it is a sample with its channels first.
    entry: bool,
    to: ReducedView,
}

impl PreparedImage {
    pub(super) fn new(
        conv: Conv2d,
        from: TensorView,
        numbers: ReducedNumbers,
        entry: bool,
    ) -> Self {
        let channels = filled(from.channels, numbers);
        let view = TensorView {
            channels,
            pitch: channels,
            ..padded(conv, from)
        };
        PreparedImage {
            conv,
            from,
            entry,
            to: ReducedView { view, numbers },
        }
    }

    /// Returns the copy: the image with its padding around it.
    pub(super) fn copy(&self) -> ReducedView {
        self.to
    }

    /// Divides the copy into tasks, which are runs of lines.
    pub(super) fn lines(&self, samples: usize, threads: usize) -> Split {
        copied_lines(self.to.view, samples, threads)
    }

    /// Returns the floats of scratch of all threads and of each.
    pub(super) fn scratch(&self, samples: usize) -> (usize, usize) {
        let line = self.from.width * self.from.channels;
        (samples * self.to.sample_floats(), line)
    }

    /// Copies the lines of one task.
    ///
    /// # Safety
    /// As for [`PlannedStep::run`](super::super::step::PlannedStep::run).
    pub(super) unsafe fn run(&self, call: &Call<'_>, task: usize) {
        let lines = self.lines(call.samples, call.threads).range(task);
        let (view, start) = (self.to.view, call.memory.shared().start);
        let line = view.width * view.pitch / self.to.numbers.group();
        let range = start + lines.start * line..start + lines.end * line;
        // SAFETY: tasks copy disjoint lines, and no task reads them in this phase; the input is
        // another slot; scratch is the thread's own.
        let (to, numbers, from) = unsafe {
            let own = call.memory.own_scratch(call.thread);
            (
                call.memory.floats_mut(range),
                call.memory.floats_mut(own),
                call.memory.source(self.from),
            )
        };
        for (line, to) in lines.zip(to.chunks_exact_mut(line.max(1))) {
            self.line(call, from, line, numbers, to);
        }
    }

    /// Writes one line of the copy. `numbers` is scratch for a line of the image.
    fn line(
        &self,
        call: &Call<'_>,
        from: InputPixels<'_>,
        line: usize,
        numbers: &mut [f32],
        to: &mut [f32],
    ) {
        let height = self.to.view.height;
        let (sample, y) = (line / height, line % height);
        let above = self.conv.padding.height;
        let inside = y.checked_sub(above).filter(|&y| y < self.from.height);
        if let Some(y) = inside
            && self.reduce(call, from, sample, y, numbers)
            && let Some(missed) = call.misses.get(sample)
        {
            missed.store(true, Ordering::Relaxed);
        }
        let inside = inside.is_some();
        match self.to.numbers {
            ReducedNumbers::Bf16 => self.place::<u16>(numbers, to, inside, 0),
            ReducedNumbers::Bytes(_) => {
                let zero = self.to.numbers.zero_point();
                self.place::<u8>(numbers, to, inside, zero);
            }
        }
    }

    /// Reduces the floats of line `y` of a sample, channel by channel if the sample's channels come
    /// first. Returns whether a NaN occurred that the numbers cannot represent.
    fn reduce(
        &self,
        call: &Call<'_>,
        from: InputPixels<'_>,
        sample: usize,
        y: usize,
        numbers: &mut [f32],
    ) -> bool {
        let (width, height, channels) = (self.from.width, self.from.height, self.from.channels);
        let bytes = self.to.numbers.bytes();
        let to: &mut [u8] = bytemuck::cast_slice_mut(numbers);
        let is_dense = !self.entry && from.view.is_dense();
        let runs = match self.entry {
            true => channels,
            false if is_dense => 1,
            false => width,
        };
        let each = width * channels / runs.max(1);
        let mut has_nan = false;
        for (run, to) in (0..runs).zip(to.chunks_exact_mut((each * bytes).max(1))) {
            let floats = match self.entry {
                true => {
                    let plane = (sample * channels + run) * height + y;
                    &from.data[plane * width..][..width]
                }
                false => {
                    let first = (sample * height + y) * width + run;
                    from.run(first..first + if is_dense { width } else { 1 })
                }
            };
            // SAFETY: the call's family is available; there are as many numbers.
            has_nan |= unsafe { reduce_run(call.family, floats, to, self.to.numbers) };
        }
        has_nan
    }

    /// Writes a line of numbers with its padding, or only the padding. `zero` represents 0.
    fn place<T: ChannelNumbers>(&self, numbers: &[f32], to: &mut [f32], inside: bool, zero: T) {
        let (width, channels) = (self.from.width, self.from.channels);
        let pitch = self.to.view.pitch;
        if !inside {
            return bytemuck::cast_slice_mut(to).fill(zero);
        }
        let each = pitch / self.to.numbers.group();
        let (left, rest) = to.split_at_mut(self.conv.padding.width * each);
        let (pixels, right) = rest.split_at_mut(width * each);
        bytemuck::cast_slice_mut(left).fill(zero);
        bytemuck::cast_slice_mut(right).fill(zero);
        let numbers = &bytemuck::cast_slice::<_, T>(numbers)[..width * channels];
        if (self.entry, channels, pitch) == (true, PLANES, 4) {
            let planes = std::array::from_fn(|c| &numbers[c * width..][..width]);
            return T::interleave(planes, pixels, zero);
        }
        let pixels: &mut [T] = bytemuck::cast_slice_mut(pixels);
        match (self.entry, channels, pitch) {
            (true, ..) => {
                for (c, plane) in numbers.chunks_exact(width).enumerate() {
                    let to = pixels[c..].iter_mut().step_by(pitch);
                    to.zip(plane).for_each(|(to, &number)| *to = number);
                }
            }
            (false, PLANES, 4) => filled_up::<T, PLANES, 4>(numbers, pixels, zero),
            (false, ..) => {
                let rows = pixels.chunks_exact_mut(pitch);
                for (to, from) in rows.zip(numbers.chunks_exact(channels)) {
                    to[..channels].copy_from_slice(from);
                }
            }
        }
    }
}

/// Numbers that lie as channels of a pixel.
trait ChannelNumbers: bytemuck::Pod {
    /// Writes three planes pixel by pixel, each filled up to four channels.
    fn interleave(planes: [&[Self]; PLANES], pixels: &mut [f32], fill: Self);
}

/// The channels of most images.
const PLANES: usize = 3;

// Pixels are made of whole words, since such loops become vectors.
impl ChannelNumbers for u8 {
    fn interleave([a, b, c]: [&[u8]; PLANES], pixels: &mut [f32], fill: u8) {
        let pixels: &mut [u32] = bytemuck::cast_slice_mut(pixels);
        let fill = u32::from_le_bytes([0, 0, 0, fill]);
        for (((pixel, &a), &b), &c) in pixels.iter_mut().zip(a).zip(b).zip(c) {
            let word = u32::from(a) | u32::from(b) << 8 | u32::from(c) << 16 | fill;
            *pixel = word.to_le();
        }
    }
}

impl ChannelNumbers for u16 {
    fn interleave([a, b, c]: [&[u16]; PLANES], pixels: &mut [f32], fill: u16) {
        let pixels: &mut [u32] = bytemuck::cast_slice_mut(pixels);
        let (pixels, _) = pixels.as_chunks_mut::<2>();
        let fill = u32::from(fill) << 16;
        for (((pixel, &a), &b), &c) in pixels.iter_mut().zip(a).zip(b).zip(c) {
            let words = [u32::from(a) | u32::from(b) << 16, u32::from(c) | fill];
            *pixel = words.map(u32::to_le);
        }
    }
}

/// Writes pixels of `C` channels, each filled up to `P`.
fn filled_up<T: Copy, const C: usize, const P: usize>(from: &[T], pixels: &mut [T], fill: T) {
    let ((from, _), (pixels, _)) = (from.as_chunks::<C>(), pixels.as_chunks_mut::<P>());
    for (pixel, from) in pixels.iter_mut().zip(from) {
        *pixel = std::array::from_fn(|c| from.get(c).copied().unwrap_or(fill));
    }
}

/// Returns the number of channels, including the padding of the last group.
fn filled(channels: usize, numbers: ReducedNumbers) -> usize {
    channels.next_multiple_of(numbers.group())
}

/// Inputs of fewer channels are copied.
const FEW_CHANNELS: usize = 16;

/// Returns whether a convolution over an image is expected to gain from a copy in groups of
/// numbers.
pub(in super::super) fn suits_prepared(
    conv: Conv2d,
    input: TensorView,
    numbers: ReducedNumbers,
) -> bool {
    let channels = input.channels;
    let mostly_full = 4 * channels >= 3 * filled(channels, numbers);
    conv.groups == 1 && channels < FEW_CHANNELS && conv.kernel.area() > 1 && mostly_full
}
