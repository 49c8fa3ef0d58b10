//! The console in a browser: pages over real sockets, on a fake session.

mod access;
mod bounds;
mod browser;
mod consent;
mod page;
mod picture;
mod server;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use divisi_console::web::{JoinSession, WebListener, WebOptions, WebServer};
use divisi_session::Session;
use divisi_session::remote::Viewer;

use crate::fake::{Bench, Desk, FakeSession};

/// A browser console on a fake session.
struct Served {
    address: SocketAddr,
    desk: Desk,
    /// Name and rights of each viewer that joined: whether it is read-only.
    viewers: Arc<Mutex<Vec<(String, bool)>>>,
    _server: WebServer,
}

/// An address of this machine at a free port.
fn here() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

fn served() -> Served {
    served_with(WebOptions::new(here()))
}

fn served_with(options: WebOptions) -> Served {
    let listener = WebListener::bind(options).expect("an address");
    let address = listener.address();
    let desk = Bench::new(80, 24).desk;
    let viewers = Arc::<Mutex<Vec<(String, bool)>>>::default();
    let (at, joined) = (desk.clone(), Arc::clone(&viewers));
    let join: JoinSession = Arc::new(move |viewer: Viewer| {
        let seen = (viewer.name, viewer.read_only);
        joined.lock().expect("no panic").push(seen);
        Ok(Box::new(FakeSession::at(at.clone())) as Box<dyn Session>)
    });
    let server = listener.serve(join);
    Served {
        address,
        desk,
        viewers,
        _server: server.expect("a thread"),
    }
}
