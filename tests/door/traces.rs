//! Traces, as a collector receives them.

use std::convert::Infallible;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

use bytes::Bytes;
use divisi_door::calls::traces::{
    AttributeKind, ExportRequest, TraceEndpoint, TraceOptions, TraceSpan,
};
use divisi_door::calls::{SpanContext, TraceParent, is_within};
use divisi_door::limits::ServerLimits;
use divisi_door::{InferenceServer, ServerOptions};
use divisi_inference::ensemble::EnsembleService;
use divisi_inference::service::ModelService;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;

use crate::client::{ask, ask_with};
use crate::ensemble::engine;
use crate::service::{Echo, options};
use crate::wait::wait_until;

const INFER: &str = "/v2/models/echo/infer";
const BODY: &[u8] = br#"{"inputs":[{"name":"x","datatype":"UINT8","shape":[1,3],"data":[1,2,3]}]}"#;

#[test]
fn the_callers_header_is_read_or_is_none() {
    let read = |text: &str| TraceParent::parse(text.as_bytes());
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let span = "b7ad6b7169203331";
    let known = read(&format!("00-{trace}-{span}-01")).expect("a parent");
    assert_eq!(known.trace, 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c);
    assert_eq!((known.span, known.sampled), (0xb7ad_6b71_6920_3331, true));
    assert!(
        !read(&format!("00-{trace}-{span}-02"))
            .expect("a parent")
            .sampled
    );
    assert!(read(&format!("cc-{trace}-{span}-01-more")).is_some());
    let none = [
        String::new(),
        format!("ff-{trace}-{span}-01"),
        format!("00-{trace}-{span}-01-more"),
        format!("00-{trace}-{span}"),
        format!("00-{}-{span}-01", trace.to_uppercase()),
        format!("00-{}-{span}-01", "0".repeat(32)),
        format!("00-{trace}-{}-01", "0".repeat(16)),
        format!("00-{trace}-+7ad6b7169203331-01"),
    ];
    for text in none {
        assert_eq!(read(&text), None, "{text}");
    }
}

#[test]
fn the_caller_says_what_is_recorded_and_else_a_share_is() {
    let parent = |sampled| TraceParent {
        trace: 7,
        span: 9,
        sampled,
    };
    for sampled in [true, false] {
        let span = SpanContext::begin(Some(parent(sampled)), 0.5);
        assert_eq!(
            (span.trace, span.parent, span.sampled),
            (7, Some(9), sampled)
        );
    }
    let spread = |at: u128| at.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    let recorded = (1..10_000u128)
        .filter(|at| is_within(spread(*at) >> 32, 0.25))
        .count();
    assert!((2200..2800).contains(&recorded), "{recorded}");
    assert!(is_within(u128::MAX, 1.0) && !is_within(0, 0.0));
}

#[test]
fn a_collector_is_named_by_its_protocol() {
    let read = |text: &str| text.parse::<TraceEndpoint>();
    let cases = [
        ("http://localhost:4318", "http://localhost:4318/v1/traces"),
        (
            "http://localhost/own/path",
            "http://localhost:4318/own/path",
        ),
        ("grpc://10.0.0.1", "grpc://10.0.0.1:4317"),
        ("grpc://[::1]:9", "grpc://[::1]:9"),
        ("https://x", "https://x:4318/v1/traces"),
        ("grpcs://x:9", "grpcs://x:9"),
    ];
    for (text, expected) in cases {
        assert_eq!(read(text).expect("an endpoint").to_string(), expected);
    }
    for text in [
        "localhost:4318",
        "ftp://x",
        "grpc://x/path",
        "http://",
        "http://a b",
    ] {
        assert!(read(text).is_err(), "{text}");
    }
}

/// A double of a collector, which keeps the spans that it is sent.
struct Collector {
    address: SocketAddr,
    spans: Arc<Mutex<Vec<TraceSpan>>>,
    trusted: Option<PathBuf>,
    _runtime: tokio::runtime::Runtime,
}

