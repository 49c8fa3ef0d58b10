//! The open connections of an address, and which one is closed for a new connection. A state
//! machine without clock or lock.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

/// The number of a connection in its [`ConnectionTable`].
pub type ConnectionNumber = u64;

/// The open connections up to a bound, each with a `T` that signals that it was closed.
///
/// Connections that never sent a byte are closed first, the oldest of them first; then the one that
/// has been idle the longest; then the one with an incomplete request that has received nothing for
/// the longest time, if that is long enough. A connection with a complete request is never closed.
#[derive(Debug)]
pub struct ConnectionTable<T> {
    most: usize,
    /// The time without a byte after which an incomplete request makes room.
    stalled: Duration,
    next: ConnectionNumber,
    members: HashMap<ConnectionNumber, KeptConnection<T>>,
    /// The number of connections that were not closed.
    held: usize,
    /// The connections that may be closed, the first one first.
    ranks: BTreeSet<RoomRank>,
}

/// The rank of a connection among those that make room, by time and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RoomRank {
    /// Idle since this time, without ever having sent a byte.
    Silent(Duration, ConnectionNumber),
    /// Idle since this time.
    Idle(Duration, ConnectionNumber),
    /// Waiting for more of a request since this time.
    Receiving(Duration, ConnectionNumber),
}

impl RoomRank {
    fn number(self) -> ConnectionNumber {
        match self {
            RoomRank::Silent(_, number)
            | RoomRank::Idle(_, number)
            | RoomRank::Receiving(_, number) => number,
        }
    }
}

#[derive(Debug)]
struct KeptConnection<T> {
    number: ConnectionNumber,
    /// `None` once the connection was closed.
    tell: Option<T>,
    has_sent: bool,
    requests: usize,
    /// The number of requests that wait for more data.
    waits: usize,
    /// The time since when no request is in progress.
    since: Duration,
    /// The time since when more data is awaited.
    waits_since: Duration,
    /// Whether it was closed while it was receiving.
    is_cut: bool,
}

impl<T> KeptConnection<T> {
    fn is_idle(&self) -> bool {
        self.requests == 0
    }

    /// Returns whether it has requests and all of them wait for more data.
    fn is_receiving(&self) -> bool {
        !self.is_idle() && self.waits >= self.requests
    }

    /// Returns its rank among those that make room, or `None` if it makes none.
    fn rank(&self) -> Option<RoomRank> {
        self.tell.as_ref()?;
        match (self.is_idle(), self.has_sent) {
            (true, false) => Some(RoomRank::Silent(self.since, self.number)),
            (true, true) => Some(RoomRank::Idle(self.since, self.number)),
            (false, _) if self.is_receiving() => {
                Some(RoomRank::Receiving(self.waits_since, self.number))
            }
            (false, _) => None,
        }
    }
}

/// A registered connection.
#[derive(Debug, PartialEq, Eq)]
pub struct EnteredConnection<T> {
    /// Its number.
    pub number: ConnectionNumber,
    /// The connection that was closed to make room, if any.
    pub dropped: Option<T>,
}

impl<T> ConnectionTable<T> {
    /// Creates an empty table for at most `most` connections. An incomplete request makes room once
    /// nothing has arrived for the time `stalled`.
    pub fn new(most: usize, stalled: Duration) -> Self {
        ConnectionTable {
            most,
            stalled,
            next: 0,
            members: HashMap::new(),
            held: 0,
            ranks: BTreeSet::new(),
        }
    }

    /// Returns the number of open connections, without closed ones.
    pub fn len(&self) -> usize {
        self.held
    }

