//! Resizes images as PIL's bilinear filter does, which torchvision uses: each pixel of the result
//! is a weighted mean of the pixels that it covers, over columns, then over rows.
//!
//! The filter is a triangle that grows with the factor by which an image shrinks. Weights have 22
//! bits, and values between the two passes are rounded to bytes, so that the result equals Pillow
//! 11's to the bit. Pillow 13 sometimes processes rows first, which changes the result by 1 at
//! most.

use std::ops::Range;

use super::fit::ImageWindow;
use super::pixels::DecodedImage;

/// The fractional bits of a weight. A sum of bytes with these weights fits in 31 bits.
const BITS: u32 = 22;

/// Half of a byte's last place, for rounding.
const HALF: i32 = 1 << (BITS - 1);

/// The source pixels and weights along one axis for each pixel of the result.
struct AxisFilter {
    /// The first source pixel of each pixel of the result, and the range of its weights.
    taps: Vec<(usize, Range<usize>)>,
    weights: Vec<i32>,
}

impl AxisFilter {
    /// Returns the filter for `part` of the result when `from` pixels become `to`.
    fn new(from: usize, to: usize, part: &Range<usize>) -> Self {
        let mut filter = AxisFilter {
            taps: Vec::with_capacity(part.len()),
            weights: Vec::new(),
        };
        let factor = from as f64 / to as f64;
        // An enlarged image is interpolated between neighbours.
        let reach = factor.max(1.0);
        for at in part.clone() {
            let centre = (at as f64 + 0.5) * factor;
            let first = (centre - reach + 0.5).max(0.0) as usize;
            let end = ((centre + reach + 0.5) as usize).min(from);
            filter.add(first, first..end, centre, reach);
        }
        filter
    }

    /// Adds the weights of `pixels` by their distance from `centre`.
    fn add(&mut self, first: usize, pixels: Range<usize>, centre: f64, reach: f64) {
        // PIL's order of operations, which affects the last bit.
        let inverse = 1.0 / reach;
        let distance = |pixel: usize| ((pixel as f64 - centre + 0.5) * inverse).abs();
        let triangle = |pixel: usize| (1.0 - distance(pixel)).max(0.0);
        let sum: f64 = pixels.clone().map(triangle).sum();
        let scale = f64::from(1 << BITS);
        let begin = self.weights.len();
        self.weights
            .extend(pixels.map(|pixel| (triangle(pixel) / sum * scale + 0.5) as i32));
        self.taps.push((first, begin..self.weights.len()));
    }

    /// Returns the first source pixel and the weights of each pixel of the result.
    fn pixels(&self) -> impl Iterator<Item = (usize, &[i32])> {
        let taps = self.taps.iter();
        taps.map(|(first, weights)| (*first, &self.weights[weights.clone()]))
    }

    /// Returns the source pixels of the whole result.
    fn covered(&self) -> Range<usize> {
        let firsts = self.taps.iter().map(|(first, _)| *first);
        let ends = self.taps.iter().map(|(first, w)| first + w.len());
        firsts.min().unwrap_or(0)..ends.max().unwrap_or(0)
    }
}

/// Returns the kept part of a resized image, channel by channel.
pub(super) fn planes(image: &DecodedImage, window: &ImageWindow) -> Vec<u8> {
    let [rows, columns] = &window.part;
    let down = AxisFilter::new(image.height, window.size[0], rows);
    let across = AxisFilter::new(image.width, window.size[1], columns);
    let covered = down.covered();
    let narrow = resize_rows(image, covered.clone(), &across);
    let line = columns.len() * image.channels;
    let mut planes = vec![0; rows.len() * line];
    let mut sums = vec![0; line];
    for (row, (first, weights)) in down.pixels().enumerate() {
        sums.fill(HALF);
        let lines = narrow.chunks_exact(line).skip(first - covered.start);
        for (values, weight) in lines.zip(weights) {
            let pairs = sums.iter_mut().zip(values);
            pairs.for_each(|(sum, value)| *sum += i32::from(*value) * weight);
        }
        scatter(&sums, image.channels, row, &mut planes);
    }
    planes
}

/// Returns `rows` of an image with their columns resized, pixel by pixel.
fn resize_rows(image: &DecodedImage, rows: Range<usize>, across: &AxisFilter) -> Vec<u8> {
    let (channels, line) = (image.channels, image.width * image.channels);
    let mut result = Vec::with_capacity(rows.len() * across.taps.len() * channels);
    for row in image.pixels[rows.start * line..rows.end * line].chunks_exact(line) {
        for (first, weights) in across.pixels() {
            let pixels = row[first * channels..].chunks_exact(channels);
            let mut sums = [HALF; 3];
            for (pixel, weight) in pixels.zip(weights) {
                let pairs = sums.iter_mut().zip(pixel);
                pairs.for_each(|(sum, value)| *sum += i32::from(*value) * weight);
            }
            result.extend(sums[..channels].iter().map(|sum| byte(*sum)));
        }
    }
    result
}

/// Writes a row of sums into the row of each channel's plane.
fn scatter(sums: &[i32], channels: usize, row: usize, planes: &mut [u8]) {
    let columns = sums.len() / channels;
    let plane = planes.len() / channels;
    for (column, pixel) in sums.chunks_exact(channels).enumerate() {
        for (channel, sum) in pixel.iter().enumerate() {
            planes[channel * plane + row * columns + column] = byte(*sum);
        }
    }
}

/// Returns a weighted sum, which starts with [`HALF`], as a byte.
fn byte(sum: i32) -> u8 {
    (sum >> BITS).clamp(0, 255) as u8
}
