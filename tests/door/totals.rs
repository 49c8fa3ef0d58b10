//! Counters of the metrics while one engine follows another.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use divisi::deployment::{CatalogueChange, Handover};

use crate::client::ask;
use crate::handover::{OneModel, infer, serve, version};
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
        let (deployment, server) = serve(&source);
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
                let plan = deployment.plan(CatalogueChange::Load("a".into()));
                let plan = plan.expect("it fits");
                deployment.apply(plan, handover).expect("applies");
                assert_eq!(samples(), asked, "{handover:?}");
            }
            over.store(true, Ordering::Relaxed);
        });
    }
}

#[test]
fn counters_of_a_model_that_was_away_begin_anew() {
    let source = Arc::new(OneModel(Mutex::new(version(1, 3))));
    let (deployment, server) = serve(&source);
    let address = server.addresses().http.expect("an address");
    let samples = || counted(address, "divisi_batch_samples_total");
    infer(address);
    deployment.unload("a", false).expect("it is unloaded");
    wait_until("the old engine has ended", || samples() == 0);
    deployment.load("a").expect("it is loaded");
    infer(address);
    assert_eq!(samples(), 1);
}
