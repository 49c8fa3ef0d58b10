//! Unpacks compressed requests, and compresses answers if a client requests it.

use bytes::Bytes;
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderMap};

use crate::gateway::Gateway;
use crate::packing::{Encoding, PIECE, Packer, Unpacker, WORTH};
use divisi_inference::error::ServiceError;

use super::body::{HeldBody, too_large};

/// Returns the compression of a request's body, or `None` without compression.
///
/// # Errors
/// Returns an error if the encoding is not supported.
pub(super) fn of_request(headers: &HeaderMap) -> Result<Option<Encoding>, ServiceError> {
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

/// Returns the requested compression of the answer, or `None` for no compression.
pub(super) fn of_answer(headers: &HeaderMap) -> Option<Encoding> {
    let text = headers.get(ACCEPT_ENCODING)?.to_str().ok()?;
    text.split(',').find_map(|one| {
        let (name, weight) = one.split_once(';').unwrap_or((one, ""));
        let is_refused = weight.trim().strip_prefix("q=").is_some_and(is_zero);
        Encoding::named(name).filter(|_| !is_refused)
    })
}

fn is_zero(weight: &str) -> bool {
    weight.trim().parse().is_ok_and(|weight: f32| weight == 0.0)
}

/// Unpacks a body of at most `most` bytes.
///
/// # Errors
/// Returns an error if the body is damaged or exceeds a bound.
pub(super) async fn unpacked(
    gateway: &Gateway,
    body: HeldBody,
    encoding: Encoding,
    most: usize,
) -> Result<HeldBody, ServiceError> {
    let packed = body.bytes.joined();
    let mut unpacker = Unpacker::new(packed, encoding, most, gateway.bodies.share());
    while !unpacker.step(too_large)? {
        tokio::task::yield_now().await;
    }
    let (bytes, held) = unpacker.finish();
    Ok(HeldBody {
        bytes: bytes.into(),
        held,
    })
}

/// Compresses the pieces of an answer, or returns `None` if the answer is too small.
pub(super) async fn packed(pieces: &[Bytes], encoding: Encoding) -> Option<Bytes> {
    if pieces.iter().map(Bytes::len).sum::<usize>() < WORTH {
        return None;
    }
    let mut packer = Packer::new(encoding);
    for piece in pieces {
        for part in piece.chunks(PIECE) {
            packer.pack(part)?;
            tokio::task::yield_now().await;
        }
    }
    packer.finish().map(Bytes::from)
}
