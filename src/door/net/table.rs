//! The open connections of an address, and which of them makes room for a newcomer. A state machine
//! without clock and lock.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

/// The number of a connection in its [`ConnectionTable`].
pub type ConnectionNumber = u64;

/// Up to a bound, the open connections, each with a `T` by which it is told that it was dropped.
///
/// A connection with a request under way is never dropped. Of the others, those that never sent a
/// byte are dropped first, and of these the oldest.
#[derive(Debug)]
pub struct ConnectionTable<T> {
    most: usize,
    next: ConnectionNumber,
    members: HashMap<ConnectionNumber, KeptConnection<T>>,
    /// The connections that have not been dropped.
    held: usize,
    /// Those of them without a request under way: the first one is dropped first.
    idle: BTreeSet<IdleRank>,
}

/// Whether a connection has sent anything, since when it is idle, and its number.
type IdleRank = (bool, Duration, ConnectionNumber);

#[derive(Debug)]
struct KeptConnection<T> {
    number: ConnectionNumber,
    /// `None` once the connection was dropped.
    tell: Option<T>,
    has_sent: bool,
    requests: usize,
    /// The time since when no request is under way.
    since: Duration,
}

impl<T> KeptConnection<T> {
    fn is_idle(&self) -> bool {
        self.requests == 0
    }

    /// Returns its rank among idle connections, or `None` if it is not among them.
    fn rank(&self) -> Option<IdleRank> {
        let ranks = self.is_idle() && self.tell.is_some();
        ranks.then_some((self.has_sent, self.since, self.number))
    }
}

/// A connection that was taken.
#[derive(Debug, PartialEq, Eq)]
pub struct EnteredConnection<T> {
    /// Its number.
    pub number: ConnectionNumber,
    /// The connection that was dropped to make room, if there had to be one.
    pub dropped: Option<T>,
}

impl<T> ConnectionTable<T> {
    /// Creates an empty table for at most `most` connections.
    pub fn new(most: usize) -> Self {
        ConnectionTable {
            most,
            next: 0,
            members: HashMap::new(),
            held: 0,
            idle: BTreeSet::new(),
        }
    }

    /// Returns the number of open connections, without those that were dropped.
    pub fn len(&self) -> usize {
        self.held
    }

    /// Returns whether there is no open connection.
    pub fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// Takes a connection that was opened at `now`, or returns `None` if all places are taken by
    /// connections with a request under way.
    pub fn enter(&mut self, tell: T, now: Duration) -> Option<EnteredConnection<T>> {
        let is_full = self.held >= self.most;
        let dropped = if is_full { self.drop_first() } else { None };
        if is_full && dropped.is_none() {
            return None;
        }
        let number = self.next;
        self.next += 1;
        self.held += 1;
        self.idle.insert((false, now, number));
        let member = KeptConnection {
            number,
            tell: Some(tell),
            has_sent: false,
            requests: 0,
            since: now,
        };
        self.members.insert(number, member);
        Some(EnteredConnection { number, dropped })
    }

    /// Notes that a connection has sent its first byte.
    pub fn sends(&mut self, number: ConnectionNumber) {
        self.change(number, |member| member.has_sent = true);
    }

    /// Notes that a request of a connection is under way.
    pub fn begins(&mut self, number: ConnectionNumber) {
        self.change(number, |member| member.requests += 1);
    }

    /// Notes that a request of a connection was answered at `now`, or given up.
    pub fn ends(&mut self, number: ConnectionNumber, now: Duration) {
        self.change(number, |member| {
            member.requests = member.requests.saturating_sub(1);
            member.since = member.since.max(now);
        });
    }

    /// Forgets a connection that is closed.
    pub fn leaves(&mut self, number: ConnectionNumber) {
        let Some(member) = self.members.remove(&number) else {
            return;
        };
        if let Some(rank) = member.rank() {
            self.idle.remove(&rank);
        }
        self.held -= usize::from(member.tell.is_some());
    }

    /// Returns the time since when no request of a connection is under way, or `None` if one is.
    pub fn idle_since(&self, number: ConnectionNumber) -> Option<Duration> {
        let member = self.members.get(&number)?;
        member.is_idle().then_some(member.since)
    }

    /// Drops the oldest connection that never sent a byte. Returns `None` if there is none.
    pub fn drop_silent(&mut self) -> Option<T> {
        let (has_sent, ..) = *self.idle.first()?;
        match has_sent {
            true => None,
            false => self.drop_first(),
        }
    }

    fn drop_first(&mut self) -> Option<T> {
        let (.., number) = self.idle.pop_first()?;
        self.held -= 1;
        self.members.get_mut(&number)?.tell.take()
    }

    /// Changes a connection, and its rank with it.
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
        before.map(|rank| self.idle.remove(&rank));
        after.map(|rank| self.idle.insert(rank));
    }
}
