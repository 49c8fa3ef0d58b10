//! Accepts connections up to a bound until the server shuts down.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;
#[cfg(target_os = "linux")]
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

use crate::notices::Notices;
use divisi_inference::error::{ErrorKind, ServiceError};

use super::ending::Ending;
use super::presence::{OpenConnections, Presence};

/// The pause after the system had no room for a connection.
const PAUSE: Duration = Duration::from_millis(20);

/// The time between two notices about missing file descriptors.
const AGAIN: Duration = Duration::from_secs(60);

/// The maximum number of connections accepted after shutdown has begun: those in the system's
/// backlog.
const LAST: usize = 4096;

/// The maximum unsent bytes of answers in the system's buffer. Otherwise it would buffer megabytes
/// for each client that does not read, while its next requests are computed.
#[cfg(target_os = "linux")]
const UNSENT: u32 = 128 << 10;

/// The name of connections in records.
pub(crate) const CONNECTION: &str = "connection";

/// Returns the error of a refused connection.
pub(crate) fn too_many_connections() -> ServiceError {
    ServiceError::new(ErrorKind::TooMany, "too many connections")
}

/// An accepted connection.
pub(crate) struct AcceptedConnection {
    /// The connection.
    pub stream: TcpStream,
    /// The client's address.
    pub peer: SocketAddr,
    /// Its place among the open connections, or `None` if no connection can be closed for it.
    pub presence: Option<Presence>,
}

/// Accepts connections, and serves each in its own task.
pub(crate) async fn accept<F>(
    listener: TcpListener,
    open: Arc<OpenConnections>,
    notices: Notices,
    mut ending: Ending,
    serve: impl Fn(AcceptedConnection) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let begin = |(stream, peer): (TcpStream, SocketAddr)| {
        prepare(&stream);
        let presence = open.enter();
        tokio::spawn(serve(AcceptedConnection {
            stream,
            peer,
            presence,
        }));
    };
    let mut lack = DescriptorLack::default();
    loop {
        let taken = tokio::select! {
            taken = listener.accept() => taken,
            () = ending.wait() => break,
        };
        match taken {
            Ok(taken) => begin(taken),
            Err(error) => {
                if lack.is_seen(&error, &notices) {
                    open.drop_silent();
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    last_ones(listener).for_each(begin);
}

/// Returns the connections in the system's backlog. When the listener closes, the system would
/// reset them and lose their requests.
fn last_ones(listener: TcpListener) -> impl Iterator<Item = (TcpStream, SocketAddr)> {
    let listener = listener.into_std().ok();
    let next = move || {
        let (stream, peer) = listener.as_ref()?.accept().ok()?;
        stream.set_nonblocking(true).ok()?;
        Some((TcpStream::from_std(stream).ok()?, peer))
    };
    std::iter::from_fn(next).take(LAST)
}

/// The time of the last notice about missing file descriptors.
#[derive(Default)]
struct DescriptorLack(Option<Instant>);

impl DescriptorLack {
    /// Returns whether the error is a lack of file descriptors, and reports it periodically.
    fn is_seen(&mut self, error: &io::Error, notices: &Notices) -> bool {
        let errno = Errno::from_io_error(error);
        let lacks = errno.is_some_and(|errno| [Errno::MFILE, Errno::NFILE].contains(&errno));
        if lacks && self.0.is_none_or(|told| told.elapsed() >= AGAIN) {
            self.0 = Some(Instant::now());
            notices.say(&format!(
                "cannot accept more connections: {error}; raise the limit of file descriptors \
                 (`ulimit -n`) or lower `--max-connections`"
            ));
        }
        lacks
    }
}

/// Sets the options of a connection. Failures are ignored.
fn prepare(stream: &TcpStream) {
    // Small answers must not be delayed.
    let _ = stream.set_nodelay(true);
    #[cfg(target_os = "linux")]
    let _ = SockRef::from(stream).set_tcp_notsent_lowat(UNSENT);
}
