//! Bodies that are compressed.

use std::io::{Read, Write};

use divisi_door::limits::ServerLimits;
use flate2::Compression;
use flate2::read::{GzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};
use serde_json::{Value, json};

use crate::client::{Answer, ask_with};
use crate::service::TestServer;

const INFER: &str = "/v2/models/echo/infer";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(bytes).expect("memory");
    packer.finish().expect("memory")
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::best());
    packer.write_all(bytes).expect("memory");
    packer.finish().expect("memory")
}

fn body(values: usize) -> String {
    let data = vec![7; values];
    json!({"inputs": [{"name": "x", "datatype": "UINT8", "shape": [values], "data": data}]})
        .to_string()
}

fn send(server: &TestServer, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let address = server.server.addresses().http.expect("an address");
    let headers: Vec<_> = headers.iter().map(|(n, v)| (*n, (*v).to_owned())).collect();
    ask_with(address, "POST", INFER, &headers, body)
}

#[test]
fn requests_are_unpacked() {
    let server = TestServer::start();
    let plain = body(100);
    let packed = [
        ("gzip", gzip(plain.as_bytes())),
        ("GZIP", gzip(plain.as_bytes())),
        ("deflate", deflate(plain.as_bytes())),
        ("identity", plain.clone().into_bytes()),
    ];
    for (encoding, bytes) in packed {
        let answer = send(&server, &[("content-encoding", encoding)], &bytes);
        assert_eq!(answer.status, 200, "{encoding}: {answer:?}");
        assert_eq!(answer.json()["outputs"][0]["shape"], json!([100]));
    }
}

#[test]
fn what_is_damaged_or_packed_in_another_way_is_refused() {
    let server = TestServer::start();
    let packed = gzip(body(100).as_bytes());
    let behind = [&deflate(body(100).as_bytes())[..], b"more"].concat();
    let cases: [(&str, &[u8], u16); 6] = [
        ("gzip", b"", 400),
        ("gzip", b"no gzip at all", 400),
        ("gzip", &packed[..packed.len() - 4], 400),
        ("deflate", &behind, 400),
        ("br", &packed, 501),
        ("gzip, gzip", &packed, 501),
    ];
    for (encoding, bytes, status) in cases {
        let answer = send(&server, &[("content-encoding", encoding)], bytes);
        assert_eq!(answer.status, status, "{encoding}: {answer:?}");
        assert!(!answer.error().is_empty());
    }
}

#[test]
fn a_small_body_that_would_be_a_large_one_is_refused_before_it_is() {
    let limits = ServerLimits {
        body: 1 << 20,
        ..ServerLimits::default()
    };
    let server = TestServer::within(limits);
    let bomb = gzip(&vec![b' '; 64 << 20]);
    assert!(bomb.len() < 1 << 20, "it is let in");
    let answer = send(&server, &[("content-encoding", "gzip")], &bomb);
    assert_eq!(answer.status, 413, "{answer:?}");
}

#[test]
fn answers_are_packed_for_those_who_ask_for_it() {
    let server = TestServer::start();
    let large = body(5000);
    let unpack = |answer: &Answer| -> Value {
        let mut text = Vec::new();
        let read = match answer.header("content-encoding") {
            Some("gzip") => GzDecoder::new(&answer.body[..]).read_to_end(&mut text),
            Some("deflate") => ZlibDecoder::new(&answer.body[..]).read_to_end(&mut text),
            _ => return answer.json(),
        };
        read.expect("whole");
        serde_json::from_slice(&text).expect("JSON")
    };
    let cases = [
        ("gzip", Some("gzip")),
        ("br, deflate;q=0.5", Some("deflate")),
        ("gzip;q=0, identity", None),
        ("br", None),
    ];
    for (wanted, found) in cases {
        let answer = send(&server, &[("accept-encoding", wanted)], large.as_bytes());
        assert_eq!(answer.header("content-encoding"), found, "{wanted}");
        assert_eq!(unpack(&answer)["outputs"][0]["shape"], json!([5000]));
    }
    let small = send(&server, &[("accept-encoding", "gzip")], body(1).as_bytes());
    assert_eq!(small.header("content-encoding"), None);
}