    /// Returns whether there is no open connection.
    pub fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// Registers a connection opened at `now`, or returns `None` if all places are taken by
    /// connections with a complete or still arriving request.
    pub fn enter(&mut self, tell: T, now: Duration) -> Option<EnteredConnection<T>> {
        let is_full = self.held >= self.most;
        let dropped = if is_full { self.drop_first(now) } else { None };
        if is_full && dropped.is_none() {
            return None;
        }
        let number = self.next;
        self.next += 1;
        self.held += 1;
        self.ranks.insert(RoomRank::Silent(now, number));
        let member = KeptConnection {
            number,
            tell: Some(tell),
            has_sent: false,
            requests: 0,
            waits: 0,
            since: now,
            waits_since: now,
            is_cut: false,
        };
        self.members.insert(number, member);
        Some(EnteredConnection { number, dropped })
    }

    /// Records the first byte of a connection.
    pub fn sends(&mut self, number: ConnectionNumber) {
        self.change(number, |member| member.has_sent = true);
    }

    /// Records the start of a request.
    pub fn begins(&mut self, number: ConnectionNumber) {
        self.change(number, |member| member.requests += 1);
    }

    /// Records that more of a request is awaited from `now` on.
    pub fn waits(&mut self, number: ConnectionNumber, now: Duration) {
        self.change(number, |member| {
            member.waits += 1;
            member.waits_since = member.waits_since.max(now);
        });
    }

    /// Records that more of the request has arrived or is no longer awaited.
    pub fn receives(&mut self, number: ConnectionNumber) {
        self.change(number, |member| {
            member.waits = member.waits.saturating_sub(1);
        });
    }

    /// Records that a request was answered or cancelled at `now`.
    pub fn ends(&mut self, number: ConnectionNumber, now: Duration) {
        self.change(number, |member| {
            member.requests = member.requests.saturating_sub(1);
            member.since = member.since.max(now);
        });
    }

    /// Removes a closed connection.
    pub fn leaves(&mut self, number: ConnectionNumber) {
        let Some(member) = self.members.remove(&number) else {
            return;
        };
        if let Some(rank) = member.rank() {
            self.ranks.remove(&rank);
        }
        self.held -= usize::from(member.tell.is_some());
    }

    /// Returns the time since when no request of a connection is in progress, or `None` if one is.
    pub fn idle_since(&self, number: ConnectionNumber) -> Option<Duration> {
        let member = self.members.get(&number)?;
        member.is_idle().then_some(member.since)
    }

    /// Returns whether a connection was closed while it was receiving, and still is.
    pub fn is_cut(&self, number: ConnectionNumber) -> bool {
        let member = self.members.get(&number);
        member.is_some_and(|member| member.is_cut && member.is_receiving())
    }

    /// Closes the oldest connection that never sent a byte. Returns `None` if there is none.
    pub fn drop_silent(&mut self) -> Option<T> {
        match *self.ranks.first()? {
            silent @ RoomRank::Silent(..) => self.drop_of(silent),
            RoomRank::Idle(..) | RoomRank::Receiving(..) => None,
        }
    }

    /// Closes the first connection, unless it still receives.
    fn drop_first(&mut self, now: Duration) -> Option<T> {
        let first = *self.ranks.first()?;
        match first {
            RoomRank::Receiving(since, _) if now.saturating_sub(since) < self.stalled => None,
            _ => self.drop_of(first),
        }
    }

    fn drop_of(&mut self, rank: RoomRank) -> Option<T> {
        self.ranks.remove(&rank);
        self.held -= 1;
        let member = self.members.get_mut(&rank.number())?;
        member.is_cut = matches!(rank, RoomRank::Receiving(..));
        member.tell.take()
    }

    /// Changes a connection and updates its rank.
    fn change(&mut self, number: ConnectionNumber, change: impl FnOnce(&mut KeptConnection<T>)) {
        let Some(member) = self.members.get_mut(&number) else {
            return;
        };
        let before = member.rank();
        change(member);
        let after = member.rank();
        if before == after {
            return;
        }
        before.map(|rank| self.ranks.remove(&rank));
        after.map(|rank| self.ranks.insert(rank));
    }
}
