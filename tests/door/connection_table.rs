//! Which of the open connections makes room for a newcomer.

use std::collections::BTreeMap;
use std::time::Duration;

use divisi_door::ConnectionTable;
use proptest::prelude::*;

/// The time without a byte after which a request that is not whole makes room.
const STALLED: Duration = Duration::from_secs(3);

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A table of three connections, `a`, `b` and `c`, that came one after another.
fn three() -> (ConnectionTable<char>, [u64; 3]) {
    let mut table = ConnectionTable::new(3, STALLED);
    let mut enter = |name, second| {
        let entered = table.enter(name, at(second)).expect("room");
        assert_eq!(entered.dropped, None);
        entered.number
    };
    let numbers = [enter('a', 0), enter('b', 1), enter('c', 2)];
    (table, numbers)
}

#[test]
fn the_oldest_of_those_that_never_sent_a_byte_makes_room() {
    let (mut table, [a, ..]) = three();
    table.sends(a);
    let entered = table.enter('d', at(3)).expect("room");
    assert_eq!((entered.dropped, table.len()), (Some('b'), 3));
}

#[test]
fn of_those_that_have_sent_something_the_longest_idle_one_makes_room() {
    let (mut table, all) = three();
    for number in all {
        table.sends(number);
        table.begins(number);
    }
    for (number, second) in [(all[1], 5), (all[2], 6), (all[0], 7)] {
        table.ends(number, at(second));
    }
    let first = table.enter('d', at(8)).expect("room");
    assert_eq!(first.dropped, Some('b'));
    // The newcomer itself has sent nothing.
    let second = table.enter('e', at(9)).expect("room");
    assert_eq!(second.dropped, Some('d'));
}

#[test]
fn one_with_a_request_under_way_never_makes_room() {
    let (mut table, all) = three();
    for number in all {
        table.begins(number);
    }
    assert_eq!(table.enter('d', at(3)), None);
    table.ends(all[2], at(4));
    let entered = table.enter('d', at(5)).expect("room");
    assert_eq!(entered.dropped, Some('c'));
}

#[test]
fn of_those_whose_requests_are_not_whole_the_one_that_waits_longest_makes_room() {
    let (mut table, [a, b, c]) = three();
    for (number, second) in [(a, 3), (b, 4), (c, 5)] {
        table.begins(number);
        table.waits(number, at(second));
    }
    // More of the first one comes, and the rest is waited for.
    table.receives(a);
    table.waits(a, at(6));
    assert_eq!(table.enter('d', at(6)), None, "nobody waits for long");
    let entered = table.enter('d', at(7)).expect("room");
    assert_eq!((entered.dropped, table.is_cut(b)), (Some('b'), true));
    // What is idle goes first.
    assert_eq!(table.enter('e', at(9)).expect("room").dropped, Some('d'));
    table.receives(b);
    assert!(!table.is_cut(b), "its request is whole");
}

#[test]
fn one_with_a_whole_request_beside_one_that_is_not_never_makes_room() {
    let mut table = ConnectionTable::new(1, STALLED);
    let a = table.enter('a', at(0)).expect("room").number;
    table.begins(a);
    table.begins(a);
    table.waits(a, at(1));
    assert_eq!(table.enter('b', at(9)), None);
    table.ends(a, at(10));
    assert_eq!(table.enter('b', at(11)).expect("room").dropped, Some('a'));
}

#[test]
fn one_that_was_dropped_counts_no_more_and_may_still_answer() {
    let (mut table, [a, ..]) = three();
    table.enter('d', at(3)).expect("room");
    table.begins(a);
    assert_eq!((table.len(), table.idle_since(a)), (3, None));
    table.ends(a, at(4));
    assert_eq!(table.idle_since(a), Some(at(4)));
    table.leaves(a);
    assert_eq!((table.len(), table.idle_since(a)), (3, None));
}

#[test]
fn without_file_descriptors_silent_ones_alone_are_dropped() {
    let (mut table, [a, b, c]) = three();
    table.sends(a);
    table.begins(b);
    assert_eq!(table.drop_silent(), Some('c'));
    assert_eq!(table.drop_silent(), None);
    assert_eq!(table.len(), 2);
    table.leaves(c);
    assert_eq!(table.len(), 2);
}

/// The definition: a list of all connections.
#[derive(Clone, Debug, Default)]
struct PlainTable(BTreeMap<u64, PlainConnection>);

#[derive(Clone, Debug)]
struct PlainConnection {
    has_sent: bool,
    requests: usize,
    waits: usize,
    since: Duration,
    waits_since: Duration,
    is_dropped: bool,
    is_cut: bool,
}

