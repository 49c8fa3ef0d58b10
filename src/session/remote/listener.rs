//! Accepts connections, and the threads of each connection.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::SyncSender;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::wire::{Format, HELLO, hello, read_hello};
use divisi_runtime::lock::Leaf;

use super::message::{Join, Message, REQUEST, ReceivedRequest, receive, receive_bytes};
use super::socket::BoundSocket;
use super::viewer::{Link, Outbox};

/// The time within which a connection must introduce itself.
const GREETING: Duration = Duration::from_secs(5);
/// The longest wait for writing the outbox of a viewer that leaves or is disconnected.
const LAST_WORD: Duration = Duration::from_secs(5);
/// The maximum number of viewers.
const MOST: usize = 32;
/// The maximum number of connections that have not introduced themselves. A further connection
/// replaces the oldest.
const PENDING: usize = 32;
/// The time before the next try if accepting a connection failed: 100 ms.
const PAUSE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};
/// The maximum length of a viewer's name in characters.
const NAME: usize = 64;

/// An event of a connection, or the request to stop.
pub(super) enum Event {
    /// A viewer has joined.
    Joined(Link),
    /// The viewer with this number sent a request.
    Asked(u64, ReceivedRequest),
    /// The viewer with this number has left.
    Left(u64),
    /// Stop the server.
    Stop,
}

/// The open connections.
#[derive(Default)]
struct Connections {
    /// Connections that have not introduced themselves, oldest first.
    pending: Leaf<VecDeque<(u64, UnixStream)>>,
    viewers: AtomicUsize,
}

impl Connections {
    /// Accepts a connection. If there are too many, it closes the oldest one that has not
    /// introduced itself.
    fn enter(&self, number: u64, stream: &UnixStream) -> io::Result<()> {
        let mut pending = self.pending.lock();
        if pending.len() >= PENDING
            && let Some((_, oldest)) = pending.pop_front()
        {
            let _ = oldest.shutdown(Shutdown::Both);
        }
        pending.push_back((number, stream.try_clone()?));
        Ok(())
    }

    /// Removes a connection that has introduced itself or ended.
    fn leave(&self, number: u64) {
        self.pending.lock().retain(|(n, _)| *n != number);
    }

    /// Returns a slot for a viewer, or `None` if all are taken.
    fn take_slot(self: &Arc<Self>) -> Option<ViewerSlot> {
        let slot = ViewerSlot(Arc::clone(self));
        (self.viewers.fetch_add(1, Ordering::AcqRel) < MOST).then_some(slot)
    }
}

/// One viewer's slot, freed when this is dropped.
struct ViewerSlot(Arc<Connections>);

