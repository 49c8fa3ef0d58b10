//! Heads of requests that are unusual, or wrong: each is answered in JSON, or served.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::json;

use crate::client::{Answer, ask, ask_with, read};
use crate::service::TestServer;

fn http(server: &TestServer) -> SocketAddr {
    server.server.addresses().http.expect("an address")
}

fn sent(server: &TestServer, bytes: &[u8]) -> Answer {
    let mut client = TcpStream::connect(http(server)).expect("connects");
    client.write_all(bytes).expect("is sent");
    read(&mut client)
}

const BODY: &str = r#"{"inputs":[]}"#;

#[test]
fn a_head_that_cannot_be_read_is_refused_in_json() {
    let server = TestServer::start();
    let long = format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "a".repeat(70_000));
    let many = format!("GET /v2 HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(200));
    let large = format!("GET /v2 HTTP/1.1\r\na: {}\r\n\r\n", "b".repeat(300_000));
    let infer = "POST /v2/models/echo/infer HTTP/1.1\r\nhost: x\r\n";
    let cases = [
        ("nonsense\r\n\r\n".to_owned(), 400),
        ("GET /v2 HTTP/3.7\r\n\r\n".to_owned(), 400),
        (format!("{infer}content-length: many\r\n\r\n"), 400),
        (format!("{infer}content-length: -1\r\n\r\n"), 400),
        (
            format!("{infer}content-length: 3\r\ncontent-length: 4\r\n\r\n"),
            400,
        ),
        (long, 414),
        (many, 431),
        (large, 431),
    ];
    for (bytes, status) in cases {
        let answer = sent(&server, bytes.as_bytes());
        let start = &bytes[..bytes.len().min(80)];
        assert_eq!(answer.status, status, "{start}: {answer:?}");
        assert!(!answer.error().is_empty(), "{start}");
        assert_eq!(answer.header("content-type"), Some("application/json"));
    }
}

#[test]
fn a_method_that_a_path_has_not_is_refused_with_those_that_it_has() {
    let server = TestServer::start();
    let cases = [
        ("POST", "/v2/models/echo", "GET, HEAD"),
        ("DELETE", "/v2/health/live", "GET, HEAD"),
        ("GET", "/v2/models/echo/infer", "POST"),
        ("OPTIONS", "/v2/repository/index", "POST"),
    ];
    for (method, path, methods) in cases {
        let answer = ask(http(&server), method, path, b"");
        assert_eq!(answer.status, 405, "{method} {path}");
        assert_eq!(answer.header("allow"), Some(methods), "{method} {path}");
        assert!(answer.error().contains("method"), "{method} {path}");
    }
}

#[test]
fn http_1_0_and_the_promise_to_continue_are_served() {
    let server = TestServer::start();
    let old = "GET /v2/health/live HTTP/1.0\r\n\r\n";
    assert_eq!(sent(&server, old.as_bytes()).status, 200);
    let length = BODY.len();
    let head = format!(
        "POST /v2/models/echo/infer HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\n\
         content-length: {length}\r\n\r\n"
    );
    let mut client = TcpStream::connect(http(&server)).expect("connects");
    client.write_all(head.as_bytes()).expect("is sent");
    let mut told = [0; 25];
    client.read_exact(&mut told).expect("an answer");
    assert_eq!(&told, b"HTTP/1.1 100 Continue\r\n\r\n");
    client.write_all(BODY.as_bytes()).expect("is sent");
    assert_eq!(read(&mut client).status, 200);
}

#[test]
fn a_body_that_is_shorter_than_it_claims_is_no_request() {
    let server = TestServer::start();
    let head = "POST /v2/models/echo/infer HTTP/1.1\r\nhost: x\r\ncontent-length: 99\r\n\r\n{";
    let mut client = TcpStream::connect(http(&server)).expect("connects");
    client.write_all(head.as_bytes()).expect("is sent");
    client.shutdown(std::net::Shutdown::Write).expect("ends");
    let answer = read(&mut client);
    assert!(
        answer.status == 0 || answer.status == 400,
        "it was answered: {answer:?}"
    );
}

#[test]
fn errors_speak_of_values_as_clients_write_them() {
    let server = TestServer::start();
    let cases = [
        (json!({"timeout": "soon"}), "found the text `soon`"),
        (json!({"timeout": -5}), "found -5"),
        (json!({"binary_data_output": 1}), "found 1"),
        (json!({"priority": "high"}), "found the text `high`"),
    ];
    for (parameters, words) in cases {
        let body = json!({"inputs": [], "parameters": parameters}).to_string();
        let answer = ask(
            http(&server),
            "POST",
            "/v2/models/echo/infer",
            body.as_bytes(),
        );
        assert_eq!(answer.status, 400, "{answer:?}");
        assert!(answer.error().ends_with(words), "{}", answer.error());
    }
}

#[test]
fn an_answer_after_its_deadline_is_none() {
    let server = TestServer::start();
    let body = json!({"inputs": [], "parameters": {"timeout": 1}}).to_string();
    let answer = ask_with(
        http(&server),
        "POST",
        "/v2/models/slow/infer",
        &[],
        body.as_bytes(),
    );
    assert_eq!(answer.status, 504, "{answer:?}");
}
