//! The server: a thread that owns a session and sends its state to viewers.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::wire::{SpanBatch, has_moved};
use crate::{Audience, Command, LogEntry, LogLevel, Refusal, Session, Snapshot};
use divisi_engine::serving::{LogTarget, UntracedLine};
use divisi_model::trace::Span;

use super::listener::{Event, accept};
use super::message::{Ask, Message, ReceivedRequest, Reply};
use super::rights::{EditLock, check_paths};
use super::socket::BoundSocket;
use super::viewer::{FAREWELL, News, ViewerState};

/// The polling interval for spans while a viewer is connected and the state changes.
const LIVE: Duration = Duration::from_millis(40);
/// The polling interval for the state then, and for everything while recording.
const STATE: Duration = Duration::from_millis(100);
/// The polling interval while a viewer is connected and nothing changes.
const STILL: Duration = Duration::from_millis(250);
/// The polling interval without viewers.
const ALONE: Duration = Duration::from_secs(1);
/// The number of requests that may wait.
const QUEUE: usize = 64;

/// Receives new lines of the session's log.
pub type LogSink = Box<dyn FnMut(&LogEntry) + Send>;

/// A served session.
pub struct Hub {
    path: PathBuf,
    events: SyncSender<Event>,
    thread: JoinHandle<()>,
}

impl Hub {
    /// Serves `session` at `door` until [`Hub::stopper`] or a viewer's request stops it.
    ///
    /// # Errors
    /// Returns an error if a thread cannot be started.
    pub fn start(
        session: Box<dyn Session>,
        door: BoundSocket,
        log: LogSink,
    ) -> std::io::Result<Self> {
        let (events, queue) = sync_channel(QUEUE);
        let path = door.path().to_owned();
        door.listener.set_nonblocking(true)?;
        // A socket pair wakes the listener: the socket's file may be removed or replaced.
        let (here, there) = UnixStream::pair()?;
        let sender = events.clone();
        let accepting = thread::Builder::new()
            .name("door".into())
            .spawn(move || accept(door, sender, &there))?;
        let thread = thread::Builder::new().name("hub".into()).spawn(move || {
            let viewers = HubLoop::new(session, log).serve(&queue);
            drop((here, queue));
            let _ = accepting.join();
            viewers.iter().for_each(|viewer| viewer.link.close());
            let until = Instant::now() + FAREWELL;
            for viewer in viewers {
                let left = until.saturating_duration_since(Instant::now());
                viewer.link.outbox.await_end(left);
            }
        })?;
        Ok(Hub {
            path,
            events,
            thread,
        })
    }

    /// Returns the path of the socket.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a function that stops the server from any thread.
    pub fn stopper(&self) -> impl FnOnce() + Send + 'static {
        let events = self.events.clone();
        move || {
            let _ = events.send(Event::Stop);
        }
    }

    /// Waits for the end: the session has drained and every viewer was notified.
    pub fn join(self) {
        let _ = self.thread.join();
    }
}

struct HubLoop {
    session: Box<dyn Session>,
    log: LogSink,
    viewers: Vec<ViewerState>,
    edit_lock: EditLock,
    /// The last state, except for its time.
    last: Option<Snapshot>,
    state_at: Option<Instant>,
    moved_at: Instant,
    logged: Option<LogEntry>,
    recording: bool,
    lost: u64,
}

impl HubLoop {
    fn new(session: Box<dyn Session>, log: LogSink) -> Self {
        HubLoop {
            session,
            log,
            viewers: Vec::new(),
            edit_lock: EditLock::default(),
            last: None,
            state_at: None,
            moved_at: Instant::now(),
            logged: None,
            recording: false,
            lost: 0,
        }
    }

    /// Runs until it is stopped; the session has then ended.
    fn serve(mut self, queue: &Receiver<Event>) -> Vec<ViewerState> {
        let mut next = Instant::now();
        loop {
            let wait = next.saturating_duration_since(Instant::now());
            let due = match queue.recv_timeout(wait) {
                Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(Event::Asked(viewer, request)) => {
                    if self.handle_request(viewer, request) {
                        break;
                    }
                    // A viewer with endless requests must not delay the others.
                    Instant::now() >= next
                }
                Ok(Event::Joined(link)) => {
                    self.viewers.push(ViewerState::new(link));
                    self.state_at = None;
                    true
                }
                Ok(Event::Left(viewer)) => {
                    self.left(viewer);
                    true
                }
                Err(RecvTimeoutError::Timeout) => true,
            };
            if due {
                self.round();
                next = Instant::now() + self.pause();
            }
        }
        self.viewers
    }

