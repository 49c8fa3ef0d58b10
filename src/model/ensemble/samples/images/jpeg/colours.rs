//! The colours of a JPEG's components, and the conversion to pixels.

use super::frame::JpegFrame;

/// The markers of a file that define its colours.
#[derive(Default)]
pub(super) struct ColourMarks {
    is_jfif: bool,
    /// The transform in Adobe's marker.
    adobe: Option<u8>,
}

impl ColourMarks {
    /// Reads the content of a segment of marker APP0.
    pub(super) fn read_app0(&mut self, content: &[u8]) {
        self.is_jfif |= content.starts_with(b"JFIF\0") && content.len() >= 14;
    }

    /// Reads the content of a segment of marker APP14.
    pub(super) fn read_app14(&mut self, content: &[u8]) {
        if content.starts_with(b"Adobe") && content.len() >= 12 {
            self.adobe = Some(content[11]);
        }
    }
}

/// The colours of a JPEG's components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JpegColours {
    Grey,
    Rgb,
    YCbCr,
    Cmyk,
    /// CMYK with its three colours as luma and differences.
    Ycck,
}

impl JpegColours {
    /// Returns the colours of a frame by libjpeg's rules: JFIF allows only luma and differences,
    /// otherwise Adobe's marker defines them, and without both the components' names do.
    pub(super) fn new(frame: &JpegFrame, marks: &ColourMarks) -> Self {
        let ids: Vec<u8> = frame.components.iter().map(|c| c.id).collect();
        match (ids.as_slice(), marks.adobe) {
            ([_], _) => JpegColours::Grey,
            ([_, _, _], _) if marks.is_jfif => JpegColours::YCbCr,
            ([_, _, _], Some(0)) | (b"RGB", None) => JpegColours::Rgb,
            ([_, _, _], _) => JpegColours::YCbCr,
            (_, None | Some(0)) => JpegColours::Cmyk,
            (_, Some(_)) => JpegColours::Ycck,
        }
    }

    /// Returns the number of values per pixel: 1 for grey, 3 for colours.
    pub(super) fn channels(self) -> usize {
        match self {
            JpegColours::Grey => 1,
            _ => 3,
        }
    }

    /// Writes a row of pixels from a row of each component.
    pub(super) fn write(self, rows: &[&[u8]], pixels: &mut [u8]) {
        match (self, rows) {
            (JpegColours::YCbCr, [y, cb, cr]) => each(y, cb, cr, pixels, rgb),
            (JpegColours::Rgb, [r, g, b]) => each(r, g, b, pixels, |colours| colours),
            (JpegColours::Cmyk, [c, m, y, k]) => {
                each(c, m, y, pixels, |inks| inks.map(|ink| 255 - ink));
                blacken(k, pixels);
            }
            (JpegColours::Ycck, [y, cb, cr, k]) => {
                each(y, cb, cr, pixels, rgb);
                blacken(k, pixels);
            }
            (_, rows) => {
                let grey = rows.first().copied().unwrap_or_default();
                let pixels = pixels.iter_mut().zip(grey);
                pixels.for_each(|(pixel, grey)| *pixel = *grey);
            }
        }
    }
}

/// The number of pixels computed together, so that the compiler vectorises this.
const TOGETHER: usize = 16;

#[inline]
fn each(a: &[u8], b: &[u8], c: &[u8], pixels: &mut [u8], colour: impl Fn([u8; 3]) -> [u8; 3]) {
    let parts = [a, b, c].map(|part| part.as_chunks::<TOGETHER>().0);
    let (chunks, _) = pixels.as_chunks_mut::<{ 3 * TOGETHER }>();
    let done = TOGETHER * chunks.len();
    for (at, pixels) in chunks.iter_mut().enumerate() {
        let [a, b, c] = parts.map(|part| &part[at]);
        let (mut red, mut green, mut blue) = ([0; TOGETHER], [0; TOGETHER], [0; TOGETHER]);
        for i in 0..TOGETHER {
            [red[i], green[i], blue[i]] = colour([a[i], b[i], c[i]]);
        }
        for i in 0..TOGETHER {
            pixels[3 * i] = red[i];
            pixels[3 * i + 1] = green[i];
            pixels[3 * i + 2] = blue[i];
        }
    }
    let (pixels, _) = pixels[3 * done..].as_chunks_mut();
    let rest = a[done..].iter().zip(&b[done..]).zip(&c[done..]);
    for (pixel, ((a, b), c)) in pixels.iter_mut().zip(rest) {
        *pixel = colour([*a, *b, *c]);
    }
}

/// Returns red, green and blue, rounded as libjpeg rounds them.
#[inline]
fn rgb([y, cb, cr]: [u8; 3]) -> [u8; 3] {
    let [y, cb, cr] = [i16::from(y), i16::from(cb) - 128, i16::from(cr) - 128];
    // Factors above 16 bits are used without their whole parts, which are added after the rounding.
    let product = |value: i16, factor: i16| i32::from(value) * i32::from(factor);
    let rounded = |sum: i32| ((sum + 0x8000) >> 16) as i16;
    let red = cr + rounded(product(cr, 26_345));
    let green = rounded(product(cb, -22_554) + product(cr, 18_734)) - cr;
    let blue = 2 * cb + rounded(product(cb, -14_942));
    [red, green, blue].map(|difference| (y + difference).clamp(0, 255) as u8)
}

/// Removes the share of black ink from each pixel, rounded as in PIL. As in PIL, inks are inverted,
/// as Adobe writes them: 255 is no ink.
fn blacken(black: &[u8], pixels: &mut [u8]) {
    for (pixel, white) in pixels.chunks_exact_mut(3).zip(black) {
        for value in pixel {
            let product = u32::from(*value) * u32::from(*white) + 128;
            *value = white - (((product >> 8) + product) >> 8) as u8;
        }
    }
}