impl Drop for ViewerSlot {
    fn drop(&mut self) {
        self.0.viewers.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Accepts connections until the other end of `end` is closed.
pub(super) fn accept(door: BoundSocket, events: SyncSender<Event>, end: &UnixStream) {
    let connections = Arc::<Connections>::default();
    let mut number = 0;
    while somebody_comes(&door.listener, end) {
        let Ok((stream, _)) = door.listener.accept() else {
            // The process may be out of file descriptors: waiting is better than spinning.
            let _ = poll(&mut [PollFd::new(end, PollFlags::IN)], Some(&PAUSE));
            continue;
        };
        number += 1;
        if !is_own(&stream) || connections.enter(number, &stream).is_err() {
            continue;
        }
        let (events, here) = (events.clone(), Arc::clone(&connections));
        let serve = move || {
            let _ = serve(stream, number, &events, &here);
            here.leave(number);
        };
        // If no thread starts, the connection is closed, which tells the client.
        let thread = thread::Builder::new().name("viewer".into()).spawn(serve);
        if thread.is_err() {
            connections.leave(number);
        }
    }
}

/// Waits for a connection. Returns `false` once the other end of `end` is closed.
fn somebody_comes(listener: &UnixListener, end: &UnixStream) -> bool {
    let mut looked_at = [
        PollFd::new(end, PollFlags::IN),
        PollFd::new(listener, PollFlags::IN),
    ];
    // If polling fails, the non-blocking accept reports that there is no connection.
    let _ = poll(&mut looked_at, None);
    looked_at[0].revents().is_empty()
}

/// Returns whether the peer belongs to this user.
#[cfg(target_os = "linux")]
fn is_own(stream: &UnixStream) -> bool {
    let peer = rustix::net::sockopt::socket_peercred(stream);
    peer.is_ok_and(|p| p.uid == rustix::process::getuid())
}

/// Other systems only have the file's permissions.
#[cfg(not(target_os = "linux"))]
fn is_own(_: &UnixStream) -> bool {
    true
}

/// Greets a client and reads its requests until it leaves.
fn serve(
    mut stream: UnixStream,
    number: u64,
    events: &SyncSender<Event>,
    connections: &Arc<Connections>,
) -> io::Result<()> {
    let Some(join) = greet(&mut stream)? else {
        return Ok(());
    };
    connections.leave(number);
    let Some(_slot) = connections.take_slot() else {
        let full = format!("it has {MOST} viewers, the maximum");
        return refuse(&mut stream, full);
    };
    stream.set_read_timeout(None)?;
    stream.set_write_timeout(None)?;
    let outbox = Arc::new(Outbox::default());
    let (writer, waiting) = (stream.try_clone()?, Arc::clone(&outbox));
    let name = "viewer's outbox".to_owned();
    thread::Builder::new()
        .name(name)
        .spawn(move || write(writer, &waiting))?;
    let link = Link {
        number,
        join,
        outbox: Arc::clone(&outbox),
        stream: stream.try_clone()?,
    };
    let told = hear(&mut stream, link, events);
    // Releases a writer that is stuck.
    outbox.close();
    outbox.await_end(LAST_WORD);
    let _ = stream.shutdown(Shutdown::Both);
    told
}

/// Returns the client's introduction, or `None` after telling it that its version differs.
fn greet(stream: &mut UnixStream) -> io::Result<Option<Join>> {
    // Some systems inherit this from the listener.
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(GREETING))?;
    stream.set_write_timeout(Some(GREETING))?;
    // The server's greeting goes first, so that a client of another version can report it.
    stream.write_all(&hello(Format::Connection))?;
    let mut bytes = [0; HELLO];
    stream.read_exact(&mut bytes)?;
    if let Err(e) = read_hello(&bytes, Format::Connection) {
        refuse(stream, e.to_string())?;
        return Ok(None);
    }
    let mut join: Join = receive(stream)?;
    join.name = plain(&join.name);
    Ok(Some(join))
}

/// Sends the reason why a client is refused.
fn refuse(stream: &mut UnixStream, why: String) -> io::Result<()> {
    let bytes = Message::Refused(why).frame().map_err(io::Error::other)?;
    stream.write_all(&bytes)
}

/// Passes on a viewer's requests until it leaves.
fn hear(stream: &mut UnixStream, link: Link, events: &SyncSender<Event>) -> io::Result<()> {
    let number = link.number;
    let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
    events.send(Event::Joined(link)).map_err(gone)?;
    while let Ok(bytes) = receive_bytes(stream, REQUEST) {
        let Ok(request) = ReceivedRequest::decode(&bytes) else {
            break;
        };
        events.send(Event::Asked(number, request)).map_err(gone)?;
    }
    events.send(Event::Left(number)).map_err(gone)
}

fn write(mut stream: UnixStream, outbox: &Outbox) {
    while let Some(bytes) = outbox.take() {
        if stream.write_all(&bytes).is_err() {
            break;
        }
    }
    outbox.end();
    let _ = stream.shutdown(Shutdown::Both);
}

/// Returns a name that can be displayed: without control characters and of limited length.
fn plain(name: &str) -> String {
    let kept = name.chars().filter(|c| !c.is_control());
    kept.take(NAME).collect()
}
