//! Keys: who may ask for what.

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use divisi_door::InferenceServer;
use divisi_door::keys::{KeyRole, Keys, KeysError};
use divisi_door::limits::ServerLimits;
use divisi_door::notices::Notices;
use divisi_door::proto::inference as proto;
use http_body_util::BodyExt;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tokio::sync::mpsc::unbounded_channel;

use crate::client::{ask, ask_with};
use crate::grpc_call::SentPieces;
use crate::service::{Echo, options};
use crate::wait::wait_until;

/// The hashes of the tokens `test` and `other`.
const TEST: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const OTHER: &str = "d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa";

fn file(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(text.as_bytes()).expect("is written");
    file
}

fn read(path: &Path) -> Result<Keys, KeysError> {
    Keys::read(path, Notices::default())
}

fn bearer(token: &str) -> Vec<u8> {
    format!("Bearer {token}").into_bytes()
}

fn may(keys: &Keys, token: &str, role: KeyRole) -> bool {
    keys.check(Some(&bearer(token)), role).is_ok()
}

#[test]
fn a_role_has_the_rights_of_those_before_it() {
    let file = file(&format!(
        "# keys\ninfer {TEST} alice # hers\n\nread {OTHER} bob\n"
    ));
    let keys = read(file.path()).expect("keys");
    assert!(may(&keys, "test", KeyRole::Read) && may(&keys, "test", KeyRole::Infer));
    assert!(!may(&keys, "test", KeyRole::Control));
    assert!(may(&keys, "other", KeyRole::Read) && !may(&keys, "other", KeyRole::Infer));
    for header in [
        None,
        Some(&b"Basic test"[..]),
        Some(b"Bearer"),
        Some(b"Bearer x"),
        Some(b""),
    ] {
        let refused = keys.check(header, KeyRole::Read).expect_err("no key");
        assert_eq!(refused.kind().http(), 401, "{header:?}");
    }
}

#[test]
fn a_line_that_is_no_key_is_told_by_its_number() {
    let wrong = [
        format!("read {TEST} a\nroot {TEST} b\n"),
        format!("read {TEST} a\nread {} b\n", &TEST[1..]),
        format!("read {TEST} a\nread {}é b\n", &TEST[2..]),
        format!("read {TEST} a\nread {TEST}\n"),
        format!("control {TEST} a\nread {TEST} b\n"),
    ];
    for text in wrong {
        let why = read(file(&text).path())
            .expect_err("it is wrong")
            .to_string();
        assert!(why.contains("line 2"), "{why}");
    }
    assert!(read(file("# none\n").path()).is_err());
    assert!(read(Path::new("/nothing/there")).is_err());
}

#[test]
fn a_file_that_changes_is_read_again_a_wrong_one_is_told_and_none_lets_nobody_in() {
    let file = file(&format!("read {TEST} a\n"));
    let told = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&told);
    let notices = Notices::to(move |words| sink.lock().unwrap().push(words.to_owned()));
    let keys = Keys::read(file.path(), notices).expect("keys");
    assert!(may(&keys, "test", KeyRole::Read));
    std::fs::write(file.path(), format!("read {OTHER} alice\n")).expect("is written");
    wait_until("the new key", || may(&keys, "other", KeyRole::Read));
    assert!(!may(&keys, "test", KeyRole::Read));
    std::fs::write(file.path(), "nonsense").expect("is written");
    let tells = |words: &str| {
        told.lock()
            .unwrap()
            .last()
            .is_some_and(|t| t.contains(words))
    };
    wait_until("it is told", || {
        may(&keys, "other", KeyRole::Read) && tells("keys unchanged")
    });
    std::fs::remove_file(file.path()).expect("is removed");
    wait_until("nobody is let in", || !may(&keys, "other", KeyRole::Read));
    assert!(tells("is missing"));
    assert_eq!(told.lock().unwrap().len(), 2, "each once");
    std::fs::write(file.path(), format!("read {TEST} a\n")).expect("is written");
    wait_until("the key is back", || may(&keys, "test", KeyRole::Read));
}

