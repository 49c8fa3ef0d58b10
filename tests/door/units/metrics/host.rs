//! Unit tests of `src/door/metrics/host.rs`.

use std::time::Duration;

use super::*;
use crate::metrics::{families, text};

fn core(core: usize, others: f64, steal: f64) -> CoreLoad {
    CoreLoad {
        core,
        own: 0.25,
        others,
        steal,
    }
}

#[test]
fn the_load_of_the_host_is_a_gauge_for_each_core() {
    let load = HostLoad {
        window: Duration::from_secs(10),
        cores: vec![core(0, 0.0, 0.125), core(1, 0.625, 0.0)],
        wait: Some(0.5),
        throttled: None,
    };
    let text = text(&families(&[], &host_gauges(Some(&load))));
    for line in [
        "# TYPE divisi_host_others_ratio gauge",
        "divisi_host_others_ratio{core=\"0\"} 0",
        "divisi_host_others_ratio{core=\"1\"} 0.625",
        "divisi_host_steal_ratio{core=\"0\"} 0.125",
        "divisi_host_run_queue_wait_ratio 0.5",
    ] {
        assert!(text.lines().any(|l| l == line), "{line}\n{text}");
    }
    assert!(!text.contains("throttled"), "not counted: {text}");
}

#[test]
fn without_counters_there_are_no_metrics_of_the_host() {
    assert_eq!(host_gauges(None), []);
}
