//! Inference over HTTP: JSON, with binary data behind it where a header says how long the JSON is.

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Request, Response};

use crate::error::{ErrorKind, ServiceError};
use crate::gateway::Gateway;
use crate::protocol::ModelId;
use crate::protocol::json::{JsonReply, read_call, write_reply};

use super::body::{ChunkedBody, gather};

/// The header that says how long the JSON is.
const LENGTH: &str = "inference-header-content-length";

/// Answers a request for inference.
pub(super) async fn infer(
    gateway: &Gateway,
    model: ModelId,
    request: Request<Incoming>,
) -> Result<Response<ChunkedBody>, ServiceError> {
    let (parts, body) = request.into_parts();
    check_encoding(&parts.headers)?;
    let body = gather(gateway, body, gateway.limits.body).await?;
    let mut head = body.bytes.clone();
    let tail = match json_length(&parts.headers)? {
        None => Bytes::new(),
        Some(length) if length <= head.len() => head.split_off(length),
        Some(length) => {
            let found = head.len();
            return Err(ServiceError::bad(format!(
                "header `{LENGTH}` is {length}, and the body has {found} bytes"
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
    let call = read_call(model, &head, tail, &gateway.limits)?;
    let reply = gateway.infer(call, None).await?;
    Ok(written(write_reply(&reply)?))
}

fn check_encoding(headers: &HeaderMap) -> Result<(), ServiceError> {
    match headers.get(CONTENT_ENCODING) {
        None => Ok(()),
        Some(identity) if identity == "identity" => Ok(()),
        Some(found) => Err(ServiceError::unsupported(format!(
            "header `content-encoding`: bodies that are compressed ({found:?}) are not supported"
        ))),
    }
}

fn json_length(headers: &HeaderMap) -> Result<Option<usize>, ServiceError> {
    let Some(value) = headers.get(LENGTH) else {
        return Ok(None);
    };
    let length = value
        .to_str()
        .ok()
        .and_then(|text| text.trim().parse().ok());
    let wrong = || ServiceError::bad(format!("header `{LENGTH}`: expected a number of bytes"));
    length.map(Some).ok_or_else(wrong)
}

fn written(reply: JsonReply) -> Response<ChunkedBody> {
    let JsonReply { head, tail } = reply;
    let length = HeaderValue::from(head.len());
    let is_binary = !tail.is_empty();
    let body = ChunkedBody::of(std::iter::once(head).chain(tail));
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    if is_binary {
        headers.insert(LENGTH, length);
        let kind = HeaderValue::from_static("application/octet-stream");
        headers.insert(CONTENT_TYPE, kind);
    } else {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    response
}
