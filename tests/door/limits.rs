//! The bounds: what is beyond is refused, at once and alone.

use std::io::{Read, Write};
use std::net::TcpStream;

use divisi_door::limits::ServerLimits;
use divisi_inference::bounds::RequestBounds;
use serde_json::json;

use crate::client::{ask, ask_with, read, request};
use crate::service::{STEP, TestServer, advance_until_told};
use crate::wait::wait_until;

const INFER: &str = "/v2/models/echo/infer";

fn small() -> ServerLimits {
    ServerLimits {
        body: 4096,
        json: 2048,
        bodies: 8192,
        header_bytes: 8192,
        headers: 8,
        request: RequestBounds {
            tensors: 2,
            rank: 3,
            elements: 100,
            depth: 3,
            ..RequestBounds::default()
        },
        ..ServerLimits::default()
    }
}

fn input(name: &str, shape: &[usize], data: serde_json::Value) -> serde_json::Value {
    json!({"name": name, "datatype": "UINT8", "shape": shape, "data": data})
}

#[test]
fn requests_beyond_a_bound_are_refused_by_its_name() {
    let server = TestServer::within(small());
    let address = server.server.addresses().http.expect("an address");
    let many: Vec<_> = ["a", "b", "c"]
        .map(|name| input(name, &[1], json!([1])))
        .into();
    let huge = 1usize << 62;
    let cases = [
        (json!({"inputs": many}), 413, "at most 2"),
        (
            json!({"inputs": [input("x", &[1, 1, 1, 1], json!([1]))]}),
            413,
            "3 dimensions",
        ),
        (
            json!({"inputs": [input("x", &[101], json!(vec![1; 101]))]}),
            413,
            "at most 100 values",
        ),
        (
            json!({"inputs": [input("x", &[huge, huge], json!([1]))]}),
            400,
            "values",
        ),
        (
            json!({"inputs": [input("x", &[1], json!([[[[1]]]]))]}),
            400,
            "at most 3 nested lists",
        ),
        (
            json!({"inputs": [], "pad": "x".repeat(3000)}),
            413,
            "2048 bytes",
        ),
        (
            json!({"inputs": [], "pad": "x".repeat(5000)}),
            413,
            "4096 bytes",
        ),
    ];
    for (body, status, words) in cases {
        let answer = ask(address, "POST", INFER, body.to_string().as_bytes());
        assert_eq!(answer.status, status, "{words}: {answer:?}");
        assert!(
            answer.error().contains(words),
            "{words}: {}",
            answer.error()
        );
    }
    let binary = json!({"inputs": [{"name": "x", "datatype": "FP32", "shape": [huge, huge],
        "parameters": {"binary_data_size": 0}}]})
    .to_string();
    let length = ("inference-header-content-length", binary.len().to_string());
    let answer = ask_with(address, "POST", INFER, &[length], binary.as_bytes());
    assert_eq!(answer.status, 413, "{answer:?}");
}

#[test]
fn an_id_has_a_bound() {
    let server = TestServer::start();
    let address = server.server.addresses().http.expect("an address");
    for (length, status) in [(4096, 200), (4097, 400), (5_000_000, 400)] {
        let body = json!({"id": "x".repeat(length), "inputs": []}).to_string();
        let answer = ask(address, "POST", INFER, body.as_bytes());
        assert_eq!(answer.status, status, "{length}");
        if status == 400 {
            let words = format!("`id`: expected at most 4096 bytes, found {length}");
            assert!(answer.error().contains(&words), "{}", answer.error());
        }
    }
}

#[test]
fn a_gigabyte_that_is_only_claimed_is_refused_before_it_comes() {
    let server = TestServer::within(small());
    let address = server.server.addresses().http.expect("an address");
    let mut client = TcpStream::connect(address).expect("connects");
    let head = format!("POST {INFER} HTTP/1.1\r\nhost: x\r\ncontent-length: 1073741824\r\n\r\n");
    client.write_all(head.as_bytes()).expect("is sent");
    assert_eq!(read(&mut client).status, 413);
}

#[test]
fn a_tensor_of_256_mebibytes_fits_with_what_describes_it() {
    let limits = ServerLimits::default();
    assert!(limits.body > (256 << 20) + (64 << 10));
    let larger = limits.with_body(1 << 30);
    assert_eq!((larger.body, larger.bodies), (1 << 30, 4 << 30));
    assert!(larger.request.elements >= 1 << 30 && larger.json == limits.json);
    let smaller = limits.with_body(1 << 20);
    assert_eq!((smaller.json, smaller.bodies), (1 << 20, limits.bodies));
}

