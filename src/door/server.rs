//! The server: the addresses that it listens at, and the threads that serve them.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;

use thiserror::Error;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use crate::background::BackgroundThreads;
use crate::callers::{CallersSeen, ModelSeen};
use crate::calls::CallRecorder;
use crate::calls::access::AccessLog;
use crate::calls::traces::TraceExporter;
use crate::gateway::Gateway;
use crate::grpc;
use crate::http::{self, HttpScope};
use crate::net::{AcceptedConnection, Ending, OpenConnections, accept};
use crate::notices::Notices;
use crate::options::ServerOptions;
use divisi_inference::service::ModelService;

/// Where a server listens; a port of 0 has become one that was free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// The address of HTTP.
    pub http: Option<SocketAddr>,
    /// The address of gRPC.
    pub grpc: Option<SocketAddr>,
    /// The address of the metrics alone.
    pub metrics: Option<SocketAddr>,
    /// Whether clients have to speak TLS there.
    pub tls: bool,
    /// Whether clients have to send a key there.
    pub keys: bool,
}

/// Who asks a server now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerActivity {
    /// Connections of HTTP that are open.
    pub http: usize,
    /// Connections of gRPC that are open.
    pub grpc: usize,
    /// The callers of the last minute, and what was refused.
    pub seen: CallersSeen,
}

/// Why a server does not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// An address is taken.
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
    /// Two protocols have one address.
    #[error("--{option} {address}: `--{other}` has the same address; use two different addresses")]
    Same {
        /// The protocol's option.
        option: &'static str,
        /// The option of the other protocol.
        other: &'static str,
        /// The address.
        address: SocketAddr,
    },
    /// An address is not this machine's own.
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
    /// An address cannot be listened at.
    #[error("--{option} {address}: {error}")]
    Address {
        /// The protocol's option.
        option: &'static str,
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        error: io::Error,
    },
    /// The access log cannot be written.
    #[error("--access-log: {0}")]
    AccessLog(io::Error),
    /// The system has no thread left.
    #[error("cannot start the threads of the server: {0}")]
    Threads(io::Error),
}

/// A server that listens. Dropping it lets requests under way end, for a while, and ends it.
pub struct InferenceServer {
    addresses: Addresses,
    end: watch::Sender<bool>,
    gateway: Arc<Gateway>,
    http: Arc<OpenConnections>,
    grpc: Arc<OpenConnections>,
    runtime: Option<Runtime>,
    /// Dropped after the runtime whose tasks hand them work.
    _background: BackgroundThreads,
}

impl InferenceServer {
    /// Listens at the addresses, and serves models there.
    ///
    /// # Errors
    /// An address cannot be listened at, or may not; then there is none.
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
        let calls = recorder(options, &runtime)?;
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

    /// Returns where it listens.
    pub fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// Returns who asks now.
    pub fn activity(&self) -> ServerActivity {
        ServerActivity {
            http: self.http.count(),
            grpc: self.grpc.count(),
            seen: self.gateway.calls.callers.seen(),
        }
    }

    /// Returns who asked each version of a model lately.
    pub fn models_seen(&self) -> Vec<ModelSeen> {
        self.gateway.calls.callers.models_seen()
    }
}

impl Drop for InferenceServer {
    fn drop(&mut self) {
        // Before the listeners close: who asks whether it is ready is then not sent elsewhere too late.
        self.gateway.ends();
        let _ = self.end.send(true);
        if let Some(runtime) = self.runtime.take() {
            let farewell = self.gateway.limits.farewell;
            let ended = async { self.end.closed().await };
            let wait = || runtime.block_on(async { tokio::time::timeout(farewell, ended).await });
            // Whoever drops it may be driven by another runtime, which this one may not block.
            thread::scope(|scope| {
                let thread = thread::Builder::new().name("farewell".into());
                // Without a thread nobody is waited for.
                drop(thread.spawn_scoped(scope, wait));
            });
            runtime.shutdown_background();
            self.gateway.calls.flush();
        }
    }
}

/// Returns who reads the records of calls.
fn recorder(options: &ServerOptions, runtime: &Runtime) -> Result<CallRecorder, StartError> {
    let notices = || options.notices.clone();
    let access = options.access.as_ref();
    let access = access.map(|access| AccessLog::begin(access, notices()));
    let traces = options.traces.as_ref();
    Ok(CallRecorder {
        access: access.transpose().map_err(StartError::AccessLog)?,
        traces: traces.map(|traces| TraceExporter::begin(traces, runtime.handle(), notices())),
        callers: Arc::default(),
    })
}

/// Checks that no two protocols have one address; port 0 is another one each time.
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
    /// Serves HTTP, if there is an address for it. Returns its connections.
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

    /// The same with gRPC.
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
