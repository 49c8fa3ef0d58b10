//! The protocol over HTTP: paths, JSON, binary data, classification, statuses.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};

use divisi_door::{InferenceServer, ServerOptions, StartError};
use serde_json::{Value, json};

use crate::client::{Answer, ask, ask_with, request};
use crate::service::{Echo, TestServer, options};
use crate::wait::wait_until;

fn http(server: &TestServer) -> SocketAddr {
    server.server.addresses().http.expect("an address")
}

fn infer(server: &TestServer, body: &Value) -> Answer {
    let body = body.to_string();
    ask(
        http(server),
        "POST",
        "/v2/models/echo/infer",
        body.as_bytes(),
    )
}

fn tensor(data_type: &str, shape: &[usize], data: Value) -> Value {
    json!({"name": "x", "datatype": data_type, "shape": shape, "data": data})
}

/// As a console does, whose screen is driven by a runtime of its own.
#[test]
fn a_server_ends_within_another_runtime() {
    let options = ServerOptions {
        http: "127.0.0.1:0".parse().ok(),
        ..ServerOptions::default()
    };
    let echo = std::sync::Arc::new(Echo::default());
    let server = InferenceServer::start(echo, &options).expect("starts");
    let address = server.addresses().http.expect("an address");
    let other = tokio::runtime::Builder::new_current_thread().build();
    other
        .expect("a runtime")
        .block_on(async move { drop(server) });
    assert!(
        std::net::TcpStream::connect(address).is_err(),
        "it has ended"
    );
}

