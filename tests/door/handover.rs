//! Clients while the models change and the old engine has to end before the new one starts: they wait,
//! and none is lost.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use divisi_door::InferenceServer;
use divisi_door::limits::ServerLimits;
use divisi_engine::changes::Changes;
use divisi_engine::deployment::{
    CatalogueChange, Deployment, DeploymentStart, Handover, ModelSource, ModelsRead, ModelsToRead,
};
use divisi_engine::serving::{EngineOptions, Request};
use divisi_inference::ensemble::EnsembleService;
use divisi_model::catalogue::{Interface, NewEntry};
use divisi_model::ensemble::{Ensemble, Files};
use divisi_runtime::device::{Devices, Host};
use serde_json::{Value, json};

use crate::client::ask;
use crate::service::options;
use crate::wait::wait_until;

/// A version of the model `a` that answers so many numbers.
pub fn version(number: u64, answers: usize) -> NewEntry {
    network("a", number, answers)
}

/// A version of a model that answers so many numbers.
pub fn network(name: &str, number: u64, answers: usize) -> NewEntry {
    let folder = tempfile::tempdir().expect("a folder");
    let manifest = format!(
        "name = \"{name}\"\nanswers = {{ values = {answers} }}\nsegment_size = 8\n\
         batch_sizes = [1, 4]\n[input]\nshape = [4]\n[[members]]\nname = \"{name}\"\n\
         network = {{ builder = \"perceptron\", hidden = [64] }}\n"
    );
    fs::write(folder.path().join("ensemble.toml"), manifest).expect("is written");
    let ensemble = Ensemble::read(&Files::from_path(folder.path())).expect("is valid");
    NewEntry {
        version: number.try_into().expect("from 1"),
        ..NewEntry::from_ensemble(Arc::new(ensemble), Interface::default())
    }
}

/// A source of one version of one model.
pub struct OneModel(pub Mutex<NewEntry>);

impl ModelSource for OneModel {
    fn names(&self) -> Vec<String> {
        vec!["a".into()]
    }

    fn read(&self, asked: ModelsToRead<'_>) -> ModelsRead {
        let entry = self.0.lock().expect("no panic").clone();
        let is_asked = asked.names.contains(&entry.name);
        ModelsRead {
            entries: is_asked.then_some(entry).into_iter().collect(),
            ..ModelsRead::default()
        }
    }
}

/// Serves what a source has.
pub fn serve(source: &Arc<OneModel>) -> (Arc<Changes>, InferenceServer) {
    let host = Host {
        cores: vec![0],
        memory_bytes: 4 << 30,
    };
    let start = DeploymentStart {
        name: "case".into(),
        devices: Devices::default_of(&host),
        options: EngineOptions::default(),
        matrix: None,
    };
    let read = source.read(ModelsToRead::first(&BTreeSet::from(["a".to_owned()])));
    let changes = Deployment::start(Some(Arc::<OneModel>::clone(source)), read, start);
    let changes = Changes::new(changes.expect("starts"));
    let service = Arc::new(EnsembleService::of_changes(Arc::clone(&changes)));
    let options = options(ServerLimits::default());
    let server = InferenceServer::start(service, &options).expect("starts");
    (changes, server)
}

/// Asks the model; returns how many numbers it answers.
pub fn infer(address: SocketAddr) -> usize {
    let json = answer(address);
    json["outputs"][0]["data"].as_array().map_or(0, Vec::len)
}

fn answer(address: SocketAddr) -> Value {
    let input = json!({"name": "input", "datatype": "FP32", "shape": [1, 4], "data": [1, 2, 3, 4]});
    let body = json!({ "inputs": [input] }).to_string();
    let answer = ask(address, "POST", "/v2/models/a/infer", body.as_bytes());
    assert_eq!(
        answer.status,
        200,
        "{}",
        String::from_utf8_lossy(&answer.body)
    );
    answer.json()
}

#[test]
fn no_client_is_lost_where_the_old_engine_ends_before_the_new_one_starts() {
    let versions = [version(1, 3), version(2, 4)];
    let source = Arc::new(OneModel(Mutex::new(versions[0].clone())));
    let (changes, server) = serve(&source);
    let address = server.addresses().http.expect("an address");
    let over = Arc::new(AtomicBool::new(false));
    let answered = Arc::new(AtomicU64::new(0));
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let (over, answered) = (Arc::clone(&over), Arc::clone(&answered));
            thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    assert!([3, 4].contains(&infer(address)));
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for change in 1..=6 {
        *source.0.lock().expect("no panic") = versions[change % 2].clone();
        let plan = changes.plan_change(&CatalogueChange::Load("a".into()));
        let applied = changes.make(plan.expect("it fits"), Handover::OldFirst);
        assert!(applied.expect("applies").gap.is_some());
        let before = answered.load(Ordering::Relaxed);
        wait_until("clients are answered", || {
            answered.load(Ordering::Relaxed) > before
        });
    }
    over.store(true, Ordering::Relaxed);
    for client in clients {
        client.join().expect("nothing was lost");
    }
    assert_eq!(infer(address), 3, "the last version");
}

/// Returns how many requests to version 1 wait, as the metrics say.
fn pending(address: SocketAddr) -> u64 {
    let metrics = ask(address, "GET", "/metrics", b"");
    let metrics = String::from_utf8_lossy(&metrics.body).into_owned();
    let name = "nv_inference_pending_request_count{model=\"a\",version=\"1\"} ";
    let mut lines = metrics.lines();
    let line = lines.find_map(|line| line.strip_prefix(name));
    line.expect("is told").parse().expect("a number")
}

#[test]
fn an_answer_names_the_version_that_answered_and_counts_there() {
    let source = Arc::new(OneModel(Mutex::new(version(1, 3))));
    let (changes, server) = serve(&source);
    let address = server.addresses().http.expect("an address");
    *source.0.lock().expect("no panic") = version(2, 4);
    let plan = changes.plan_change(&CatalogueChange::Load("a".into()));
    let plan = plan.expect("it fits");
    // The old engine does not end before this does.
    let begun = changes.running().engine.stage(Request::new(&[0.5; 4]));
    let begun = begun.expect("let in");
    let changed = Arc::clone(&changes);
    let change = thread::spawn(move || changed.make(plan, Handover::OldFirst));
    wait_until("the old engine ends", || changes.deployment().is_between());
    assert_eq!(pending(address), 1);
    let client = thread::spawn(move || answer(address));
    wait_until("the client waits", || pending(address) == 2);
    begun.release().wait().expect("is answered");
    change.join().expect("no panic").expect("applies");
    let answer = client.join().expect("no panic");
    assert_eq!(
        answer["outputs"][0]["data"].as_array().map(Vec::len),
        Some(4)
    );
    assert_eq!(answer["model_version"], "2");
    let stats = ask(address, "GET", "/v2/models/a/versions/2/stats", b"").json();
    let stats = &stats["model_stats"][0];
    assert_eq!(stats["inference_stats"]["success"]["count"], 1);
}
