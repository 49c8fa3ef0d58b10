//! Compressed bodies and messages: unpacked within their bounds and compressed piece by piece, so
//! that other tasks can run in between.

use std::io::{self, BufRead, Read, Write};

use bytes::{Buf, Bytes};
use flate2::Compression;
use flate2::bufread::{MultiGzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};

use crate::limits::{AllowanceShare, no_memory};
use divisi_inference::error::ServiceError;
use divisi_inference::protocol::GrowingBytes;

/// The bytes that are unpacked or compressed at once.
pub(crate) const PIECE: usize = 256 << 10;

/// The bytes that are unpacked first.
const FIRST: usize = 4 << 10;

/// The size in bytes below which an answer is not compressed.
pub(crate) const WORTH: usize = 1400;

/// A compression format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// By RFC 1952.
    Gzip,
    /// According to RFC 1950, as HTTP and gRPC define it.
    Deflate,
}

impl Encoding {
    /// Returns the encoding with this name, if there is one.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match &*name.trim().to_ascii_lowercase() {
            "gzip" | "x-gzip" => Some(Encoding::Gzip),
            "deflate" => Some(Encoding::Deflate),
            _ => None,
        }
    }

    /// Returns its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Encoding::Gzip => "gzip",
            Encoding::Deflate => "deflate",
        }
    }

    fn reader(self, packed: Bytes) -> Box<dyn Read + Send> {
        let packed = packed.reader();
        match self {
            Encoding::Gzip => Box::new(MultiGzDecoder::new(packed)),
            Encoding::Deflate => Box::new(WholeStream(ZlibDecoder::new(packed))),
        }
    }
}

/// Reads a single stream without trailing bytes.
struct WholeStream<R>(ZlibDecoder<R>);

impl<R: BufRead> Read for WholeStream<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(to)?;
        match count == 0 && !self.0.get_mut().fill_buf()?.is_empty() {
            true => Err(io::Error::other("unexpected bytes after its end")),
            false => Ok(count),
        }
    }
}

/// Unpacks a client's bytes. Memory is allocated for unpacked bytes, not for a claimed length.
pub(crate) struct Unpacker {
    from: Box<dyn Read + Send>,
    encoding: Encoding,
    most: usize,
    all: GrowingBytes,
    piece: Vec<u8>,
    held: AllowanceShare,
}

impl Unpacker {
    /// Unpacks at most `most` bytes, counted by `held`.
    pub(crate) fn new(
        packed: Bytes,
        encoding: Encoding,
        most: usize,
        held: AllowanceShare,
    ) -> Self {
        Unpacker {
            from: encoding.reader(packed),
            encoding,
            most,
            all: GrowingBytes::default(),
            piece: Vec::new(),
            held,
        }
    }

    /// Unpacks one more piece. Returns whether it was the last one.
    ///
    /// # Errors
    /// Returns an error if the bytes are damaged or unpack to more than a bound; `too_large` is the
    /// error for the latter.
    pub(crate) fn step(
        &mut self,
        too_large: impl Fn(usize) -> ServiceError,
    ) -> Result<bool, ServiceError> {
        let until = self.all.len() + PIECE;
        while self.all.len() < until {
            let count = self.read()?;
            if count == 0 {
                return Ok(true);
            }
            if self.all.len() > self.most {
                return Err(too_large(self.most));
            }
            if !self.held.take(count) {
                return Err(no_memory());
            }
        }
        Ok(false)
    }

    /// Reads some bytes. Returns their number, 0 at the end.
    fn read(&mut self) -> Result<usize, ServiceError> {
        self.piece.resize(self.all.len().clamp(FIRST, PIECE), 0);
        let count = self.from.read(&mut self.piece).map_err(|e| {
            let name = self.encoding.name();
            ServiceError::bad(format!("the request's body is not valid {name}: {e}"))
        })?;
        self.all.extend_from_slice(&self.piece[..count]);
        Ok(count)
    }

    /// Returns the bytes, and their share of memory.
    pub(crate) fn finish(self) -> (Bytes, AllowanceShare) {
        (self.all.freeze(), self.held)
    }
}

/// Compresses bytes into memory, which does not fail.
pub(crate) enum Packer {
    /// By gzip.
    Gzip(GzEncoder<Vec<u8>>),
    /// By deflate.
    Deflate(ZlibEncoder<Vec<u8>>),
}

impl Packer {
    /// Creates an empty packer.
    pub(crate) fn new(encoding: Encoding) -> Self {
        match encoding {
            Encoding::Gzip => Packer::Gzip(GzEncoder::new(Vec::new(), Compression::fast())),
            Encoding::Deflate => Packer::Deflate(ZlibEncoder::new(Vec::new(), Compression::fast())),
        }
    }

    /// Compresses more bytes. Returns `None` if that failed.
    pub(crate) fn pack(&mut self, bytes: &[u8]) -> Option<()> {
        match self {
            Packer::Gzip(to) => to.write_all(bytes),
            Packer::Deflate(to) => to.write_all(bytes),
        }
        .ok()
    }

    /// Returns the packed bytes, or `None` if packing failed.
    pub(crate) fn finish(self) -> Option<Vec<u8>> {
        match self {
            Packer::Gzip(to) => to.finish(),
            Packer::Deflate(to) => to.finish(),
        }
        .ok()
    }
}
