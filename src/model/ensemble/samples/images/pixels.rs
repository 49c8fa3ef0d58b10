//! Pixels in memory, and the limits on decoded images.

use super::error::ImageError;

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

pub(super) fn damaged(format: &'static str, error: &impl ToString) -> ImageError {
    let reason = error.to_string();
    ImageError::Damaged { format, reason }
}

pub(super) fn check_size(width: usize, height: usize) -> Result<(), ImageError> {
    let small = width <= MOST_SIDE && height <= MOST_SIDE && width * height <= MOST_PIXELS;
    small.then_some(()).ok_or(ImageError::Large {
        most_side: MOST_SIDE,
        most: MOST_PIXELS,
        width,
        height,
    })
}

/// Checks that a file is long enough for the pixels that it claims, because memory for them is
/// allocated before they are read.
pub(super) fn check_claim(pixels: usize, file: &[u8]) -> Result<(), ImageError> {
    let most = (file.len() * MOST_PIXELS_A_BYTE).max(FREE_PIXELS);
    let bytes = file.len();
    let small = pixels <= most;
    small
        .then_some(())
        .ok_or(ImageError::Claim { bytes, pixels })
}

pub(super) fn zeros(bytes: usize) -> Result<Vec<u8>, ImageError> {
    let mut zeros = Vec::new();
    let taken = zeros.try_reserve_exact(bytes);
    taken.map_err(|_| ImageError::Memory(bytes))?;
    zeros.resize(bytes, 0);
    Ok(zeros)
}
