//! The bounds of gRPC: what a message costs is known before it is decoded, what has come of it is
//! counted, and neither a slow sender nor somebody who does not read is waited for.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use divisi_door::InferenceServer;
use divisi_door::limits::ServerLimits;
use divisi_door::proto::inference as proto;
use prost::Message;

use crate::grpc::{INFERENCE, ask, claim, framed, infer_all, request, tensor};
use crate::grpc_call::OpenCall;
use crate::service::{Echo, TestServer, options};
use crate::wait::wait_until;

fn grpc(server: &TestServer) -> SocketAddr {
    server.server.addresses().grpc.expect("an address")
}

fn call(server: &TestServer, method: &str, message: Vec<u8>) -> crate::grpc::Answer {
    ask(grpc(server), &format!("{INFERENCE}/{method}"), &[message])
}

/// A request that is answered by as many bytes.
fn echo(bytes: usize) -> Vec<u8> {
    let raw = vec![7; bytes];
    request("echo", vec![tensor("UINT8", &[bytes as i64])], &[&raw]).encode_to_vec()
}

/// A request of many empty texts, which take two bytes each on the wire.
fn empty_texts(count: usize) -> proto::ModelInferRequest {
    let mut input = tensor("BYTES", &[count as i64]);
    input.contents = Some(proto::InferTensorContents {
        bytes_contents: vec![Bytes::new(); count],
        ..proto::InferTensorContents::default()
    });
    request("echo", vec![input], &[])
}

/// A message with as many bytes of a field that nobody knows.
fn padded(mut message: Vec<u8>, bytes: usize) -> Vec<u8> {
    let tag = (99 << 3) | 2;
    prost::encoding::encode_varint(tag, &mut message);
    prost::encoding::encode_varint(bytes as u64, &mut message);
    message.extend(vec![0; bytes]);
    message
}

#[test]
fn a_message_with_too_many_tensors_is_refused_before_it_is_decoded_and_counted() {
    let server = TestServer::start();
    let mut message = request("echo", Vec::new(), &[]).encode_to_vec();
    // Inputs without anything in them.
    message.extend([0x2a, 0].repeat(300));
    let answer = call(&server, "ModelInfer", message);
    assert_eq!(answer.status, "8", "{}", answer.words);
    assert!(
        answer.words.contains("inputs: expected at most 256"),
        "{}",
        answer.words
    );
    let asked = proto::ModelStatisticsRequest {
        name: "echo".into(),
        ..proto::ModelStatisticsRequest::default()
    };
    let answer = call(&server, "ModelStatistics", asked.encode_to_vec());
    let all: proto::ModelStatisticsResponse = answer.only();
    let figures = all.model_stats.into_iter().next();
    let figures = figures.and_then(|model| model.inference_stats);
    let failures = figures.and_then(|figures| figures.fail);
    assert_eq!(failures.expect("failures").count, 1);
}

#[test]
fn a_message_counts_with_the_memory_that_it_takes_once_it_is_decoded() {
    let limits = ServerLimits {
        bodies: 1 << 20,
        ..ServerLimits::default()
    };
    let server = TestServer::within(limits);
    let (few, many) = (empty_texts(1000), empty_texts(100_000));
    assert!(many.encoded_len() < limits.bodies);
    let answer = infer_all(&server, "ModelInfer", std::slice::from_ref(&many));
    assert_eq!(answer.status, "8", "{}", answer.words);
    assert!(answer.words.contains("memory"), "{}", answer.words);
    let answer = infer_all(&server, "ModelInfer", std::slice::from_ref(&few));
    assert_eq!(answer.status, "0", "{}", answer.words);
    let answer = infer_all(&server, "ModelStreamInfer", &[many, few]);
    assert_eq!(answer.status, "0", "{}", answer.words);
    let read = |bytes| proto::ModelStreamInferResponse::decode(bytes).expect("a message");
    let answers: Vec<_> = answer.messages.into_iter().map(read).collect();
    assert!(answers[0].error_message.contains("memory"));
    let refused = answers[0].infer_response.as_ref().expect("an answer");
    assert_eq!(refused.id, "seven");
    assert_eq!(answers[1].error_message, "");
}

#[test]
fn a_length_for_which_there_is_no_memory_is_refused_before_anything_of_it_comes() {
    let limits = ServerLimits {
        bodies: 1 << 20,
        ..ServerLimits::default()
    };
    let server = TestServer::within(limits);
    let mut open = OpenCall::begin(grpc(&server), "ModelInfer");
    open.send(&claim(2 << 20));
    let answer = open.answer().expect("an answer");
    assert_eq!(answer.status, "8", "{}", answer.words);
}

