//! Pixels in memory, and the limits on decoded images.

use std::fmt::Display;

use divisi_runtime::reading::ReadError;

/// The maximum number of pixels of a side, above the maximum of WebP.
const MOST_SIDE: usize = 1 << 15;

/// The maximum number of pixels of an image: 134 million, the limit of PIL's warning of
/// decompression bombs.
const MOST_PIXELS: usize = 1 << 27;

/// The number of pixels that any file may have, regardless of its length.
const FREE_PIXELS: usize = 1 << 22;

/// The maximum number of additional pixels per byte of a file: DEFLATE's best ratio for 1-bit
/// pixels.
const MOST_PIXELS_A_BYTE: usize = 1 << 13;

/// An image with one byte per channel, row by row and pixel by pixel.
pub(super) struct DecodedImage {
    pub height: usize,
    pub width: usize,
    /// 1 (grey) or 3 (red, green, blue).
    pub channels: usize,
    pub pixels: Vec<u8>,
}

impl DecodedImage {
    /// Returns the image with this number of channels: grey for one channel. A grey image stays
    /// grey.
    pub(super) fn in_channels(mut self, channels: usize) -> Self {
        if channels == 1 && self.channels == 3 {
            for pixel in 0..self.pixels.len() / 3 {
                let colours = [0, 1, 2].map(|c| u32::from(self.pixels[3 * pixel + c]));
                self.pixels[pixel] = grey(colours);
            }
            self.pixels.truncate(self.pixels.len() / 3);
            self.channels = 1;
        }
        self
    }
}

/// Returns the luma of a colour by ITU-R 601, rounded as in PIL.
fn grey([red, green, blue]: [u32; 3]) -> u8 {
    ((red * 19_595 + green * 38_470 + blue * 7_471 + 0x8000) >> 16) as u8
}

pub(super) fn damaged(format: &str, error: impl Display) -> ReadError {
    ReadError::new(error).at(format_args!("not a readable {format} image"))
}

pub(super) fn check_size(width: usize, height: usize) -> Result<(), ReadError> {
    let small = width <= MOST_SIDE && height <= MOST_SIDE && width * height <= MOST_PIXELS;
    small.then_some(()).ok_or_else(|| {
        ReadError::expected(
            format_args!("at most {MOST_SIDE} pixels per side and {MOST_PIXELS} in total"),
            format_args!("{width}×{height}"),
        )
    })
}

/// Checks that a file is long enough for the pixels that it claims, because memory for them is
/// allocated before they are read.
pub(super) fn check_claim(pixels: usize, file: &[u8]) -> Result<(), ReadError> {
    let most = (file.len() * MOST_PIXELS_A_BYTE).max(FREE_PIXELS);
    let small = pixels <= most;
    small
        .then_some(())
        .ok_or_else(|| short_file(pixels, file.len()))
}

/// Returns the error of a file that is too short for the pixels that it claims.
pub(super) fn short_file(pixels: usize, bytes: usize) -> ReadError {
    let expected = format_args!("a longer file for {pixels} pixels");
    ReadError::expected(expected, format_args!("{bytes} bytes"))
}

pub(super) fn no_memory(bytes: usize) -> ReadError {
    ReadError::new(format_args!("not enough memory for its {bytes} bytes"))
}

pub(super) fn zeros(bytes: usize) -> Result<Vec<u8>, ReadError> {
    let mut zeros = Vec::new();
    let taken = zeros.try_reserve_exact(bytes);
    taken.map_err(|_| no_memory(bytes))?;
    zeros.resize(bytes, 0);
    Ok(zeros)
}
