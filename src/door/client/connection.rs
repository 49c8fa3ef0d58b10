//! A connection to a server, be it under TLS or not.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::tls::chain;

use super::address::ServerAddress;

/// The bytes that go to a server and come from it.
pub(super) trait Connection: Read + Write + Send {}

impl<T: Read + Write + Send> Connection for T {}

/// Connects to a server, which has `patience` for each of its answers. `trusted` is a file of the
/// certificates that it may be signed by, in place of those that this machine trusts.
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

/// Connects to the first of a host's addresses that answers.
fn reach(address: &ServerAddress, patience: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "no host of this name");
    for at in (&*address.host, address.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&at, patience) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Returns how a server is known to be who it says it is.
pub(crate) fn client_config(trusted: Option<&PathBuf>) -> io::Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    let certificates = match trusted {
        Some(path) => chain(path).map_err(io::Error::other)?,
        None => rustls_native_certs::load_native_certs().certs,
    };
    roots.add_parsable_certificates(certificates);
    let provider = Arc::new(ring::default_provider());
    let versions =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let versions = versions.map_err(io::Error::other)?;
    Ok(versions.with_root_certificates(roots).with_no_client_auth())
}
