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
#[path = "../../../tests/door/units/metrics/host.rs"]
mod tests;
