//! Where a server listens, and how.

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

/// Where a server listens, and how.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The address of HTTP.
    pub http: Option<SocketAddr>,
    /// The address of gRPC.
    pub grpc: Option<SocketAddr>,
    /// The address of the metrics alone.
    pub metrics: Option<SocketAddr>,
    /// Who may ask; `None` for everybody.
    pub keys: Option<Arc<Keys>>,
    /// The certificate of connections under TLS; `None` for connections that are open to read.
    pub tls: Option<Arc<TlsFiles>>,
    /// Bytes of answers that are kept for equal requests; `None` to keep none.
    pub cache: Option<NonZeroUsize>,
    /// The access log; `None` for none.
    pub access: Option<AccessOptions>,
    /// Whether files of models are taken from those who load them.
    pub load_files: bool,
    /// Where traces go; `None` for nowhere.
    pub traces: Option<TraceOptions>,
    /// Who is told what the operator has to know.
    pub notices: Notices,
    /// Whether others than this machine may be listened to without keys and TLS.
    pub allow_remote: bool,
    /// The bounds.
    pub limits: ServerLimits,
    /// The threads that read requests and write answers.
    pub threads: usize,
    /// The clock of the time limits of connections.
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
