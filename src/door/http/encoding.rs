//! Bodies that are compressed: those of requests unpacked within the bounds, those of answers
//! packed where a client asks for it.

use std::io::{self, BufRead, Read, Write};

use bytes::{Buf, Bytes, BytesMut};
use flate2::Compression;
use flate2::bufread::{MultiGzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderMap};

use crate::error::ServiceError;
use crate::gateway::Gateway;

use super::body::{HeldBody, hold, too_large};

/// Bytes that are unpacked or packed at once; between them others have their turn.
const PIECE: usize = 256 << 10;

/// Answers of fewer bytes are not worth packing.
const WORTH: usize = 1400;

/// How a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// By RFC 1952.
    Gzip,
    /// By RFC 1950, as HTTP means it.
    Deflate,
}

impl Encoding {
    fn named(name: &str) -> Option<Self> {
        match &*name.trim().to_ascii_lowercase() {
            "gzip" | "x-gzip" => Some(Encoding::Gzip),
            "deflate" => Some(Encoding::Deflate),
            _ => None,
        }
    }

    /// Returns its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Encoding::Gzip => "gzip",
            Encoding::Deflate => "deflate",
        }
    }

    /// Returns how the body of a request is compressed, or `None` if it is as it is.
    ///
    /// # Errors
    /// It is compressed in another way.
    pub(super) fn of_request(headers: &HeaderMap) -> Result<Option<Self>, ServiceError> {
        let Some(header) = headers.get(CONTENT_ENCODING) else {
            return Ok(None);
        };
        let text = header.to_str().unwrap_or_default().trim();
        match Encoding::named(text) {
            None if text.eq_ignore_ascii_case("identity") => Ok(None),
            None => Err(ServiceError::unsupported(format!(
                "header `content-encoding`: expected gzip or deflate, found `{text}`"
            ))),
            known => Ok(known),
        }
    }

    /// Returns how a client wants answers to be compressed, or `None` for not at all.
    pub(super) fn of_answer(headers: &HeaderMap) -> Option<Self> {
        let text = headers.get(ACCEPT_ENCODING)?.to_str().ok()?;
        text.split(',').find_map(|one| {
            let (name, weight) = one.split_once(';').unwrap_or((one, ""));
            let is_refused = weight.trim().strip_prefix("q=").is_some_and(is_zero);
            Encoding::named(name).filter(|_| !is_refused)
        })
    }
}

fn is_zero(weight: &str) -> bool {
    weight.trim().parse().is_ok_and(|weight: f32| weight == 0.0)
}

/// Unpacks a body of at most `most` bytes.
///
/// # Errors
/// It is damaged, or larger than a bound.
pub(super) async fn unpacked(
    gateway: &Gateway,
    body: HeldBody,
    encoding: Encoding,
    most: usize,
) -> Result<HeldBody, ServiceError> {
    let packed = body.bytes.joined().reader();
    let mut from: Box<dyn Read + Send> = match encoding {
        Encoding::Gzip => Box::new(MultiGzDecoder::new(packed)),
        Encoding::Deflate => Box::new(whole(ZlibDecoder::new(packed))),
    };
    let mut held = gateway.bodies.share();
    let mut all = BytesMut::new();
    let mut piece = vec![0; PIECE];
    loop {
        let damaged = |e| {
            let name = encoding.name();
            ServiceError::bad(format!("the request's body is no {name}: {e}"))
        };
        let count = from.read(&mut piece).map_err(damaged)?;
        if count == 0 {
            let bytes = all.freeze().into();
            return Ok(HeldBody { bytes, held });
        }
        if all.len() + count > most {
            return Err(too_large(most));
        }
        hold(&mut held, count)?;
        all.extend_from_slice(piece.get(..count).unwrap_or_default());
        tokio::task::yield_now().await;
    }
}

/// Reads one stream, behind which there must be nothing.
fn whole<R: BufRead>(stream: ZlibDecoder<R>) -> WholeStream<R> {
    WholeStream(stream)
}

struct WholeStream<R>(ZlibDecoder<R>);

impl<R: BufRead> Read for WholeStream<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(to)?;
        match count == 0 && !self.0.get_mut().fill_buf()?.is_empty() {
            true => Err(io::Error::other("there are bytes behind its end")),
            false => Ok(count),
        }
    }
}

/// Packs pieces of an answer, or returns them as they are where that saves nothing.
pub(super) async fn packed(pieces: &[Bytes], encoding: Encoding) -> Option<Bytes> {
    if pieces.iter().map(Bytes::len).sum::<usize>() < WORTH {
        return None;
    }
    match encoding {
        Encoding::Gzip => {
            let packer = GzEncoder::new(Vec::new(), Compression::fast());
            fill(packer, pieces).await?.finish().ok().map(Bytes::from)
        }
        Encoding::Deflate => {
            let packer = ZlibEncoder::new(Vec::new(), Compression::fast());
            fill(packer, pieces).await?.finish().ok().map(Bytes::from)
        }
    }
}

/// Writes all pieces. Memory takes everything, so that nothing fails.
async fn fill<W: Write>(mut to: W, pieces: &[Bytes]) -> Option<W> {
    for piece in pieces {
        for part in piece.chunks(PIECE) {
            to.write_all(part).ok()?;
            tokio::task::yield_now().await;
        }
    }
    Some(to)
}
