//! Whether a server is ready, and what its index lists, while models fail, come and go.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread;

use divisi_door::InferenceServer;
use divisi_door::limits::ServerLimits;
use divisi_engine::changes::Changes;
use divisi_engine::deployment::{
    Deployment, DeploymentStart, ModelSource, ModelsRead, ModelsToRead,
};
use divisi_engine::serving::{EngineOptions, NoFallback};
use divisi_inference::ensemble::EnsembleService;
use divisi_model::allocation::{Frame, Matrix};
use divisi_model::catalogue::{Catalogue, NewEntry};
use divisi_runtime::device::simulated::find_profile;
use divisi_runtime::device::{DeviceIndex, Devices, Host};
use serde_json::json;

use crate::client::ask;
use crate::handover::network;
use crate::repository::{Models, chain};
use crate::service::options;

const READY: &str = "/v2/health/ready";

fn read(entries: Vec<NewEntry>) -> ModelsRead {
    ModelsRead {
        entries,
        ..ModelsRead::default()
    }
}

#[test]
fn a_server_is_not_ready_where_one_of_its_models_does_not_answer() {
    let entries = vec![network("a", 1, 3), network("b", 1, 5)];
    let devices = Devices::simulated(&find_profile("h200").expect("a profile"), 2);
    let catalogue = Catalogue::new("both", entries.clone()).expect("a catalogue");
    let frame = Frame::from_ensemble(catalogue.models(), &devices);
    let start = DeploymentStart {
        name: "both".into(),
        devices,
        options: EngineOptions::default(),
        matrix: Some(Matrix::from_rows(frame, &[vec![4, 0], vec![0, 4]]).expect("valid")),
    };
    let changes = Changes::new(Deployment::start(None, read(entries), start).expect("starts"));
    let engine = Arc::clone(&changes.running().engine);
    let service = EnsembleService::of_changes(changes);
    let options = options(ServerLimits::default());
    let server = InferenceServer::start(Arc::new(service), &options).expect("starts");
    let status = |path: &str| {
        let address = server.addresses().http.expect("an address");
        ask(address, "GET", path, b"").status
    };
    assert_eq!(status(READY), 200);
    let none = |_: &Matrix| Err(NoFallback("there is none".into()));
    let moved = engine.evacuate(DeviceIndex::new(1), &none, &mut |_| {});
    assert!(moved.is_err());
    assert_eq!(status("/v2/models/a/ready"), 200);
    assert_eq!(status("/v2/models/b/ready"), 400);
    assert_eq!(status(READY), 400);
}

#[test]
fn a_server_is_not_ready_before_all_models_are_loaded_that_it_was_to_load() {
    let models = Models::new().network("a", "max_batch_size: 4");
    let models = models.network("b", "nonsense");
    let served = models.serve(false);
    assert_eq!(served.infer("a", "x", 1).status, 200);
    assert_eq!(served.get(READY).status, 400, "{}", served.reason("b"));
    let unload = |name: &str| {
        let path = format!("/v2/repository/models/{name}/unload");
        assert_eq!(served.post(&path, &json!({})).status, 200);
    };
    unload("b");
    assert_eq!(served.get(READY).status, 200, "nobody wants it any more");
    unload("a");
    assert_eq!(served.get(READY).status, 200, "it waits for models");
    assert_eq!(served.load("b", &json!({})).status, 400);
    assert_eq!(served.get(READY).status, 400);
    let file = served.models.folder.path().join("b/config.pbtxt");
    std::fs::write(file, "max_batch_size: 4").expect("writes");
    assert_eq!(served.load("b", &json!({})).status, 200);
    assert_eq!(served.get(READY).status, 200);
}

#[test]
fn what_becomes_of_a_model_that_was_unloaded_does_not_matter() {
    let models = chain().file(
        "outer/config.pbtxt",
        r#"platform: "ensemble" max_batch_size: 4
        input { name: "in" data_type: TYPE_FP32 dims: 4 } output { name: "out" data_type: TYPE_FP32 dims: 4 }
        ensemble_scheduling { step { model_name: "e" model_version: -1
            input_map { key: "in" value: "in" } output_map { key: "out" value: "out" } } }"#,
    );
    let served = models.serve(false);
    assert_eq!(served.unload("outer", false).status, 200);
    let file = served.models.folder.path().join("a/1/model.onnx");
    std::fs::write(file, "junk").expect("writes");
    assert_eq!(served.load("a", &json!({})).status, 400);
    assert_eq!(
        served.infer("e", "in", 1).status,
        200,
        "it goes on as it was"
    );
    assert_eq!(served.get(READY).status, 200, "{}", served.reason("outer"));
    assert_eq!(served.reason("outer"), "unloaded");
}

