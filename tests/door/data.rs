//! Hostile requests: none of them ends in anything but a refusal.

use crate::client::{ask, ask_with};
use crate::service::TestServer;

/// Spoils a request in as many ways as it has bytes: cut off there, or another byte there.
#[test]
fn a_request_with_any_byte_spoilt_is_answered_or_refused() {
    let server = TestServer::start();
    let address = server.server.addresses().http.expect("an address");
    let head = r#"{"id":"é","parameters":{"timeout":900000000},"inputs":[{"name":"x","shape":[1,2],"datatype":"BYTES","parameters":{"binary_data_size":11}}],"outputs":[{"name":"x","parameters":{"classification":0}}]}"#;
    let tail = b"\x03\0\0\0abc\0\0\0\0";
    let whole = [head.as_bytes(), tail].concat();
    let length = ("inference-header-content-length", head.len().to_string());
    let path = "/v2/models/echo/infer";
    let answer = ask_with(address, "POST", path, std::slice::from_ref(&length), &whole);
    assert_eq!(answer.status, 200, "{answer:?}");
    for at in (0..whole.len()).step_by(3) {
        let mut spoilt = whole.clone();
        spoilt[at] ^= 0x15;
        for body in [&spoilt, &whole[..at]] {
            let answer = ask_with(address, "POST", path, std::slice::from_ref(&length), body);
            let is_told = answer.status == 200 || !answer.error().is_empty();
            assert!(is_told && answer.status != 500, "{at}: {answer:?}");
        }
    }
}

#[test]
fn strings_that_claim_more_than_there_is_are_refused() {
    let server = TestServer::start();
    let address = server.server.addresses().http.expect("an address");
    let head = r#"{"inputs":[{"name":"x","shape":[1],"datatype":"BYTES","parameters":{"binary_data_size":8}}]}"#;
    let length = ("inference-header-content-length", head.len().to_string());
    let body = [head.as_bytes(), b"\xff\xff\xff\xffabcd"].concat();
    let answer = ask_with(address, "POST", "/v2/models/echo/infer", &[length], &body);
    assert_eq!(answer.status, 400, "{answer:?}");
}

#[test]
fn a_refusal_is_short_however_long_the_request_is() {
    let server = TestServer::start();
    let address = server.server.addresses().http.expect("an address");
    let name = "ü".repeat(1 << 20);
    let body = format!(r#"{{"inputs":[{{"name":"{name}","shape":[1],"datatype":"FP32"}}]}}"#);
    let answer = ask(address, "POST", "/v2/models/echo/infer", body.as_bytes());
    assert_eq!(answer.status, 400);
    assert!(answer.body.len() < 2000, "{}", answer.body.len());
}

#[test]
fn lists_without_end_are_refused() {
    let server = TestServer::start();
    let address = server.server.addresses().http.expect("an address");
    let nested = "[".repeat(1 << 20);
    let places = [
        nested.clone(),
        format!(r#"{{"inputs":{nested}"#),
        format!(r#"{{"other":{nested}"#),
        format!(r#"{{"parameters":{{"a":{nested}"#),
        format!(r#"{{"inputs":[{{"datatype":"FP32","data":{nested}"#),
        format!(r#"{{"inputs":[{{"data":{nested}"#),
    ];
    for body in places {
        let answer = ask(address, "POST", "/v2/models/echo/infer", body.as_bytes());
        assert_eq!(answer.status, 400, "{}", &body[..40]);
    }
}