impl Collector {
    fn new(grpc: bool) -> Self {
        Collector::within(grpc, None)
    }

    /// One that speaks TLS, with a certificate of the tests.
    fn secured(grpc: bool) -> Self {
        let pem = |name| fs::read(certificate(name)).expect("a file");
        let chain = CertificateDer::pem_slice_iter(&pem("first.pem")).collect::<Result<_, _>>();
        let key = PrivateKeyDer::from_pem_slice(&pem("first.key.pem")).expect("a key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions");
        let config = config.with_no_client_auth();
        let config = config.with_single_cert(chain.expect("certificates"), key);
        let mut config = config.expect("a pair");
        config.alpn_protocols = vec![if grpc {
            b"h2".to_vec()
        } else {
            b"http/1.1".to_vec()
        }];
        Collector {
            trusted: Some(certificate("first.pem")),
            ..Collector::within(grpc, Some(Arc::new(config)))
        }
    }

    fn within(grpc: bool, tls: Option<Arc<ServerConfig>>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        listener.set_nonblocking(true).expect("a socket");
        let spans = Arc::new(Mutex::new(Vec::new()));
        let to = Arc::clone(&spans);
        runtime.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
            while let Ok((stream, _)) = listener.accept().await {
                let (to, tls) = (Arc::clone(&to), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => collect(stream, grpc, to).await,
                        Some(tls) => {
                            let secured = TlsAcceptor::from(tls).accept(stream).await;
                            collect(secured.expect("TLS"), grpc, to).await;
                        }
                    }
                });
            }
        });
        Collector {
            address,
            spans,
            trusted: None,
            _runtime: runtime,
        }
    }

    fn serve(&self, scheme: &str, ratio: f64) -> InferenceServer {
        self.serve_models(Arc::new(Echo::default()), scheme, ratio)
    }

    fn serve_models(
        &self,
        models: Arc<dyn ModelService>,
        scheme: &str,
        ratio: f64,
    ) -> InferenceServer {
        let to = format!("{scheme}://{}", self.address)
            .parse()
            .expect("an endpoint");
        let options = ServerOptions {
            traces: Some(TraceOptions {
                to,
                ratio,
                trusted: self.trusted.clone(),
            }),
            ..options(ServerLimits::default())
        };
        InferenceServer::start(models, &options).expect("starts")
    }

    fn named(&self, name: &str) -> Vec<TraceSpan> {
        let spans = self.spans.lock().unwrap();
        spans
            .iter()
            .filter(|span| span.name == name)
            .cloned()
            .collect()
    }
}

fn certificate(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/door/certificates");
    folder.join(name)
}

/// Takes what comes over a connection.
async fn collect(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    grpc: bool,
    to: Arc<Mutex<Vec<TraceSpan>>>,
) {
    let take = service_fn(move |request| take(Arc::clone(&to), request));
    let io = TokioIo::new(stream);
    // Who connects may go at any time.
    if grpc {
        let http = http2::Builder::new(TokioExecutor::new());
        let _ = http.serve_connection(io, take).await;
    } else {
        let _ = http1::Builder::new().serve_connection(io, take).await;
    }
}

async fn take(
    to: Arc<Mutex<Vec<TraceSpan>>>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let kind = request.headers()["content-type"]
        .to_str()
        .expect("text")
        .to_owned();
    let body = request
        .into_body()
        .collect()
        .await
        .expect("a body")
        .to_bytes();
    let grpc = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
    let message = match (&*path, &*kind) {
        ("/v1/traces", "application/x-protobuf") => body,
        (path, "application/grpc") if path == grpc => body.slice(5..),
        other => panic!("{other:?}"),
    };
    let request = ExportRequest::decode(message).expect("a message");
    let scopes = request
        .resources
        .into_iter()
        .flat_map(|resource| resource.scopes);
    to.lock()
        .unwrap()
        .extend(scopes.flat_map(|scope| scope.spans));
    let answer = Response::builder().header("grpc-status", "0");
    Ok(answer.body(Full::default()).expect("an answer"))
}