#[test]
fn a_key_tells_whose_it_is() {
    let file = file(&format!("infer {TEST} alice\n"));
    let keys = read(file.path()).expect("keys");
    let who = keys
        .check(Some(&bearer("test")), KeyRole::Read)
        .expect("a key");
    assert_eq!(&*who, "alice");
}

#[test]
fn calls_need_the_role_that_they_are_for() {
    let file = file(&format!("infer {TEST} alice\nread {OTHER} bob\n"));
    let mut options = options(ServerLimits::default());
    options.keys = Some(Arc::new(read(file.path()).expect("keys")));
    let server = InferenceServer::start(Arc::new(Echo::default()), &options).expect("starts");
    let address = server.addresses().http.expect("an address");
    let status = |method, path, token: &str, body: &[u8]| {
        let header = ("authorization", format!("Bearer {token}"));
        ask_with(address, method, path, &[header], body).status
    };
    assert_eq!(ask(address, "GET", "/v2/health/ready", b"").status, 200);
    let refused = ask(address, "GET", "/v2/models/echo", b"");
    assert_eq!(refused.status, 401);
    assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
    let metrics = server.addresses().metrics.expect("an address");
    assert_eq!(ask(metrics, "GET", "/metrics", b"").status, 401);
    assert_eq!(status("GET", "/v2/models/echo", "other", b""), 200);
    let infer = "/v2/models/echo/infer";
    assert_eq!(status("POST", infer, "other", br#"{"inputs":[]}"#), 403);
    assert_eq!(status("POST", infer, "test", br#"{"inputs":[]}"#), 200);
    assert_eq!(
        status("POST", "/v2/repository/models/echo/unload", "test", b""),
        403
    );
}

/// A request of a stream with what stands before it.
fn stream_request() -> Bytes {
    let request = proto::ModelInferRequest {
        model_name: "echo".into(),
        ..proto::ModelInferRequest::default()
    };
    let message = request.encode_to_vec();
    let mut bytes = vec![0];
    bytes.extend((message.len() as u32).to_be_bytes());
    bytes.extend(message);
    bytes.into()
}

#[test]
fn a_key_that_is_taken_out_ends_the_streams_that_began_with_it() {
    let file = file(&format!("infer {TEST} alice\ninfer {OTHER} bob\n"));
    let mut options = options(ServerLimits::default());
    options.keys = Some(Arc::new(read(file.path()).expect("keys")));
    let server = InferenceServer::start(Arc::new(Echo::default()), &options).expect("starts");
    let address = server.addresses().grpc.expect("an address");
    let (send, sent) = unbounded_channel();
    let conversation = async {
        let stream = tokio::net::TcpStream::connect(address)
            .await
            .expect("connects");
        let connected = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
        let (mut client, connection) = connected.expect("HTTP/2");
        tokio::spawn(connection);
        let path = "inference.GRPCInferenceService/ModelStreamInfer";
        let request = hyper::Request::post(format!("http://{address}/{path}"))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .header("authorization", "Bearer test")
            .body(SentPieces(sent))
            .expect("a request");
        let response = client.send_request(request).await.expect("an answer");
        let mut body = response.into_body();
        let mut answered = 0;
        loop {
            // The file is looked at once a second.
            // Nobody takes more of a stream that has ended, whose end is read next.
            let _ = send.send(stream_request());
            let frame = body.frame().await.expect("a frame").expect("is read");
            match frame.into_trailers() {
                Ok(trailers) => return (answered, trailers["grpc-status"].clone()),
                Err(_) => answered += 1,
            }
            let text = format!("infer {OTHER} bob\n");
            std::fs::write(file.path(), text).expect("is written");
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let (answered, status) = runtime.expect("a runtime").block_on(conversation);
    assert!(answered > 0, "the first was answered");
    assert_eq!(status, "16");
}
