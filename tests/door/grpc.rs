//! The protocol over gRPC: calls, raw and typed contents, streams, statuses.

use std::net::SocketAddr;

use bytes::{Buf, Bytes};
use divisi_door::proto::health::{HealthCheckRequest, HealthCheckResponse};
use divisi_door::proto::inference as proto;
use divisi_door::proto::inference::infer_parameter::ParameterChoice;
use divisi_door::proto::inference::model_infer_request::InferInputTensor;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use percent_encoding::percent_decode_str;
use prost::Message;

use crate::service::{SHORT, TestServer};
use divisi_door::limits::ServerLimits;

/// An answer: its messages, its status, and the words of an error.
#[derive(Debug)]
pub struct Answer {
    pub messages: Vec<Bytes>,
    pub status: String,
    pub words: String,
}

impl Answer {
    #[track_caller]
    pub fn only<M: Message + Default>(&self) -> M {
        assert_eq!(self.status, "0", "{}", self.words);
        M::decode(self.messages[0].clone()).expect("a message")
    }
}

/// Sends messages of a call, and reads all of the answer.
pub fn ask(address: SocketAddr, path: &str, messages: &[Vec<u8>]) -> Answer {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime
        .expect("a runtime")
        .block_on(call(address, path, messages))
}

async fn call(address: SocketAddr, path: &str, messages: &[Vec<u8>]) -> Answer {
    let stream = tokio::net::TcpStream::connect(address)
        .await
        .expect("connects");
    let connected = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
    let (mut send, connection) = connected.expect("HTTP/2");
    tokio::spawn(connection);
    let body: Vec<u8> = messages.iter().flat_map(|m| framed(m)).collect();
    let request = Request::post(format!("http://{address}/{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(Full::new(Bytes::from(body)))
        .expect("a request");
    let response = send.send_request(request).await.expect("an answer");
    read_answer(response).await.expect("a body")
}

/// A message with what stands before it.
pub fn framed(message: &[u8]) -> Vec<u8> {
    [&claim(message.len()), message].concat()
}

/// The bytes before a message of a length.
pub fn claim(length: usize) -> [u8; 5] {
    let [a, b, c, d] = (length as u32).to_be_bytes();
    [0, a, b, c, d]
}

/// Reads all of an answer.
pub async fn read_answer(response: Response<Incoming>) -> Result<Answer, hyper::Error> {
    let headers = response.headers().clone();
    let collected = response.into_body().collect().await?;
    let trailers = collected.trailers().cloned().unwrap_or_default();
    let field = |name: &str| {
        let value = trailers.get(name).or_else(|| headers.get(name));
        value.map_or(String::new(), |v| v.to_str().expect("text").to_owned())
    };
    let status = field("grpc-status");
    let words = field("grpc-message");
    let words = percent_decode_str(&words).decode_utf8_lossy().into_owned();
    let mut bytes = collected.to_bytes();
    let mut found = Vec::new();
    while bytes.has_remaining() {
        bytes.advance(1);
        let length = bytes.get_u32() as usize;
        found.push(bytes.split_to(length));
    }
    Ok(Answer {
        messages: found,
        status,
        words,
    })
}

pub const INFERENCE: &str = "inference.GRPCInferenceService";

pub fn infer_all(
    server: &TestServer,
    method: &str,
    requests: &[proto::ModelInferRequest],
) -> Answer {
    let messages: Vec<Vec<u8>> = requests.iter().map(Message::encode_to_vec).collect();
    let address = server.server.addresses().grpc.expect("an address");
    ask(address, &format!("{INFERENCE}/{method}"), &messages)
}

pub fn tensor(data_type: &str, shape: &[i64]) -> InferInputTensor {
    InferInputTensor {
        name: "x".into(),
        datatype: data_type.into(),
        shape: shape.to_vec(),
        ..InferInputTensor::default()
    }
}

pub fn request(
    model: &str,
    inputs: Vec<InferInputTensor>,
    raw: &[&[u8]],
) -> proto::ModelInferRequest {
    proto::ModelInferRequest {
        model_name: model.into(),
        id: "seven".into(),
        inputs,
        raw_input_contents: raw
            .iter()
            .map(|bytes| Bytes::copy_from_slice(bytes))
            .collect(),
        ..proto::ModelInferRequest::default()
    }
}

#[test]
fn raw_contents_come_back_raw() {
    let server = TestServer::start();
    let asked = request("echo", vec![tensor("INT16", &[2])], &[b"\x01\0\x02\0"]);
    let answer: proto::ModelInferResponse = infer_all(&server, "ModelInfer", &[asked]).only();
    assert_eq!(answer.id, "seven");
    assert_eq!(answer.outputs[0].datatype, "INT16");
    assert_eq!(answer.raw_output_contents, [&b"\x01\0\x02\0"[..]]);
}

#[test]
fn typed_contents_are_values_of_their_type() {
    let server = TestServer::start();
    let mut input = tensor("INT8", &[3]);
    input.contents = Some(proto::InferTensorContents {
        int_contents: vec![-1, 0, 127],
        ..proto::InferTensorContents::default()
    });
    let asked = request("echo", vec![input.clone()], &[]);
    let answer: proto::ModelInferResponse = infer_all(&server, "ModelInfer", &[asked]).only();
    assert_eq!(answer.raw_output_contents, [&b"\xff\0\x7f"[..]]);
    let wrong = proto::InferTensorContents {
        int_contents: vec![-1, 0, 128],
        ..proto::InferTensorContents::default()
    };
    input.contents = Some(wrong);
    let answer = infer_all(&server, "ModelInfer", &[request("echo", vec![input], &[])]);
    assert_eq!(answer.status, "3", "{}", answer.words);
}

#[test]
fn values_beside_a_region_of_shared_memory_are_refused() {
    let server = TestServer::start();
    let mut input = tensor("INT8", &[1]);
    input.contents = Some(proto::InferTensorContents {
        int_contents: vec![1],
        ..proto::InferTensorContents::default()
    });
    for (name, value) in [
        (
            "shared_memory_region",
            ParameterChoice::StringParam("r".into()),
        ),
        ("shared_memory_byte_size", ParameterChoice::Int64Param(1)),
    ] {
        let parameter_choice = Some(value);
        let parameter = proto::InferParameter { parameter_choice };
        input.parameters.insert(name.into(), parameter);
    }
    let answer = infer_all(&server, "ModelInfer", &[request("echo", vec![input], &[])]);
    assert_eq!(answer.status, "3", "{}", answer.words);
    assert!(
        answer
            .words
            .contains("`contents` or `shared_memory_region`"),
        "{}",
        answer.words
    );
}

#[test]
fn errors_have_the_status_of_their_kind() {
    let server = TestServer::start();
    let one = || vec![tensor("UINT8", &[1])];
    let cases = [
        (request("nobody", one(), &[b"1"]), "5"),
        (request("broken", one(), &[b"1"]), "13"),
        (request("echo", one(), &[]), "3"),
        (request("echo", one(), &[b"12"]), "3"),
        (request("echo", one(), &[b"1", b"2"]), "3"),
        (request("echo", vec![tensor("UINT8", &[-1])], &[b"1"]), "3"),
        (request("echo", vec![tensor("FP7", &[1])], &[b"1"]), "3"),
        (
            request("echo", vec![tensor("UINT8", &[i64::MAX, 9])], &[b"1"]),
            "8",
        ),
    ];
    for (asked, status) in cases {
        let answer = infer_all(&server, "ModelInfer", std::slice::from_ref(&asked));
        assert_eq!(answer.status, status, "{asked:?}: {}", answer.words);
        assert!(!answer.words.is_empty());
    }
    let address = server.server.addresses().grpc.expect("an address");
    let unload = proto::RepositoryModelUnloadRequest::default().encode_to_vec();
    let answer = ask(
        address,
        &format!("{INFERENCE}/RepositoryModelUnload"),
        &[unload],
    );
    assert_eq!(answer.status, "12");
    let nothing = ask(address, &format!("{INFERENCE}/Nothing"), &[Vec::new()]);
    assert_eq!(nothing.status, "12");
}

#[test]
fn a_stream_is_answered_in_order_and_outlives_an_error() {
    let server = TestServer::start();
    let asked: Vec<_> = (0..20)
        .map(|at| {
            let model = if at == 7 { "nobody" } else { "echo" };
            let mut asked = request(model, vec![tensor("UINT8", &[1])], &[b"1"]);
            asked.id = at.to_string();
            asked
        })
        .collect();
    let answer = infer_all(&server, "ModelStreamInfer", &asked);
    assert_eq!(answer.status, "0", "{}", answer.words);
    assert_eq!(answer.messages.len(), 20);
    for (at, message) in answer.messages.into_iter().enumerate() {
        let message = proto::ModelStreamInferResponse::decode(message).expect("a message");
        assert_eq!(message.error_message.is_empty(), at != 7, "{at}");
        let reply = message.infer_response.expect("an answer");
        assert_eq!(reply.id, at.to_string());
        let last = &reply.parameters["triton_final_response"];
        assert_eq!(
            last.parameter_choice,
            Some(ParameterChoice::BoolParam(true))
        );
    }
}

#[test]
fn requests_beyond_a_bound_are_refused() {
    let limits = ServerLimits {
        body: 1000,
        bodies: 500,
        ..ServerLimits::default()
    };
    let server = TestServer::within(limits);
    for size in [600, 2000] {
        let large = vec![1; size];
        let asked = || request("echo", vec![tensor("UINT8", &[size as i64])], &[&large]);
        let answer = infer_all(&server, "ModelInfer", &[asked()]);
        assert!(
            ["8", "11"].contains(&&*answer.status),
            "{size}: {}",
            answer.status
        );
    }
    let medium = vec![1; 600];
    let asked = request("echo", vec![tensor("UINT8", &[600])], &[&medium]);
    let answer = infer_all(&server, "ModelStreamInfer", &[asked]);
    let message = answer.only::<proto::ModelStreamInferResponse>();
    assert!(
        message.error_message.contains("memory"),
        "{}",
        message.error_message
    );
    let small = request("echo", vec![tensor("UINT8", &[1])], &[b"1"]);
    assert_eq!(infer_all(&server, "ModelInfer", &[small]).status, "0");
}

#[test]
fn health_checks_are_answered() {
    let server = TestServer::start();
    let address = server.server.addresses().grpc.expect("an address");
    let check = |service: &str| {
        let service = service.to_owned();
        let asked = HealthCheckRequest { service }.encode_to_vec();
        ask(address, "grpc.health.v1.Health/Check", &[asked])
    };
    for service in ["", INFERENCE] {
        let answer: HealthCheckResponse = check(service).only();
        assert_eq!(answer.status, 1, "{service}: SERVING");
    }
    assert_eq!(check("nobody").status, "5");
}

#[test]
fn a_model_that_there_is_not_is_not_ready() {
    let server = TestServer::start();
    let address = server.server.addresses().grpc.expect("an address");
    for (name, expected) in [("echo", true), ("nobody", false)] {
        let asked = proto::ModelReadyRequest {
            name: name.into(),
            ..proto::ModelReadyRequest::default()
        };
        let path = format!("{INFERENCE}/ModelReady");
        let answer = ask(address, &path, &[asked.encode_to_vec()]);
        let answer: proto::ModelReadyResponse = answer.only();
        assert_eq!(answer.ready, expected, "{name}");
    }
}

#[test]
fn a_message_that_is_spoilt_is_refused() {
    let server = TestServer::start();
    let whole = request("echo", vec![tensor("UINT8", &[1])], &[b"1"]).encode_to_vec();
    let address = server.server.addresses().grpc.expect("an address");
    for at in 0..whole.len() {
        let mut spoilt = whole.clone();
        spoilt[at] ^= 0x2b;
        let answer = ask(address, &format!("{INFERENCE}/ModelInfer"), &[spoilt]);
        assert!(
            ["0", "3", "5", "8", "12", "13"].contains(&&*answer.status),
            "{}",
            answer.status
        );
    }
}

#[test]
fn an_answer_says_what_it_does_without() {
    let server = TestServer::start();
    let mut input = tensor("INT16", &[2]);
    input.name = SHORT.into();
    let asked = request("echo", vec![input], &[b"\x01\0\x02\0"]);
    let answer: proto::ModelInferResponse = infer_all(&server, "ModelInfer", &[asked]).only();
    let parameter = |name: &str| answer.parameters[name].parameter_choice.clone();
    let missing = ParameterChoice::StringParam("b,c".into());
    assert_eq!(parameter("divisi_missing"), Some(missing));
    let certain = ParameterChoice::BoolParam(true);
    assert_eq!(parameter("divisi_certain"), Some(certain));
}
