//! Words for the errors that hyper tells by itself. A head that it cannot read it answers with a
//! status alone; clients of the protocol expect JSON.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::error::{ErrorKind, ServiceError};

use super::answer::error_bytes;

/// The most bytes of an answer that hyper makes.
const MOST: usize = 256;

/// A connection whose bare errors get words.
pub(super) struct WordedIo<S> {
    inner: S,
    /// An answer that is being written in place of one, and how long that one is.
    instead: Option<(Bytes, usize)>,
}

impl<S> WordedIo<S> {
    pub(super) fn new(inner: S) -> Self {
        WordedIo {
            inner,
            instead: None,
        }
    }
}

/// Returns what is to be written in place of an answer, if it is a bare error.
fn worded(answer: &[u8]) -> Option<Bytes> {
    let text = std::str::from_utf8(answer.get(..answer.len().min(MOST + 1))?).ok()?;
    let rest = text.strip_prefix("HTTP/1.1 4")?;
    let is_bare = text.contains("\r\ncontent-length: 0\r\n") && text.ends_with("\r\n\r\n");
    if !is_bare || text.len() > MOST {
        return None;
    }
    let (line, _) = rest.split_once("\r\n")?;
    let (kind, words) = match line.get(..2)? {
        "14" => (ErrorKind::TooLarge, "the path is longer than the bound"),
        "31" => (
            ErrorKind::TooLarge,
            "the headers are more, or larger, than the bound",
        ),
        _ => (
            ErrorKind::BadInput,
            "the head of the request is no HTTP/1.1",
        ),
    };
    let body = error_bytes(&ServiceError::new(kind, words));
    let head = format!(
        "HTTP/1.1 4{line}\r\ncontent-type: application/json\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    Some([head.as_bytes(), &body].concat().into())
}

impl<S: AsyncWrite + Unpin> WordedIo<S> {
    /// Writes the answer that stands in place of another.
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
}

impl<S: AsyncRead + Unpin> AsyncRead for WordedIo<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WordedIo<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.instead.is_none() {
            self.instead = worded(bytes).map(|answer| (answer, bytes.len()));
        }
        match self.instead {
            Some(_) => self.poll_instead(context),
            None => Pin::new(&mut self.inner).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // A bare error is written in one part.
        if let [part] = parts {
            return self.poll_write(context, part);
        }
        Pin::new(&mut self.inner).poll_write_vectored(context, parts)
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