/// How a connection makes room, and since when it could.
type PlainRank = (DropOrder, Duration, u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum DropOrder {
    Silent,
    Idle,
    Receiving,
}

impl PlainConnection {
    fn new(now: Duration) -> Self {
        PlainConnection {
            has_sent: false,
            requests: 0,
            waits: 0,
            since: now,
            waits_since: now,
            is_dropped: false,
            is_cut: false,
        }
    }

    fn is_receiving(&self) -> bool {
        self.requests > 0 && self.waits >= self.requests
    }

    fn rank(&self, number: u64) -> Option<PlainRank> {
        match self.requests {
            _ if self.is_dropped => None,
            0 if !self.has_sent => Some((DropOrder::Silent, self.since, number)),
            0 => Some((DropOrder::Idle, self.since, number)),
            _ if self.is_receiving() => Some((DropOrder::Receiving, self.waits_since, number)),
            _ => None,
        }
    }
}

impl PlainTable {
    fn held(&self) -> usize {
        self.0.values().filter(|c| !c.is_dropped).count()
    }

    fn drop(&mut self, rank: Option<PlainRank>) {
        let Some((room, _, number)) = rank else {
            return;
        };
        let connection = self.0.get_mut(&number).expect("is there");
        connection.is_dropped = true;
        connection.is_cut = room == DropOrder::Receiving;
    }

    fn first(&self) -> Option<PlainRank> {
        let all = self.0.iter();
        all.filter_map(|(number, c)| c.rank(*number)).min()
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Enter,
    Sends(usize),
    Begins(usize),
    Ends(usize),
    Waits(usize),
    Receives(usize),
    Leaves(usize),
    DropSilent,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::Enter),
        1 => (0..8usize).prop_map(Step::Sends),
        3 => (0..8usize).prop_map(Step::Begins),
        3 => (0..8usize).prop_map(Step::Ends),
        3 => (0..8usize).prop_map(Step::Waits),
        2 => (0..8usize).prop_map(Step::Receives),
        1 => (0..8usize).prop_map(Step::Leaves),
        1 => Just(Step::DropSilent),
    ]
}

proptest! {
    #[test]
    fn a_table_is_a_list_of_connections(most in 0..5usize, steps in prop::collection::vec(step(), 0..60)) {
        let (mut table, mut plain) = (ConnectionTable::new(most, STALLED), PlainTable::default());
        let mut next = 0;
        for (second, step) in steps.into_iter().enumerate() {
            let now = at(second as u64);
            let chosen = |of: usize| plain.0.keys().copied().nth(of);
            match step {
                Step::Enter => {
                    let is_full = plain.held() >= most;
                    let first = plain.first().filter(|_| is_full);
                    let first = first.filter(|(room, since, _)| {
                        *room != DropOrder::Receiving || now - *since >= STALLED
                    });
                    let entered = table.enter(next, now);
                    let expected = !is_full || first.is_some();
                    prop_assert_eq!(entered.is_some(), expected);
                    if let Some(entered) = entered {
                        prop_assert_eq!(entered.dropped, first.map(|(.., number)| number));
                        prop_assert_eq!(entered.number, next);
                        plain.drop(first);
                        plain.0.insert(next, PlainConnection::new(now));
                        next += 1;
                    }
                }
                Step::Sends(of) => if let Some(number) = chosen(of) {
                    table.sends(number);
                    plain.0.get_mut(&number).expect("is there").has_sent = true;
                },
                Step::Begins(of) => if let Some(number) = chosen(of) {
                    table.begins(number);
                    plain.0.get_mut(&number).expect("is there").requests += 1;
                },
                Step::Ends(of) => if let Some(number) = chosen(of) {
                    let connection = plain.0.get_mut(&number).expect("is there");
                    if connection.requests > 0 {
                        connection.requests -= 1;
                        connection.since = now;
                        table.ends(number, now);
                    }
                },
                Step::Waits(of) => if let Some(number) = chosen(of) {
                    table.waits(number, now);
                    let connection = plain.0.get_mut(&number).expect("is there");
                    connection.waits += 1;
                    connection.waits_since = now;
                },
                Step::Receives(of) => if let Some(number) = chosen(of) {
                    table.receives(number);
                    let connection = plain.0.get_mut(&number).expect("is there");
                    connection.waits = connection.waits.saturating_sub(1);
                },
                Step::Leaves(of) => if let Some(number) = chosen(of) {
                    table.leaves(number);
                    plain.0.remove(&number);
                },
                Step::DropSilent => {
                    let first = plain.first();
                    let first = first.filter(|(room, ..)| *room == DropOrder::Silent);
                    let expected = first.map(|(.., number)| number);
                    prop_assert_eq!(table.drop_silent(), expected);
                    plain.drop(first);
                }
            }
            prop_assert_eq!(table.len(), plain.held());
            for (number, connection) in &plain.0 {
                let expected = (connection.requests == 0).then_some(connection.since);
                prop_assert_eq!(table.idle_since(*number), expected);
                let is_cut = connection.is_cut && connection.is_receiving();
                prop_assert_eq!(table.is_cut(*number), is_cut);
            }
        }
    }
}
