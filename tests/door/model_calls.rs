//! Who asks which model, and what of that is refused: at the door, and by the engine behind it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use divisi_door::callers::{CallerLedger, CallerName, MOMENTS, ModelSeen};
use divisi_door::limits::ServerLimits;
use divisi_door::proto::inference as proto;
use divisi_model::metrics::{ErrorOutcome, NamedVersion};
use prost::Message;
use serde_json::{Value, json};

use crate::client::ask;
use crate::ensemble::{engine, infer, serve};
use crate::grpc;
use crate::service::TestServer;
use crate::wait::wait_until;

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn caller(last: u8) -> CallerName {
    CallerName::Address(IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)))
}

fn of<'s>(seen: &'s [ModelSeen], name: &str, version: &str) -> &'s ModelSeen {
    let found = seen.iter().find(|m| m.name == name && m.version == version);
    found.expect("it was asked")
}

#[test]
fn calls_of_the_last_minute_are_told_by_version_and_by_who_asked() {
    let mut ledger = CallerLedger::default();
    for _ in 0..3 {
        ledger.count_of_model(at(1), "a", "1", &caller(1), false);
    }
    ledger.count_of_model(at(1), "a", "1", &caller(2), true);
    ledger.count_of_model(at(30), "a", "2", &caller(2), false);
    ledger.count(at(30), &caller(3), false);
    let seen = ledger.models_seen(at(30));
    let first = of(&seen, "a", "1");
    let calls = first
        .callers
        .iter()
        .map(|(who, f)| (who.clone(), f.calls, f.failed));
    assert_eq!(
        calls.collect::<Vec<_>>(),
        [(caller(1), 3, 0), (caller(2), 1, 1)],
        "the busiest is first"
    );
    assert_eq!(of(&seen, "a", "2").callers.len(), 1);
    assert_eq!(
        ledger.snapshot(at(30)).callers.len(),
        3,
        "all count among all"
    );

    let later = ledger.models_seen(at(1 + MOMENTS as u64));
    assert_eq!(later.len(), 1, "nobody asked the first version since");
}

#[test]
fn callers_of_a_model_beyond_a_bound_are_counted_together() {
    let mut ledger = CallerLedger::default();
    for last in 0..=u8::MAX {
        ledger.count_of_model(at(1), "a", "1", &caller(last), false);
    }
    let seen = ledger.models_seen(at(1));
    let seen = of(&seen, "a", "1");
    let shown: u64 = seen.callers.iter().map(|(_, figures)| figures.calls).sum();
    let (known, others) = seen.others.expect("others");
    assert_eq!((seen.callers.len(), known), (8, 24));
    assert_eq!(shown + others.calls, 256, "every call is counted once");
}

#[test]
fn models_beyond_a_bound_are_told_once_others_are_idle() {
    let mut ledger = CallerLedger::default();
    for number in 0..1000 {
        let name = format!("m{number}");
        ledger.count_of_model(at(1), &name, "1", &caller(1), false);
    }
    assert_eq!(ledger.models_seen(at(1)).len(), 256);
    assert_eq!(ledger.snapshot(at(1)).callers[0].1.calls, 1000);
    let later = at(1 + MOMENTS as u64);
    ledger.count_of_model(later, "late", "1", &caller(1), false);
    let seen = ledger.models_seen(later);
    assert_eq!((seen.len(), &*seen[0].name), (1, "late"));
}

