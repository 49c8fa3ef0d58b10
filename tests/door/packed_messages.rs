//! Messages of gRPC that are compressed.

use std::io::{Read, Write};
use std::net::SocketAddr;

use bytes::{Buf, Bytes};
use divisi_door::limits::ServerLimits;
use divisi_door::proto::inference as proto;
use flate2::Compression;
use flate2::read::{GzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;

use crate::grpc::{INFERENCE, request, tensor};
use crate::service::TestServer;

const HEALTH: &str = "grpc.health.v1.Health/Check";

/// An answer: its messages with their first bytes, as they came, and the fields of its head and end.
struct PackedAnswer {
    encoding: String,
    accepted: String,
    status: String,
    words: String,
    messages: Vec<(u8, Vec<u8>)>,
}

impl PackedAnswer {
    fn unpacked<M: Message + Default>(&self) -> Vec<M> {
        assert_eq!(self.status, "0", "{}", self.words);
        let unpack = |(flag, bytes): &(u8, Vec<u8>)| match (*flag, &*self.encoding) {
            (0, _) => bytes.clone(),
            (_, "gzip") => read_all(GzDecoder::new(&**bytes)),
            (_, encoding) => {
                assert_eq!(encoding, "deflate");
                read_all(ZlibDecoder::new(&**bytes))
            }
        };
        let messages = self.messages.iter().map(unpack);
        messages
            .map(|bytes| M::decode(&*bytes).expect("a message"))
            .collect()
    }
}

fn read_all(mut from: impl Read) -> Vec<u8> {
    let mut all = Vec::new();
    from.read_to_end(&mut all).expect("packed bytes");
    all
}

fn pack(encoding: &str, bytes: &[u8]) -> Vec<u8> {
    if encoding == "deflate" {
        let mut packer = ZlibEncoder::new(Vec::new(), Compression::best());
        packer.write_all(bytes).expect("memory");
        return packer.finish().expect("memory");
    }
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(bytes).expect("memory");
    packer.finish().expect("memory")
}

/// A message with what stands before it.
fn framed(flag: u8, bytes: &[u8]) -> Vec<u8> {
    [&[flag][..], &(bytes.len() as u32).to_be_bytes(), bytes].concat()
}

fn packed(encoding: &str, message: &impl Message) -> Vec<u8> {
    framed(1, &pack(encoding, &message.encode_to_vec()))
}

fn ask(
    server: &TestServer,
    path: &str,
    (encoding, accepted): (&str, &str),
    body: Vec<u8>,
) -> PackedAnswer {
    let address = server.server.addresses().grpc.expect("an address");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let call = call(address, path, (encoding, accepted), body);
    runtime.expect("a runtime").block_on(call)
}

async fn call(
    address: SocketAddr,
    path: &str,
    (encoding, accepted): (&str, &str),
    body: Vec<u8>,
) -> PackedAnswer {
    let stream = tokio::net::TcpStream::connect(address).await;
    let stream = TokioIo::new(stream.expect("connects"));
    let connected = http2::handshake(TokioExecutor::new(), stream).await;
    let (mut send, connection) = connected.expect("HTTP/2");
    tokio::spawn(connection);
    let request = Request::post(format!("http://{address}/{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header("grpc-encoding", encoding)
        .header("grpc-accept-encoding", accepted)
        .body(Full::new(Bytes::from(body)))
        .expect("a request");
    let response = send.send_request(request).await.expect("an answer");
    let headers = response.headers().clone();
    let collected = response.into_body().collect().await.expect("a body");
    let trailers = collected.trailers().cloned().unwrap_or_default();
    let field = |name: &str| {
        let value = trailers.get(name).or_else(|| headers.get(name));
        value.map_or(String::new(), |v| v.to_str().expect("text").to_owned())
    };
    let mut bytes = collected.to_bytes();
    let mut messages = Vec::new();
    while bytes.has_remaining() {
        let (flag, length) = (bytes.get_u8(), bytes.get_u32() as usize);
        messages.push((flag, bytes.split_to(length).to_vec()));
    }
    PackedAnswer {
        encoding: field("grpc-encoding"),
        accepted: field("grpc-accept-encoding"),
        status: field("grpc-status"),
        words: field("grpc-message"),
        messages,
    }
}

/// A request that is answered by as many bytes.
fn echo(bytes: usize) -> proto::ModelInferRequest {
    let raw = vec![7; bytes];
    request("echo", vec![tensor("UINT8", &[bytes as i64])], &[&raw])
}

fn infer() -> String {
    format!("{INFERENCE}/ModelInfer")
}

#[test]
fn a_packed_request_is_unpacked_and_its_answer_is_packed_likewise() {
    let server = TestServer::start();
    for encoding in ["gzip", "deflate"] {
        for bytes in [1, 5000, 1 << 20] {
            let asked = packed(encoding, &echo(bytes));
            let answer = ask(
                &server,
                &infer(),
                (encoding, "identity, deflate, gzip"),
                asked,
            );
            let replies: Vec<proto::ModelInferResponse> = answer.unpacked();
            assert_eq!(replies[0].raw_output_contents[0], vec![7; bytes]);
            assert_eq!(answer.encoding, encoding);
            // A small one is not worth it.
            assert_eq!(answer.messages[0].0, u8::from(bytes > 1400));
        }
    }
}

#[test]
fn a_client_that_takes_no_packed_answers_or_packs_nothing_itself_gets_them_as_they_are() {
    let server = TestServer::start();
    let plain = framed(0, &echo(5000).encode_to_vec());
    let cases = [
        (("gzip", "identity"), packed("gzip", &echo(5000))),
        (("identity", "identity,deflate,gzip"), plain.clone()),
    ];
    for (encodings, asked) in cases {
        let answer = ask(&server, &infer(), encodings, asked);
        let replies: Vec<proto::ModelInferResponse> = answer.unpacked();
        assert_eq!(replies[0].raw_output_contents[0].len(), 5000);
        assert_eq!((answer.messages[0].0, &*answer.encoding), (0, ""));
    }
    // Each message says of itself whether it is packed.
    let answer = ask(&server, &infer(), ("gzip", "gzip"), plain);
    assert_eq!(answer.unpacked::<proto::ModelInferResponse>().len(), 1);
}

#[test]
fn messages_of_a_stream_are_unpacked_one_by_one() {
    let server = TestServer::start();
    let asked = [
        packed("gzip", &echo(3000)),
        framed(0, &echo(10).encode_to_vec()),
        packed("gzip", &echo(700_000)),
    ];
    let path = format!("{INFERENCE}/ModelStreamInfer");
    let answer = ask(&server, &path, ("gzip", "gzip"), asked.concat());
    let replies: Vec<proto::ModelStreamInferResponse> = answer.unpacked();
    let lengths: Vec<usize> = replies
        .iter()
        .map(|reply| {
            assert_eq!(reply.error_message, "");
            let reply = reply.infer_response.as_ref().expect("an answer");
            reply.raw_output_contents[0].len()
        })
        .collect();
    assert_eq!(lengths, [3000, 10, 700_000]);
}

#[test]
fn every_call_takes_packed_messages() {
    let server = TestServer::start();
    let asked = proto::ModelMetadataRequest {
        name: "echo".into(),
        version: String::new(),
    };
    let path = format!("{INFERENCE}/ModelMetadata");
    let answer = ask(&server, &path, ("gzip", "gzip"), packed("gzip", &asked));
    let replies: Vec<proto::ModelMetadataResponse> = answer.unpacked();
    assert_eq!(replies[0].name, "echo");
    let asked = divisi_door::proto::health::HealthCheckRequest::default();
    let answer = ask(
        &server,
        HEALTH,
        ("deflate", "deflate"),
        packed("deflate", &asked),
    );
    assert_eq!(answer.status, "0", "{}", answer.words);
}

#[test]
fn what_unpacks_to_more_than_a_bound_is_refused_and_its_memory_given_back() {
    let server = TestServer::within(ServerLimits {
        body: 1 << 20,
        bodies: 3 << 20,
        ..ServerLimits::default()
    });
    let bomb = framed(1, &pack("gzip", &vec![0; 64 << 20]));
    assert!(bomb.len() < 100_000);
    for _ in 0..10 {
        let answer = ask(&server, &infer(), ("gzip", "gzip"), bomb.clone());
        assert_eq!(answer.status, "8", "{}", answer.words);
        assert!(answer.words.contains("1048576"), "{}", answer.words);
    }
    // A stream goes on behind it.
    let asked = [bomb.clone(), packed("gzip", &echo(10))].concat();
    let path = format!("{INFERENCE}/ModelStreamInfer");
    let answer = ask(&server, &path, ("gzip", "gzip"), asked);
    let replies: Vec<proto::ModelStreamInferResponse> = answer.unpacked();
    assert!(replies[0].error_message.contains("1048576"));
    assert_eq!(replies[1].error_message, "");
    // A call that needs no key has a smaller bound.
    let bomb = framed(1, &pack("gzip", &vec![0; 1 << 20]));
    let answer = ask(&server, HEALTH, ("gzip", "gzip"), bomb);
    assert_eq!(answer.status, "8", "{}", answer.words);
}

#[test]
fn what_is_damaged_or_packed_in_another_way_is_refused() {
    let server = TestServer::start();
    let mut damaged = pack("gzip", &echo(5000).encode_to_vec());
    let half = damaged.len() / 2;
    damaged.truncate(half);
    let answer = ask(&server, &infer(), ("gzip", "gzip"), framed(1, &damaged));
    assert_eq!(answer.status, "3", "{}", answer.words);
    let answer = ask(&server, &infer(), ("br", "gzip"), packed("gzip", &echo(10)));
    assert_eq!(answer.status, "12", "{}", answer.words);
    assert_eq!(answer.accepted, "identity,deflate,gzip");
    // A message that says that it is packed, in a call that does not say how.
    let answer = ask(
        &server,
        &infer(),
        ("identity", "gzip"),
        packed("gzip", &echo(10)),
    );
    assert_eq!(answer.status, "13", "{}", answer.words);
}
