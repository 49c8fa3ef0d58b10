//! Serves gRPC connections.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, HeaderValue};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tonic::body::Body;
use tonic::{Code, Status};

use crate::calls::{CallRecord, GRPC};
use crate::clock::ConnectionClock;
use crate::gateway::Gateway;
use crate::keys::KeyRole;
use crate::limits::ServerLimits;
use crate::net::{
    AcceptedConnection, CONNECTION, Ending, ExpectedBytes, Presence, StreamExecutor, TimedIo,
    WaitedBody, secured, too_many_connections,
};
use crate::tls::TlsProtocol;
use divisi_inference::error::{ErrorKind, ServiceError};

use super::answer::AnswerBody;
use super::calls::GrpcCalls;
use super::status::status;

/// The bytes of a call that may arrive before they are read.
const STREAM_WINDOW: u32 = 4 << 20;
/// The bytes of all calls of a connection that may arrive before they are read.
const CONNECTION_WINDOW: u32 = 16 << 20;
/// The maximum bytes of a frame: larger frames reduce the number of reads.
const FRAME: u32 = 256 << 10;
/// The time between two pings to the client.
const KEEP_ALIVE: Duration = Duration::from_secs(60);

/// The name of the call for inference.
const INFER: &str = "ModelInfer";

/// The header with the trace of a call.
const TRACE_PARENT: &str = "traceparent";

/// The time for the last bytes of a connection that must make room for another one.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Serves a connection until its client or the server ends it.
pub(crate) async fn serve(gateway: Arc<Gateway>, accepted: AcceptedConnection, mut ending: Ending) {
    let AcceptedConnection {
        stream,
        peer,
        presence,
    } = accepted;
    let Some(presence) = presence else {
        let error = too_many_connections();
        let status = error.kind().grpc().into();
        (gateway.calls).refuse(GRPC, peer, CONNECTION, status, &error);
        return;
    };
    match gateway.tls.clone() {
        None => serve_on(gateway, stream, peer, presence, ending).await,
        Some(tls) => {
            let config = tls.config(TlsProtocol::Http2);
            let stream = secured(stream, config, &gateway.limits, &presence, &mut ending).await;
            if let Some(stream) = stream {
                serve_on(gateway, stream, peer, presence, ending).await;
            }
        }
    }
}

/// Serves a connection, with or without TLS.
async fn serve_on(
    gateway: Arc<Gateway>,
    stream: impl AsyncRead + AsyncWrite + Unpin,
    peer: SocketAddr,
    presence: Presence,
    mut ending: Ending,
) {
    let limits = gateway.limits;
    let expected = ExpectedBytes::preface();
    let io = TimedIo::new(stream, presence.clone(), expected, &limits);
    let calls = GrpcCalls::new(Arc::clone(&gateway));
    let of = presence.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let under_way = of.begins();
        let mut request = request.map(|body| WaitedBody::new(body, of.clone()));
        let calls = calls.clone();
        let call = call_of(request.uri().path());
        let header = |name| request.headers().get(name).map(HeaderValue::as_bytes);
        let parent = header(TRACE_PARENT);
        let record = gateway.calls.begin(GRPC, peer, parent, || call.to_owned());
        if call == INFER {
            record.is_request();
        }
        let needed = role(call);
        let allowed = gateway.authorize(header(AUTHORIZATION.as_str()), needed, &record);
        request.extensions_mut().insert(record.clone());
        async move {
            if let Err(error) = allowed {
                record.fails(error.kind().grpc().into(), &error);
                let refused = status(error).into_http();
                return Ok::<_, Infallible>(AnswerBody::watch(refused, under_way));
            }
            let answer = calls.answer(request, needed).await?;
            record_end(&record, &answer);
            Ok(AnswerBody::watch(answer, under_way))
        }
    });
    let http = builder(&limits, presence.clock());
    let mut connection = pin!(http.serve_connection(TokioIo::new(io), service));
    // The client knows how its connection ended.
    let patience = tokio::select! {
        biased;
        _ = connection.as_mut() => return,
        () = presence.makes_room(limits.idle_time) => LAST_WORDS,
        () = ending.wait() => limits.last_time,
    };
    // Its calls are incomplete and not awaited.
    if presence.is_cut() {
        return;
    }
    connection.as_mut().graceful_shutdown();
    tokio::select! {
        biased;
        _ = connection => {}
        () = presence.rests(patience) => {}
    }
}

/// Returns the name of the call with this path.
fn call_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Returns the kind of error for a status if it was not recorded: of several, the one from before
/// the request to a model.
fn kind_of(code: Code) -> ErrorKind {
    let number = u8::try_from(i32::from(code)).unwrap_or_default();
    let kinds = ErrorKind::ALL.into_iter();
    let known = kinds.rev().find(|kind| kind.grpc() == number);
    match (known, code) {
        (Some(kind), _) => kind,
        // A message that exceeds its bound.
        (None, Code::OutOfRange) => ErrorKind::TooLarge,
        (None, _) => ErrorKind::Internal,
    }
}

/// Records the end of a call. An answer without a status in its headers continues and has none yet.
fn record_end(record: &CallRecord, answer: &Response<Body>) {
    let status = Status::from_header_map(answer.headers());
    let code = status.as_ref().map_or(Code::Ok, Status::code);
    let message = || {
        status
            .as_ref()
            .map_or(String::new(), |s| s.message().to_owned())
    };
    match code {
        Code::Ok => record.is_answered(0),
        _ => record.fails_by(&ServiceError::new(kind_of(code), message())),
    }
    record.ends(u16::try_from(i32::from(code)).unwrap_or(u16::MAX), message);
}

/// Returns the role that a call requires, or `None` if it needs no key.
fn role(call: &str) -> Option<KeyRole> {
    match call {
        "ServerLive" | "ServerReady" | "Check" => None,
        "ServerMetadata"
        | "ModelReady"
        | "ModelMetadata"
        | "ModelConfig"
        | "ModelStatistics"
        | "RepositoryIndex"
        | "SystemSharedMemoryStatus"
        | "CudaSharedMemoryStatus" => Some(KeyRole::Read),
        INFER
        | "ModelStreamInfer"
        | "SystemSharedMemoryRegister"
        | "SystemSharedMemoryUnregister"
        | "CudaSharedMemoryRegister"
        | "CudaSharedMemoryUnregister" => Some(KeyRole::Infer),
        _ => Some(KeyRole::Control),
    }
}

fn builder(limits: &ServerLimits, clock: &ConnectionClock) -> http2::Builder<StreamExecutor> {
    let read_time = limits.read_time;
    let mut http = http2::Builder::new(StreamExecutor {
        read_time,
        clock: clock.clone(),
    });
    let header_bytes = u32::try_from(limits.header_bytes).unwrap_or(u32::MAX);
    http.timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(FRAME)
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(header_bytes)
        // A client that cancels many calls at once keeps its connection, which other clients may
        // share.
        .max_pending_accept_reset_streams(limits.streams as usize)
        .keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(limits.read_time);
    http
}
