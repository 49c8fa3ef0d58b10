//! Errors of clients: the same figures in the console, in reports, in metrics and in statistics.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use divisi_server::Server;
use divisi_session::{ErrorKind, ErrorOutcome, Session, Snapshot};
use serde_json::Value;

use crate::embedded::{ANY_PORT, at, digits};

/// Sends a request and returns the body of the answer.
pub fn ask(address: SocketAddr, method: &str, path: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("connects");
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all((head + body).as_bytes()).expect("is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    body.to_owned()
}

/// Returns the sum of the series of a metric whose labels contain `label`.
fn metric(metrics: &str, name: &str, label: &str) -> u64 {
    let of_name = metrics.lines().filter_map(|line| line.strip_prefix(name));
    let series = of_name.filter(|rest| rest.starts_with('{') && rest.contains(label));
    let values = series.filter_map(|rest| rest.rsplit(' ').next()?.parse::<f64>().ok());
    values.sum::<f64>() as u64
}

fn total(shown: &Snapshot, outcome: ErrorOutcome, reason: ErrorKind) -> u64 {
    let counts = shown.errors.counts.iter();
    let found = counts.filter(|count| (count.key.outcome, count.key.reason) == (outcome, reason));
    found.map(|count| count.total).sum()
}

#[test]
fn ten_bad_inputs_and_five_unknown_models_are_the_same_figures_in_all_places() {
    let server = Server::start(digits(), at(Some(ANY_PORT.into())));
    let mut server = server.expect("starts");
    let address = server.door.addresses().http.expect("an address");
    // Five are refused while they are read, five by the model.
    let inputs = [
        "{",
        r#"{"inputs": [{"name": "x", "datatype": "FP32", "shape": [1], "data": [1]}]}"#,
    ];
    for body in inputs.into_iter().cycle().take(10) {
        ask(address, "POST", "/v2/models/digits/infer", body);
    }
    for _ in 0..5 {
        ask(address, "POST", "/v2/models/nobody%0a/infer", "{}");
    }

    let shown = server.session.snapshot();
    let refused = |reason| total(&shown, ErrorOutcome::Refused, reason);
    assert_eq!(refused(ErrorKind::BadInput), 10, "the console's panel 0");
    assert_eq!(refused(ErrorKind::NotFound), 5);
    assert_eq!((shown.counters.refused, shown.counters.failed), (15, 0));
    let model = shown.models[0].figures;
    assert_eq!(
        (model.refused, model.failed),
        (10, 0),
        "the console's panel 9"
    );

    let last = &shown.errors.last[0];
    assert_eq!((&*last.sender, &last.model), ("127.0.0.1", &None));
    assert!(last.message.contains(r"nobody\n"), "{}", last.message);
    assert!(last.at_ms > 0);

    let metrics = ask(address, "GET", "/metrics", "");
    let counted = |name: &str, label: &str| metric(&metrics, name, label);
    assert_eq!(counted("divisi_requests_refused_total", ""), 15);
    assert_eq!(
        counted("divisi_requests_refused_total", "model=\"digits\""),
        10
    );
    assert_eq!(
        counted("divisi_requests_refused_total", "reason=\"not_found\""),
        5
    );
    assert_eq!(counted("divisi_requests_failed_total", ""), 0);
    assert_eq!(
        counted("nv_inference_request_failure", "reason=\"OTHER\""),
        10
    );
    assert_eq!(counted("nv_inference_request_failure", ""), 10);
    assert!(
        !metrics.contains("nobody"),
        "labels name served models only"
    );

    let statistics = ask(address, "GET", "/v2/models/digits/stats", "");
    let statistics: Value = serde_json::from_str(&statistics).expect("JSON");
    let fail = &statistics["model_stats"][0]["inference_stats"]["fail"]["count"];
    assert_eq!(*fail, 10);
}
