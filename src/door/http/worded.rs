//! Adds error messages to errors that hyper reports itself. For an invalid head hyper sends only a
//! status, and for a late one nothing; clients of the protocol expect JSON.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use hyper::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use divisi_inference::error::{ErrorKind, ServiceError};

use super::answer::error_bytes;

/// The maximum size of an answer by hyper in bytes.
const MOST: usize = 256;

/// A connection whose bare errors get messages.
pub(super) struct WordedIo<S, T> {
    inner: S,
    /// Called for each error with its status.
    told: T,
    /// A replacement answer that is being written, and the length of the original.
    instead: Option<(Bytes, usize)>,
    /// Whether data is waiting to be written.
    is_full: bool,
}

impl<S, T> WordedIo<S, T> {
    /// Adds messages to the errors on a connection, and reports them to `told`.
    pub(super) fn new(inner: S, told: T) -> Self {
        WordedIo {
            inner,
            told,
            instead: None,
            is_full: false,
        }
    }
}

/// Returns the status of a bare error and its message.
fn bare_error(answer: &[u8]) -> Option<(u16, ServiceError)> {
    let text = std::str::from_utf8(answer.get(..answer.len().min(MOST + 1))?).ok()?;
    let rest = text.strip_prefix("HTTP/1.1 ")?;
    let is_bare = text.contains("\r\ncontent-length: 0\r\n") && text.ends_with("\r\n\r\n");
    let status = rest.get(..3)?.parse().ok()?;
    if !is_bare || text.len() > MOST || !(400..500).contains(&status) {
        return None;
    }
    let (kind, words) = match status {
        414 => (ErrorKind::TooLarge, "the path is too long"),
        431 => (ErrorKind::TooLarge, "the headers are too many or too large"),
        _ => (
            ErrorKind::BadInput,
            "the head of the request is not valid HTTP/1.1",
        ),
    };
    Some((status, ServiceError::new(kind, words)))
}

/// Returns the answer that reports an error before the connection ends.
pub(super) fn last_answer(status: u16, error: &ServiceError) -> Bytes {
    let code = StatusCode::from_u16(status).ok();
    let reason = code.and_then(|code| code.canonical_reason());
    let body = error_bytes(error);
    let head = format!(
        "HTTP/1.1 {status} {}\r\ncontent-type: application/json\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n",
        reason.unwrap_or_default(),
        body.len()
    );
    [head.as_bytes(), &body].concat().into()
}

/// Returns whether a head was late, by the error of [`TimedIo`](crate::net::TimedIo). A client that
/// sent nothing gets no answer.
fn is_late(error: &io::Error) -> bool {
    let is_bare = error.raw_os_error().is_none() && error.get_ref().is_none();
    is_bare && error.kind() == io::ErrorKind::TimedOut
}

impl<S: AsyncWrite + Unpin, T: Fn(u16, &ServiceError)> WordedIo<S, T> {
    /// Writes the replacement answer.
    fn poll_instead(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let Some((answer, of)) = &mut self.instead else {
            return Poll::Ready(Ok(0));
        };
        while answer.has_remaining() {
            let written = ready!(Pin::new(&mut self.inner).poll_write(context, answer))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            answer.advance(written);
        }
        let of = *of;
        self.instead = None;
        Poll::Ready(Ok(of))
    }

    /// Reports a late head to the client, as far as the connection accepts it at once.
    fn tell_late(&mut self, context: &mut Context<'_>) {
        let words = "the head of the request did not arrive in time";
        let error = ServiceError::new(ErrorKind::Slow, words);
        let status = error.kind().http();
        (self.told)(status, &error);
        // Within a pending answer no other one can be sent.
        if !self.is_full {
            let answer = last_answer(status, &error);
            let _ = Pin::new(&mut self.inner).poll_write(context, &answer);
            let _ = Pin::new(&mut self.inner).poll_flush(context);
        }
    }
}

impl<S, T> AsyncRead for WordedIo<S, T>
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: Fn(u16, &ServiceError) + Unpin,
{
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = ready!(Pin::new(&mut self.inner).poll_read(context, buffer));
        if read.as_ref().is_err_and(is_late) {
            self.tell_late(context);
        }
        Poll::Ready(read)
    }
}

impl<S: AsyncWrite + Unpin, T: Fn(u16, &ServiceError) + Unpin> AsyncWrite for WordedIo<S, T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.instead.is_none()
            && let Some((status, error)) = bare_error(bytes)
        {
            (self.told)(status, &error);
            self.instead = Some((last_answer(status, &error), bytes.len()));
        }
        let written = match self.instead {
            Some(_) => self.poll_instead(context),
            None => Pin::new(&mut self.inner).poll_write(context, bytes),
        };
        self.is_full = written.is_pending();
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // hyper writes a bare error in one part.
        if let [part] = parts {
            return self.poll_write(context, part);
        }
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, parts);
        self.is_full = written.is_pending();
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
