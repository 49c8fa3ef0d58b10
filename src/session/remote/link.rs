//! The connection of a console to its server: its messages, and a new connection once the server is
//! back.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Condvar;
use std::time::{Duration, Instant};

use crate::wire::{Format, HELLO, WireError, checked, hello, read_hello};
use crate::{Audience, Refusal, Snapshot};
use divisi_model::trace::Span;
use divisi_runtime::lock::Leaf;

use super::message::{Join, Message, Reply, send};
use super::socket::connect;
use super::{RemoteError, RemoteRefusal};

/// The longest wait for an answer. Answers take microseconds; a stopped process sends none.
pub(super) const ANSWER: Duration = Duration::from_secs(2);
/// The time within which a live server sends its greeting.
pub(super) const GREETING: Duration = Duration::from_secs(5);
/// The time between attempts to attach again.
const AGAIN: Duration = Duration::from_secs(1);
/// The number of spans kept until the console takes them.
const SPANS: usize = 200_000;

/// A console that connects to a server.
#[derive(Clone, Debug)]
pub struct Viewer {
    /// The name shown to others: `user@terminal`.
    pub name: String,
    /// Whether the console cannot make changes.
    pub read_only: bool,
}

#[derive(Default)]
pub(super) struct Shared {
    pub(super) state: Leaf<State>,
    pub(super) changed: Condvar,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) shown: Option<(Snapshot, Instant)>,
    pub(super) audience: Audience,
    pub(super) spans: Vec<Span>,
    /// The spans lost before they were sent, on the way, and here.
    pub(super) lost: (u64, u64, u64),
    pub(super) answers: HashMap<u64, Result<Reply, Refusal>>,
    /// The reason why the connection ended, or `None` while it works.
    pub(super) over: Option<String>,
    /// The newest connection.
    pub(super) link: Option<UnixStream>,
    /// Whether to attach again after the connection has ended.
    pub(super) returns: bool,
    /// Whether the console has left.
    pub(super) left: bool,
}

/// A server, and the console that connects to it.
pub(super) struct Attachment {
    pub(super) path: PathBuf,
    pub(super) viewer: Viewer,
}

impl Shared {
    /// Returns the connection.
    ///
    /// # Errors
    /// Returns an error if the connection has ended.
    pub(super) fn link(&self) -> Result<UnixStream, RemoteRefusal> {
        let state = self.state.lock();
        match (&state.over, &state.link) {
            (None, Some(link)) => link
                .try_clone()
                .map_err(|e| RemoteRefusal::NotAsked(e.to_string())),
            (why, _) => Err(RemoteRefusal::Gone(why.clone().unwrap_or_default())),
        }
    }

    /// Waits until the server is back and returns the new connection, or `None` if the console has
    /// left or does not return.
    fn again(&self, attachment: &Attachment) -> Option<UnixStream> {
        loop {
            let state = self.state.lock();
            let waits = |state: &mut State| state.returns && !state.left;
            let mut state = state.wait_timeout_while(&self.changed, AGAIN, waits);
            if !waits(&mut state) {
                return None;
            }
            drop(state);
            let joined = greet(&attachment.path, &attachment.viewer);
            let Ok((stream, link)) = joined.and_then(|s| Ok((s.try_clone()?, s))) else {
                continue;
            };
            let mut state = self.state.lock();
            // The console may have left during the greeting.
            state.link = Some(link).filter(|_| !state.left);
            return state.link.is_some().then_some(stream);
        }
    }

    /// Waits until `there` returns a value.
    pub(super) fn wait<T>(
        &self,
        most: Duration,
        mut there: impl FnMut(&mut State) -> Option<T>,
    ) -> Result<T, RemoteRefusal> {
        let until = Instant::now() + most;
        let mut state = self.state.lock();
        loop {
            if let Some(found) = there(&mut state) {
                return Ok(found);
            }
            if let Some(why) = &state.over {
                return Err(RemoteRefusal::Gone(why.clone()));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(RemoteRefusal::Silent(most));
            }
            state = state.wait_timeout(&self.changed, left);
        }
    }
}

/// Connects and sends the viewer's name.
pub(super) fn greet(path: &Path, viewer: &Viewer) -> Result<UnixStream, RemoteError> {
    let mut stream = connect(path, GREETING).map_err(turned_away)?;
    stream.set_read_timeout(Some(GREETING))?;
    // A server that does not read must not block this process.
    stream.set_write_timeout(Some(ANSWER))?;
    let mut theirs = [0; HELLO];
    stream.read_exact(&mut theirs).map_err(turned_away)?;
    read_hello(&theirs, Format::Connection)?;
    stream.write_all(&hello(Format::Connection))?;
    let (name, read_only) = (viewer.name.clone(), viewer.read_only);
    send(&mut stream, &Join { name, read_only })?;
    stream.set_read_timeout(None)?;
    Ok(stream)
}

/// Returns the error of a failed greeting. A server that hangs up before its greeting accepts no
/// more viewers; a process that sends nothing is not a server.
fn turned_away(error: io::Error) -> RemoteError {
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset => {
            RemoteError::Refused("too many viewers, or the server is shutting down".into())
        }
        ErrorKind::WouldBlock | ErrorKind::TimedOut => RemoteError::Silent(GREETING),
        _ => RemoteError::Io(error),
    }
}

/// Receives the messages of a server, and of its successors if the console returns.
pub(super) fn follow(mut stream: UnixStream, attachment: &Attachment, shared: &Shared) {
    loop {
        let why = read(&mut stream, shared);
        let _ = stream.shutdown(Shutdown::Both);
        shared.state.lock().over.get_or_insert(why);
        shared.changed.notify_all();
        match shared.again(attachment) {
            Some(next) => stream = next,
            None => return,
        }
    }
}

/// Receives messages until the connection ends. Returns the reason of the end.
fn read(stream: &mut UnixStream, shared: &Shared) -> String {
    loop {
        let message = match Message::receive(stream) {
            Ok(message) => message,
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => {
                return "the connection to the server was lost".to_owned();
            }
            Err(e) => return format!("the connection to the server was lost: {e}"),
        };
        let mut state = shared.state.lock();
        if let Err(e) = state.take(message) {
            return format!("the server sent invalid data: {e}");
        }
        shared.changed.notify_all();
    }
}

impl State {
    /// Forgets the previous server after attaching to its successor.
    fn start_over(&mut self) {
        if self.over.take().is_some() {
            self.audience.connection += 1;
            self.spans.clear();
            self.lost = (0, 0, 0);
        }
    }

    fn take(&mut self, message: Message) -> Result<(), WireError> {
        match message {
            Message::State(shown) => {
                self.shown = Some((checked(*shown)?, Instant::now()));
                self.start_over();
            }
            Message::Spans(batch) => {
                self.lost.0 = batch.lost;
                batch.unpack(&mut self.spans)?;
                let more = self.spans.len().saturating_sub(SPANS);
                self.spans.drain(..more);
                self.lost.2 += more as u64;
            }
            Message::You(audience, lost) => {
                self.audience = Audience {
                    connection: self.audience.connection,
                    ..audience
                };
                self.lost.1 = lost;
            }
            Message::Answer(number, reply) => {
                // No one waits for answers that arrive late.
                self.answers.clear();
                self.answers.insert(number, reply);
            }
            Message::Refused(why) => self.over = Some(why),
        }
        Ok(())
    }
}
