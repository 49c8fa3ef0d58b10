//! Connections under TLS.

use std::sync::Arc;

use rustls::ServerConfig;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::limits::ServerLimits;

use super::ending::Ending;
use super::presence::Presence;

/// Negotiates TLS with a client. Returns `None` if that fails, takes too long, or the connection
/// must close. TLS itself reports errors to the client.
pub(crate) async fn secured(
    stream: TcpStream,
    config: Arc<ServerConfig>,
    limits: &ServerLimits,
    presence: &Presence,
    ending: &mut Ending,
) -> Option<TlsStream<TcpStream>> {
    tokio::select! {
        agreed = TlsAcceptor::from(config).accept(stream) => agreed.ok(),
        () = presence.wait_for_close(limits.header_time, ending, limits.last_time) => None,
    }
}
