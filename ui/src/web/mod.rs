//! The console in a browser: pages of this program, and a WebSocket for each viewer.
//!
//! The server renders, the browser paints. Each page has a console of its own
//! ([`Console`](crate::console::Console)) on its own session, drawn at the page's size. `frames`
//! sends the changed cells, `viewer` handles the page's keys, and `socket` holds the page to its
//! bounds. A page sends events, never bytes for a terminal.
//!
//! Another site's page must not reach the console, so `gate` checks the host and the origin of each
//! request. The page's key decides whether it may change things (`access`), and it has no access to
//! files of the server (`browser_session`).

#![warn(missing_docs, unreachable_pub)]

mod access;
mod browser_session;
mod frames;
mod gate;
mod handshake;
mod input;
mod message;
mod options;
mod pages;
mod rate;
mod serve;
mod socket;
mod viewer;

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::thread::{self, JoinHandle};

use thiserror::Error;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

pub use options::{JoinSession, WebLimits, WebOptions};

/// The reasons why a browser console does not start.
#[derive(Debug, Error)]
pub enum WebError {
    /// The address is public, and there are no keys.
    #[error(
        "--web {0}: refusing a public address without keys; add `--keys FILE`, or use an address of \
         this machine such as 127.0.0.1:8003"
    )]
    NoKeys(SocketAddr),
    /// The address is public, and there is no certificate.
    #[error(
        "--web {0}: refusing a public address without TLS; add `--tls-certificate FILE`, or pass \
         `--allow-remote` to send keys unencrypted"
    )]
    NoTls(SocketAddr),
    /// The address is in use.
    #[error("--web {0}: the address is in use by another program; choose another address")]
    Taken(SocketAddr),
    /// Listening on the address failed.
    #[error("--web {address}: {error}")]
    Address {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        error: io::Error,
    },
    /// The thread cannot be started.
    #[error("cannot start the thread of the browser console: {0}")]
    Thread(io::Error),
}

/// A browser console that has its address and serves no page yet.
#[derive(Debug)]
pub struct WebListener {
    listener: TcpListener,
    address: SocketAddr,
    options: WebOptions,
}

impl WebListener {
    /// Takes the address.
    ///
    /// # Errors
    /// The address is public without keys or TLS, or cannot be used.
    pub fn bind(options: WebOptions) -> Result<Self, WebError> {
        check_address(&options)?;
        let address = options.address;
        let refused = |error: io::Error| match error.kind() {
            io::ErrorKind::AddrInUse => WebError::Taken(address),
            _ => WebError::Address { address, error },
        };
        let listener = TcpListener::bind(address).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        Ok(WebListener {
            listener,
            address,
            options,
        })
    }

    /// Returns the address of the page.
    pub fn url(&self) -> String {
        let scheme = if self.options.tls.is_some() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}/", self.address)
    }

    /// Returns the address; port 0 is replaced by the port in use.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves pages, each on a session of its own.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn serve(self, join: JoinSession) -> Result<WebServer, WebError> {
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(WebError::Thread)?;
        let (end, ended) = oneshot::channel();
        let work = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = serve::accept(self.listener, self.options, join) => {}
                    _ = ended => {}
                }
            });
            // Tasks end here, and with them the consoles of their pages.
            drop(runtime);
        };
        let thread = thread::Builder::new().name("web".into()).spawn(work);
        Ok(WebServer {
            end: Some(end),
            thread: Some(thread.map_err(WebError::Thread)?),
        })
    }
}

/// Keys are required at every address that other machines reach.
fn check_address(options: &WebOptions) -> Result<(), WebError> {
    let address = options.address;
    if address.ip().to_canonical().is_loopback() {
        return Ok(());
    }
    if options.keys.is_none() {
        return Err(WebError::NoKeys(address));
    }
    match options.tls.is_none() && !options.allow_remote {
        true => Err(WebError::NoTls(address)),
        false => Ok(()),
    }
}

/// A browser console. Dropping it disconnects its pages.
pub struct WebServer {
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for WebServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebServer").finish_non_exhaustive()
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported.
            let _ = thread.join();
        }
    }
}
