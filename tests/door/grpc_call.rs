//! A call of gRPC whose request is sent piece by piece, as clients do that mean harm.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::Request;
use hyper::body::{Body, Frame};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use crate::grpc::{Answer, INFERENCE, read_answer};
use crate::wait::LIMIT;

/// The pieces of a request.
pub struct SentPieces(pub UnboundedReceiver<Bytes>);

impl Body for SentPieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.0.poll_recv(context);
        next.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// A piece that tells when it was sent.
struct PieceUntilSent {
    bytes: Vec<u8>,
    _sent: Arc<()>,
}

impl AsRef<[u8]> for PieceUntilSent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A call that has begun. Dropping it hangs up.
pub struct OpenCall {
    runtime: Runtime,
    pieces: Option<UnboundedSender<Bytes>>,
    has_head: Arc<AtomicBool>,
    answer: Option<JoinHandle<Result<Answer, hyper::Error>>>,
}

impl OpenCall {
    /// Begins a call of a method.
    pub fn begin(address: SocketAddr, method: &str) -> Self {
        OpenCall::within(address, method, None)
    }

    /// Begins one whose client takes at most so many bytes of the answer until it says more.
    pub fn within(address: SocketAddr, method: &str, window: Option<u32>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let (pieces, sent) = unbounded_channel();
        let uri = format!("http://{address}/{INFERENCE}/{method}");
        let request = Request::post(uri)
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(SentPieces(sent))
            .expect("a request");
        let has_head = Arc::new(AtomicBool::new(false));
        let head = Arc::clone(&has_head);
        let answer = runtime.spawn(async move {
            let stream = TcpStream::connect(address).await.expect("connects");
            let mut client = http2::Builder::new(TokioExecutor::new());
            client.initial_stream_window_size(window);
            let connected = client.handshake(TokioIo::new(stream)).await;
            let (mut send, connection) = connected.expect("HTTP/2");
            tokio::spawn(connection);
            let response = send.send_request(request).await?;
            head.store(true, Ordering::SeqCst);
            read_answer(response).await
        });
        OpenCall {
            runtime,
            pieces: Some(pieces),
            has_head,
            answer: Some(answer),
        }
    }

    /// Sends a piece of the request.
    pub fn send(&self, piece: &[u8]) {
        let pieces = self.pieces.as_ref().expect("an open call");
        // A server that has answered takes no more.
        let _ = pieces.send(Bytes::copy_from_slice(piece));
    }

    /// Sends a piece that is larger than the server takes unread; returns what is dropped once it
    /// was sent, for which the server has begun to read the call.
    pub fn send_read(&self, bytes: Vec<u8>) -> Weak<()> {
        let sent = Arc::new(());
        let is_sent = Arc::downgrade(&sent);
        let pieces = self.pieces.as_ref().expect("an open call");
        let _ = pieces.send(Bytes::from_owner(PieceUntilSent { bytes, _sent: sent }));
        is_sent
    }

    /// Whether the head of the answer has come.
    pub fn has_head(&self) -> bool {
        self.has_head.load(Ordering::SeqCst)
    }

    /// Ends the request.
    pub fn end(&mut self) {
        self.pieces = None;
    }

    /// Waits for the answer, or for the server to give the call up.
    pub fn answer(&mut self) -> Result<Answer, hyper::Error> {
        let answer = self.answer.take().expect("it is waited for once");
        let answer = self
            .runtime
            .block_on(async { tokio::time::timeout(LIMIT, answer).await });
        answer.expect("it comes").expect("a client")
    }
}
