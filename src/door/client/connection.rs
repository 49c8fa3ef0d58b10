//! A connection to a server, with or without TLS.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, Error, InvalidMessage, RootCertStore, StreamOwned};

use crate::tls::chain;

use super::address::ServerAddress;
use super::trust::NamedCertificates;

/// A stream to a server.
pub(super) trait Connection: Read + Write + Send {}

impl<T: Read + Write + Send> Connection for T {}

/// Connects to a server with a time limit of `patience` for each answer. `trusted` is a file of
/// trusted certificates, instead of those that this machine trusts.
pub(super) fn connect(
    address: &ServerAddress,
    trusted: Option<&PathBuf>,
    patience: Duration,
) -> io::Result<Box<dyn Connection>> {
    let stream = reach(address, patience)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    if !address.tls {
        return Ok(Box::new(stream));
    }
    let name = ServerName::try_from(address.host.clone()).map_err(io::Error::other)?;
    let config = client_config(trusted)?;
    let client = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    Ok(Box::new(StreamOwned::new(client, stream)))
}

/// Returns whether a server's first bytes are not a TLS record, such as those of an HTTP server.
pub(super) fn is_no_tls(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    let foreign = Error::InvalidMessage(InvalidMessage::InvalidContentType);
    inner == Some(&foreign)
}

/// Connects to the first of a host's addresses that accepts.
fn reach(address: &ServerAddress, patience: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "unknown host name");
    for at in (&*address.host, address.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&at, patience) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Returns the verification of servers: by the certificates of a file, or by those that this
/// machine trusts.
pub(crate) fn client_config(trusted: Option<&PathBuf>) -> io::Result<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let versions = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let Some(path) = trusted else {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(versions.with_root_certificates(roots).with_no_client_auth());
    };
    let named = chain(path).map_err(io::Error::other)?;
    let verifier = NamedCertificates::new(named, provider).map_err(io::Error::other)?;
    let verified = versions.dangerous();
    let verified = verified.with_custom_certificate_verifier(Arc::new(verifier));
    Ok(verified.with_no_client_auth())
}
