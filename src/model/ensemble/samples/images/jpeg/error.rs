//! The reason why a JPEG is refused.

use thiserror::Error;

use super::super::error::ImageError;
use super::super::pixels::damaged;

/// The reason why a JPEG is refused.
#[derive(Debug, Error, PartialEq, Eq)]
pub(super) enum JpegError {
    /// It has no end marker.
    #[error("the file has no end marker (EOI)")]
    Cut,
    /// It ends before its pixels begin.
    #[error("the file has no scan (marker SOS)")]
    NoScan,
    /// Its frame has an unsupported coding.
    #[error(
        "expected a baseline or progressive JPEG with Huffman codes (marker SOF0, 1 or 2), found \
         {0}"
    )]
    Process(&'static str),
    /// Its samples have an unsupported number of bits.
    #[error("expected 8 bits per sample (marker SOF), found {0}")]
    Bits(u8),
    /// It has an unsupported number of components.
    #[error("expected 1, 3 or 4 colour components (marker SOF), found {0}")]
    Components(u8),
    /// It has no pixels, or its frame header lacks the height.
    #[error(
        "expected a size above 0 (marker SOF), found {width}×{height}; a height in marker DNL \
             is not supported"
    )]
    NoSize {
        /// Its width in pixels.
        width: usize,
        /// Its height in pixels.
        height: usize,
    },
    /// The sampling step of a component is not a whole number of pixels.
    #[error(
        "component {component}: expected sampling factors from 1 to 4 that divide the image's \
         largest factors, found {across}x{down}"
    )]
    Sampling {
        /// The component, from 1.
        component: usize,
        /// The number of its samples across a unit.
        across: usize,
        /// The number of its samples down a unit.
        down: usize,
    },
    /// A marker is in a wrong place.
    #[error("unexpected marker FF{0:02X}")]
    Marker(u8),
    /// A segment has a length that does not fit its content.
    #[error("the segment of marker FF{0:02X} has a wrong length or content")]
    Segment(u8),
    /// A scan's header does not match its frame.
    #[error("a scan (marker SOS) has {0}")]
    Header(&'static str),
    /// It has too many scans.
    #[error("expected at most {0} scans (marker SOS)")]
    Scans(usize),
    /// A scan needs a missing table.
    #[error("a scan needs {kind} table {number}, but no marker {marker} defines the table")]
    Table {
        /// Its kind.
        kind: &'static str,
        /// Its number.
        number: usize,
        /// The marker that defines such tables.
        marker: &'static str,
    },
    /// A Huffman table has more codes than its lengths allow.
    #[error("a Huffman table (marker DHT) has impossible codes")]
    Codes,
    /// A scan's data are damaged.
    #[error("a scan is damaged: {0}")]
    Scan(#[from] ScanFault),
    /// A restart marker is missing in a scan.
    #[error("a scan is damaged: expected marker RST{0}")]
    Restart(u8),
    /// A component has no scan.
    #[error("no scan holds component {0}")]
    Missing(usize),
    /// The scans of a component lack fine details.
    #[error("the scans of component {0} are incomplete: coefficients are missing or coarse")]
    Incomplete(usize),
    /// The image is refused regardless of its format.
    #[error(transparent)]
    Image(#[from] ImageError),
}

/// The reason why the data of a scan are damaged.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub(super) enum ScanFault {
    /// The bits do not begin a code of the table.
    #[error("bits that are not a Huffman code")]
    Code,
    /// A coefficient lies past the last one of its block.
    #[error("a coefficient past the end of its block")]
    Run,
    /// The data end at a marker before the last block.
    #[error("it ends before the last block")]
    End,
}

impl From<JpegError> for ImageError {
    fn from(error: JpegError) -> Self {
        match error {
            JpegError::Cut => ImageError::Truncated("JPEG"),
            JpegError::Image(error) => error,
            error => damaged("JPEG", &error),
        }
    }
}
