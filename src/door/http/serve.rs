//! A connection of HTTP: its requests one after another, each with an answer.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{ALLOW, AUTHORIZATION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use crate::calls::HTTP;
use crate::error::{ErrorKind, ServiceError};
use crate::gateway::Gateway;
use crate::limits::AllowanceShare;
use crate::net::{
    AcceptedConnection, CONNECTION, Ending, Phase, TimedIo, Unread, is_unread, secured,
    too_many_connections,
};
use crate::tls::TlsProtocol;

use super::answer::{answer, error_response};
use super::body::ChunkedBody;
use super::route::{allowed, route};
use super::worded::{WordedIo, last_answer};

/// The header that says whose trace a call is part of.
const TRACE_PARENT: &str = "traceparent";

/// The name of heads that are no request in records.
const HEAD: &str = "head";

/// The part of the protocol that is served at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HttpScope {
    /// All of it.
    Protocol,
    /// The metrics alone.
    Metrics,
}

/// Serves a connection until its client or the server ends it.
pub(crate) async fn serve(
    gateway: Arc<Gateway>,
    accepted: AcceptedConnection,
    scope: HttpScope,
    ending: Ending,
) {
    let AcceptedConnection {
        stream,
        peer,
        place,
    } = accepted;
    if place.is_none() {
        let error = too_many_connections();
        let status = error.kind().http();
        (gateway.calls).refuse((HTTP, peer), CONNECTION, status, &error);
    }
    match (&gateway.tls, place) {
        (None, Some(place)) => serve_on(gateway, (stream, peer), place, scope, ending).await,
        (None, None) => turn_away(stream).await,
        (Some(tls), Some(place)) => {
            let config = tls.config(TlsProtocol::Http1);
            let stream = secured(stream, config, gateway.limits.header_time).await;
            if let Some(stream) = stream {
                serve_on(gateway, (stream, peer), place, scope, ending).await;
            }
        }
        (Some(_), None) => {}
    }
}

/// Serves what a client and the server say on a connection, be it under TLS or not.
async fn serve_on(
    gateway: Arc<Gateway>,
    (stream, peer): (impl AsyncRead + AsyncWrite + Unpin, SocketAddr),
    _place: AllowanceShare,
    scope: HttpScope,
    mut ending: Ending,
) {
    let limits = gateway.limits;
    let phase = Phase::default();
    let io = TimedIo::new(
        stream,
        Some(phase.clone()),
        limits.header_time,
        limits.read_time,
    );
    let (calls, unread) = (Arc::clone(&gateway.calls), Arc::clone(&gateway.calls));
    let io = WordedIo::new(io, move |status, error: &ServiceError| {
        calls.refuse((HTTP, peer), HEAD, status, error);
    });
    let service = service_fn(move |request| {
        let (gateway, phase) = (Arc::clone(&gateway), phase.clone());
        async move {
            phase.serves();
            let response = respond(&gateway, request, peer, scope).await;
            phase.rests();
            Ok::<_, Infallible>(response)
        }
    });
    let mut http = http1::Builder::new();
    http.max_headers(limits.headers)
        .max_buf_size(limits.header_bytes)
        .header_read_timeout(None);
    let mut connection = pin!(http.serve_connection(TokioIo::new(io), service));
    // How a connection ended its client knows, or does not care, unless it left an answer lying.
    tokio::select! {
        ended = connection.as_mut() => {
            if ended.is_err_and(|error| is_unread(&error)) {
                let error = ServiceError::new(ErrorKind::Slow, Unread);
                unread.refuse((HTTP, peer), CONNECTION, error.kind().http(), &error);
            }
            return;
        }
        () = ending.comes() => connection.as_mut().graceful_shutdown(),
    }
    let _ = tokio::time::timeout(limits.farewell, connection).await;
}

async fn respond(
    gateway: &Gateway,
    request: Request<Incoming>,
    peer: SocketAddr,
    scope: HttpScope,
) -> Response<ChunkedBody> {
    let path = request.uri().path();
    let parent = request
        .headers()
        .get(TRACE_PARENT)
        .map(HeaderValue::as_bytes);
    let method = request.method();
    let record = (gateway.calls).begin(HTTP, peer, parent, || format!("{method} {path}"));
    let found = route(request.method(), path, scope);
    let methods = match &found {
        Err(error) if error.kind() == ErrorKind::Method => allowed(path, scope),
        _ => "",
    };
    let answered = match found {
        Ok(route) => {
            let header = request.headers().get(AUTHORIZATION);
            let header = header.map(HeaderValue::as_bytes);
            match gateway.authorize(header, route.role(), &record) {
                Ok(()) => answer(gateway, route, request, &record).await,
                Err(error) => Err(error),
            }
        }
        Err(error) => Err(error),
    };
    if let Ok(answer) = &answered {
        record.is_answered(answer.status().as_u16());
    }
    answered.unwrap_or_else(|error| {
        record.fails(error.kind().http(), &error);
        let mut response = error_response(&error);
        if error.kind() == ErrorKind::Method {
            let methods = HeaderValue::from_static(methods);
            response.headers_mut().insert(ALLOW, methods);
        }
        response
    })
}

/// Tells a client that there are too many connections.
async fn turn_away(mut stream: tokio::net::TcpStream) {
    let error = too_many_connections();
    let _ = stream
        .write_all(&last_answer(error.kind().http(), &error))
        .await;
}
