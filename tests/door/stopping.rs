//! The end of a server: no request is lost that a client sends on a connection that is left to it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use divisi_door::InferenceServer;
use divisi_door::limits::ServerLimits;

use crate::client::{Answer, read, request};
use crate::grpc_call::OpenCall;
use crate::service::{Echo, options};
use crate::wait::{LIMIT, wait_until};

const INFER: &str = "/v2/models/echo/infer";
const BODY: &[u8] = br#"{"inputs":[]}"#;

/// A time that passes within a test.
const SHORT: Duration = Duration::from_millis(50);

/// Bounds by which a server that ends waits for its clients, and for nothing else.
fn patient() -> ServerLimits {
    ServerLimits {
        last_time: LIMIT,
        farewell: LIMIT * 2,
        ..ServerLimits::default()
    }
}

/// Bounds by which a server ends soon after the last request, and never before.
fn brisk() -> ServerLimits {
    ServerLimits {
        header_time: LIMIT * 2,
        last_time: SHORT,
        farewell: LIMIT * 2,
        ..ServerLimits::default()
    }
}

fn start(limits: ServerLimits, models: Echo) -> (InferenceServer, SocketAddr, SocketAddr) {
    let server = InferenceServer::start(Arc::new(models), &options(limits)).expect("starts");
    let at = server.addresses();
    let (http, grpc) = (at.http.expect("an address"), at.grpc.expect("an address"));
    (server, http, grpc)
}

/// Begins to end a server. Returns once it takes no connections any more.
fn stop(server: InferenceServer, address: SocketAddr) -> JoinHandle<()> {
    let ending = thread::spawn(move || drop(server));
    wait_until("nobody is let in", || TcpStream::connect(address).is_err());
    ending
}

fn send(client: &mut TcpStream, method: &str, path: &str, body: &[u8]) -> Answer {
    let asked = request(method, path, &[], body);
    client.write_all(&asked).expect("is sent");
    read(client)
}

fn is_last(answer: &Answer) -> bool {
    answer.header("connection") == Some("close")
}

#[test]
fn a_kept_connection_is_answered_once_more_and_told_that_it_ends() {
    let (server, http, _) = start(patient(), Echo::default());
    let mut kept = TcpStream::connect(http).expect("connects");
    let answer = send(&mut kept, "POST", INFER, BODY);
    assert_eq!((answer.status, is_last(&answer)), (200, false));
    let mut new = TcpStream::connect(http).expect("connects");
    let ending = stop(server, http);
    for client in [&mut kept, &mut new] {
        let answer = send(client, "POST", INFER, BODY);
        assert_eq!((answer.status, is_last(&answer)), (200, true), "{answer:?}");
        assert_eq!(client.read(&mut [0; 8]).unwrap_or(0), 0, "it ends");
    }
    ending.join().expect("it ends");
}

#[test]
fn a_server_that_ends_is_alive_and_not_ready() {
    let (server, http, _) = start(patient(), Echo::default());
    let ask = || TcpStream::connect(http).expect("connects");
    let (mut live, mut ready) = (ask(), ask());
    let answer = send(&mut ready, "GET", "/v2/health/ready", b"");
    assert_eq!(answer.status, 200, "{answer:?}");
    let ending = stop(server, http);
    let answer = send(&mut ready, "GET", "/v2/health/ready", b"");
    assert_eq!(answer.status, 400, "{answer:?}");
    let answer = send(&mut live, "GET", "/v2/health/live", b"");
    assert_eq!(answer.status, 200, "{answer:?}");
    ending.join().expect("it ends");
}

#[test]
fn connections_that_nobody_uses_end_soon() {
    let (server, http, grpc) = start(brisk(), Echo::default());
    let mut kept = TcpStream::connect(http).expect("connects");
    assert_eq!(send(&mut kept, "POST", INFER, BODY).status, 200);
    let silent = [http, grpc].map(|at| TcpStream::connect(at).expect("connects"));
    let mut begun = TcpStream::connect(http).expect("connects");
    begun.write_all(b"POST /v2/mod").expect("is sent");
    // A client of HTTP/2 that says nothing more, and does not answer either.
    let mut deaf = TcpStream::connect(grpc).expect("connects");
    let opening = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    deaf.write_all(opening).expect("is sent");
    drop(server);
    drop((silent, begun, deaf));
}

#[test]
fn requests_under_way_are_answered_before_the_end() {
    let models = Echo::default();
    let (waiting, release) = (Arc::clone(&models.waiting), Arc::clone(&models.release));
    let (server, http, grpc) = start(brisk(), models);
    let mut client = TcpStream::connect(http).expect("connects");
    let never = request("POST", "/v2/models/never/infer", &[], BODY);
    client.write_all(&never).expect("is sent");
    let mut stream = OpenCall::begin(grpc, "ModelStreamInfer");
    wait_until("both are there", || {
        waiting.load(Ordering::SeqCst) == 1 && stream.has_head()
    });
    let mut idle = TcpStream::connect(http).expect("connects");
    let ending = stop(server, http);
    assert_eq!(
        idle.read(&mut [0; 8]).unwrap_or(0),
        0,
        "it was idle for too long"
    );
    release.notify_waiters();
    let answer = read(&mut client);
    assert_eq!((answer.status, is_last(&answer)), (200, true), "{answer:?}");
    stream.end();
    assert_eq!(stream.answer().expect("an answer").status, "0");
    ending.join().expect("it ends");
}

#[test]
fn a_request_that_takes_too_long_holds_the_end_up_no_longer_than_the_bound() {
    let models = Echo::default();
    let waiting = Arc::clone(&models.waiting);
    let limits = ServerLimits {
        farewell: SHORT,
        ..patient()
    };
    let (server, http, _) = start(limits, models);
    let mut client = TcpStream::connect(http).expect("connects");
    let never = request("POST", "/v2/models/never/infer", &[], BODY);
    client.write_all(&never).expect("is sent");
    wait_until("it waits", || waiting.load(Ordering::SeqCst) == 1);
    drop(server);
    assert_eq!(read(&mut client).status, 0);
}
