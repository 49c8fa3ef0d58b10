//! Accepts connections, answers requests for the page's files, and begins WebSockets.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, StatusCode, upgrade};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::gate::Gate;
use super::handshake;
use super::options::{JoinSession, WebOptions};
use super::pages::{self, PageResponse, SOCKET};
use super::socket::{self, PageServer};

/// The pause after the system had no room for a connection.
const PAUSE: Duration = Duration::from_millis(20);
/// The longest life of a connection that serves files.
const FILES: Duration = Duration::from_secs(30);
/// The maximum bytes of a request's head.
const HEAD: usize = 16 << 10;

/// The parts that all connections share.
struct WebDoor {
    gate: Gate,
    server: Arc<PageServer>,
    options: WebOptions,
}

/// A connection of a browser.
#[derive(Clone)]
struct WebPeer {
    door: Arc<WebDoor>,
    local: SocketAddr,
    peer: SocketAddr,
    /// The connection's place among those without a connected page.
    place: Arc<OwnedSemaphorePermit>,
}

/// Accepts connections and serves each in its own task.
pub(super) async fn accept(listener: TcpListener, options: WebOptions, join: JoinSession) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        return;
    };
    let places = Arc::new(Semaphore::new(options.limits.connections));
    let door = Arc::new(WebDoor {
        gate: Gate::new(&options.hosts, options.tls.is_some()),
        server: Arc::new(PageServer::new(&options, join)),
        options,
    });
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            sleep(PAUSE).await;
            continue;
        };
        // With too many connections, the newest is closed at once.
        if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
            tokio::spawn(connect(Arc::clone(&door), stream, peer, place));
        }
    }
}

/// Serves a connection, with or without TLS.
async fn connect(
    door: Arc<WebDoor>,
    stream: TcpStream,
    peer: SocketAddr,
    place: OwnedSemaphorePermit,
) {
    // Small messages must not be delayed.
    let _ = stream.set_nodelay(true);
    let Ok(local) = stream.local_addr() else {
        return;
    };
    let tls = door.options.tls.clone();
    let greeting = door.options.limits.greeting;
    let peer = WebPeer {
        door,
        local,
        peer,
        place: Arc::new(place),
    };
    match tls {
        None => serve(peer, stream).await,
        Some(tls) => {
            let accepted = TlsAcceptor::from(tls.http1()).accept(stream);
            if let Ok(Ok(stream)) = timeout(greeting, accepted).await {
                serve(peer, stream).await;
            }
        }
    }
}

async fn serve(peer: WebPeer, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
    let greeting = peer.door.options.limits.greeting;
    let service = service_fn(move |request| {
        let response = answer(&peer, request);
        async move { Ok::<_, Infallible>(response) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(greeting)
        .max_buf_size(HEAD);
    let connection = http.serve_connection(TokioIo::new(stream), service);
    // A WebSocket has a task of its own. The browser knows how its connection ended.
    let _ = timeout(FILES, connection.with_upgrades()).await;
}

fn answer(peer: &WebPeer, mut request: Request<Incoming>) -> PageResponse {
    let Some(host) = peer.door.gate.host(request.headers(), peer.local) else {
        let words = "this host is not served; see --web-host";
        return pages::plain(StatusCode::MISDIRECTED_REQUEST, words);
    };
    if request.method() != Method::GET {
        return pages::plain(StatusCode::METHOD_NOT_ALLOWED, "only GET is supported");
    }
    match request.uri().path() {
        SOCKET => begin_socket(peer, &mut request, &host),
        path => pages::file(path),
    }
}

/// Begins a WebSocket for a page of this server.
fn begin_socket(peer: &WebPeer, request: &mut Request<Incoming>, host: &str) -> PageResponse {
    if !peer.door.gate.is_same_origin(request.headers(), host) {
        return pages::plain(StatusCode::FORBIDDEN, "another site's page is refused");
    }
    let Some(response) = handshake::answer(request.headers()) else {
        return pages::plain(StatusCode::BAD_REQUEST, "expected a WebSocket");
    };
    let upgraded = upgrade::on(request);
    let (server, from) = (Arc::clone(&peer.door.server), peer.peer.ip());
    let place = Arc::clone(&peer.place);
    tokio::spawn(async move {
        if let Ok(Ok(stream)) = timeout(FILES, upgraded).await {
            socket::serve(TokioIo::new(stream), &server, from, place).await;
        }
    });
    response
}
