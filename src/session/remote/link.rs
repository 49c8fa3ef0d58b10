//! One connection seen from the server: its threads, and how it is let in.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::SyncSender;
use std::thread;
use std::time::Duration;

use crate::session::wire::{Format, hello, read_hello};

use super::frame::{REQUEST, receive, send};
use super::message::{Join, Message, Request};
use super::outbox::Outbox;
use super::place::Door;

/// A connection says who it is within this time.
const HELLO: Duration = Duration::from_secs(5);
/// A viewer that reads nothing for so long when it is to go is cut off.
const FAREWELL: Duration = Duration::from_secs(1);
/// More connections than this are refused.
const MOST: usize = 32;
/// A viewer's name is cut to so many characters.
const NAME: usize = 64;

/// What connections tell the hub.
pub enum Event {
    Joined(Link),
    Asked(u64, Request),
    Left(u64),
    Stop,
}

/// The server's end of a connection.
pub struct Link {
    pub number: u64,
    pub join: Join,
    pub outbox: Arc<Outbox>,
    stream: UnixStream,
}

impl Link {
    /// Lets what waits be written, for a moment, then ends the connection.
    pub fn close(self) {
        let _ = self.stream.set_write_timeout(Some(FAREWELL));
        let _ = self.stream.shutdown(Shutdown::Read);
        self.outbox.close();
    }
}

/// Lets connections in until `stop` is set and one more connects.
pub fn accept(door: Door, events: SyncSender<Event>, stop: &AtomicBool) {
    let open = Arc::new(AtomicUsize::new(0));
    let mut number = 0;
    for stream in door.listener.incoming() {
        if stop.load(Ordering::Acquire) {
            return;
        }
        let Ok(stream) = stream else {
            // Out of file descriptors, say: waiting is better than spinning.
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        number += 1;
        if !is_own(&stream) || open.load(Ordering::Relaxed) >= MOST {
            continue;
        }
        open.fetch_add(1, Ordering::Relaxed);
        let (events, left) = (events.clone(), Arc::clone(&open));
        let serve = move || {
            let _ = serve(stream, number, &events);
            left.fetch_sub(1, Ordering::Relaxed);
        };
        // Without a thread it is closed at once, and told by that.
        let thread = thread::Builder::new().name("viewer".into()).spawn(serve);
        if thread.is_err() {
            open.fetch_sub(1, Ordering::Relaxed);
        }
    }
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
fn serve(mut stream: UnixStream, number: u64, events: &SyncSender<Event>) -> io::Result<()> {
    stream.set_read_timeout(Some(HELLO))?;
    stream.set_write_timeout(Some(HELLO))?;
    // Ours goes first, so that one of another version can be told.
    stream.write_all(&hello(Format::Connection))?;
    let mut bytes = [0; 10];
    stream.read_exact(&mut bytes)?;
    if let Err(e) = read_hello(&bytes, Format::Connection) {
        return send(&mut stream, &Message::Sorry(e.to_string()));
    }
    let mut join: Join = receive(&mut stream, REQUEST)?;
    join.name = plain(&join.name);
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
    let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
    events.send(Event::Joined(link)).map_err(gone)?;
    while let Ok(request) = receive::<Request>(&mut stream, REQUEST) {
        events.send(Event::Asked(number, request)).map_err(gone)?;
    }
    outbox.close();
    events.send(Event::Left(number)).map_err(gone)
}

fn write(mut stream: UnixStream, outbox: &Outbox) {
    while let Some(bytes) = outbox.take() {
        if stream.write_all(&bytes).is_err() {
            break;
        }
    }
    outbox.close();
    let _ = stream.shutdown(Shutdown::Both);
}

/// A name that can be shown: no control characters, not too long.
fn plain(name: &str) -> String {
    let kept = name.chars().filter(|c| !c.is_control());
    kept.take(NAME).collect()
}
