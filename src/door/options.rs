//! The addresses and options of a server.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;

use crate::calls::access::AccessOptions;
use crate::calls::traces::TraceOptions;
use crate::clock::ConnectionClock;
use crate::keys::Keys;
use crate::limits::ServerLimits;
use crate::notices::Notices;
use crate::tls::TlsFiles;

/// The addresses and options of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The HTTP address.
    pub http: Option<SocketAddr>,
    /// The gRPC address.
    pub grpc: Option<SocketAddr>,
    /// The address with only metrics.
    pub metrics: Option<SocketAddr>,
    /// The accepted keys; `None` accepts all clients.
    pub keys: Option<Arc<Keys>>,
    /// The certificate for TLS; `None` for unencrypted connections.
    pub tls: Option<Arc<TlsFiles>>,
    /// The size of the answer cache in bytes; `None` for no cache.
    pub cache: Option<NonZeroUsize>,
    /// The access log; `None` for no log.
    pub access: Option<AccessOptions>,
    /// Whether clients may upload model files when they load models.
    pub load_files: bool,
    /// The destination of traces; `None` for no traces.
    pub traces: Option<TraceOptions>,
    /// The receiver of notices for the operator.
    pub notices: Notices,
    /// Whether public addresses are allowed without keys and TLS.
    pub allow_remote: bool,
    /// The bounds.
    pub limits: ServerLimits,
    /// The threads that read requests and write answers.
    pub threads: usize,
    /// The clock for the time limits of connections.
    pub clock: ConnectionClock,
}

impl Default for ServerOptions {
    fn default() -> Self {
        ServerOptions {
            http: None,
            grpc: None,
            metrics: None,
            keys: None,
            tls: None,
            cache: None,
            access: None,
            load_files: false,
            traces: None,
            notices: Notices::default(),
            allow_remote: false,
            limits: ServerLimits::default(),
            threads: 2,
            clock: ConnectionClock::default(),
        }
    }
}
