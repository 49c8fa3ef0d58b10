//! Bilinear resize of channels-last images.

use super::super::resize::taps;
use super::super::view::TensorView;
use super::memory::{InputPixels, OutputPixels};

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
