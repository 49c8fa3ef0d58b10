//! Histograms of times in the metrics, in both formats.

use serde_json::json;

use crate::client::{ask, ask_with};
use crate::service::TestServer;

const BINARY: &str = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;\
    encoding=delimited,text/plain;version=0.0.4;q=0.5";

fn asked() -> TestServer {
    let server = TestServer::start();
    let address = server.server.addresses().http.expect("an address");
    let input = json!({"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [1, 2, 3]});
    let good = json!({"inputs": [input]}).to_string();
    for body in [&good, &good, &good, "{"] {
        ask(address, "POST", "/v2/models/echo/infer", body.as_bytes());
    }
    server
}

#[test]
fn each_answered_request_is_in_the_histograms_of_its_model() {
    let server = asked();
    let address = server.server.addresses().http.expect("an address");
    let metrics = ask(address, "GET", "/metrics", b"");
    let text = String::from_utf8(metrics.body).expect("text");
    for name in ["duration", "queue", "compute"] {
        let series = format!("divisi_request_{name}_seconds");
        let labels = r#"model="echo",version="1""#;
        for line in [
            format!("# TYPE {series} histogram\n"),
            format!("{series}_bucket{{{labels},le=\"+Inf\"}} 3\n"),
            format!("{series}_bucket{{{labels},le=\"60\"}} 3\n"),
            format!("{series}_count{{{labels}}} 3\n"),
        ] {
            assert!(text.contains(&line), "{line}: {text}");
        }
    }
    assert!(text.contains("divisi_build_info{version="), "{text}");
}

#[test]
fn a_client_that_accepts_the_binary_format_gets_it() {
    let server = asked();
    let address = server.server.addresses().http.expect("an address");
    let accept = [("accept", BINARY.to_owned())];
    let metrics = ask_with(address, "GET", "/metrics", &accept, b"");
    let kind = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";
    assert_eq!(metrics.header("content-type"), Some(kind));
    let name = b"divisi_request_duration_seconds";
    let is_there = metrics.body.windows(name.len()).any(|part| part == name);
    assert!(is_there);
    assert!(!metrics.body.starts_with(b"# HELP"));
    let other = [("accept", "text/html".to_owned())];
    let metrics = ask_with(address, "GET", "/metrics", &other, b"");
    assert!(metrics.body.starts_with(b"# HELP"));
}
