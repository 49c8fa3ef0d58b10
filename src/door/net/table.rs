//! The open connections of an address, and which of them makes room for a newcomer. A state machine
//! without clock and lock.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

/// The number of a connection in its [`ConnectionTable`].
pub type ConnectionNumber = u64;

/// Up to a bound, the open connections, each with a `T` by which it is told that it was dropped.
///
/// Those that never sent a byte are dropped first, and of these the oldest; then the one that has been
/// idle the longest; then the one whose request has not come whole and of which nothing has come for
/// the longest time, if that is long enough. A connection whose request is whole is never dropped.
#[derive(Debug)]
pub struct ConnectionTable<T> {
    most: usize,
    /// The time without a byte after which a request that is not whole makes room.
    stalled: Duration,
    next: ConnectionNumber,
    members: HashMap<ConnectionNumber, KeptConnection<T>>,
    /// The connections that have not been dropped.
    held: usize,
    /// Those of them that may have to make room: the first one is dropped first.
    ranks: BTreeSet<RoomRank>,
}

/// The rank of a connection among those that make room, by a time and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RoomRank {
    /// It is idle since then, and has never sent a byte.
    Silent(Duration, ConnectionNumber),
    /// It is idle since then.
    Idle(Duration, ConnectionNumber),
    /// It waits since then for more of a request.
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
    /// `None` once the connection was dropped.
    tell: Option<T>,
    has_sent: bool,
    requests: usize,
    /// Those of them of which more is waited for.
    waits: usize,
    /// The time since when no request is under way.
    since: Duration,
    /// The time since when more is waited for.
    waits_since: Duration,
    /// Whether it was dropped while it was receiving.
    is_cut: bool,
}

impl<T> KeptConnection<T> {
    fn is_idle(&self) -> bool {
        self.requests == 0
    }

    /// Returns whether it has requests, and more of each is waited for.
    fn is_receiving(&self) -> bool {
        !self.is_idle() && self.waits >= self.requests
    }

    /// Returns its rank among those that make room, or `None` if it is not among them.
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

/// A connection that was taken.
#[derive(Debug, PartialEq, Eq)]
pub struct EnteredConnection<T> {
    /// Its number.
    pub number: ConnectionNumber,
    /// The connection that was dropped to make room, if there had to be one.
    pub dropped: Option<T>,
}

impl<T> ConnectionTable<T> {
    /// Creates an empty table for at most `most` connections. A request that is not whole makes room
    /// once nothing of it has come for the time `stalled`.
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

    /// Returns the number of open connections, without those that were dropped.
    pub fn len(&self) -> usize {
        self.held
    }

    /// Returns whether there is no open connection.
    pub fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// Takes a connection that was opened at `now`, or returns `None` if all places are taken by
    /// connections with a request under way that is whole, or that still comes.
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

    /// Notes that a connection has sent its first byte.
    pub fn sends(&mut self, number: ConnectionNumber) {
        self.change(number, |member| member.has_sent = true);
    }

    /// Notes that a request of a connection is under way.
    pub fn begins(&mut self, number: ConnectionNumber) {
        self.change(number, |member| member.requests += 1);
    }

    /// Notes that more of a request is waited for from `now` on.
    pub fn waits(&mut self, number: ConnectionNumber, now: Duration) {
        self.change(number, |member| {
            member.waits += 1;
            member.waits_since = member.waits_since.max(now);
        });
    }

    /// Notes that more of that request has come, or that it is not waited for any longer.
    pub fn receives(&mut self, number: ConnectionNumber) {
        self.change(number, |member| {
            member.waits = member.waits.saturating_sub(1);
        });
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
            self.ranks.remove(&rank);
        }
        self.held -= usize::from(member.tell.is_some());
    }

    /// Returns the time since when no request of a connection is under way, or `None` if one is.
    pub fn idle_since(&self, number: ConnectionNumber) -> Option<Duration> {
        let member = self.members.get(&number)?;
        member.is_idle().then_some(member.since)
    }

    /// Returns whether a connection was dropped while it was receiving, and still is.
    pub fn is_cut(&self, number: ConnectionNumber) -> bool {
        let member = self.members.get(&number);
        member.is_some_and(|member| member.is_cut && member.is_receiving())
    }

    /// Drops the oldest connection that never sent a byte. Returns `None` if there is none.
    pub fn drop_silent(&mut self) -> Option<T> {
        match *self.ranks.first()? {
            silent @ RoomRank::Silent(..) => self.drop_of(silent),
            RoomRank::Idle(..) | RoomRank::Receiving(..) => None,
        }
    }

    /// Drops the first connection, unless it still receives.
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
        before.map(|rank| self.ranks.remove(&rank));
        after.map(|rank| self.ranks.insert(rank));
    }
}
