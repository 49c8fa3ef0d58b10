//! Inference over HTTP: JSON, followed by binary data if a header has the length of the JSON. If
//! that length is 0, the whole body is the single input.

use bytes::Bytes;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Request, Response};

use crate::calls::CallRecord;
use crate::gateway::Gateway;
use crate::limits::{AllowanceShare, no_memory};
use crate::net::WaitedBody;
use crate::packing::Encoding;
use divisi_inference::error::{ErrorKind, ServiceError};
use divisi_inference::protocol::json::{JsonReply, read_call, write_reply};
use divisi_inference::protocol::{ByteRope, InferenceCall, ModelId};

use super::body::{ChunkedBody, HeldBody, gather};
use super::encoding::{of_answer, of_request, packed, unpacked};
use super::raw::read_raw;

/// The header with the length of the JSON.
const LENGTH: &str = "inference-header-content-length";

/// Answers a request for inference.
pub(super) async fn infer(
    gateway: &Gateway,
    model: ModelId,
    request: Request<WaitedBody>,
    record: &CallRecord,
) -> Result<Response<ChunkedBody>, ServiceError> {
    let (parts, body) = request.into_parts();
    let received = received(gateway, model.clone(), &parts.headers, body).await;
    let (call, _held) =
        received.inspect_err(|error| gateway.count_refusal(&model, error, record))?;
    let reply = gateway.infer(call, None, record).await?;
    let size = reply.written_bytes();
    let reply = gateway.background.run(size, move || write_reply(&reply));
    Ok(written(reply.await?, of_answer(&parts.headers)).await)
}

/// Receives and reads a request.
async fn received(
    gateway: &Gateway,
    model: ModelId,
    headers: &HeaderMap,
    body: WaitedBody,
) -> Result<(InferenceCall, AllowanceShare), ServiceError> {
    let encoding = of_request(headers)?;
    let mut body = gather(gateway, body, gateway.limits.body).await?;
    if let Some(encoding) = encoding {
        body = unpacked(gateway, body, encoding, gateway.limits.body).await?;
    }
    read(gateway, model, headers, body).await
}

/// Reads a request. After that, the held memory is that of the tensors without the text of the
/// JSON.
async fn read(
    gateway: &Gateway,
    model: ModelId,
    headers: &HeaderMap,
    body: HeldBody,
) -> Result<(InferenceCall, AllowanceShare), ServiceError> {
    let HeldBody { bytes, held } = body;
    let all = bytes.len();
    let length = json_length(headers)?;
    if length == Some(0) && all > 0 {
        let described = gateway.service.describe(&model)?;
        return Ok((
            read_raw(model, &described, bytes, &gateway.limits.request)?,
            held,
        ));
    }
    let (head, tail) = parted(gateway, length, bytes)?;
    let behind = tail.len();
    let limits = gateway.limits.request;
    // The data is held while it is being read, even if the request was cancelled.
    let reading = move || Ok((read_call(model, &head, tail, &limits)?, held));
    let (call, mut held) = gateway.background.run(all - behind, reading).await?;
    let kept = if behind > 0 { all } else { 0 };
    match held.resize(kept + call.bytes().saturating_sub(behind)) {
        true => Ok((call, held)),
        false => Err(no_memory()),
    }
}

/// Returns the JSON of a request, and the binary data after it.
fn parted(
    gateway: &Gateway,
    length: Option<usize>,
    mut tail: ByteRope,
) -> Result<(Bytes, ByteRope), ServiceError> {
    let found = tail.len();
    let head = match length {
        None => std::mem::take(&mut tail),
        Some(length) if length <= found => tail.split_to(length),
        Some(length) => {
            return Err(ServiceError::bad(format!(
                "header `{LENGTH}` is {length}, but the body has {found} bytes"
            )));
        }
    };
    if head.len() > gateway.limits.json {
        let most = gateway.limits.json;
        return Err(ServiceError::new(
            ErrorKind::TooLarge,
            format!(
                "the request's JSON: expected at most {most} bytes; send tensors as binary data"
            ),
        ));
    }
    Ok((head.joined(), tail))
}

fn json_length(headers: &HeaderMap) -> Result<Option<usize>, ServiceError> {
    let Some(value) = headers.get(LENGTH) else {
        return Ok(None);
    };
    let length = value
        .to_str()
        .ok()
        .map(str::trim)
        .filter(|text| text.bytes().all(|digit| digit.is_ascii_digit()))
        .and_then(|text| text.parse().ok());
    let wrong = || ServiceError::bad(format!("header `{LENGTH}`: expected a number of bytes"));
    length.map(Some).ok_or_else(wrong)
}

async fn written(reply: JsonReply, encoding: Option<Encoding>) -> Response<ChunkedBody> {
    let JsonReply { head, tail } = reply;
    let length = HeaderValue::from(head.len());
    let is_binary = !tail.is_empty();
    let mut pieces: Vec<Bytes> = std::iter::once(head).chain(tail).collect();
    let mut encoded = None;
    if let Some(encoding) = encoding
        && let Some(packed) = packed(&pieces, encoding).await
    {
        pieces = vec![packed];
        encoded = Some(HeaderValue::from_static(encoding.name()));
    }
    let mut response = Response::new(ChunkedBody::from_pieces(pieces));
    let headers = response.headers_mut();
    if let Some(encoded) = encoded {
        headers.insert(CONTENT_ENCODING, encoded);
    }
    if is_binary {
        headers.insert(LENGTH, length);
        let kind = HeaderValue::from_static("application/octet-stream");
        headers.insert(CONTENT_TYPE, kind);
    } else {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    response
}
