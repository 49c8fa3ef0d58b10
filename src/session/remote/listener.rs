//! How connections are let in, and the threads of each.

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

use super::message::{Join, Message, REQUEST, ReceivedRequest, receive, receive_bytes, send};
use super::socket::BoundSocket;
use super::viewer::{Link, Outbox};

/// A connection says who it is within this time.
const GREETING: Duration = Duration::from_secs(5);
/// The longest wait until the outbox of a viewer that leaves, or is cut off, is written.
const LAST_WORD: Duration = Duration::from_secs(5);
/// Viewers at most.
const MOST: usize = 32;
/// Connections at most that have not said yet who they are; one more, and the oldest of
/// them goes.
const PENDING: usize = 32;
/// Before the next try where a connection cannot be taken: 100 ms.
const PAUSE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};
/// A viewer's name is cut to so many characters.
const NAME: usize = 64;

/// An event of a connection, for the hub; or the request to stop.
pub(super) enum Event {
    /// A viewer has joined.
    Joined(Link),
    /// The viewer of that number asks for something.
    Asked(u64, ReceivedRequest),
    /// The viewer of that number has left.
    Left(u64),
    /// The server is to end.
    Stop,
}

/// The connections that are open.
#[derive(Default)]
struct Connections {
    /// Those who have not said who they are, the oldest first.
    pending: Leaf<VecDeque<(u64, UnixStream)>>,
    viewers: AtomicUsize,
}

impl Connections {
    /// Lets a connection in; where there are too many, the one that said nothing for
    /// longest goes.
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

    /// It has said who it is, or is gone.
    fn leave(&self, number: u64) {
        self.pending.lock().retain(|(n, _)| *n != number);
    }

    /// A slot for one more viewer, if there is one.
    fn take_slot(self: &Arc<Self>) -> Option<ViewerSlot> {
        let slot = ViewerSlot(Arc::clone(self));
        (self.viewers.fetch_add(1, Ordering::AcqRel) < MOST).then_some(slot)
    }
}

/// One viewer's slot; free again once this is dropped.
struct ViewerSlot(Arc<Connections>);

impl Drop for ViewerSlot {
    fn drop(&mut self) {
        self.0.viewers.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Lets connections in until the other end of `end` is gone.
pub(super) fn accept(door: BoundSocket, events: SyncSender<Event>, end: &UnixStream) {
    let connections = Arc::<Connections>::default();
    let mut number = 0;
    while somebody_comes(&door.listener, end) {
        let Ok((stream, _)) = door.listener.accept() else {
            // Out of file descriptors, say: waiting is better than spinning.
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
        // Without a thread it is closed at once, and told by that.
        let thread = thread::Builder::new().name("viewer".into()).spawn(serve);
        if thread.is_err() {
            connections.leave(number);
        }
    }
}

/// Waits for a connection; false once the other end of `end` is gone.
fn somebody_comes(listener: &UnixListener, end: &UnixStream) -> bool {
    let mut looked_at = [
        PollFd::new(end, PollFlags::IN),
        PollFd::new(listener, PollFlags::IN),
    ];
    // Where it fails the listener, which does not wait, says that nobody is there.
    let _ = poll(&mut looked_at, None);
    looked_at[0].revents().is_empty()
}

/// Whether the other end is this user's.
#[cfg(target_os = "linux")]
fn is_own(stream: &UnixStream) -> bool {
    let peer = rustix::net::sockopt::socket_peercred(stream);
    peer.is_ok_and(|p| p.uid == rustix::process::getuid())
}

/// The file's permissions are what there is elsewhere.
#[cfg(not(target_os = "linux"))]
fn is_own(_: &UnixStream) -> bool {
    true
}

/// Greets, then reads requests until the viewer leaves.
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
        let full = format!("it has {MOST} viewers, as many as it serves");
        return send(&mut stream, &Message::Refused(full));
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
    // A writer that is stuck is let go in the end.
    outbox.close();
    outbox.await_end(LAST_WORD);
    let _ = stream.shutdown(Shutdown::Both);
    told
}

/// Who connects; none where it is another version, which is told.
fn greet(stream: &mut UnixStream) -> io::Result<Option<Join>> {
    // Some systems have it take this from its listener.
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(GREETING))?;
    stream.set_write_timeout(Some(GREETING))?;
    // Ours goes first, so that one of another version can be told.
    stream.write_all(&hello(Format::Connection))?;
    let mut bytes = [0; HELLO];
    stream.read_exact(&mut bytes)?;
    if let Err(e) = read_hello(&bytes, Format::Connection) {
        send(stream, &Message::Refused(e.to_string()))?;
        return Ok(None);
    }
    let mut join: Join = receive(stream, REQUEST)?;
    join.name = plain(&join.name);
    Ok(Some(join))
}

/// Passes on what a viewer asks for, until it leaves.
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

/// A name that can be shown: no control characters, not too long.
fn plain(name: &str) -> String {
    let kept = name.chars().filter(|c| !c.is_control());
    kept.take(NAME).collect()
}
