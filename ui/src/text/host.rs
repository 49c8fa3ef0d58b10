//! Advice on a host that other programs or machines disturb.

use divisi_model::metrics::{Disturbance, HostLoad};
use divisi_runtime::device::{Host, Partitioning};
use divisi_session::Snapshot;

/// Returns the remedy of a disturbance, with devices that suffer less from other programs.
pub(crate) fn advice(cause: &Disturbance, shown: &Snapshot, load: &HostLoad) -> String {
    match (cause, better_partitions(shown, load)) {
        (Disturbance::Others(..), Some(better)) => {
            format!("stop them, or restart with --devices {better}")
        }
        (Disturbance::Others(..), None) => "stop them, or move members away".into(),
        (Disturbance::Steal(..), _) => "move members away, or use another machine".into(),
        (Disturbance::Throttled(_), _) => "raise the limit, or use fewer cores".into(),
    }
}

/// Returns larger partitions if the devices are several partitions and the load of the host calls
/// for larger ones. A running engine cannot change its devices.
fn better_partitions(shown: &Snapshot, load: &HostLoad) -> Option<String> {
    let host = Host {
        cores: load.cores.iter().map(|core| core.core).collect(),
        memory_bytes: 0,
    };
    let is_shared = Partitioning::choose(host.cores.len(), Some(load), None).is_shared();
    let best = Partitioning::candidates(&host)
        .pop()
        .filter(|_| is_shared)?;
    let partitions = shown.devices.iter().filter(|d| d.name.starts_with("cpu:"));
    (partitions.count() > best.len()).then(|| best.join(","))
}
