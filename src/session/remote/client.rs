//! A session with a server's engine, and the request to stop a server.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Condvar};
use std::thread;
use std::time::{Duration, Instant};

use crate::wire::{Format, HELLO, WireError, checked, hello, read_hello};
use crate::{Audience, Command, EditPreview, Health, Refusal, Session, Setup, Snapshot};
use divisi_engine::load::{Arrivals, LoadPattern};
use divisi_model::trace::Span;
use divisi_runtime::lock::Leaf;

use super::message::{Ask, Join, Message, NEWS, Reply, Request, receive, send};
use super::socket::connect;
use super::{RemoteError, RemoteRefusal};

/// The longest wait for an answer. Answers take microseconds; a stopped process sends none.
const ANSWER: Duration = Duration::from_secs(2);
/// The time within which a live server sends its greeting.
const GREETING: Duration = Duration::from_secs(5);
/// The longest sleep while waiting for a server's end.
const IDLE: Duration = Duration::from_secs(3600);
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

/// Observes and controls an engine in another process. Dropping it does not affect the engine.
pub struct RemoteSession {
    stream: UnixStream,
    shared: Arc<Shared>,
    /// The first snapshot and the time when it was received.
    first: (Snapshot, Instant),
    next: u64,
}

#[derive(Default)]
struct Shared {
    state: Leaf<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    shown: Option<(Snapshot, Instant)>,
    audience: Audience,
    spans: Vec<Span>,
    /// The spans lost before they were sent, on the way, and here.
    lost: (u64, u64, u64),
    answers: HashMap<u64, Result<Reply, Refusal>>,
    /// The reason why the connection ended.
    over: Option<String>,
}

impl RemoteSession {
    /// Connects to the server at `path`.
    ///
    /// # Errors
    /// Returns an error if no server listens there, if it has another version, or if it does not
    /// answer.
    pub fn join(path: &Path, viewer: Viewer) -> Result<Self, RemoteError> {
        let stream = greet(path, viewer)?;
        let shared = Arc::new(Shared::default());
        shared.state.lock().audience.attached = true;
        let (mut reading, here) = (stream.try_clone()?, Arc::clone(&shared));
        thread::Builder::new()
            .name("news".into())
            .spawn(move || read(&mut reading, &here))?;
        let first = shared.wait(GREETING, |state| state.shown.clone());
        Ok(RemoteSession {
            first: first?,
            stream,
            shared,
            next: 0,
        })
    }

    /// Returns whether the connection has ended.
    pub fn is_over(&self) -> bool {
        self.shared.state.lock().over.is_some()
    }

    fn ask(&mut self, ask: Ask) -> Result<Reply, Refusal> {
        self.next += 1;
        let number = self.next;
        if let Some(why) = &self.shared.state.lock().over {
            return Err(RemoteRefusal::Gone(why.clone()).into());
        }
        let sent = send(&mut self.stream, &Request { number, ask });
        sent.map_err(|e| RemoteRefusal::NotAsked(e.to_string()))?;
        let answer = |state: &mut State| state.answers.remove(&number);
        self.shared.wait(ANSWER, answer)?
    }
}

