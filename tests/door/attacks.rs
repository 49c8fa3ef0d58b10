//! Many clients at once that mean harm or do not care, and one that asks as it should. What they cost
//! in memory and time is measured by `benches/door`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::Ordering;
use std::time::Duration;

use divisi_door::limits::ServerLimits;

use crate::client::{ask, read, request};
use crate::service::TestServer;
use crate::wait::wait_until;

const INFER: &str = "/v2/models/echo/infer";

fn many(count: usize, address: SocketAddr, begin: &[u8]) -> Vec<TcpStream> {
    let begun = (0..count).map(|_| {
        let mut client = TcpStream::connect(address).expect("connects");
        client.write_all(begin).expect("is sent");
        client
    });
    begun.collect()
}

fn answers(address: SocketAddr) {
    for _ in 0..20 {
        let answer = ask(address, "POST", INFER, br#"{"inputs":[]}"#);
        assert_eq!(answer.status, 200, "{answer:?}");
    }
}

/// Whether the server has ended a connection.
fn is_ended(client: &mut TcpStream) -> bool {
    client.set_nonblocking(true).expect("a socket");
    let mut rest = [0; 1024];
    loop {
        match client.read(&mut rest) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => return false,
            Err(_) => return true,
        }
    }
}

#[test]
fn idle_connections_cost_others_nothing_and_stay() {
    let server = TestServer::start();
    let address = server.server.addresses().http.expect("an address");
    let mut idle = many(300, address, b"");
    answers(address);
    for client in &mut idle {
        client
            .write_all(&request("GET", "/v2/health/live", &[], b""))
            .expect("is sent");
        assert_eq!(read(client).status, 200);
    }
}

#[test]
fn slow_senders_are_ended_and_others_are_answered_meanwhile() {
    let limits = ServerLimits {
        header_time: Duration::from_millis(200),
        body_time: Duration::from_millis(200),
        ..ServerLimits::default()
    };
    let server = TestServer::within(limits);
    let address = server.server.addresses().http.expect("an address");
    let head = format!("POST {INFER} HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n{{");
    let mut slow = many(50, address, b"POST /v2/models/ec");
    slow.extend(many(50, address, head.as_bytes()));
    answers(address);
    wait_until("they are ended", || slow.iter_mut().all(is_ended));
}

#[test]
fn claims_of_a_gigabyte_are_refused_at_once_and_hold_nothing() {
    let limits = ServerLimits {
        bodies: 1 << 20,
        ..ServerLimits::default()
    };
    let server = TestServer::within(limits);
    let address = server.server.addresses().http.expect("an address");
    let head = format!("POST {INFER} HTTP/1.1\r\nhost: x\r\ncontent-length: 1073741824\r\n\r\n");
    let mut claims = many(100, address, head.as_bytes());
    for client in &mut claims {
        assert_eq!(read(client).status, 413);
    }
    // As much as all bodies together may hold is still there.
    let body = format!("{}{{\"inputs\":[]}}", " ".repeat((1 << 20) - 100));
    assert_eq!(ask(address, "POST", INFER, body.as_bytes()).status, 200);
}

#[test]
fn readers_who_do_not_read_are_ended_and_others_are_answered_meanwhile() {
    let limits = ServerLimits {
        read_time: Duration::from_millis(200),
        ..ServerLimits::default()
    };
    let server = TestServer::within(limits);
    let address = server.server.addresses().http.expect("an address");
    let asked = large_request();
    let readers: Vec<TcpStream> = (0..20)
        .map(|_| {
            let client = TcpStream::connect(address).expect("connects");
            client.set_nonblocking(true).expect("a socket");
            client
        })
        .collect();
    answers(address);
    // Each asks until nothing is taken any more, and then until its connection is ended.
    let mut sent = vec![0; readers.len()];
    wait_until("they are ended", || {
        let goes_on = |(mut client, at): (&TcpStream, &mut usize)| {
            let from = *at % asked.len();
            match client.write(&asked[from..]) {
                Ok(count) => *at += count,
                Err(error) => return error.kind() == std::io::ErrorKind::WouldBlock,
            }
            true
        };
        let on: Vec<bool> = readers.iter().zip(&mut sent).map(goes_on).collect();
        !on.contains(&true)
    });
    answers(address);
}

#[test]
#[cfg(target_os = "linux")]
fn what_a_reader_who_does_not_read_asks_for_is_computed_a_few_times_at_most() {
    let limits = ServerLimits {
        read_time: Duration::from_millis(500),
        ..ServerLimits::default()
    };
    let server = TestServer::within(limits);
    let address = server.server.addresses().http.expect("an address");
    let mut client = TcpStream::connect(address).expect("connects");
    let asked = large_request();
    // The system takes some megabytes of requests; then the connection is ended.
    while client.write_all(&asked).is_ok() {}
    let computed = server.asked.load(Ordering::SeqCst);
    assert!((1..=3).contains(&computed), "{computed} times");
    // Its end counts as a refusal.
    wait_until("it is counted", || {
        let metrics = ask(address, "GET", "/metrics", b"").body;
        String::from_utf8_lossy(&metrics).contains(r#"divisi_calls_refused_total{reason="slow"} 1"#)
    });
}

/// A request whose answer is larger than what the system takes ahead.
fn large_request() -> Vec<u8> {
    let data = format!("[{}0]", "1,".repeat(200_000));
    let body = format!(
        r#"{{"inputs":[{{"name":"x","datatype":"FP32","shape":[200001],"data":{data}}}]}}"#
    );
    request("POST", INFER, &[], body.as_bytes())
}