    fn pause(&self) -> Duration {
        let moves = self.moved_at.elapsed() < ALONE;
        match (self.viewers.is_empty(), moves) {
            (true, _) if self.recording => STATE,
            (true, _) => ALONE,
            (false, true) => LIVE,
            (false, false) => STILL,
        }
    }

    fn left(&mut self, viewer: u64) {
        self.edit_lock.leave(viewer);
        self.viewers.retain(|s| s.link.number != viewer);
    }

    fn round(&mut self) {
        let mut news = News::default();
        self.look_at_spans(&mut news);
        if self.state_at.is_none_or(|at| at.elapsed() >= STATE) {
            self.look_at_state(&mut news);
        }
        self.tell(&news);
    }

    fn look_at_spans(&mut self, news: &mut News) {
        let mut spans: Vec<Span> = Vec::new();
        self.lost = self.session.drain_spans(&mut spans);
        if spans.is_empty() || self.viewers.is_empty() {
            return;
        }
        self.moved_at = Instant::now();
        let batch = Message::Spans(SpanBatch::pack(&spans, self.lost));
        news.spans = bytes(&batch).map(|b| (b, spans.len() as u64));
    }

    fn look_at_state(&mut self, news: &mut News) {
        self.state_at = Some(Instant::now());
        let mut shown = self.session.snapshot();
        // The parts that differ between viewers are sent separately.
        shown.audience = Audience::default();
        self.recording = shown.recording.is_some();
        self.write_log(&shown);
        if self.viewers.is_empty() {
            return;
        }
        if has_moved(&mut self.last, &shown) {
            self.moved_at = Instant::now();
        }
        news.state = bytes(&Message::State(&shown));
        self.last = Some(shown);
    }

    fn write_log(&mut self, shown: &Snapshot) {
        let known = self.logged.as_ref();
        let seen = known.and_then(|last| shown.log.iter().rposition(|line| line == last));
        for line in &shown.log[seen.map_or(0, |i| i + 1)..] {
            (self.log)(line);
        }
        self.logged = shown.log.last().cloned();
    }

    fn tell(&mut self, news: &News) {
        let count = self.viewers.len();
        for viewer in &mut self.viewers {
            viewer.send(news);
            let audience = self.edit_lock.seen_by(viewer.link.number, count);
            if let Some((audience, lost)) = viewer.news_of_itself(audience)
                && let Some(bytes) = bytes(&Message::You(audience, lost))
            {
                viewer.link.outbox.push(&bytes);
            }
        }
    }

    /// Answers a request. Returns whether the server is to stop.
    fn handle_request(&mut self, viewer: u64, request: ReceivedRequest) -> bool {
        let Some(at) = self.viewers.iter().position(|s| s.link.number == viewer) else {
            return false;
        };
        let stops = matches!(request.ask, Ok(Ask::Stop));
        let reply = request.ask.and_then(|ask| self.reply(at, ask));
        let stops = stops && reply.is_ok();
        if let Some(bytes) = bytes(&Message::Answer(request.number, reply))
            && !self.viewers[at].link.outbox.answer(&bytes)
        {
            self.cut_off(at);
        }
        // Viewers see a new editor at once.
        self.tell(&News::default());
        stops
    }

    fn reply(&mut self, at: usize, ask: Ask) -> Result<Reply, Refusal> {
        let link = &self.viewers[at].link;
        self.edit_lock.admit(link.number, &link.join, &ask)?;
        match ask {
            Ask::Stop | Ask::Command(Command::TakeEditing(_)) => Ok(Reply::Done),
            Ask::Preview(setup) => {
                let preview = self.session.preview(&setup)?;
                Ok(Reply::Preview(Box::new(preview)))
            }
            Ask::History => {
                let history = self.session.history()?;
                Ok(Reply::History(history.records().cloned().collect()))
            }
            Ask::WhatIf(question) => Ok(Reply::WhatIf(self.session.what_if(&question)?)),
            Ask::Command(command) => {
                check_paths(&command)?;
                self.session.command(command)?;
                Ok(Reply::Done)
            }
        }
    }

    /// Ends the connection of a viewer that sends requests and reads no answers.
    fn cut_off(&mut self, at: usize) {
        let viewer = self.viewers.swap_remove(at);
        self.edit_lock.leave(viewer.link.number);
        let text = format!(
            "{} was disconnected: it does not read its answers",
            viewer.link.join.name
        );
        UntracedLine::new(LogTarget::Session, LogLevel::Warn, &text).trace();
        (self.log)(&LogEntry {
            at: self.session.now(),
            level: LogLevel::Warn,
            text,
        });
        let word = "disconnected: too many unread answers";
        viewer.link.cut_off(bytes(&Message::Refused(word.into())));
    }
}

fn bytes(message: &Message<&Snapshot>) -> Option<Arc<[u8]>> {
    message.frame().ok().map(Arc::from)
}