#[test]
fn what_has_come_of_a_message_of_a_stream_is_counted_until_the_client_is_gone() {
    let limits = ServerLimits {
        bodies: 1 << 20,
        ..ServerLimits::default()
    };
    let server = TestServer::within(limits);
    let status = || call(&server, "ModelInfer", echo(600 << 10)).status;
    let mut open = None;
    // Where the other request came first, it is the stream that has no room.
    wait_until("it is counted", || {
        let begun = OpenCall::begin(grpc(&server), "ModelStreamInfer");
        begun.send(&claim(900 << 10));
        begun.send(&vec![0; 700 << 10]);
        open = Some(begun);
        (0..20).any(|_| status() == "8")
    });
    drop(open);
    wait_until("it is given back", || status() == "0");
}

#[test]
fn an_id_has_a_bound_and_is_echoed_no_further_than_that() {
    let server = TestServer::start();
    let with_id = |length: usize| proto::ModelInferRequest {
        id: "x".repeat(length),
        ..request("echo", Vec::new(), &[])
    };
    let answer = infer_all(&server, "ModelInfer", &[with_id(4097)]);
    assert_eq!(answer.status, "3", "{}", answer.words);
    assert!(answer.words.contains("`id`: expected at most 4096 bytes"));
    let answer = infer_all(
        &server,
        "ModelStreamInfer",
        &[with_id(1 << 20), with_id(4096)],
    );
    assert_eq!(answer.status, "0", "{}", answer.words);
    let read = |bytes| proto::ModelStreamInferResponse::decode(bytes).expect("a message");
    let answers: Vec<_> = answer.messages.into_iter().map(read).collect();
    assert!(answers[0].error_message.contains("`id`"));
    assert!(answers[0].encoded_len() < 4096);
    assert_eq!(answers[1].error_message, "");
}

#[test]
fn messages_of_a_stream_are_given_back_once_they_are_answered() {
    let limits = ServerLimits {
        bodies: 1 << 20,
        ..ServerLimits::default()
    };
    let server = TestServer::within(limits);
    let one = request("echo", vec![tensor("UINT8", &[1])], &[b"1"]);
    let half = vec![1; 600 << 10];
    let half = request(
        "echo",
        vec![tensor("UINT8", &[half.len() as i64])],
        &[&half],
    );
    for _ in 0..10 {
        let answer = infer_all(&server, "ModelStreamInfer", &[half.clone(), one.clone()]);
        let read = |bytes| proto::ModelStreamInferResponse::decode(bytes).expect("a message");
        let answers = answer.messages.into_iter().map(read);
        let errors: Vec<String> = answers.map(|answer| answer.error_message).collect();
        assert_eq!(errors, ["", ""]);
    }
}

#[test]
fn a_message_of_a_stream_has_to_come_in_time_and_none_may_come_as_late_as_it_likes() {
    let limits = ServerLimits {
        body_time: Duration::from_millis(50),
        ..ServerLimits::default()
    };
    let server = TestServer::within(limits);
    let mut idle = OpenCall::begin(grpc(&server), "ModelStreamInfer");
    idle.send(&framed(&echo(10)));
    let mut slow = OpenCall::begin(grpc(&server), "ModelStreamInfer");
    slow.send(&framed(&echo(10))[..12]);
    let answer = slow.answer().expect("an answer");
    assert_eq!(answer.status, "4", "{}", answer.words);
    idle.send(&framed(&echo(10)));
    idle.end();
    let answer = idle.answer().expect("an answer");
    assert_eq!((&*answer.status, answer.messages.len()), ("0", 2));
}

#[test]
fn messages_come_in_pieces_of_any_size() {
    let server = TestServer::start();
    let asked = |size: usize| {
        let raw: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
        let message = request("echo", vec![tensor("UINT8", &[size as i64])], &[&raw]);
        (framed(&message.encode_to_vec()), raw)
    };
    let all: Vec<_> = [1, 70_000, 0, 300_000, 65_536].map(asked).into();
    let bytes: Vec<u8> = all.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
    for size in [3, 1000, 50_000, bytes.len()] {
        let mut open = OpenCall::begin(grpc(&server), "ModelStreamInfer");
        // Bytes one by one around the first prefix, then pieces of the size.
        let (begin, rest) = bytes.split_at(20);
        begin.iter().for_each(|byte| open.send(&[*byte]));
        let pieces = if size == 3 { &rest[..3000] } else { rest };
        pieces.chunks(size).for_each(|piece| open.send(piece));
        open.send(&rest[pieces.len()..]);
        open.end();
        let answer = open.answer().expect("an answer");
        assert_eq!(answer.status, "0", "{}", answer.words);
        let read = |bytes: Bytes| proto::ModelStreamInferResponse::decode(bytes).expect("one");
        for ((_, raw), found) in all.iter().zip(answer.messages.into_iter().map(read)) {
            let reply = found.infer_response.expect("an answer");
            assert_eq!(reply.raw_output_contents, [&raw[..]], "{size}");
        }
    }
}