fn tensors() -> Value {
    let input = json!({"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [1, 2, 3]});
    json!({"inputs": [input]})
}

fn http(server: &TestServer) -> SocketAddr {
    server.server.addresses().http.expect("an address")
}

fn post(server: &TestServer, model: &str, body: &str) -> u16 {
    let path = format!("/v2/models/{model}/infer");
    ask(http(server), "POST", &path, body.as_bytes()).status
}

#[test]
fn who_asks_a_model_is_told_with_what_was_refused_and_what_failed() {
    let server = TestServer::start();
    let good = tensors().to_string();
    assert_eq!(post(&server, "echo", &good), 200);
    assert_eq!(post(&server, "echo", "{"), 400);
    assert_eq!(post(&server, "broken", &good), 500);
    assert_eq!(post(&server, "nobody", &good), 404);
    ask(http(&server), "GET", "/v2/models/slow", b"");
    wait_until("every call is counted", || {
        server
            .server
            .activity()
            .seen
            .callers
            .first()
            .map(|c| c.1.calls)
            == Some(5)
    });
    let seen = server.server.models_seen();
    assert_eq!(seen.len(), 2, "descriptions ask no model: {seen:?}");
    let (echo, broken) = (of(&seen, "echo", "1"), of(&seen, "broken", "1"));
    assert_eq!((echo.callers[0].1.calls, echo.callers[0].1.failed), (2, 1));
    assert_eq!(broken.callers[0].1.failed, 1);
}

/// The failures of `echo` in its statistics, and in the metrics by reason.
fn failures(server: &TestServer) -> (u64, Vec<String>) {
    let stats = ask(http(server), "GET", "/v2/models/echo/stats", b"").json();
    let fail = &stats["model_stats"][0]["inference_stats"]["fail"]["count"];
    let text = String::from_utf8(ask(http(server), "GET", "/metrics", b"").body).expect("text");
    let lines = text.lines();
    let start = "nv_inference_request_failure{model=\"echo\",version=\"1\",reason=";
    let counted = lines.filter_map(|line| line.strip_prefix(start));
    let counted = counted.filter(|line| !line.ends_with(" 0"));
    (
        fail.as_u64().expect("a number"),
        counted.map(str::to_owned).collect(),
    )
}

#[test]
fn what_is_refused_while_it_is_read_counts_for_its_model_by_triton_s_reasons() {
    let server = TestServer::within(ServerLimits {
        body: 4096,
        ..ServerLimits::default()
    });
    assert_eq!(post(&server, "echo", "{"), 400);
    assert_eq!(post(&server, "echo", &" ".repeat(5000)), 413);
    let request = proto::ModelInferRequest {
        model_name: "echo".into(),
        inputs: vec![proto::model_infer_request::InferInputTensor {
            name: "x".into(),
            datatype: "FP33".into(),
            ..Default::default()
        }],
        ..Default::default()
    };
    let address = server.server.addresses().grpc.expect("an address");
    for method in ["ModelInfer", "ModelStreamInfer"] {
        let path = format!("{}/{method}", grpc::INFERENCE);
        grpc::ask(address, &path, &[request.encode_to_vec()]);
    }
    let (fail, reasons) = failures(&server);
    assert_eq!(fail, 4);
    assert_eq!(reasons, ["\"REJECTED\"} 1", "\"OTHER\"} 3"]);
}

#[test]
fn a_model_has_what_was_refused_beside_what_failed() {
    let engine = engine("sample_ensembles/digits");
    let server = serve(&engine, false);
    let ledger = engine.telemetry().ledger();
    let model = NamedVersion {
        name: "digits".into(),
        version: "1".into(),
    };
    let counted = || {
        let outcomes = [ErrorOutcome::Refused, ErrorOutcome::Failed];
        outcomes.map(|outcome| ledger.requests_to(&model, outcome))
    };
    let input = |data: Vec<f64>| json!({"name": "input", "datatype": "FP32", "shape": [data.len() / 64, 1, 8, 8], "data": data});
    let good = input(vec![0.5; 64]);
    // By the door, by what asks the engine, and by the engine.
    infer(&server, "digits", &json!({"inputs": "none"}));
    infer(
        &server,
        "digits",
        &json!({"inputs": [good], "outputs": [{"name": "none"}]}),
    );
    infer(
        &server,
        "digits",
        &json!({"inputs": [input(vec![1e300; 64])]}),
    );
    assert_eq!(counted(), [3, 0]);
    let late = json!({"inputs": [input(vec![0.5; 4000 * 64])], "parameters": {"timeout": 1}});
    assert_eq!(infer(&server, "digits", &late).status, 504);
    assert_eq!(counted(), [3, 1], "it was let in, and its time ran out");
}