#[test]
fn calls_without_tensors_answer_as_the_protocol_says() {
    let server = TestServer::start();
    let known = [
        ("/v2/health/live", json!({"live": true})),
        ("/v2/health/ready", json!({"ready": true})),
        ("/v2/models/echo/ready", json!({"ready": true})),
        ("/v2/models/echo/versions/1/ready", json!({"ready": true})),
        (
            "/v2/models/echo",
            json!({"name": "echo", "versions": ["1"], "platform": "divisi",
                "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 3]}],
                "outputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 3]}]}),
        ),
        ("/v2/systemsharedmemory/status", json!([])),
        ("/v2/cudasharedmemory/status", json!([])),
    ];
    for (path, expected) in known {
        let answer = ask(http(&server), "GET", path, b"");
        assert_eq!((answer.status, answer.json()), (200, expected), "{path}");
    }
    let server_view = ask(http(&server), "GET", "/v2", b"").json();
    assert_eq!(server_view["name"], "divisi");
    let config = ask(http(&server), "GET", "/v2/models/echo/config", b"").json();
    assert_eq!(config["max_batch_size"], 64);
    assert_eq!(config["input"][0]["data_type"], "TYPE_FP32");
    let index = ask(http(&server), "POST", "/v2/repository/index", b"").json();
    assert_eq!(
        index[0],
        json!({"name": "echo", "version": "1", "state": "READY", "reason": ""})
    );
}

#[test]
fn errors_are_json_with_the_status_of_their_kind() {
    let server = TestServer::start();
    let cases: [(&str, &str, &str, u16); 16] = [
        ("GET", "/v2/models/nobody", "", 404),
        ("GET", "/v2/models/nobody/ready", "", 404),
        ("GET", "/v2/models/echo/versions/2", "", 404),
        ("GET", "/v2/nothing", "", 404),
        ("GET", "/", "", 404),
        ("GET", "/v2/models/%ff", "", 400),
        ("POST", "/v2/health/live", "", 405),
        ("GET", "/v2/models/echo/infer", "", 405),
        ("POST", "/v2/models/nobody/infer", r#"{"inputs":[]}"#, 404),
        ("POST", "/v2/models/echo/infer", "{", 400),
        ("POST", "/v2/models/echo/infer", "", 400),
        ("POST", "/v2/models/broken/infer", r#"{"inputs":[]}"#, 500),
        ("POST", "/v2/repository/models/echo/load", "", 501),
        ("POST", "/v2/repository/models/echo/unload", "", 501),
        ("GET", "/v2/trace/setting", "", 501),
        ("POST", "/v2/logging", "", 501),
    ];
    for (method, path, body, status) in cases {
        let answer = ask(http(&server), method, path, body.as_bytes());
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        assert!(!answer.error().is_empty(), "{method} {path}");
        assert_eq!(answer.header("content-type"), Some("application/json"));
    }
}

#[test]
fn tensors_of_every_type_come_back_as_they_were_sent() {
    let server = TestServer::start();
    let cases = [
        ("BOOL", json!([true, false, true])),
        ("UINT8", json!([0, 7, 255])),
        ("UINT16", json!([0, 7, 65535])),
        ("UINT32", json!([0, 7, u32::MAX])),
        ("UINT64", json!([0, 7, u64::MAX])),
        ("INT8", json!([-128, 7, 127])),
        ("INT16", json!([i16::MIN, 7, i16::MAX])),
        ("INT32", json!([i32::MIN, 7, i32::MAX])),
        ("INT64", json!([i64::MIN, 7, i64::MAX])),
        ("FP16", json!([0.5, -2.0, 1024.0])),
        ("BF16", json!([0.5, -2.0, 1024.0])),
        ("FP32", json!([0.1, -2.0, 1e30])),
        ("FP64", json!([0.1, -2.0, 1e300])),
        ("BYTES", json!(["", "one", "zwölf"])),
    ];
    for (data_type, data) in cases {
        let body = json!({"id": "7", "inputs": [tensor(data_type, &[1, 3], data.clone())]});
        let answer = infer(&server, &body).json();
        let output = &answer["outputs"][0];
        assert_eq!(answer["id"], "7", "{data_type}");
        assert_eq!(output["datatype"], data_type);
        match data_type {
            "FP32" => assert!((output["data"][0].as_f64().expect("a number") - 0.1).abs() < 1e-7),
            _ => assert_eq!(output["data"], data, "{data_type}"),
        }
    }
}

#[test]
fn data_may_be_nested_and_may_come_before_its_type() {
    let server = TestServer::start();
    let bodies = [
        r#"{"inputs":[{"name":"x","datatype":"INT32","shape":[2,2],"data":[[1,2],[3,4]]}]}"#,
        r#"{"inputs":[{"data":[[1,2],[3,4]],"shape":[2,2],"name":"x","datatype":"INT32"}]}"#,
        r#"{"more":{"x":[1]},"inputs":[{"unknown":null,"name":"x","datatype":"INT32","shape":[2,2],"data":[1,2,3,4]}]}"#,
    ];
    for body in bodies {
        let answer = ask(
            http(&server),
            "POST",
            "/v2/models/echo/infer",
            body.as_bytes(),
        );
        assert_eq!(
            answer.json()["outputs"][0]["data"],
            json!([1, 2, 3, 4]),
            "{body}"
        );
    }
}

#[test]
fn a_wrong_request_is_told_by_the_name_of_what_is_wrong() {
    let server = TestServer::start();
    let with = |inputs: Value| json!({ "inputs": inputs });
    let cases = [
        (
            with(json!([tensor("FP32", &[1, 3], json!([1, 2]))])),
            "`x`: found 2 values",
        ),
        (
            with(json!([tensor("UINT8", &[1], json!([256]))])),
            "expected UINT8, found 256",
        ),
        (
            with(json!([tensor("INT32", &[1], json!([1.5]))])),
            "expected INT32, found 1.5",
        ),
        (
            with(json!([tensor("BOOL", &[1], json!(["yes"]))])),
            "expected BOOL",
        ),
        (with(json!([tensor("FP8", &[1], json!([1]))])), "FP8"),
        (
            with(json!([{"name": "x", "shape": [1], "data": [1]}])),
            "`datatype` is missing",
        ),
        (
            with(json!([{"name": "x", "datatype": "FP32", "data": [1]}])),
            "`shape` is missing",
        ),
        (
            with(json!([{"name": "x", "datatype": "FP32", "shape": [1]}])),
            "expected `data`",
        ),
        (
            with(json!([{"name": "x", "datatype": "FP32", "shape": [-1], "data": []}])),
            "-1",
        ),
        (
            with(json!([{"datatype": "FP32", "shape": [1], "data": [1]}])),
            "name",
        ),
        (
            with(json!([
                tensor("FP32", &[1], json!([1])),
                tensor("FP32", &[1], json!([1]))
            ])),
            "`x` is there twice",
        ),
        (
            json!({"inputs": [], "parameters": {"timeout": "soon"}}),
            "`timeout`",
        ),
        (
            json!({"inputs": [], "parameters": {"a": [1]}}),
            "a text, a number",
        ),
        (json!({"inputs": 7}), "a list of inputs"),
        (json!([]), "a request with `inputs`"),
    ];
    for (body, words) in cases {
        let answer = infer(&server, &body);
        assert_eq!(answer.status, 400, "{body}: {answer:?}");
        assert!(answer.error().contains(words), "{body}: {}", answer.error());
    }
    let sequence = json!({"inputs": [], "parameters": {"sequence_id": 4}});
    assert_eq!(infer(&server, &sequence).status, 501);
}

#[test]
fn reading_ends_with_the_first_value_beyond_the_shape() {
    let server = TestServer::start();
    let body = br#"{"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1,2,3,"#;
    let answer = ask(http(&server), "POST", "/v2/models/echo/infer", body);
    let words = "`x`: more than the 2 values of its shape";
    assert!(answer.error().contains(words), "{}", answer.error());
}

#[test]
fn a_field_that_is_there_twice_is_refused() {
    let server = TestServer::start();
    let cases = [
        ("inputs", r#"{"inputs": [], "outputs": [], "inputs": []}"#),
        ("id", r#"{"id": "1", "inputs": [], "id": "2"}"#),
        (
            "shape",
            r#"{"inputs": [{"name": "x", "shape": [1], "shape": [2]}]}"#,
        ),
    ];
    for (field, body) in cases {
        let answer = ask(
            http(&server),
            "POST",
            "/v2/models/echo/infer",
            body.as_bytes(),
        );
        assert_eq!(answer.status, 400, "{body}");
        let words = format!("duplicate field `{field}`");
        assert!(answer.error().contains(&words), "{}", answer.error());
    }
    // A field of which nothing is known may be there as often as it likes.
    let body = br#"{"more": 1, "inputs": [], "more": 2}"#;
    assert_eq!(
        ask(http(&server), "POST", "/v2/models/echo/infer", body).status,
        200
    );
}

#[test]
fn binary_data_lies_behind_the_json_and_comes_back_so() {
    let server = TestServer::start();
    let values: Vec<u8> = [1.5f32, 2.5, 3.5]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    let head = json!({
        "inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 3],
            "parameters": {"binary_data_size": 12}}],
        "parameters": {"binary_data_output": true},
    })
    .to_string();
    let length = ("Inference-Header-Content-Length", head.len().to_string());
    let body = [head.as_bytes(), &values].concat();
    let path = "/v2/models/echo/infer";
    let answer = ask_with(
        http(&server),
        "POST",
        path,
        std::slice::from_ref(&length),
        &body,
    );
    let json_length = answer
        .header("inference-header-content-length")
        .expect("a length");
    let (json, tail) = answer.body.split_at(json_length.parse().expect("a number"));
    let json: Value = serde_json::from_slice(json).expect("JSON");
    assert_eq!(tail, values);
    assert_eq!(json["outputs"][0]["parameters"]["binary_data_size"], 12);
    let short = &body[..body.len() - 1];
    let answer = ask_with(
        http(&server),
        "POST",
        path,
        std::slice::from_ref(&length),
        short,
    );
    assert!(
        answer
            .error()
            .contains("only 11 bytes of the body are left"),
        "{answer:?}"
    );
    let long = [&body[..], b"!"].concat();
    let answer = ask_with(http(&server), "POST", path, &[length], &long);
    assert!(answer.error().contains("belong to no input"), "{answer:?}");
    let beyond = ("Inference-Header-Content-Length", "9999".to_owned());
    let answer = ask_with(http(&server), "POST", path, &[beyond], &body);
    assert_eq!(answer.status, 400, "{answer:?}");
}

#[test]
fn the_likeliest_classes_come_with_their_names() {
    let server = TestServer::start();
    let answer = infer(
        &server,
        &json!({
            "inputs": [tensor("FP32", &[2, 3], json!([0.25, 2, 1, 9, 8, 7]))],
            "outputs": [{"name": "x", "parameters": {"classification": 2}}],
        }),
    );
    let output = &answer.json()["outputs"][0];
    assert_eq!(output["datatype"], "BYTES");
    assert_eq!(output["shape"], json!([2, 2]));
    let expected = [
        "2.000000:1:dog",
        "1.000000:2:cow",
        "9.000000:0:cat",
        "8.000000:1:dog",
    ];
    assert_eq!(output["data"], json!(expected));
}

#[test]
fn statistics_and_metrics_count_what_was_asked() {
    let server = TestServer::start();
    for _ in 0..3 {
        infer(
            &server,
            &json!({"inputs": [tensor("FP32", &[1, 3], json!([1, 2, 3]))]}),
        );
    }
    ask(
        http(&server),
        "POST",
        "/v2/models/broken/infer",
        br#"{"inputs":[]}"#,
    );
    let stats = ask(http(&server), "GET", "/v2/models/echo/stats", b"").json();
    let stats = &stats["model_stats"][0];
    assert_eq!(stats["inference_count"], 3);
    assert_eq!(stats["inference_stats"]["success"]["count"], 3);
    let all = ask(http(&server), "GET", "/v2/models/stats", b"").json();
    assert_eq!(all["model_stats"].as_array().expect("a list").len(), 4);
    let metrics = server.server.addresses().metrics.expect("an address");
    let text = String::from_utf8(ask(metrics, "GET", "/metrics", b"").body).expect("text");
    let lines = [
        r#"nv_inference_request_success{model="echo",version="1"} 3"#,
        r#"nv_inference_request_failure{model="broken",version="1",reason="BACKEND"} 1"#,
        "# TYPE nv_inference_queue_duration_us counter",
    ];
    for line in lines {
        assert!(text.lines().any(|l| l == line), "{line}\n{text}");
    }
    assert_eq!(ask(metrics, "GET", "/v2", b"").status, 404);
}

#[test]
fn a_client_that_hangs_up_cancels_its_request() {
    let server = TestServer::start();
    let path = "/v2/models/never/infer";
    let mut client = TcpStream::connect(http(&server)).expect("connects");
    client
        .write_all(&request("POST", path, &[], br#"{"inputs":[]}"#))
        .expect("is sent");
    wait_until("the request waits", || server.waits(1));
    drop(client);
    wait_until("the request is gone", || server.waits(0));
    let stats = || ask(http(&server), "GET", "/v2/models/never/stats", b"").json();
    wait_until("it is counted", || {
        stats()["model_stats"][0]["inference_stats"]["fail"]["count"] == 1
    });
}

#[test]
fn a_port_that_is_taken_is_told_with_what_to_do() {
    let server = TestServer::start();
    let mut wanted = options(divisi_door::limits::ServerLimits::default());
    wanted.http = Some(http(&server));
    let refused = InferenceServer::start(std::sync::Arc::new(Echo::default()), &wanted);
    let why = refused.err().expect("it is taken").to_string();
    assert!(why.contains("in use by another program"), "{why}");
    assert!(why.contains("pass `--http off`"), "{why}");
}

#[test]
fn two_protocols_at_one_address_are_told_apart_from_another_program() {
    let server = TestServer::start();
    let mut wanted = options(divisi_door::limits::ServerLimits::default());
    let taken = Some(http(&server));
    (wanted.http, wanted.metrics) = (taken, taken);
    let refused = InferenceServer::start(std::sync::Arc::new(Echo::default()), &wanted);
    let why = refused.err().expect("it is refused").to_string();
    assert!(why.starts_with("--metrics 127.0.0.1:"), "{why}");
    assert!(why.contains("`--http` has the same address"), "{why}");
}

#[test]
fn other_machines_are_listened_to_only_where_that_is_allowed() {
    let mut wanted = options(divisi_door::limits::ServerLimits::default());
    wanted.grpc = "0.0.0.0:0".parse().ok();
    let start = |wanted: &ServerOptions| {
        InferenceServer::start(std::sync::Arc::new(Echo::default()), wanted)
    };
    let refused = start(&wanted).err().expect("it is refused");
    assert!(
        matches!(refused, StartError::Remote { option: "grpc", .. }),
        "{refused}"
    );
    wanted.allow_remote = true;
    assert!(start(&wanted).is_ok());
}