#[test]
fn a_call_is_a_span_with_its_parts_within_it() {
    for (scheme, grpc, tls) in [
        ("http", false, false),
        ("grpc", true, false),
        ("https", false, true),
        ("grpcs", true, true),
    ] {
        let collector = match tls {
            false => Collector::new(grpc),
            true => Collector::secured(grpc),
        };
        let server = collector.serve(scheme, 0.0);
        let address = server.addresses().http.expect("an address");
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let header = ("traceparent", trace.to_owned());
        assert_eq!(
            ask_with(address, "POST", INFER, &[header], BODY).status,
            200
        );
        wait_until("the spans", || !collector.named("compute infer").is_empty());
        let name = format!("POST {INFER}");
        let [whole] = &collector.named(&name)[..] else {
            panic!("one call");
        };
        assert_eq!(whole.trace_id[..4], [0x0a, 0xf7, 0x65, 0x19]);
        assert_eq!(
            whole.parent_span_id,
            [0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31]
        );
        assert_eq!((whole.kind, whole.flags, &whole.status), (2, 1, &None));
        let model = whole.attributes.iter().find(|a| a.key == "divisi.model");
        let value = model.and_then(|a| a.value.clone()?.kind);
        assert_eq!(value, Some(AttributeKind::Text("echo".into())));
        for (part, ns) in [("queue", 2000), ("compute infer", 3000)] {
            let part = &collector.named(part)[0];
            assert_eq!(part.end_ns - part.start_ns, ns);
            assert_eq!(part.trace_id, whole.trace_id);
            assert_eq!(part.parent_span_id, whole.span_id);
            assert!(part.start_ns >= whole.start_ns, "{part:?}");
        }
    }
}

/// A pipeline of two models, one after the other.
const CHAIN: &str = r#"
name = "chain"
answers = { values = 4 }
outputs = ["out"]

[input]
shape = [4]

[[members]]
name = "a"
network = { builder = "perceptron", hidden = [8] }
input = { shape = [4] }
[[members]]
name = "b"
network = { builder = "perceptron", hidden = [8] }
input = { shape = [4] }

[[steps]]
model = "a"
inputs = "input"
outputs = "middle"
[[steps]]
model = "b"
inputs = "middle"
outputs = "out"
"#;

#[test]
fn steps_and_batches_are_spans_that_link_to_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("pipeline.toml"), CHAIN).expect("written");
    let engine = engine(&folder.path().display().to_string());
    let collector = Collector::new(false);
    let models = Arc::new(EnsembleService::new(engine, false));
    let server = collector.serve_models(models, "http", 1.0);
    let address = server.addresses().http.expect("an address");
    let body = br#"{"inputs":[{"name":"input","datatype":"FP32","shape":[2,4],
        "data":[1,2,3,4,5,6,7,8]}]}"#;
    let path = "/v2/models/chain/infer";
    assert_eq!(ask(address, "POST", path, body).status, 200);
    wait_until("the spans", || collector.named("batch").len() == 2);
    let [call] = &collector.named(&format!("POST {path}"))[..] else {
        panic!("one call");
    };
    let batches = collector.named("batch");
    let mut before = call.start_ns;
    for name in ["step a", "step b"] {
        let [step] = &collector.named(name)[..] else {
            panic!("one {name}");
        };
        assert_eq!(step.trace_id, call.trace_id);
        assert_eq!(step.parent_span_id, call.span_id);
        assert!(step.start_ns >= before, "{step:?}");
        before = step.end_ns;
        let [link] = &step.links[..] else {
            panic!("one batch: {step:?}");
        };
        let mut all = batches.iter();
        let batch = all.find(|batch| batch.span_id == link.span_id);
        let batch = batch.expect("its batch is told");
        assert_eq!(batch.trace_id, link.trace_id);
        assert_ne!(batch.trace_id, call.trace_id, "it is nobody's alone");
        assert_eq!(batch.links[0].span_id, step.span_id);
    }
    assert!(collector.named("compute infer").is_empty());
}

