//! The versions of models without version folders: they rise when changed files are loaded.

use std::net::SocketAddr;
use std::path::Path;

use divisi_server::{DeviceChoice, ModelSelection, SelectedModels, Server};
use serde_json::Value;

use crate::embedded::{ANY_PORT, at};
use crate::errors::ask;

const NETWORK: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/runtime/onnx_files/one.onnx"
);

fn json(address: SocketAddr, method: &str, path: &str) -> Value {
    serde_json::from_str(&ask(address, method, path, "")).expect("JSON")
}

fn start(file: &Path) -> Server {
    let selection = ModelSelection {
        devices: DeviceChoice {
            names: vec!["cpu:0".to_owned()],
            memory: None,
        },
        ..ModelSelection::from_path(file)
    };
    let models = SelectedModels::read(&selection).expect("a network");
    Server::start(models, at(Some(ANY_PORT.into()))).expect("starts")
}

#[test]
fn each_load_of_changed_files_is_a_higher_version_that_clients_see() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("one.onnx");
    std::fs::copy(NETWORK, &file).expect("copies");
    let server = start(&file);
    let address = server.door.addresses().http.expect("an address");
    let load = || {
        assert_eq!(
            ask(address, "POST", "/v2/repository/models/one/load", ""),
            ""
        )
    };
    let versions = || json(address, "GET", "/v2/models/one")["versions"].clone();
    assert_eq!(versions(), serde_json::json!(["1"]));
    load();
    assert_eq!(versions(), serde_json::json!(["1"]), "unchanged files");
    for version in ["2", "3"] {
        std::fs::write(&file, std::fs::read(NETWORK).expect("bytes")).expect("writes");
        load();
        assert_eq!(versions(), serde_json::json!([version]));
        let statistics = json(address, "GET", "/v2/models/one/stats");
        assert_eq!(statistics["model_stats"][0]["version"], version);
        let index = json(address, "POST", "/v2/repository/index");
        assert_eq!(index[0]["version"], version);
    }
    let refused = json(address, "GET", "/v2/models/one/versions/1");
    let expected =
        "no model `one` of version `1` is served; expected version 3, or none for the newest";
    assert_eq!(refused["error"], expected);
    let current = json(address, "GET", "/v2/models/one/versions/3");
    assert_eq!(current["name"], "one");
}