#[test]
fn a_body_in_pieces_is_bounded_like_one_in_whole() {
    let server = TestServer::within(small());
    let address = server.server.addresses().http.expect("an address");
    let mut client = TcpStream::connect(address).expect("connects");
    let head = format!("POST {INFER} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n");
    client.write_all(head.as_bytes()).expect("is sent");
    for _ in 0..5 {
        let piece = format!("400\r\n{}\r\n", "x".repeat(1024));
        client.write_all(piece.as_bytes()).expect("is sent");
    }
    assert_eq!(read(&mut client).status, 413);
}

#[test]
fn a_client_that_sends_slowly_is_given_up_and_others_are_served() {
    let (server, hand) = TestServer::timed(ServerLimits::default());
    let address = server.server.addresses().http.expect("an address");
    let mut head = TcpStream::connect(address).expect("connects");
    head.write_all(b"POST /v2/mod").expect("is sent");
    let mut body = TcpStream::connect(address).expect("connects");
    let begun = format!("POST {INFER} HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{{");
    body.write_all(begun.as_bytes()).expect("is sent");
    assert_eq!(ask(address, "GET", "/v2/health/live", b"").status, 200);
    advance_until_told(&hand, &body);
    assert_eq!(read(&mut body).status, 408);
    advance_until_told(&hand, &head);
    let late = read(&mut head);
    assert_eq!(late.status, 408, "{late:?}");
    assert!(late.error().contains("the head"), "{late:?}");
    assert_eq!(
        head.read(&mut [0; 16]).unwrap_or(0),
        0,
        "the connection ends"
    );
}

#[test]
fn a_client_that_does_not_read_is_given_up() {
    let (server, hand) = TestServer::timed(ServerLimits::default());
    let address = server.server.addresses().http.expect("an address");
    let mut client = TcpStream::connect(address).expect("connects");
    let values = vec![b'x'; 64 << 20];
    let head = json!({
        "inputs": [{"name": "x", "datatype": "UINT8", "shape": [values.len()],
            "parameters": {"binary_data_size": values.len()}}],
        "parameters": {"binary_data_output": true},
    })
    .to_string();
    let length = ("inference-header-content-length", head.len().to_string());
    let body = [head.as_bytes(), &values].concat();
    client
        .write_all(&request("POST", INFER, &[length], &body))
        .expect("is sent");
    // What is there to be read once it has ended is less than the answer.
    wait_until("the server ends it", || {
        hand.advance(STEP);
        client.take_error().is_ok_and(|e| e.is_some()) || client.write(b"x").is_err()
    });
}

#[test]
fn more_requests_than_may_be_under_way_are_refused() {
    let limits = ServerLimits {
        requests: 2,
        ..ServerLimits::default()
    };
    let server = TestServer::within(limits);
    let address = server.server.addresses().http.expect("an address");
    let clients: Vec<TcpStream> = (0..2)
        .map(|_| {
            let mut client = TcpStream::connect(address).expect("connects");
            let never = request("POST", "/v2/models/never/infer", &[], br#"{"inputs":[]}"#);
            client.write_all(&never).expect("is sent");
            client
        })
        .collect();
    wait_until("both wait", || server.waits(2));
    let refused = ask(address, "POST", INFER, br#"{"inputs":[]}"#);
    assert_eq!(refused.status, 503, "{refused:?}");
    drop(clients);
    wait_until("both are gone", || server.waits(0));
    assert_eq!(ask(address, "POST", INFER, br#"{"inputs":[]}"#).status, 200);
}

#[test]
fn more_connections_than_there_may_be_are_told_so() {
    let limits = ServerLimits {
        connections: 2,
        ..ServerLimits::default()
    };
    let server = TestServer::within(limits);
    let address = server.server.addresses().http.expect("an address");
    let held: Vec<TcpStream> = (0..2)
        .map(|_| {
            let mut client = TcpStream::connect(address).expect("connects");
            let never = request("POST", "/v2/models/never/infer", &[], br#"{"inputs":[]}"#);
            client.write_all(&never).expect("is sent");
            client
        })
        .collect();
    wait_until("both wait", || server.waits(2));
    let mut more = TcpStream::connect(address).expect("connects");
    let answer = read(&mut more);
    assert_eq!(answer.status, 503);
    assert!(answer.error().contains("connections"));
    drop(held);
}
