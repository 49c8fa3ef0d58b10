//! The load of the host as metrics.

use divisi_inference::service::Gauge;
use divisi_model::metrics::{CoreLoad, HostLoad};

/// Returns the metrics of the host's load. Values that the system does not count are left out.
pub(crate) fn host_gauges(load: Option<&HostLoad>) -> Vec<Gauge> {
    let Some(load) = load else {
        return Vec::new();
    };
    let others = by_core(
        load,
        "divisi_host_others_ratio",
        "Share of a core that other programs took since the last reading, over at least 10 seconds",
        |core| core.others,
    );
    let steal = by_core(
        load,
        "divisi_host_steal_ratio",
        "Share of a core that the hypervisor gave to other machines since the last reading, over at least 10 seconds",
        |core| core.steal,
    );
    let wait = whole(
        load.wait,
        "divisi_host_run_queue_wait_ratio",
        "Share of time that runnable threads waited for a core since the last reading, over at least 10 seconds",
    );
    let throttled = whole(
        load.throttled,
        "divisi_host_throttled_ratio",
        "Share of the CPU limit's periods that were throttled since the last reading, over at least 10 seconds",
    );
    others.chain(steal).chain(wait).chain(throttled).collect()
}

fn by_core(
    load: &HostLoad,
    name: &'static str,
    help: &'static str,
    value: fn(&CoreLoad) -> f64,
) -> impl Iterator<Item = Gauge> {
    load.cores.iter().map(move |core| Gauge {
        name,
        help,
        counts: false,
        labels: vec![("core", core.core.to_string())],
        value: value(core),
    })
}

fn whole(value: Option<f64>, name: &'static str, help: &'static str) -> Option<Gauge> {
    value.map(|value| Gauge {
        name,
        help,
        counts: false,
        labels: Vec::new(),
        value,
    })
}

#[cfg(test)]
mod tests {
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
}