#[test]
fn a_model_whose_part_is_gone_is_not_loaded_again() {
    let served = chain().serve(false);
    assert_eq!(served.unload("b", true).status, 200);
    std::fs::remove_dir_all(served.models.folder.path().join("b")).expect("removes");
    let refused = served.load("e", &json!({}));
    assert_eq!(refused.status, 400);
    assert!(
        refused.error().contains("no model `b`"),
        "{}",
        refused.error()
    );
    assert_eq!(served.infer("a", "x", 1).status, 200);
}

#[test]
fn the_index_lists_a_model_that_came_since() {
    let served = chain().serve(false);
    let new = served.models.folder.path().join("new/1");
    std::fs::create_dir_all(&new).expect("a folder");
    let file = crate::repository::network("affine.onnx");
    std::fs::write(new.join("model.onnx"), file).expect("writes");
    assert_eq!(served.reason("new"), "not loaded");
    assert_eq!(served.get(READY).status, 200);
    assert_eq!(served.load("new", &json!({})).status, 200);
    assert_eq!(served.reason("new"), "");
}

/// A source of `a` and `b` that, asked for their names once both are served, waits at a gate.
struct Slow {
    changes: OnceLock<Weak<Changes>>,
    gate: Mutex<(Sender<()>, Receiver<()>)>,
}

impl ModelSource for Slow {
    fn names(&self) -> Vec<String> {
        let changes = self.changes.get().and_then(Weak::upgrade);
        if changes.is_some_and(|changes| changes.running().number == 1) {
            // Who lists the models does not wait behind the one that loads.
            let gate = self.gate.try_lock();
            // Without a test nobody waits.
            if let Some(gate) = gate.ok().filter(|gate| gate.0.send(()).is_ok()) {
                let _ = gate.1.recv();
            }
        }
        vec!["a".into(), "b".into()]
    }

    fn read(&self, wanted: ModelsToRead<'_>) -> ModelsRead {
        let all = [network("a", 1, 3), network("b", 1, 5)];
        let wanted = all
            .into_iter()
            .filter(|entry| wanted.names.contains(&entry.name));
        read(wanted.collect())
    }
}

#[test]
fn a_model_that_was_just_loaded_is_listed_once() {
    let (at_gate, reached) = channel();
    let (go, waits) = channel();
    let source = Arc::new(Slow {
        changes: OnceLock::new(),
        gate: Mutex::new((at_gate, waits)),
    });
    let host = Host {
        cores: vec![0],
        memory_bytes: 4 << 30,
    };
    let start = DeploymentStart {
        name: "slow".into(),
        devices: Devices::default_of(&host),
        options: EngineOptions::default(),
        matrix: None,
    };
    let first = source.read(ModelsToRead::first(&BTreeSet::from(["a".to_owned()])));
    let given = Arc::<Slow>::clone(&source);
    let changes = Deployment::start(Some(given), first, start);
    let changes = Changes::new(changes.expect("starts"));
    let service = EnsembleService::of_changes(Arc::clone(&changes));
    let options = options(ServerLimits::default());
    let server = InferenceServer::start(Arc::new(service), &options).expect("starts");
    let address = server.addresses().http.expect("an address");
    let weak = Arc::downgrade(&changes);
    source.changes.set(weak).expect("is set once");
    let change = thread::spawn(move || changes.load("b"));
    reached.recv().expect("b is served, and nobody was told");
    let index = ask(address, "POST", "/v2/repository/index", b"").json();
    let names: Vec<&str> = index
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|entry| entry["name"].as_str())
        .collect();
    assert_eq!(names, ["a", "b"]);
    let metrics = ask(address, "GET", "/metrics", b"");
    let metrics = String::from_utf8_lossy(&metrics.body).into_owned();
    let of_b = "nv_inference_request_success{model=\"b\",version=\"1\"} ";
    let series = metrics.lines().filter(|line| line.starts_with(of_b));
    assert_eq!(series.count(), 1, "{metrics}");
    assert_eq!(ask(address, "GET", READY, b"").status, 200);
    drop(go);
    change.join().expect("no panic").expect("loads");
}
