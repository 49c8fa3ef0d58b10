//! The server: its addresses and the threads that serve them.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;

use thiserror::Error;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use crate::background::BackgroundThreads;
use crate::callers::{Callers, CallersSeen, ModelSeen};
use crate::calls::CallRecorder;
use crate::calls::access::AccessLog;
use crate::calls::traces::TraceExporter;
use crate::gateway::Gateway;
use crate::grpc;
use crate::http::{self, HttpScope};
use crate::net::{AcceptedConnection, Ending, OpenConnections, accept};
use crate::notices::Notices;
use crate::options::ServerOptions;
use divisi_engine::serving::RequestLedger;
use divisi_inference::service::ModelService;

/// The addresses of a server; port 0 is replaced by the port in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// The HTTP address.
    pub http: Option<SocketAddr>,
    /// The gRPC address.
    pub grpc: Option<SocketAddr>,
    /// The address with only metrics.
    pub metrics: Option<SocketAddr>,
    /// Whether clients must use TLS.
    pub tls: bool,
    /// Whether clients must send a key.
    pub keys: bool,
}

/// The current clients of a server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerActivity {
    /// Open HTTP connections.
    pub http: usize,
    /// Open gRPC connections.
    pub grpc: usize,
    /// The clients of the last minute.
    pub seen: CallersSeen,
}

/// The reasons why a server does not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// An address is in use.
    #[error(
        "--{option} {address}: the address is in use by another program; stop it, choose another address \
         with `--{option} ADDRESS`, or pass `--{option} off`"
    )]
    Taken {
        /// The protocol's option.
        option: &'static str,
        /// The address.
        address: SocketAddr,
    },
    /// Two protocols have the same address.
    #[error("--{option} {address}: `--{other}` has the same address; use two different addresses")]
    Same {
        /// The protocol's option.
        option: &'static str,
        /// The option of the other protocol.
        other: &'static str,
        /// The address.
        address: SocketAddr,
    },
    /// The address is public.
    #[error(
        "--{option} {address}: refusing a public address without keys and TLS; add \
         `--keys FILE` and `--tls-certificate FILE`, or pass `--allow-remote` to serve without \
         them"
    )]
    Remote {
        /// The protocol's option.
        option: &'static str,
        /// The address.
        address: SocketAddr,
    },
    /// Listening on an address failed.
    #[error("--{option} {address}: {error}")]
    Address {
        /// The protocol's option.
        option: &'static str,
        /// The address.
        address: SocketAddr,
        /// The system's error.
        error: io::Error,
    },
    /// The access log cannot be written.
    #[error("--access-log: {0}")]
    AccessLog(io::Error),
    /// The threads cannot be started.
    #[error("cannot start the threads of the server: {0}")]
    Threads(io::Error),
}

/// A listening server. Dropping it shuts it down, with a limited time for requests in progress.
pub struct InferenceServer {
    addresses: Addresses,
    end: watch::Sender<bool>,
    gateway: Arc<Gateway>,
    http: Arc<OpenConnections>,
    grpc: Arc<OpenConnections>,
    runtime: Option<Runtime>,
    /// Dropped after the runtime, whose tasks submit work to it.
    _background: BackgroundThreads,
}

impl InferenceServer {
    /// Listens on the addresses and serves models there.
    ///
    /// # Errors
    /// Returns an error if listening on an address fails or is not allowed. The server is then not
    /// started.
    pub fn start(
        service: Arc<dyn ModelService>,
        options: &ServerOptions,
    ) -> Result<Self, StartError> {
        distinct(options)?;
        let bind = |option, address: Option<SocketAddr>| {
            address.map(|a| listen(option, a, options)).transpose()
        };
        let http = bind("http", options.http)?;
        let grpc = bind("grpc", options.grpc)?;
        let metrics = bind("metrics", options.metrics)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(options.threads.max(1))
            .thread_name("protocol")
            .enable_io()
            .enable_time()
            .build()
            .map_err(StartError::Threads)?;
        let address = |listener: &Option<TcpListener>| listener.as_ref()?.local_addr().ok();
        let addresses = Addresses {
            http: address(&http),
            grpc: address(&grpc),
            metrics: address(&metrics),
            tls: options.tls.is_some(),
            keys: options.keys.is_some(),
        };
        let calls = recorder(options, &runtime, service.ledger().unwrap_or_default())?;
        let background =
            BackgroundThreads::start(options.threads.max(1)).map_err(StartError::Threads)?;
        let gateway = Gateway::new(service, options, calls, background.handle());
        let (end, ending) = Ending::new();
        let listeners = Listeners {
            gateway: Arc::clone(&gateway),
            notices: options.notices.clone(),
            ending,
        };
        let (http, grpc) = {
            let _inside = runtime.enter();
            listeners.http(metrics, HttpScope::Metrics)?;
            (
                listeners.http(http, HttpScope::Protocol)?,
                listeners.grpc(grpc)?,
            )
        };
        Ok(InferenceServer {
            addresses,
            end,
            gateway,
            http,
            grpc,
            runtime: Some(runtime),
            _background: background,
        })
    }

