//! The address and the bounds of a browser console.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use divisi_door::keys::Keys;
use divisi_door::tls::TlsFiles;
use divisi_session::Session;
use divisi_session::remote::{RemoteError, Viewer};

/// Opens a session for a viewer.
pub type JoinSession = Arc<dyn Fn(Viewer) -> Result<Box<dyn Session>, RemoteError> + Send + Sync>;

/// The address and the bounds of a browser console.
#[derive(Clone, Debug)]
pub struct WebOptions {
    /// The address.
    pub address: SocketAddr,
    /// Further hosts under which browsers reach it, with the port if it is not the usual one.
    pub hosts: Vec<String>,
    /// The accepted keys; `None` accepts every page of this machine.
    pub keys: Option<Arc<Keys>>,
    /// The certificate for TLS; `None` for unencrypted connections.
    pub tls: Option<Arc<TlsFiles>>,
    /// Whether a public address is allowed without TLS.
    pub allow_remote: bool,
    /// The bounds.
    pub limits: WebLimits,
}

impl WebOptions {
    /// Returns the options of an address on this machine, without keys.
    pub fn new(address: SocketAddr) -> Self {
        WebOptions {
            address,
            hosts: Vec::new(),
            keys: None,
            tls: None,
            allow_remote: false,
            limits: WebLimits::default(),
        }
    }
}

/// The bounds on pages and connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebLimits {
    /// The connected pages.
    pub viewers: usize,
    /// The connections without a connected page.
    pub connections: usize,
    /// The time for a request, and for a page's introduction.
    pub greeting: Duration,
    /// The interval between signs of life.
    pub ping: Duration,
    /// The time without any message after which a page has gone.
    pub silence: Duration,
}

impl Default for WebLimits {
    fn default() -> Self {
        WebLimits {
            viewers: 16,
            connections: 64,
            greeting: Duration::from_secs(5),
            ping: Duration::from_secs(15),
            silence: Duration::from_secs(45),
        }
    }
}
