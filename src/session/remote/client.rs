//! A session with a server's engine, and the request that a server stop.

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

/// The longest wait for an answer. Answers take microseconds; a stopped server sends none.
const ANSWER: Duration = Duration::from_secs(2);
/// A server that is alive greets within this time.
const GREETING: Duration = Duration::from_secs(5);
/// How long one that waits for a server's end waits at most before it looks again.
const IDLE: Duration = Duration::from_secs(3600);
/// Spans kept for a console that does not take them.
const SPANS: usize = 200_000;

/// Who watches.
#[derive(Clone, Debug)]
pub struct Viewer {
    /// Shown to others: `user@terminal`.
    pub name: String,
    /// It will change nothing.
    pub read_only: bool,
}

/// Watches and steers an engine in another process. Dropping it stops nothing there.
pub struct RemoteSession {
    stream: UnixStream,
    shared: Arc<Shared>,
    /// The first snapshot received, and when it came.
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
    /// Lost before they were sent, on the way, and here.
    lost: (u64, u64, u64),
    answers: HashMap<u64, Result<Reply, Refusal>>,
    /// Why there will be no more.
    over: Option<String>,
}

impl RemoteSession {
    /// Joins the server that listens at `path`.
    ///
    /// # Errors
    /// Nobody listens there, or it is another version, or it does not answer.
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

    /// Whether the server is gone.
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
    /// Waits until `there` finds something.
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

/// Connects and says who this is.
fn greet(path: &Path, viewer: Viewer) -> Result<UnixStream, RemoteError> {
    let mut stream = connect(path, GREETING).map_err(turned_away)?;
    stream.set_read_timeout(Some(GREETING))?;
    // A server that reads nothing must not hold this process up.
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

/// A server that hangs up before it has said anything takes nobody more; one that says
/// nothing is none.
fn turned_away(error: io::Error) -> RemoteError {
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset => {
            RemoteError::Refused("it has as many viewers as it serves, or is ending".into())
        }
        ErrorKind::WouldBlock | ErrorKind::TimedOut => RemoteError::Silent(GREETING),
        _ => RemoteError::Io(error),
    }
}

/// Takes in what the server says, until it says no more.
fn read(stream: &mut UnixStream, shared: &Shared) {
    let why = loop {
        let message = match receive::<Message>(stream, NEWS) {
            Ok(message) => message,
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
                break "the server is gone".to_owned();
            }
            Err(e) => break format!("the server is gone: {e}"),
        };
        let mut state = shared.state.lock();
        if let Err(e) = state.take(message) {
            break format!("the server says what cannot be: {e}");
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
                let (shown, at) = known.ok_or_else(|| WireError::Damaged("no state".into()))?;
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
                // Nobody waits for an answer that came too late.
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

/// The command with its files as this process sees them: the server runs in another
/// folder.
///
/// # Errors
/// The file to be played is none that this process can play.
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

/// Ends the server that listens at `path`, in order, and waits until it has gone.
///
/// # Errors
/// Nobody listens there, or it does not answer.
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
