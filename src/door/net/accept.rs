//! Taking connections, up to a bound, until the server ends.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

#[cfg(target_os = "linux")]
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::error::{ErrorKind, ServiceError};
use crate::limits::{Allowance, AllowanceShare};

/// Pause after the system had no room for a connection.
const PAUSE: Duration = Duration::from_millis(20);

/// Bytes of answers that the system takes before it has sent those that it took earlier. It would take
/// megabytes of each client that does not read, and its next requests would be computed meanwhile.
#[cfg(target_os = "linux")]
const UNSENT: u32 = 128 << 10;

/// The name of connections in records.
pub(crate) const CONNECTION: &str = "connection";

/// Returns the error of a connection that there is no place for.
pub(crate) fn too_many_connections() -> ServiceError {
    ServiceError::new(ErrorKind::TooMany, "there are too many connections")
}

/// A connection that was taken.
pub(crate) struct AcceptedConnection {
    /// The connection.
    pub stream: TcpStream,
    /// The client's address.
    pub peer: SocketAddr,
    /// Its place among those that there may be, or `None` if there is none left.
    pub place: Option<AllowanceShare>,
}

/// Tells connections that the server ends.
#[derive(Clone)]
pub(crate) struct Ending(watch::Receiver<bool>);

impl Ending {
    /// Creates what tells and what is told.
    pub(crate) fn new() -> (watch::Sender<bool>, Self) {
        let (tell, told) = watch::channel(false);
        (tell, Ending(told))
    }

    /// Waits until the server ends.
    pub(crate) async fn comes(&mut self) {
        // Nobody there to tell it is the end, too.
        let _ = self.0.wait_for(|ends| *ends).await;
    }
}

/// Takes connections, and serves each in a task of its own.
pub(crate) async fn accept<F>(
    listener: TcpListener,
    places: Arc<Allowance>,
    mut ending: Ending,
    serve: impl Fn(AcceptedConnection) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    loop {
        let taken = tokio::select! {
            taken = listener.accept() => taken,
            () = ending.comes() => return,
        };
        match taken {
            Ok((stream, peer)) => {
                prepare(&stream);
                let place = Arc::clone(&places).one();
                tokio::spawn(serve(AcceptedConnection {
                    stream,
                    peer,
                    place,
                }));
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Sets the options of a connection. One that cannot have them is served as it is.
fn prepare(stream: &TcpStream) {
    // Answers are small and must not wait for each other.
    let _ = stream.set_nodelay(true);
    #[cfg(target_os = "linux")]
    let _ = SockRef::from(stream).set_tcp_notsent_lowat(UNSENT);
}
