//! A session with a server's engine, and the request to stop a server.

use std::net::Shutdown;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::wire::checked_history;
use crate::{
    Audience, Command, EditPreview, FigureHistory, Health, Refusal, Session, Setup, Snapshot,
    WhatIf, WhatIfReply,
};
use divisi_engine::load::{Arrivals, LoadPattern};
use divisi_model::trace::Span;

use super::link::{ANSWER, Attachment, GREETING, Shared, State, Viewer, follow, greet};
use super::message::{Ask, Reply, Request, send};
use super::{RemoteError, RemoteRefusal};

/// The longest sleep while waiting for a server's end.
const IDLE: Duration = Duration::from_secs(3600);

/// Observes and controls an engine in another process. Dropping it does not affect the engine.
pub struct RemoteSession {
    shared: Arc<Shared>,
    /// The first snapshot and the time when it was received.
    first: (Snapshot, Instant),
    next: u64,
}

impl RemoteSession {
    /// Connects to the server at `path`.
    ///
    /// # Errors
    /// Returns an error if no server listens there, if it has another version, or if it does not
    /// answer.
    pub fn join(path: &Path, viewer: Viewer) -> Result<Self, RemoteError> {
        let stream = greet(path, &viewer)?;
        let shared = Arc::new(Shared::default());
        {
            let mut state = shared.state.lock();
            state.audience.attached = true;
            state.link = Some(stream.try_clone()?);
        }
        let path = path.to_owned();
        let (attachment, here) = (Attachment { path, viewer }, Arc::clone(&shared));
        thread::Builder::new()
            .name("news".into())
            .spawn(move || follow(stream, &attachment, &here))?;
        let first = shared.wait(GREETING, |state| state.shown.clone());
        Ok(RemoteSession {
            first: first?,
            shared,
            next: 0,
        })
    }

    /// Attaches again, once the server is back, whenever the connection ends.
    #[must_use]
    pub fn returning(self) -> Self {
        self.shared.state.lock().returns = true;
        self
    }

    /// Returns whether the connection has ended.
    pub fn is_over(&self) -> bool {
        self.shared.state.lock().over.is_some()
    }

    fn ask(&mut self, ask: Ask) -> Result<Reply, Refusal> {
        self.next += 1;
        let number = self.next;
        let mut stream = self.shared.link()?;
        let sent = send(&mut stream, &Request { number, ask });
        sent.map_err(|e| RemoteRefusal::NotAsked(e.to_string()))?;
        let answer = |state: &mut State| state.answers.remove(&number);
        self.shared.wait(ANSWER, answer)?
    }
}

/// The time without news after which a server counts as gone. It sends news four times a second.
const SILENCE: Duration = Duration::from_secs(5);

/// Returns why the figures of a server are not of the present, or `None`: the connection is over, or
/// the last news came `since` ago.
fn ending(over: Option<&str>, since: Duration) -> Option<String> {
    let silent = || format!("the server has sent nothing for {} s", SILENCE.as_secs());
    let is_silent = since > SILENCE;
    over.map(str::to_owned).or_else(|| is_silent.then(silent))
}

/// Removes the figures of the present: a server that is gone has no rates, editors or viewers.
fn leave_for_dead(shown: &mut Snapshot, why: String) {
    shown.health = Health::Closed(why);
    shown.under_way.clear();
    shown.throughput.samples_per_s = 0.0;
    shown.throughput.requests_per_s = 0.0;
    shown
        .devices
        .iter_mut()
        .for_each(|device| device.busy = 0.0);
    shown.audience = Audience {
        lost: true,
        attached: true,
        you_edit: false,
        connection: shown.audience.connection,
        ..Audience::default()
    };
}

impl Session for RemoteSession {
    fn snapshot(&mut self) -> Snapshot {
        let state = self.shared.state.lock();
        let (shown, at) = state.shown.as_ref().unwrap_or(&self.first);
        let mut shown = shown.clone();
        shown.audience = state.audience.clone();
        match ending(state.over.as_deref(), at.elapsed()) {
            Some(why) => leave_for_dead(&mut shown, why),
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
            Reply::Done | Reply::WhatIf(_) | Reply::History(_) => {
                Err(RemoteRefusal::NoPreview.into())
            }
        }
    }

    fn what_if(&mut self, question: &WhatIf) -> Result<WhatIfReply, Refusal> {
        match self.ask(Ask::WhatIf(question.clone()))? {
            Reply::WhatIf(reply) => Ok(reply),
            Reply::Done | Reply::Preview(_) | Reply::History(_) => {
                Err(RemoteRefusal::NoPreview.into())
            }
        }
    }

    fn history(&mut self) -> Result<FigureHistory, Refusal> {
        let Reply::History(records) = self.ask(Ask::History)? else {
            return Err(RemoteRefusal::NoHistory.into());
        };
        let checked = checked_history(records);
        checked.map_err(|wrong| RemoteRefusal::NotUnderstood(wrong.to_string()).into())
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
        let mut state = self.shared.state.lock();
        state.left = true;
        if let Some(link) = &state.link {
            let _ = link.shutdown(Shutdown::Both);
        }
        self.shared.changed.notify_all();
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