#[test]
fn a_batch_of_several_calls_is_told_once() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("pipeline.toml"), CHAIN).expect("written");
    let engine = engine(&folder.path().display().to_string());
    let collector = Collector::new(false);
    let models = Arc::new(EnsembleService::new(engine, false));
    let server = collector.serve_models(models, "http", 1.0);
    let address = server.addresses().http.expect("an address");
    let body = br#"{"inputs":[{"name":"input","datatype":"FP32","shape":[1,4],"data":[1,2,3,4]}]}"#;
    let ask = || ask(address, "POST", "/v2/models/chain/infer", body).status;
    thread::scope(|scope| {
        let calls: Vec<_> = (0..16).map(|_| scope.spawn(ask)).collect();
        assert!(
            calls
                .into_iter()
                .all(|call| call.join().expect("ends") == 200)
        );
    });
    wait_until("the steps", || collector.named("step b").len() == 16);
    let batches = collector.named("batch");
    let mut known: Vec<&[u8]> = batches.iter().map(|batch| &batch.span_id[..]).collect();
    known.sort_unstable();
    known.dedup();
    assert_eq!(known.len(), batches.len(), "each is told once");
    for step in collector.named("step b") {
        let is = |batch: &&TraceSpan| batch.span_id == step.links[0].span_id;
        let batch = batches.iter().find(is).expect("its batch is told");
        let attribute = batch.attributes.iter().find(|a| a.key == "divisi.step");
        let value = attribute.and_then(|a| a.value.clone()?.kind);
        assert_eq!(value, Some(AttributeKind::Text("b".into())));
    }
}

#[test]
fn errors_are_told_and_what_is_not_sampled_is_not() {
    let collector = Collector::new(false);
    let server = collector.serve("http", 1.0);
    let address = server.addresses().http.expect("an address");
    let unsampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
    ask_with(
        address,
        "GET",
        "/v2",
        &[("traceparent", unsampled.to_owned())],
        b"",
    );
    ask(address, "POST", "/v2/models/broken/infer", BODY);
    wait_until("the span", || {
        !collector.named("POST /v2/models/broken/infer").is_empty()
    });
    let failed = &collector.named("POST /v2/models/broken/infer")[0];
    let status = failed.status.as_ref().expect("a status");
    assert_eq!((status.code, &*status.message), (2, "it broke"));
    assert!(failed.parent_span_id.is_empty());
    assert!(collector.named("GET /v2").is_empty());
}

#[test]
fn a_collector_that_is_gone_costs_no_call_and_is_told_once() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = gone.local_addr().expect("an address");
    drop(gone);
    let told = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&told);
    let options = ServerOptions {
        traces: Some(TraceOptions {
            to: format!("http://{address}").parse().expect("an endpoint"),
            ratio: 1.0,
            trusted: None,
        }),
        notices: divisi_door::notices::Notices::to(move |words| {
            sink.lock().unwrap().push(words.to_owned());
        }),
        ..options(ServerLimits::default())
    };
    let server = InferenceServer::start(Arc::new(Echo::default()), &options).expect("starts");
    let http = server.addresses().http.expect("an address");
    let lost = || {
        let text = ask(http, "GET", "/metrics", b"").body;
        let text = String::from_utf8(text).expect("text");
        let line = text
            .lines()
            .find_map(|l| l.strip_prefix("divisi_traces_lost_total "));
        line.expect("it is told").parse::<f64>().expect("a number")
    };
    let mut seen = 0.0;
    for _ in 0..2 {
        assert_eq!(ask(http, "POST", INFER, BODY).status, 200);
        wait_until("they are lost", || lost() > seen);
        seen = lost();
    }
    let told = told.lock().unwrap();
    assert!(
        matches!(&told[..], [one] if one.contains("traces: http://")),
        "{told:?}"
    );
}
