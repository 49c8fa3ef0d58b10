//! Decodes PNG, JPEG and WebP to bytes, within limits on size and memory.

use std::io::Cursor;

use image_webp::WebPDecoder;
use png::Transformations;

use divisi_runtime::reading::ReadError;

use super::jpeg;
use super::pixels::{DecodedImage, check_claim, check_size, damaged, zeros};

/// The maximum memory of a decoder in addition to the image, in bytes.
pub(super) const MOST_WORK: usize = 64 << 20;

/// Decodes an image, regardless of its name. Transparency is dropped.
pub(super) fn decode(bytes: &[u8]) -> Result<DecodedImage, ReadError> {
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
        _ => Err(ReadError::expected(
            "a PNG, JPEG or WebP image",
            "other bytes",
        )),
    }
}

fn png(bytes: &[u8]) -> Result<DecodedImage, ReadError> {
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

fn webp(bytes: &[u8]) -> Result<DecodedImage, ReadError> {
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

/// Returns an image without its opacity, if that is the last value of each pixel.
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
