//! The versions of models that the index lists, served or not any more.

use divisi_door::proto::inference as proto;
use prost::Message;
use serde_json::{Value, json};

use crate::grpc::{INFERENCE, ask};
use crate::repository::{Models, Served, network};

fn models() -> Models {
    let models = Models::new().network("a", "max_batch_size: 4 version_policy { all {} }");
    let models = models.file("a/2/model.onnx", network("affine.onnx"));
    models.network("b", "max_batch_size: 4")
}

fn unload(served: &Served, model: &str) {
    let path = format!("/v2/repository/models/{model}/unload");
    assert_eq!(served.post(&path, &json!({})).status, 200);
}

/// The index as rows of name, version, state and reason.
fn index(served: &Served, request: &Value) -> Vec<[String; 4]> {
    let index = served.post("/v2/repository/index", request).json();
    let rows = index.as_array().expect("a list").iter().map(|entry| {
        let field = |name: &str| entry[name].as_str().expect("text").to_owned();
        ["name", "version", "state", "reason"].map(field)
    });
    let mut rows: Vec<_> = rows.collect();
    rows.sort();
    rows
}

fn grpc_index(served: &Served, ready: bool) -> Vec<[String; 4]> {
    let address = served.server.addresses().grpc.expect("an address");
    let request = proto::RepositoryIndexRequest {
        ready,
        ..proto::RepositoryIndexRequest::default()
    };
    let path = format!("{INFERENCE}/RepositoryIndex");
    let answer = ask(address, &path, &[request.encode_to_vec()]);
    let answer: proto::RepositoryIndexResponse = answer.only();
    let rows = answer.models.into_iter();
    let mut rows: Vec<_> = rows
        .map(|m| [m.name, m.version, m.state, m.reason])
        .collect();
    rows.sort();
    rows
}

const A_2: [&str; 4] = ["a", "2", "READY", ""];
const B: [&str; 4] = ["b", "1", "READY", ""];

#[test]
fn an_unloaded_model_is_listed_with_its_versions() {
    let served = models().serve(false);
    let a_1 = ["a", "1", "READY", ""];
    assert_eq!(index(&served, &json!({})), [a_1, A_2, B]);
    unload(&served, "a");
    let gone = |version| ["a", version, "UNAVAILABLE", "unloaded"];
    assert_eq!(index(&served, &json!({})), [gone("1"), gone("2"), B]);
    assert_eq!(grpc_index(&served, false), [gone("1"), gone("2"), B]);
    assert_eq!(index(&served, &json!({"ready": true})), [B]);
    assert_eq!(grpc_index(&served, true), [B]);
    assert_eq!(served.load("a", &json!({})).status, 200);
    assert_eq!(index(&served, &json!({})), [a_1, A_2, B]);
}

#[test]
fn a_version_that_another_replaced_is_listed_and_not_ready() {
    let served = models().serve(false);
    let config = json!({"max_batch_size": 4}).to_string();
    assert_eq!(served.load("a", &json!({"config": config})).status, 200);
    let gone = ["a", "1", "UNAVAILABLE", "unloaded"];
    assert_eq!(index(&served, &json!({})), [gone, A_2, B]);
    assert_eq!(served.get("/v2/models/a/ready").status, 200);
    assert_eq!(served.get("/v2/models/a/versions/2/ready").status, 200);
    assert_eq!(served.get("/v2/models/a/versions/1/ready").status, 400);
    assert_eq!(served.get("/v2/models/a/versions/3/ready").status, 404);
    assert_eq!(served.get("/v2/health/ready").status, 200);
}

#[test]
fn a_model_that_does_not_load_again_says_why_at_each_version() {
    let served = models().serve(false);
    unload(&served, "a");
    let file = served.models.folder.path().join("a/config.pbtxt");
    std::fs::write(file, "nonsense: 1").expect("writes");
    assert_eq!(served.load("a", &json!({})).status, 400);
    let listed = index(&served, &json!({}));
    for version in ["1", "2"] {
        let found = listed.iter().find(|row| row[..2] == ["a", version]);
        let reason = &found.expect("is listed")[3];
        assert!(reason.contains("unknown field `nonsense`"), "{reason}");
    }
    assert_eq!(served.get("/v2/health/ready").status, 400);
}
