//! Counters of the metrics while one engine follows another.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use divisi_door::InferenceServer;
use divisi_door::limits::ServerLimits;
use divisi_engine::changes::Changes;
use divisi_engine::deployment::{
    CatalogueChange, Deployment, DeploymentStart, Handover, ModelSource, ModelsRead, ModelsToRead,
};
use divisi_engine::serving::EngineOptions;
use divisi_inference::ensemble::EnsembleService;
use divisi_model::catalogue::NewEntry;
use divisi_runtime::device::{Devices, Host};

use crate::client::ask;
use crate::handover::{OneModel, infer, network, serve, version};
use crate::service::options;
use crate::wait::wait_until;

/// Returns the sum of a counter over its labels.
fn counted(address: SocketAddr, name: &str) -> u64 {
    let metrics = ask(address, "GET", "/metrics", b"").body;
    let metrics = String::from_utf8(metrics).expect("text");
    let of_name = metrics.lines().filter_map(|line| line.strip_prefix(name));
    let values = of_name.filter(|rest| rest.starts_with(['{', ' ']));
    let value = |rest: &str| rest.rsplit(' ').next().and_then(|v| v.parse::<f64>().ok());
    values.filter_map(value).sum::<f64>() as u64
}

#[test]
fn counters_go_on_when_another_engine_follows() {
    for handover in [Handover::Beside, Handover::OldFirst] {
        let source = Arc::new(OneModel(Mutex::new(version(1, 3))));
        let (changes, server) = serve(&source);
        let address = server.addresses().http.expect("an address");
        let samples = || counted(address, "divisi_batch_samples_total");
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut last = 0;
                while !over.load(Ordering::Relaxed) {
                    let now = samples();
                    assert!(now >= last, "{now} after {last} ({handover:?})");
                    last = now;
                }
            });
            for asked in (3..=9).step_by(3) {
                (0..3).for_each(|_| assert_eq!(infer(address), 3));
                assert_eq!(samples(), asked);
                *source.0.lock().expect("no panic") = version(1, 3);
                let plan = changes.plan_change(&CatalogueChange::Load("a".into()));
                let plan = plan.expect("it fits");
                changes.make(plan, handover).expect("applies");
                assert_eq!(samples(), asked, "{handover:?}");
            }
            over.store(true, Ordering::Relaxed);
        });
    }
}

#[test]
fn counters_of_a_model_that_was_away_begin_anew() {
    let source = Arc::new(OneModel(Mutex::new(version(1, 3))));
    let (changes, server) = serve(&source);
    let address = server.addresses().http.expect("an address");
    let samples = || counted(address, "divisi_batch_samples_total");
    infer(address);
    changes.unload("a", false).expect("it is unloaded");
    wait_until("the old engine has ended", || samples() == 0);
    changes.load("a").expect("it is loaded");
    infer(address);
    assert_eq!(samples(), 1);
}

/// Two models, each of a member called `m`.
struct TwoModels([NewEntry; 2]);

impl ModelSource for TwoModels {
    fn names(&self) -> Vec<String> {
        vec!["a".into(), "b".into()]
    }

    fn read(&self, asked: ModelsToRead<'_>) -> ModelsRead {
        let all = self.0.iter();
        let asked = all.filter(|entry| asked.names.contains(&entry.name));
        ModelsRead {
            entries: asked.cloned().collect(),
            ..ModelsRead::default()
        }
    }
}

#[test]
fn counters_follow_their_member_whatever_it_is_called() {
    let named = |name: &str| NewEntry {
        name: name.into(),
        ..network("m", 1, 3)
    };
    let source = Arc::new(TwoModels([named("a"), named("b")]));
    let host = Host {
        cores: vec![0],
        memory_bytes: 4 << 30,
    };
    let start = DeploymentStart {
        name: "two".into(),
        devices: Devices::default_of(&host),
        options: EngineOptions::default(),
        matrix: None,
    };
    let names = source.names().into_iter().collect();
    let read = source.read(ModelsToRead::first(&names));
    let changes = Deployment::start(Some(source), read, start);
    let changes = Changes::new(changes.expect("starts"));
    let service = Arc::new(EnsembleService::of_changes(Arc::clone(&changes)));
    let options = options(ServerLimits::default());
    let server = InferenceServer::start(service, &options).expect("starts");
    let address = server.addresses().http.expect("an address");
    let samples = |member: &str| {
        let metrics = ask(address, "GET", "/metrics", b"").body;
        let metrics = String::from_utf8(metrics).expect("text");
        let series = format!("divisi_batch_samples_total{{member=\"{member}\",");
        let mut lines = metrics.lines().filter(|line| line.starts_with(&series));
        lines.find_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
    };
    for model in ["a", "a", "a", "b"] {
        let body = br#"{"inputs": [{"name": "input", "datatype": "FP32", "shape": [1, 4],
            "data": [1, 2, 3, 4]}]}"#;
        let path = format!("/v2/models/{model}/infer");
        assert_eq!(ask(address, "POST", &path, body).status, 200);
    }
    assert_eq!((samples("m"), samples("b/m")), (Some(3.0), Some(1.0)));
    changes.unload("a", false).expect("it is unloaded");
    assert_eq!((samples("m"), samples("b/m")), (Some(1.0), None));
    changes.load("a").expect("it is loaded");
    assert_eq!((samples("m"), samples("b/m")), (Some(0.0), Some(1.0)));
}
