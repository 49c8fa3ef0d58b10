//! The handshake of a WebSocket over HTTP (RFC 6455, section 4.2).

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{
    CONNECTION, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use hyper::{Response, StatusCode};
use sha1::{Digest, Sha1};

use super::pages::{PageResponse, guarded};

/// The constant of the handshake.
const MAGIC: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// The only version of the protocol.
const VERSION: &str = "13";
/// The number of random bytes that a client sends.
const NONCE: usize = 16;

/// Returns the answer that begins a WebSocket, or `None` if the request asks for no WebSocket.
pub(super) fn answer(headers: &HeaderMap) -> Option<PageResponse> {
    let key = headers.get(SEC_WEBSOCKET_KEY)?;
    let nonce = BASE64_STANDARD.decode(key.as_bytes()).ok()?;
    let version = headers.get(SEC_WEBSOCKET_VERSION)?;
    let begins = lists(headers, CONNECTION, "upgrade")
        && lists(headers, UPGRADE, "websocket")
        && version == VERSION
        && nonce.len() == NONCE;
    begins.then(|| accepted(key.as_bytes())).flatten()
}

/// Returns whether a header's list contains a word.
fn lists(headers: &HeaderMap, name: HeaderName, word: &str) -> bool {
    let values = headers.get_all(name).iter();
    let mut words = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    words.any(|found| found.trim().eq_ignore_ascii_case(word))
}

fn accepted(key: &[u8]) -> Option<PageResponse> {
    let digest = Sha1::new().chain_update(key).chain_update(MAGIC).finalize();
    let accept = HeaderValue::from_str(&BASE64_STANDARD.encode(digest)).ok()?;
    let mut response = Response::new(Full::new(Bytes::new()));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    Some(guarded(response))
}
