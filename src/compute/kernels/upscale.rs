//! Bilinear resize of channels-last images.

use super::super::resize::taps;
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
                    let top = h.between(corners[0][c], corners[1][c]);
                    let bottom = h.between(corners[2][c], corners[3][c]);
                    *value = v.between(top, bottom);
                }
            }
        }
    }
}
