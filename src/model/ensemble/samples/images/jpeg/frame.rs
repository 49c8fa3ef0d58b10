//! The frame of a JPEG: its size and its colour components.

use super::super::pixels::{check_size, short_file};
use super::error::JpegError;

/// The frame of a JPEG. Pairs are in the order rows, columns.
pub(super) struct JpegFrame {
    pub is_progressive: bool,
    /// Height and width in pixels.
    pub size: [usize; 2],
    /// The largest sampling factors of all components.
    pub largest: [usize; 2],
    /// The number of units in scans with several components.
    pub units: [usize; 2],
    pub components: Vec<JpegComponent>,
}

/// A component of a frame: luma, a difference of colours, a colour or an ink.
pub(super) struct JpegComponent {
    pub id: u8,
    /// Its blocks in a unit.
    pub factors: [usize; 2],
    /// The number of its quantisation table.
    pub table: usize,
    /// Its samples.
    pub size: [usize; 2],
    /// The number of blocks with image samples, which a scan of only this component contains.
    pub blocks: [usize; 2],
    /// The number of blocks in all units.
    pub room: [usize; 2],
}

impl JpegFrame {
    /// Reads the content of the segment of a marker from SOF0 to SOF15.
    pub(super) fn read(marker: u8, content: &[u8]) -> Result<Self, JpegError> {
        let is_progressive = is_progressive(marker)?;
        let &[bits, y1, y0, x1, x0, count, ref components @ ..] = content else {
            return Err(JpegError::segment(marker));
        };
        if bits != 8 {
            return Err(JpegError::expected("8 bits per sample (marker SOF)", bits));
        }
        if !matches!(count, 1 | 3 | 4) {
            return Err(JpegError::expected(
                "1, 3 or 4 colour components (marker SOF)",
                count,
            ));
        }
        if components.len() != 3 * usize::from(count) {
            return Err(JpegError::segment(marker));
        }
        let size = [[y1, y0], [x1, x0]].map(|side| usize::from(u16::from_be_bytes(side)));
        Self::new(is_progressive, checked(size)?, components)
    }

    fn new(is_progressive: bool, size: [usize; 2], components: &[u8]) -> Result<Self, JpegError> {
        let factors = components.chunks_exact(3).map(|c| both(c[1]));
        let largest = factors.fold([1, 1], |most, f| [0, 1].map(|i| most[i].max(f[i])));
        let units = [0, 1].map(|i| size[i].div_ceil(8 * largest[i]));
        let mut frame = JpegFrame {
            is_progressive,
            size,
            largest,
            units,
            components: Vec::new(),
        };
        for (at, component) in components.chunks_exact(3).enumerate() {
            let read = frame.component(component).ok_or_else(|| {
                let [down, across] = both(component[1]);
                let component = at + 1;
                JpegError::new(format_args!(
                    "component {component}: expected sampling factors from 1 to 4 that divide the \
                     image's largest factors, found {across}x{down}"
                ))
            });
            frame.components.push(read?);
        }
        Ok(frame)
    }

    /// Returns a component, or `None` for a sampling that libjpeg does not support either.
    fn component(&self, bytes: &[u8]) -> Option<JpegComponent> {
        let factors = both(bytes[1]);
        let is_known =
            |i: usize| (1..=4).contains(&factors[i]) && self.largest[i].is_multiple_of(factors[i]);
        (is_known(0) && is_known(1)).then_some(())?;
        let size = [0, 1].map(|i| (self.size[i] * factors[i]).div_ceil(self.largest[i]));
        Some(JpegComponent {
            id: bytes[0],
            factors,
            table: usize::from(bytes[2]),
            size,
            blocks: size.map(|side| side.div_ceil(8)),
            room: [0, 1].map(|i| self.units[i] * factors[i]),
        })
    }

    /// Checks that a file of this length can hold a bit for each block, before memory is allocated.
    pub(super) fn check_claim(&self, bytes: usize) -> Result<(), JpegError> {
        let blocks = |c: &JpegComponent| c.blocks[0] * c.blocks[1];
        let blocks: usize = self.components.iter().map(blocks).sum();
        let pixels = self.size[0] * self.size[1];
        let fits = (blocks <= 8 * bytes).then_some(());
        fits.ok_or_else(|| short_file(pixels, bytes).into())
    }
}

/// Returns the two halves of a byte in the order rows, columns.
fn both(byte: u8) -> [usize; 2] {
    [byte & 15, byte >> 4].map(usize::from)
}

fn is_progressive(marker: u8) -> Result<bool, JpegError> {
    match marker {
        0xc0 | 0xc1 => Ok(false),
        0xc2 => Ok(true),
        0xc3 => Err(other_coding("lossless coding (marker SOF3)")),
        0xc9 => Err(other_coding("arithmetic coding (marker SOF9)")),
        0xca => Err(other_coding("arithmetic coding (marker SOF10)")),
        0xcb => Err(other_coding("arithmetic coding (marker SOF11)")),
        _ => Err(other_coding("hierarchical coding (marker SOF)")),
    }
}

fn other_coding(found: &str) -> JpegError {
    JpegError::expected(
        "a baseline or progressive JPEG with Huffman codes (marker SOF0, 1 or 2)",
        found,
    )
}

fn checked([height, width]: [usize; 2]) -> Result<[usize; 2], JpegError> {
    if height == 0 || width == 0 {
        return Err(JpegError::new(format_args!(
            "expected a size above 0 (marker SOF), found {width}×{height}; a height in marker DNL \
             is not supported"
        )));
    }
    check_size(width, height)?;
    Ok([height, width])
}
