//! Connections under TLS.

use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Agrees with a client on TLS. Returns `None` where that fails or takes too long; a client that
/// speaks TLS is told why by the protocol itself.
pub(crate) async fn secured(
    stream: TcpStream,
    config: Arc<ServerConfig>,
    within: Duration,
) -> Option<TlsStream<TcpStream>> {
    let agreed = TlsAcceptor::from(config).accept(stream);
    tokio::time::timeout(within, agreed).await.ok()?.ok()
}
