//! Bilinear resize with half-pixel centres, as PyTorch's `align_corners=False` without
//! anti-aliasing: of whole images channel by channel, and of channels-last pixels.

use crate::compute::buffers::TensorView;

use super::memory::{InputPixels, OutputPixels};

/// Two neighbours along one side, and the weight of the second.
#[derive(Clone, Copy, Debug)]
struct Tap {
    low: usize,
    high: usize,
    share: f32,
}

impl Tap {
    fn between(self, low: f32, high: f32) -> f32 {
        low * (1.0 - self.share) + high * self.share
    }
}

/// Returns the neighbours that each of `to` positions reads of `from`.
fn taps(from: usize, to: usize) -> Vec<Tap> {
    let scale = from as f32 / to as f32;
    (0..to)
        .map(|i| {
            let at = ((i as f32 + 0.5) * scale - 0.5).max(0.0);
            let low = (at as usize).min(from - 1);
            Tap {
                low,
                high: (low + 1).min(from - 1),
                share: at - low as f32,
            }
        })
        .collect()
}

/// Resizes planes (channels of images, rows after rows) of `from` height and width to
/// `to` height and width; as many planes as both slices hold.
pub fn resize_planes(from: (usize, usize), to: (usize, usize), input: &[f32], output: &mut [f32]) {
    let (rows, columns) = (taps(from.0, to.0), taps(from.1, to.1));
    let planes = input.chunks_exact(from.0 * from.1);
    for (plane, out) in planes.zip(output.chunks_exact_mut(to.0 * to.1)) {
        for (v, line) in rows.iter().zip(out.chunks_exact_mut(to.1)) {
            let (top, bottom) = (
                &plane[v.low * from.1..][..from.1],
                &plane[v.high * from.1..][..from.1],
            );
            for (h, value) in columns.iter().zip(line) {
                let above = h.between(top[h.low], top[h.high]);
                let below = h.between(bottom[h.low], bottom[h.high]);
                *value = v.between(above, below);
            }
        }
    }
}

#[inline(always)]
pub(super) fn bilinear(input: InputPixels<'_>, to: TensorView, out: &mut OutputPixels<'_>) {
    let from = input.view;
    if (from.height, from.width) == (to.height, to.width) {
        // A neighbour's share of 0 would make NaN of an infinity.
        for pixel in out.pixels.clone() {
            out.row(pixel).copy_from_slice(input.pixel(pixel));
        }
        return;
    }
    let rows = taps(from.height, to.height);
    let columns = taps(from.width, to.width);
    for pixel in out.pixels.clone() {
        let (sample, y, x) = (
            pixel / to.pixels(),
            pixel / to.width % to.height,
            pixel % to.width,
        );
        let at = |y: usize, x: usize| input.pixel((sample * from.height + y) * from.width + x);
        let (v, h) = (rows[y], columns[x]);
        let corners = [
            at(v.low, h.low),
            at(v.low, h.high),
            at(v.high, h.low),
            at(v.high, h.high),
        ];
        for (c, value) in out.row(pixel).iter_mut().enumerate() {
            let top = h.between(corners[0][c], corners[1][c]);
            let bottom = h.between(corners[2][c], corners[3][c]);
            *value = v.between(top, bottom);
        }
    }
}
