//! Sending spans to a collector.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::{http1, http2};
use hyper::{Request, Response, body::Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;
use tokio_rustls::TlsConnector;

use crate::client::client_config;

use super::TraceOptions;
use super::endpoint::TraceEndpoint;
use super::messages::ExportRequest;

/// The gRPC call.
const CALL: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

/// A collector and its connection settings.
pub(super) struct Collector {
    to: TraceEndpoint,
    trusted: Option<PathBuf>,
    /// The TLS settings, created for the first connection.
    tls: OnceCell<TlsConnector>,
}

impl Collector {
    pub(super) fn new(options: &TraceOptions) -> Self {
        Collector {
            to: options.to.clone(),
            trusted: options.trusted.clone(),
            tls: OnceCell::new(),
        }
    }

    async fn tls(&self) -> io::Result<&TlsConnector> {
        let (trusted, over_http) = (self.trusted.clone(), self.to.path.is_some());
        let make = || async move {
            // Reading certificate files may block.
            let made = spawn_blocking(move || connector(trusted.as_ref(), over_http));
            made.await.map_err(io::Error::other)?
        };
        self.tls.get_or_try_init(make).await
    }

    pub(super) fn endpoint(&self) -> &TraceEndpoint {
        &self.to
    }

    /// Sends spans over a new connection.
    ///
    /// # Errors
    /// Returns an error if the collector cannot be reached, its certificate is not trusted, or it
    /// does not accept the spans.
    pub(super) async fn send(&self, spans: &ExportRequest) -> io::Result<()> {
        let to = &self.to;
        let stream = TcpStream::connect((&*to.address.host, to.address.port)).await?;
        if !to.address.tls {
            return over(to, stream, spans).await;
        }
        let name = ServerName::try_from(to.address.host.clone()).map_err(io::Error::other)?;
        let secured = self.tls().await?.connect(name, stream);
        over(to, secured.await?, spans).await
    }
}

fn connector(trusted: Option<&PathBuf>, over_http: bool) -> io::Result<TlsConnector> {
    let mut config = client_config(trusted)?;
    let protocol: &[u8] = if over_http { b"http/1.1" } else { b"h2" };
    config.alpn_protocols = vec![protocol.to_owned()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// A stream to a collector.
trait Connected: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Connected for T {}

async fn over(to: &TraceEndpoint, stream: impl Connected, spans: &ExportRequest) -> io::Result<()> {
    let stream = TokioIo::new(stream);
    match &to.path {
        Some(path) => over_http(to, stream, path, spans).await,
        None => over_grpc(to, stream, spans).await,
    }
}

async fn over_http(
    to: &TraceEndpoint,
    stream: TokioIo<impl Connected>,
    path: &str,
    spans: &ExportRequest,
) -> io::Result<()> {
    let (mut sender, connection) = http1::handshake(stream).await.map_err(io::Error::other)?;
    let request = Request::post(path)
        .header("host", to.authority())
        .header("content-type", "application/x-protobuf")
        .body(Full::new(Bytes::from(spans.encode_to_vec())));
    let request = request.map_err(io::Error::other)?;
    let answered = async {
        let answer = sender
            .send_request(request)
            .await
            .map_err(io::Error::other)?;
        refused_by_status(&answer)
    };
    while_connected(connection, answered).await
}

async fn over_grpc(
    to: &TraceEndpoint,
    stream: TokioIo<impl Connected>,
    spans: &ExportRequest,
) -> io::Result<()> {
    let handshake = http2::handshake(TokioExecutor::new(), stream).await;
    let (mut sender, connection) = handshake.map_err(io::Error::other)?;
    let mut frame = BytesMut::new();
    frame.put_u8(0);
    frame.put_u32(u32::try_from(spans.encoded_len()).unwrap_or(u32::MAX));
    spans.encode(&mut frame).map_err(io::Error::other)?;
    let scheme = if to.address.tls { "https" } else { "http" };
    let request = Request::post(format!("{scheme}://{}{CALL}", to.authority()))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(Full::new(frame.freeze()));
    let request = request.map_err(io::Error::other)?;
    let answered = async {
        let answer = sender
            .send_request(request)
            .await
            .map_err(io::Error::other)?;
        refused_by_status(&answer)?;
        let mut status = answer.headers().get("grpc-status").cloned();
        let body = answer
            .into_body()
            .collect()
            .await
            .map_err(io::Error::other)?;
        status = status.or_else(|| body.trailers()?.get("grpc-status").cloned());
        match status {
            Some(status) if status == "0" => Ok(()),
            status => Err(io::Error::other(format!(
                "the collector returned status {status:?}"
            ))),
        }
    };
    while_connected(connection, answered).await
}

fn refused_by_status(answer: &Response<Incoming>) -> io::Result<()> {
    match answer.status().is_success() {
        true => Ok(()),
        false => Err(io::Error::other(format!(
            "the collector answered {}",
            answer.status()
        ))),
    }
}

/// Waits for an answer while driving its connection.
async fn while_connected<E: Send>(
    connection: impl Future<Output = Result<(), E>>,
    answered: impl Future<Output = io::Result<()>>,
) -> io::Result<()> {
    let mut answered = std::pin::pin!(answered);
    tokio::select! {
        answer = answered.as_mut() => answer,
        // The data received before the end may contain an answer.
        _ = connection => answered.await,
    }
}
