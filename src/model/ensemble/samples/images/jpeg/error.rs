//! The reason why a JPEG is refused.

use std::fmt::Display;

use thiserror::Error;

use divisi_runtime::reading::ReadError;

use super::super::pixels::damaged;

/// The reason why a JPEG is refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum JpegError {
    /// It has no end marker.
    Cut,
    /// A scan's data are damaged.
    Scan(ScanFault),
    /// Another reason.
    Other(ReadError),
}

impl JpegError {
    /// Creates the error of a JPEG that is damaged or of an unsupported kind.
    pub(super) fn new(reason: impl Display) -> Self {
        JpegError::Other(damaged("JPEG", reason))
    }

    /// Creates the error of a part that is not as expected.
    pub(super) fn expected(expected: impl Display, found: impl Display) -> Self {
        JpegError::new(ReadError::expected(expected, found))
    }

    /// Creates the error of a JPEG that ends before its pixels begin.
    pub(super) fn no_scan() -> Self {
        JpegError::new("the file has no scan (marker SOS)")
    }

    /// Creates the error of a segment with a length that does not fit its content.
    pub(super) fn segment(marker: u8) -> Self {
        JpegError::new(format_args!(
            "the segment of marker FF{marker:02X} has a wrong length or content"
        ))
    }

    /// Creates the error of a scan's header that does not match its frame.
    pub(super) fn header(has: &str) -> Self {
        JpegError::new(format_args!("a scan (marker SOS) has {has}"))
    }

    /// Creates the error of a Huffman table with more codes than its lengths allow.
    pub(super) fn codes() -> Self {
        JpegError::new("a Huffman table (marker DHT) has impossible codes")
    }
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

impl From<ReadError> for JpegError {
    fn from(error: ReadError) -> Self {
        JpegError::Other(error)
    }
}

impl From<JpegError> for ReadError {
    fn from(error: JpegError) -> Self {
        match error {
            JpegError::Cut => ReadError::new("truncated: the JPEG image has no end"),
            JpegError::Scan(fault) => damaged("JPEG", format_args!("a scan is damaged: {fault}")),
            JpegError::Other(error) => error,
        }
    }
}
