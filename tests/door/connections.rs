//! Connections: silent and idle ones end after a while, and make room for newcomers before that.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use divisi_door::limits::ServerLimits;
use divisi_door::{BodyPace, ConnectionTable};
use proptest::prelude::*;
use prost::Message;

use crate::client::{ask, read, request};
use crate::grpc::{INFERENCE, framed};
use crate::grpc_call::OpenCall;
use crate::service::TestServer;
use crate::wait::wait_until;

const LIVE: &str = "/v2/health/live";
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A time that passes within a test.
const SHORT: Duration = Duration::from_millis(50);

mod table {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// A table of three connections, `a`, `b` and `c`, that came one after another.
    fn three() -> (ConnectionTable<char>, [u64; 3]) {
        let mut table = ConnectionTable::new(3);
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
        since: Duration,
        is_dropped: bool,
    }

    impl PlainTable {
        fn held(&self) -> usize {
            self.0.values().filter(|c| !c.is_dropped).count()
        }

        fn drop(&mut self, number: Option<u64>) {
            if let Some(connection) = number.and_then(|number| self.0.get_mut(&number)) {
                connection.is_dropped = true;
            }
        }

        fn first(&self) -> Option<u64> {
            let idle = self.0.iter();
            let idle = idle.filter(|(_, c)| c.requests == 0 && !c.is_dropped);
            let first = idle.min_by_key(|(number, c)| (c.has_sent, c.since, **number));
            first.map(|(number, _)| *number)
        }
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Enter,
        Sends(usize),
        Begins(usize),
        Ends(usize),
        Leaves(usize),
        DropSilent,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => Just(Step::Enter),
            1 => (0..8usize).prop_map(Step::Sends),
            3 => (0..8usize).prop_map(Step::Begins),
            3 => (0..8usize).prop_map(Step::Ends),
            1 => (0..8usize).prop_map(Step::Leaves),
            1 => Just(Step::DropSilent),
        ]
    }

    proptest! {
        #[test]
        fn a_table_is_a_list_of_connections(most in 0..5usize, steps in prop::collection::vec(step(), 0..60)) {
            let (mut table, mut plain) = (ConnectionTable::new(most), PlainTable::default());
            let mut next = 0;
            for (second, step) in steps.into_iter().enumerate() {
                let now = at(second as u64);
                let chosen = |of: usize| plain.0.keys().copied().nth(of);
                match step {
                    Step::Enter => {
                        let is_full = plain.held() >= most;
                        let first = plain.first().filter(|_| is_full);
                        let entered = table.enter(next, now);
                        let expected = !is_full || first.is_some();
                        prop_assert_eq!(entered.is_some(), expected);
                        if let Some(entered) = entered {
                            prop_assert_eq!(entered.dropped, first);
                            prop_assert_eq!(entered.number, next);
                            plain.drop(first);
                            let connection = PlainConnection {
                                has_sent: false,
                                requests: 0,
                                since: now,
                                is_dropped: false,
                            };
                            plain.0.insert(next, connection);
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
                    Step::Leaves(of) => if let Some(number) = chosen(of) {
                        table.leaves(number);
                        plain.0.remove(&number);
                    },
                    Step::DropSilent => {
                        let first = plain.first();
                        let first = first.filter(|first| !plain.0[first].has_sent);
                        prop_assert_eq!(table.drop_silent(), first);
                        plain.drop(first);
                    }
                }
                prop_assert_eq!(table.len(), plain.held());
                for (number, connection) in &plain.0 {
                    let expected = (connection.requests == 0).then_some(connection.since);
                    prop_assert_eq!(table.idle_since(*number), expected);
                }
            }
        }
    }
}

fn http(server: &TestServer) -> SocketAddr {
    server.server.addresses().http.expect("an address")
}

fn grpc(server: &TestServer) -> SocketAddr {
    server.server.addresses().grpc.expect("an address")
}

/// Opens a connection and sends bytes on it.
fn open(address: SocketAddr, bytes: &[u8]) -> TcpStream {
    let mut client = TcpStream::connect(address).expect("connects");
    client.write_all(bytes).expect("is sent");
    client
}

/// Waits for the end of a connection. Returns what came before it.
fn end(client: &mut TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    // A reset is an end, too.
    let _ = client.read_to_end(&mut rest);
    rest
}

fn live(client: &mut TcpStream) -> u16 {
    let asked = client.write_all(&request("GET", LIVE, &[], b""));
    asked.map_or(0, |()| read(client).status)
}

fn is_closed(client: &TcpStream) -> bool {
    client.set_nonblocking(true).expect("a socket");
    let found = client.peek(&mut [0]);
    client.set_nonblocking(false).expect("a socket");
    found.map_or_else(|e| e.kind() != ErrorKind::WouldBlock, |count| count == 0)
}

/// Opens a connection that was asked once; another one if the machine was too busy to ask in time.
fn asked_once(server: &TestServer) -> TcpStream {
    let mut client = open(http(server), b"");
    while live(&mut client) != 200 {
        client = open(http(server), b"");
    }
    client
}

#[test]
fn a_connection_that_sends_nothing_is_closed_without_a_word() {
    let server = TestServer::within(ServerLimits {
        header_time: SHORT,
        ..ServerLimits::default()
    });
    let addresses = server.server.addresses();
    for address in [addresses.http, addresses.metrics] {
        let mut client = open(address.expect("an address"), b"");
        assert_eq!(end(&mut client), b"", "{address:?}");
    }
    // A server of HTTP/2 says what it takes, and no more than that.
    end(&mut open(grpc(&server), b""));
}

#[test]
fn half_a_preface_of_http_2_has_to_become_whole_in_time() {
    let server = TestServer::within(ServerLimits {
        header_time: SHORT,
        ..ServerLimits::default()
    });
    let mut client = open(grpc(&server), &PREFACE[..12]);
    end(&mut client);
}

#[test]
fn an_idle_connection_is_closed() {
    let server = TestServer::within(ServerLimits {
        idle_time: SHORT,
        ..ServerLimits::default()
    });
    assert_eq!(end(&mut asked_once(&server)), b"");
    // An empty frame of settings, as HTTP/2 begins.
    let opening = [PREFACE, &[0, 0, 0, 4, 0, 0, 0, 0, 0]].concat();
    let mut client = open(grpc(&server), &opening);
    end(&mut client);
}

#[test]
fn a_request_that_takes_longer_than_the_idle_time_is_answered() {
    let server = TestServer::within(ServerLimits {
        idle_time: SHORT,
        ..ServerLimits::default()
    });
    let never = request("POST", "/v2/models/never/infer", &[], br#"{"inputs":[]}"#);
    let mut client = open(http(&server), &never);
    wait_until("it waits", || {
        if is_closed(&client) {
            client = open(http(&server), &never);
        }
        server.waits(1)
    });
    // Another connection is idle for longer than that meanwhile.
    assert_eq!(end(&mut asked_once(&server)), b"");
    server.release.notify_waiters();
    assert_eq!(read(&mut client).status, 200);
}

#[test]
fn at_the_bound_an_idle_connection_makes_room_for_a_newcomer() {
    let server = TestServer::within(ServerLimits {
        connections: 3,
        ..ServerLimits::default()
    });
    let mut kept = open(http(&server), b"");
    assert_eq!(live(&mut kept), 200);
    let mut silent: Vec<_> = (0..2).map(|_| open(http(&server), b"")).collect();
    wait_until("they are there", || server.server.activity().http == 3);
    assert_eq!(ask(http(&server), "GET", LIVE, b"").status, 200);
    assert_eq!(end(&mut silent[0]), b"");
    assert_eq!(live(&mut kept), 200, "it has sent something");
}

#[test]
fn at_the_bound_of_grpc_a_silent_connection_makes_room_for_a_newcomer() {
    let server = TestServer::within(ServerLimits {
        connections: 2,
        ..ServerLimits::default()
    });
    let mut silent: Vec<_> = (0..2).map(|_| open(grpc(&server), b"")).collect();
    wait_until("they are there", || server.server.activity().grpc == 2);
    let path = format!("{INFERENCE}/ServerLive");
    let answer = crate::grpc::ask(grpc(&server), &path, &[Vec::new()]);
    assert_eq!(answer.status, "0", "{}", answer.words);
    end(&mut silent[0]);
}

#[test]
fn a_connection_with_a_request_or_a_stream_under_way_is_never_dropped() {
    let server = TestServer::within(ServerLimits {
        connections: 1,
        ..ServerLimits::default()
    });
    let never = request("POST", "/v2/models/never/infer", &[], br#"{"inputs":[]}"#);
    let mut asking = open(http(&server), &never);
    let mut stream = OpenCall::begin(grpc(&server), "ModelStreamInfer");
    wait_until("both are there", || server.waits(1) && stream.has_head());
    assert_eq!(ask(http(&server), "GET", LIVE, b"").status, 503);
    end(&mut open(grpc(&server), b""));
    server.release.notify_waiters();
    assert_eq!(read(&mut asking).status, 200);
    stream.send(&framed(
        &crate::grpc::request("echo", Vec::new(), &[]).encode_to_vec(),
    ));
    stream.end();
    let answer = stream.answer().expect("an answer");
    assert_eq!((&*answer.status, answer.messages.len()), ("0", 1));
}

#[test]
fn a_body_has_time_between_its_pieces_and_for_its_bytes_in_all() {
    let second = Duration::from_secs;
    let mut pace = BodyPace::new(second(60), 1000);
    assert_eq!(pace.deadline(), second(60));
    // What is fast has the whole time for the next piece.
    pace.comes(50_000, second(50));
    assert_eq!(pace.deadline(), second(110));
    // What is slow has a second for each thousand bytes.
    pace.comes(10_000, second(100));
    assert_eq!(pace.deadline(), second(120));
}
