//! Connections: silent and idle ones end after a while, and make room for newcomers before that.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use divisi_door::BodyPace;
use divisi_door::limits::ServerLimits;
use prost::Message;

use crate::client::{ask, read, request};
use crate::grpc::{INFERENCE, claim, framed};
use crate::grpc_call::OpenCall;
use crate::service::TestServer;
use crate::wait::wait_until;

const LIVE: &str = "/v2/health/live";
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const INFER: &str = "/v2/models/echo/infer";
const BODY: &[u8] = br#"{"inputs":[]}"#;

/// A time that passes within a test.
const SHORT: Duration = Duration::from_millis(50);

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
        stalled_time: Duration::ZERO,
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

/// A server with room for one connection, where others need the place of a request that is not whole
/// once nothing has come for a time.
fn narrow(stalled_time: Duration) -> TestServer {
    TestServer::within(ServerLimits {
        connections: 1,
        stalled_time,
        ..ServerLimits::default()
    })
}

/// Opens a connection with a request whose body is waited for.
fn head_sent(server: &TestServer) -> TcpStream {
    let length = BODY.len();
    let head = format!(
        "POST {INFER} HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: {length}\r\n\r\n"
    );
    let mut client = open(http(server), head.as_bytes());
    // It is told to go on when the body is waited for.
    let mut words = [0; b"HTTP/1.1 100 Continue\r\n\r\n".len()];
    client.read_exact(&mut words).expect("it is waited for");
    client
}

#[test]
fn at_the_bound_a_body_that_stalls_makes_room_for_a_newcomer() {
    let server = narrow(Duration::ZERO);
    let mut client = head_sent(&server);
    client.write_all(&BODY[..1]).expect("is sent");
    // While the byte is read, the request is under way.
    wait_until("there is room", || {
        live(&mut open(http(&server), b"")) == 200
    });
    let answer = read(&mut client);
    assert_eq!(answer.status, 408, "{answer:?}");
    let words = "the request's body stalled while another client needed the connection";
    assert_eq!(answer.error(), words);
    assert_eq!(end(&mut client), b"");
}

#[test]
fn a_body_that_pauses_for_a_short_time_keeps_its_place() {
    let server = narrow(Duration::MAX);
    let mut client = head_sent(&server);
    assert_eq!(ask(http(&server), "GET", LIVE, b"").status, 503);
    client.write_all(BODY).expect("is sent");
    assert_eq!(read(&mut client).status, 200);
}

#[test]
fn at_the_bound_of_grpc_half_a_message_makes_room_for_a_newcomer() {
    let server = narrow(Duration::ZERO);
    let mut call = OpenCall::begin(grpc(&server), "ModelInfer");
    let half = [&claim(16 << 20)[..], &[0; 8 << 20]].concat();
    let unsent = call.send_read(half);
    wait_until("it is read", || unsent.strong_count() == 0);
    wait_until("there is room", || {
        let opening = [PREFACE, &[0, 0, 0, 4, 0, 0, 0, 0, 0]].concat();
        // One that is taken is told what the server takes.
        let mut newcomer = open(grpc(&server), &opening);
        newcomer.read_exact(&mut [0]).is_ok()
    });
    assert!(call.answer().is_err(), "its connection has ended");
}

#[test]
fn a_body_has_time_between_its_pieces_and_for_its_bytes_in_all() {
    let second = Duration::from_secs;
    let mut pace = BodyPace::new(second(60), 1000);
    assert_eq!(pace.deadline(), second(60));
    // What is fast has the whole time for the next piece.
    pace.bytes_received(50_000, second(50));
    assert_eq!(pace.deadline(), second(110));
    // What is slow has a second for each thousand bytes.
    pace.bytes_received(10_000, second(100));
    assert_eq!(pace.deadline(), second(120));
}
