//! PNG, JPEG and WebP decoded to bytes, within bounds on size and memory.

use std::io::Cursor;

use image_webp::WebPDecoder;
use png::Transformations;

use super::error::ImageError;
use super::jpeg;

/// The most pixels of a side, above what WebP can have.
const MOST_SIDE: usize = 1 << 15;

/// The most pixels of an image: 134 million, as PIL warns of decompression bombs at.
const MOST_PIXELS: usize = 1 << 27;

/// The pixels that any file may have, however short it is.
const FREE_PIXELS: usize = 1 << 22;

/// The most pixels for each byte of a file, beyond those: what DEFLATE packs 1-bit pixels to.
const MOST_PIXELS_A_BYTE: usize = 1 << 13;

/// The most bytes that a decoder takes beside the image.
pub(super) const MOST_WORK: usize = 64 << 20;

/// An image of one byte a channel, row by row and pixel by pixel.
pub(super) struct DecodedImage {
    pub height: usize,
    pub width: usize,
    /// 1 (grey) or 3 (red, green, blue).
    pub channels: usize,
    pub pixels: Vec<u8>,
}

/// Decodes an image, whatever its name; transparency is dropped.
pub(super) fn decode(bytes: &[u8]) -> Result<DecodedImage, ImageError> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => png(bytes),
        [0xff, 0xd8, 0xff, ..] => jpeg::decode(bytes),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => webp(bytes),
        _ => Err(ImageError::Format),
    }
}

fn png(bytes: &[u8]) -> Result<DecodedImage, ImageError> {
    let wrong = |error: png::DecodingError| damaged("PNG", &error);
    let limits = png::Limits { bytes: MOST_WORK };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
    decoder.set_transformations(Transformations::normalize_to_color8());
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let (width, height) = decoder.read_header_info().map_err(wrong)?.size();
    check_size(width as usize, height as usize)?;
    check_claim(width as usize * height as usize, bytes)?;
    let mut reader = decoder.read_info().map_err(wrong)?;
    let mut pixels = zeros(reader.output_buffer_size().unwrap_or(usize::MAX))?;
    let info = reader.next_frame(&mut pixels).map_err(wrong)?;
    pixels.truncate(info.buffer_size());
    let (width, height) = (info.width as usize, info.height as usize);
    Ok(opaque(height, width, info.color_type.samples(), pixels))
}

fn webp(bytes: &[u8]) -> Result<DecodedImage, ImageError> {
    let wrong = |error| damaged("WebP", &error);
    let mut decoder = WebPDecoder::new(Cursor::new(bytes)).map_err(wrong)?;
    let (width, height) = decoder.dimensions();
    let (width, height) = (width as usize, height as usize);
    check_size(width, height)?;
    check_claim(width * height, bytes)?;
    decoder.set_memory_limit(MOST_WORK);
    let mut pixels = zeros(decoder.output_buffer_size().unwrap_or(usize::MAX))?;
    decoder.read_image(&mut pixels).map_err(wrong)?;
    let samples = if decoder.has_alpha() { 4 } else { 3 };
    Ok(opaque(height, width, samples, pixels))
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

/// Checks that a file is long enough to hold the pixels that it claims: the memory for them is taken before
/// they are read.
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

/// Returns an image of so many values a pixel without the last one if that is its opacity.
fn opaque(height: usize, width: usize, values: usize, mut pixels: Vec<u8>) -> DecodedImage {
    let channels = values - usize::from(values.is_multiple_of(2));
    if channels < values {
        let count = pixels.len() / values;
        for pixel in 0..count {
            let from = pixel * values;
            pixels.copy_within(from..from + channels, pixel * channels);
        }
        pixels.truncate(count * channels);
    }
    DecodedImage {
        height,
        width,
        channels,
        pixels,
    }
}

impl DecodedImage {
    /// Returns it in so many channels: in grey if that is one; a grey one stays grey.
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

/// Returns the luma of a colour by ITU-R 601, rounded as PIL does.
fn grey([red, green, blue]: [u32; 3]) -> u8 {
    ((red * 19_595 + green * 38_470 + blue * 7_471 + 0x8000) >> 16) as u8
}