    /// Returns its addresses.
    pub fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// Returns the current clients.
    pub fn activity(&self) -> ServerActivity {
        ServerActivity {
            http: self.http.count(),
            grpc: self.grpc.count(),
            seen: self.gateway.calls.callers.snapshot(),
        }
    }

    /// Returns the ledger of errors that all clients of the models share.
    pub fn errors(&self) -> &RequestLedger {
        self.gateway.calls.callers.errors()
    }

    /// Returns the recent clients of each version of a model.
    pub fn models_seen(&self) -> Vec<ModelSeen> {
        self.gateway.calls.callers.models_seen()
    }
}

impl Drop for InferenceServer {
    fn drop(&mut self) {
        // Before the listeners close, so that readiness checks see the shutdown in time.
        self.gateway.ends();
        let _ = self.end.send(true);
        if let Some(runtime) = self.runtime.take() {
            let farewell = self.gateway.limits.farewell;
            let ended = async { self.end.closed().await };
            let wait = || runtime.block_on(async { tokio::time::timeout(farewell, ended).await });
            // The caller may run on another runtime, whose threads must not block on this one.
            thread::scope(|scope| {
                let thread = thread::Builder::new().name("farewell".into());
                // Without a thread, the server does not wait.
                drop(thread.spawn_scoped(scope, wait));
            });
            runtime.shutdown_background();
            self.gateway.calls.flush();
        }
    }
}

/// Returns the recorder of calls.
fn recorder(
    options: &ServerOptions,
    runtime: &Runtime,
    errors: Arc<RequestLedger>,
) -> Result<CallRecorder, StartError> {
    let notices = || options.notices.clone();
    let access = options.access.as_ref();
    let access = access.map(|access| AccessLog::begin(access, notices()));
    let traces = options.traces.as_ref();
    Ok(CallRecorder {
        access: access.transpose().map_err(StartError::AccessLog)?,
        traces: traces.map(|traces| TraceExporter::begin(traces, runtime.handle(), notices())),
        callers: Arc::new(Callers::new(errors)),
    })
}

/// Checks that the protocols have distinct addresses; port 0 is always distinct.
fn distinct(options: &ServerOptions) -> Result<(), StartError> {
    let all = [
        ("http", options.http),
        ("grpc", options.grpc),
        ("metrics", options.metrics),
    ];
    for (at, (option, address)) in all.into_iter().enumerate() {
        let Some(address) = address.filter(|address| address.port() != 0) else {
            continue;
        };
        let mut before = all[..at].iter().filter(|(_, a)| *a == Some(address));
        if let Some((other, _)) = before.next() {
            return Err(StartError::Same {
                option,
                other,
                address,
            });
        }
    }
    Ok(())
}

fn listen(
    option: &'static str,
    address: SocketAddr,
    options: &ServerOptions,
) -> Result<TcpListener, StartError> {
    let is_guarded = options.allow_remote || options.keys.is_some() || options.tls.is_some();
    if !address.ip().is_loopback() && !is_guarded {
        return Err(StartError::Remote { option, address });
    }
    let bound = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    bound.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => StartError::Taken { option, address },
        _ => StartError::Address {
            option,
            address,
            error,
        },
    })
}

/// Serves connections at addresses.
struct Listeners {
    gateway: Arc<Gateway>,
    notices: Notices,
    ending: Ending,
}

impl Listeners {
    /// Serves HTTP if it has an address. Returns its connections.
    fn http(
        &self,
        listener: Option<TcpListener>,
        scope: HttpScope,
    ) -> Result<Arc<OpenConnections>, StartError> {
        let (gateway, ending) = (Arc::clone(&self.gateway), self.ending.clone());
        self.take(listener, move |accepted| {
            http::serve(Arc::clone(&gateway), accepted, scope, ending.clone())
        })
    }

    /// Serves gRPC if it has an address. Returns its connections.
    fn grpc(&self, listener: Option<TcpListener>) -> Result<Arc<OpenConnections>, StartError> {
        let (gateway, ending) = (Arc::clone(&self.gateway), self.ending.clone());
        self.take(listener, move |accepted| {
            grpc::serve(Arc::clone(&gateway), accepted, ending.clone())
        })
    }

    fn take<F>(
        &self,
        listener: Option<TcpListener>,
        serve: impl Fn(AcceptedConnection) -> F + Send + Sync + 'static,
    ) -> Result<Arc<OpenConnections>, StartError>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let open = OpenConnections::new(&self.gateway.limits, &self.gateway.clock);
        if let Some(listener) = listener {
            let listener =
                tokio::net::TcpListener::from_std(listener).map_err(StartError::Threads)?;
            let (taken, notices) = (Arc::clone(&open), self.notices.clone());
            tokio::spawn(accept(listener, taken, notices, self.ending.clone(), serve));
        }
        Ok(open)
    }
}
