//! Serves HTTP connections: one request after another.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{self, ALLOW, AUTHORIZATION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use crate::calls::HTTP;
use crate::gateway::Gateway;
use crate::net::{
    AcceptedConnection, CONNECTION, Ending, ExpectedBytes, Phase, Presence, TimedIo, Unread,
    WaitedBody, is_unread, secured, too_many_connections,
};
use crate::tls::TlsProtocol;
use divisi_inference::error::{ErrorKind, ServiceError};

use super::answer::{answer, error_response};
use super::body::ChunkedBody;
use super::route::{Route, allowed, route};
use super::worded::{WordedIo, last_answer};

/// The header with the trace of a call.
const TRACE_PARENT: &str = "traceparent";

/// The name of invalid request heads in records.
const HEAD: &str = "head";

/// The part of the protocol served at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HttpScope {
    /// The whole protocol.
    Protocol,
    /// Only the metrics.
    Metrics,
}

/// Serves a connection until its client or the server ends it.
pub(crate) async fn serve(
    gateway: Arc<Gateway>,
    accepted: AcceptedConnection,
    scope: HttpScope,
    mut ending: Ending,
) {
    let AcceptedConnection {
        stream,
        peer,
        presence,
    } = accepted;
    let Some(presence) = presence else {
        let error = too_many_connections();
        let status = error.kind().http();
        (gateway.calls).refuse(HTTP, peer, CONNECTION, status, &error);
        if gateway.tls.is_none() {
            turn_away(stream).await;
        }
        return;
    };
    let client = ConnectedClient {
        peer,
        presence,
        scope,
    };
    match gateway.tls.clone() {
        None => client.serve(gateway, stream, ending).await,
        Some(tls) => {
            let config = tls.config(TlsProtocol::Http1);
            let (limits, presence) = (&gateway.limits, &client.presence);
            let stream = secured(stream, config, limits, presence, &mut ending).await;
            if let Some(stream) = stream {
                client.serve(gateway, stream, ending).await;
            }
        }
    }
}

/// The client at the other end of a connection.
struct ConnectedClient {
    peer: SocketAddr,
    presence: Presence,
    scope: HttpScope,
}

impl ConnectedClient {
    /// Serves a connection, with or without TLS.
    ///
    /// An idle connection may have a request on its way. So a connection that the server ends
    /// answers one more request, and announces in the answer that it closes.
    async fn serve(
        self,
        gateway: Arc<Gateway>,
        stream: impl AsyncRead + AsyncWrite + Unpin,
        mut ending: Ending,
    ) {
        let ConnectedClient {
            peer,
            presence,
            scope,
        } = self;
        let limits = gateway.limits;
        let phase = Phase::default();
        let expected = ExpectedBytes::heads(phase.clone());
        let io = TimedIo::new(stream, presence.clone(), expected, &limits);
        let (calls, unread) = (Arc::clone(&gateway.calls), Arc::clone(&gateway.calls));
        let io = WordedIo::new(io, move |status, error: &ServiceError| {
            calls.refuse(HTTP, peer, HEAD, status, error);
        });
        let (serving, of, last) = (phase.clone(), presence.clone(), ending.clone());
        let service = service_fn(move |request: Request<Incoming>| {
            let (gateway, phase, last) = (Arc::clone(&gateway), serving.clone(), last.clone());
            let under_way = of.begins();
            let request = request.map(|body| WaitedBody::new(body, of.clone()));
            async move {
                phase.serves();
                let mut response = respond(&gateway, request, peer, scope).await;
                phase.rests();
                if last.has_come() {
                    say_last(&mut response);
                }
                Ok::<_, Infallible>(response.map(|body| body.of_request(under_way)))
            }
        });
        let mut http = http1::Builder::new();
        http.max_headers(limits.headers)
            .max_buf_size(limits.header_bytes)
            .header_read_timeout(None);
        let mut connection = pin!(http.serve_connection(TokioIo::new(io), service));
        let note = |ended: hyper::Result<()>| {
            // The client knows how its connection ended, unless it did not read an answer.
            if ended.is_err_and(|error| is_unread(&error)) {
                let error = ServiceError::new(ErrorKind::Slow, Unread);
                unread.refuse(HTTP, peer, CONNECTION, error.kind().http(), &error);
            }
        };
        let goes = presence.wait_for_close(limits.idle_time, &mut ending, limits.last_time);
        tokio::select! {
            biased;
            ended = connection.as_mut() => return note(ended),
            () = goes => {}
        }
        // An incomplete request is not awaited.
        if phase.has_begun() {
            connection.as_mut().graceful_shutdown();
            note(connection.await);
        }
    }
}

/// Announces that the connection closes after this answer.
fn say_last(response: &mut Response<ChunkedBody>) {
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(header::CONNECTION, close);
}

async fn respond(
    gateway: &Gateway,
    request: Request<WaitedBody>,
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
            if matches!(route, Route::Infer(_)) {
                record.is_request();
            }
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

/// Refuses a client because there are too many connections.
async fn turn_away(mut stream: tokio::net::TcpStream) {
    let error = too_many_connections();
    let _ = stream
        .write_all(&last_answer(error.kind().http(), &error))
        .await;
}