impl Shared {
    /// Waits until `there` returns a value.
    fn wait<T>(
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
fn greet(path: &Path, viewer: Viewer) -> Result<UnixStream, RemoteError> {
    let mut stream = connect(path, GREETING).map_err(turned_away)?;
    stream.set_read_timeout(Some(GREETING))?;
    // A server that does not read must not block this process.
    stream.set_write_timeout(Some(ANSWER))?;
    let mut theirs = [0; HELLO];
    stream.read_exact(&mut theirs).map_err(turned_away)?;
    read_hello(&theirs, Format::Connection)?;
    stream.write_all(&hello(Format::Connection))?;
    let (name, read_only) = (viewer.name, viewer.read_only);
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

/// Receives the server's messages until the connection ends.
fn read(stream: &mut UnixStream, shared: &Shared) {
    let why = loop {
        let message = match receive::<Message>(stream, NEWS) {
            Ok(message) => message,
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
                break "the connection to the server was lost".to_owned();
            }
            Err(e) => break format!("the connection to the server was lost: {e}"),
        };
        let mut state = shared.state.lock();
        if let Err(e) = state.take(message) {
            break format!("the server sent invalid data: {e}");
        }
        shared.changed.notify_all();
    };
    let _ = stream.shutdown(Shutdown::Both);
    shared.state.lock().over.get_or_insert(why);
    shared.changed.notify_all();
}

impl State {
    fn take(&mut self, message: Message) -> Result<(), WireError> {
        match message {
            Message::Whole(shown) => self.shown = Some((checked(*shown)?, Instant::now())),
            Message::Change(delta) => {
                let known = self.shown.as_mut();
                let (shown, at) =
                    known.ok_or_else(|| WireError::Damaged("a change without a state".into()))?;
                delta.apply(shown)?;
                *at = Instant::now();
            }
            Message::Spans(batch) => {
                self.lost.0 = batch.lost;
                batch.unpack(&mut self.spans)?;
                let more = self.spans.len().saturating_sub(SPANS);
                self.spans.drain(..more);
                self.lost.2 += more as u64;
            }
            Message::You(audience, lost) => {
                self.audience = audience;
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

impl Session for RemoteSession {
    fn snapshot(&mut self) -> Snapshot {
        let state = self.shared.state.lock();
        let (shown, at) = state.shown.as_ref().unwrap_or(&self.first);
        let mut shown = shown.clone();
        shown.audience = state.audience.clone();
        match &state.over {
            Some(why) => shown.health = Health::Closed(why.clone()),
            None => shown.now = shown.now.saturating_add(at.elapsed()),
        }
        shown
    }

    fn now(&mut self) -> Duration {
        let state = self.shared.state.lock();
        let since = |(shown, at): &(Snapshot, Instant)| match state.over {
            Some(_) => shown.now,
            None => shown.now.saturating_add(at.elapsed()),
        };
        since(state.shown.as_ref().unwrap_or(&self.first))
    }

    fn drain_spans(&mut self, into: &mut Vec<Span>) -> u64 {
        let mut state = self.shared.state.lock();
        into.append(&mut state.spans);
        let (before, on_the_way, here) = state.lost;
        before.saturating_add(on_the_way).saturating_add(here)
    }

    fn command(&mut self, command: Command) -> Result<(), Refusal> {
        let command = as_seen_from_here(command)?;
        self.ask(Ask::Command(command)).map(|_| ())
    }

    fn preview(&mut self, setup: &Setup) -> Result<EditPreview, Refusal> {
        match self.ask(Ask::Preview(Box::new(setup.clone())))? {
            Reply::Preview(preview) => Ok(*preview),
            Reply::Done => Err(RemoteRefusal::NoPreview.into()),
        }
    }
}

/// Returns the command with absolute paths, since the server runs in another folder.
///
/// # Errors
/// Returns an error if this process cannot use the file.
fn as_seen_from_here(command: Command) -> Result<Command, RemoteRefusal> {
    let absolute = |path: &Path| {
        let found = std::path::absolute(path);
        found.map_err(|e| RemoteRefusal::File {
            path: path.to_owned(),
            why: e.to_string(),
        })
    };
    Ok(match command {
        Command::StartRecording(path) => Command::StartRecording(absolute(&path)?),
        Command::StartLoad(LoadPattern::Replay { file, speed }) => {
            let file = absolute(&file)?;
            let pattern = LoadPattern::Replay { file, speed };
            Arrivals::new(&pattern, 0)?;
            Command::StartLoad(pattern)
        }
        other => other,
    })
}

impl Drop for RemoteSession {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// Stops the server at `path` and waits until it has ended.
///
/// # Errors
/// Returns an error if no server listens there or it does not answer.
pub fn stop(path: &Path) -> Result<(), RemoteError> {
    let viewer = Viewer {
        name: "stop".into(),
        read_only: false,
    };
    let mut session = RemoteSession::join(path, viewer)?;
    let asked = session.ask(Ask::Stop);
    asked.map_err(|refusal| RemoteError::Refused(refusal.text().to_owned()))?;
    let mut state = session.shared.state.lock();
    while state.over.is_none() {
        state = state.wait_timeout(&session.shared.changed, IDLE);
    }
    Ok(())
}