#[test]
fn a_call_that_ends_within_a_message_is_told_so() {
    let server = TestServer::start();
    for method in ["ModelInfer", "ModelStreamInfer", "ModelReady"] {
        let mut open = OpenCall::begin(grpc(&server), method);
        open.send(&framed(&echo(10))[..12]);
        open.end();
        let answer = open.answer().expect("an answer");
        assert_eq!(answer.status, "13", "{method}: {}", answer.words);
    }
}

#[test]
fn a_stream_ends_with_a_message_that_is_none_and_nothing_behind_it_is_asked() {
    let model = Echo::default();
    let asked = Arc::clone(&model.asked);
    let options = options(ServerLimits::default());
    let server = InferenceServer::start(Arc::new(model), &options).expect("starts");
    let address = server.addresses().grpc.expect("an address");
    // No field has such a kind of value. Who went on behind it found a request, whose last field
    // ends with the first byte of the message that follows.
    let mut within = padded(echo(1), 2);
    within.pop();
    let spoilt = [&[7][..], &within].concat();
    let path = format!("{INFERENCE}/ModelStreamInfer");
    let answer = ask(address, &path, &[spoilt, echo(1)]);
    assert_eq!(answer.status, "13", "{}", answer.words);
    assert!(answer.messages.is_empty());
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

#[test]
fn calls_without_tensors_have_a_small_bound() {
    let server = TestServer::start();
    let ready = proto::ModelReadyRequest {
        name: "echo".into(),
        ..proto::ModelReadyRequest::default()
    };
    let ready = || ready.encode_to_vec();
    let cases = [
        ("ModelReady", padded(ready(), 60_000), "0"),
        ("ModelReady", padded(ready(), 70_000), "11"),
        ("RepositoryModelLoad", padded(Vec::new(), 70_000), "11"),
        ("ServerLive", padded(Vec::new(), 4000), "0"),
        ("ServerLive", padded(Vec::new(), 5000), "11"),
    ];
    for (method, message, status) in cases {
        let length = message.len();
        let answer = call(&server, method, message);
        assert_eq!(
            answer.status, status,
            "{method}, {length}: {}",
            answer.words
        );
    }
}

#[test]
fn calls_that_need_no_key_take_nothing_from_those_who_have_one() {
    let limits = ServerLimits {
        bodies: 500,
        ..ServerLimits::default()
    };
    let server = TestServer::within(limits);
    for method in ["ServerLive", "ServerReady"] {
        let answer = call(&server, method, padded(Vec::new(), 4000));
        assert_eq!(answer.status, "0", "{method}: {}", answer.words);
    }
    let answer = call(&server, "ServerMetadata", padded(Vec::new(), 4000));
    assert_eq!(answer.status, "8", "{}", answer.words);
}

#[test]
fn an_answer_that_nobody_reads_is_given_up_with_what_it_holds() {
    let limits = ServerLimits {
        read_time: Duration::from_millis(50),
        bodies: 1 << 20,
        ..ServerLimits::default()
    };
    let server = TestServer::within(limits);
    for method in ["ModelInfer", "ModelStreamInfer"] {
        // The client answers pings, and never says that it would take a byte.
        let mut lazy = OpenCall::within(grpc(&server), method, Some(0));
        lazy.send(&framed(&echo(600 << 10)));
        if method == "ModelInfer" {
            lazy.end();
        }
        let given_up = lazy.answer();
        assert!(given_up.is_err(), "{method}: {given_up:?}");
        let status = || call(&server, "ModelInfer", echo(600 << 10)).status;
        wait_until("what it held is given back", || status() == "0");
    }
}

#[test]
fn an_answer_that_lies_holds_the_memory_of_its_request() {
    let limits = ServerLimits {
        bodies: 1 << 20,
        ..ServerLimits::default()
    };
    let server = TestServer::within(limits);
    let mut lazy = OpenCall::within(grpc(&server), "ModelInfer", Some(0));
    lazy.send(&framed(&echo(600 << 10)));
    lazy.end();
    let status = || call(&server, "ModelInfer", echo(600 << 10)).status;
    wait_until("its head comes", || lazy.has_head());
    assert_eq!(status(), "8");
    drop(lazy);
    wait_until("it is given back", || status() == "0");
}
