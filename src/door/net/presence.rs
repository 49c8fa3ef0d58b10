//! The open connections of an address. Each knows whether it has been idle for too long, and
//! whether it must make room for a new one.

use std::sync::Arc;
use std::time::Duration;

use divisi_runtime::lock::Leaf;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::clock::ConnectionClock;
use crate::limits::ServerLimits;

use super::ending::Ending;
use super::table::{ConnectionNumber, ConnectionTable, EnteredConnection};

/// The open connections of an address.
pub(crate) struct OpenConnections {
    clock: ConnectionClock,
    began: Instant,
    table: Leaf<ConnectionTable<Arc<Notify>>>,
}

impl OpenConnections {
    /// Creates an address without connections.
    pub(crate) fn new(limits: &ServerLimits, clock: &ConnectionClock) -> Arc<Self> {
        let table = ConnectionTable::new(limits.connections, limits.stalled_time);
        Arc::new(OpenConnections {
            clock: clock.clone(),
            began: clock.now(),
            table: Leaf::new(table),
        })
    }

    /// Returns the number of open connections.
    pub(crate) fn count(&self) -> usize {
        self.table.lock().len()
    }

    /// Registers a connection. If there is no room, the first idle or stalled connection is closed;
    /// returns `None` if there is none.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<Presence> {
        let dismissed = Arc::new(Notify::new());
        let entered = self.table.lock().enter(Arc::clone(&dismissed), self.now());
        let EnteredConnection { number, dropped } = entered?;
        if let Some(dropped) = dropped {
            dropped.notify_one();
        }
        Some(Presence(Arc::new(PresentConnection {
            all: Arc::clone(self),
            number,
            dismissed,
            rests: Notify::new(),
        })))
    }

    /// Closes the oldest connection that never sent a byte, if there is one.
    pub(crate) fn drop_silent(&self) {
        let dropped = self.table.lock().drop_silent();
        if let Some(dropped) = dropped {
            dropped.notify_one();
        }
    }

    fn now(&self) -> Duration {
        self.clock.now() - self.began
    }
}

/// An open connection. It is removed when the last clone is dropped.
#[derive(Clone)]
pub(crate) struct Presence(Arc<PresentConnection>);

struct PresentConnection {
    all: Arc<OpenConnections>,
    number: ConnectionNumber,
    dismissed: Arc<Notify>,
    /// Notified when a request ends.
    rests: Notify,
}

impl Drop for PresentConnection {
    fn drop(&mut self) {
        self.all.table.lock().leaves(self.number);
    }
}

impl Presence {
    /// Records the first received byte.
    pub(crate) fn sends(&self) {
        self.0.all.table.lock().sends(self.0.number);
    }

    /// Marks a request as in progress until the returned value is dropped.
    pub(crate) fn begins(&self) -> RequestUnderWay {
        self.0.all.table.lock().begins(self.0.number);
        RequestUnderWay(self.clone())
    }

    /// Marks more of a request as awaited until the returned value is dropped.
    pub(crate) fn waits(&self) -> BodyWait {
        let now = self.0.all.now();
        self.0.all.table.lock().waits(self.0.number, now);
        BodyWait(self.clone())
    }

    /// Returns the clock of its time limits.
    pub(crate) fn clock(&self) -> &ConnectionClock {
        &self.0.all.clock
    }

    /// Returns whether the connection had to make room while it was receiving, and still is.
    pub(crate) fn is_cut(&self) -> bool {
        self.0.all.table.lock().is_cut(self.0.number)
    }

    /// Waits until the connection must make room for a new one, or was idle for `time`.
    pub(crate) async fn makes_room(&self, time: Duration) {
        tokio::select! {
            () = self.0.dismissed.notified() => {}
            () = self.rests(time) => {}
        }
    }

    /// Waits until the connection must close: as in [`Presence::makes_room`], or when it is idle
    /// for `last` while the server shuts down.
    pub(crate) async fn wait_for_close(&self, time: Duration, ending: &mut Ending, last: Duration) {
        tokio::select! {
            () = self.makes_room(time) => {}
            () = ending.wait() => self.rests(last).await,
        }
    }

    /// Waits until no request was in progress for `time`, counted from now on at the earliest.
    pub(crate) async fn rests(&self, time: Duration) {
        let clock = &self.0.all.clock;
        let from = clock.now();
        loop {
            let since = self.0.all.table.lock().idle_since(self.0.number);
            let Some(since) = since else {
                self.0.rests.notified().await;
                continue;
            };
            let until = from.max(self.0.all.began + since) + time;
            if until <= clock.now() {
                return;
            }
            // The time can move later meanwhile, but never earlier.
            clock.sleep_until(until).await;
        }
    }
}

/// A request of a connection that is not answered yet.
pub(crate) struct RequestUnderWay(Presence);

impl Drop for RequestUnderWay {
    fn drop(&mut self) {
        let connection = &self.0.0;
        let now = connection.all.now();
        connection.all.table.lock().ends(connection.number, now);
        connection.rests.notify_one();
    }
}

/// A wait for more of a request's body.
pub(crate) struct BodyWait(Presence);

impl BodyWait {
    /// Returns the result of [`Presence::is_cut`].
    pub(crate) fn is_cut(&self) -> bool {
        self.0.is_cut()
    }
}

impl Drop for BodyWait {
    fn drop(&mut self) {
        let connection = &self.0.0;
        connection.all.table.lock().receives(connection.number);
    }
}
