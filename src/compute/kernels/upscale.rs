//! Bilinear resize with half-pixel centres, as PyTorch's `align_corners=False`.

use super::super::view::View;
use super::Source;

pub(super) fn bilinear(batch: usize, input: Source<'_>, to: View, out: &mut [f32]) {
    let from = input.view;
    let rows = taps(from.height, to.height);
    let columns = taps(from.width, to.width);
    for sample in 0..batch {
        let at = |y: usize, x: usize| input.pixel((sample * from.height + y) * from.width + x);
        for (y, v) in rows.iter().enumerate() {
            for (x, h) in columns.iter().enumerate() {
                let pixel = (sample * to.height + y) * to.width + x;
                let row = &mut out[pixel * to.pitch + to.first..][..to.channels];
                let corners = [
                    at(v.low, h.low),
                    at(v.low, h.high),
                    at(v.high, h.low),
                    at(v.high, h.high),
                ];
                for (c, value) in row.iter_mut().enumerate() {
                    let top = corners[0][c] * (1.0 - h.share) + corners[1][c] * h.share;
                    let bottom = corners[2][c] * (1.0 - h.share) + corners[3][c] * h.share;
                    *value = top * (1.0 - v.share) + bottom * v.share;
                }
            }
        }
    }
}

/// Two neighbours along one side, and the share of the second.
struct Tap {
    low: usize,
    high: usize,
    share: f32,
}

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
