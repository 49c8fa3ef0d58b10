//! The workers of a model as clients see them.

use divisi_engine::serving::{Engine, PipelineIndex};
use divisi_model::catalogue::{CatalogueEntry, InstanceGroup, InstancePlace};
use divisi_runtime::device::DeviceIndex;

/// Returns the instances of an entry: one on each GPU, and the number on processors. An entry made
/// of several networks or other models has none; these have their own.
pub(super) fn instance_groups(engine: &Engine, entry: PipelineIndex) -> Vec<InstanceGroup> {
    let entry = engine.catalogue().entries().get(entry.0);
    let workers = entry.map_or_else(Vec::new, |entry| workers(engine, entry));
    let gpus = workers
        .iter()
        .filter_map(|of| engine.devices().gpu_number(*of));
    let gpus: Vec<u32> = gpus.collect();
    let processors = workers.len() - gpus.len();
    let on_gpus = (!gpus.is_empty()).then_some(InstanceGroup {
        count: 1,
        place: InstancePlace::Gpus,
        gpus,
    });
    let on_processors = (processors > 0).then_some(InstanceGroup {
        count: processors,
        place: InstancePlace::Processors,
        gpus: Vec::new(),
    });
    on_gpus.into_iter().chain(on_processors).collect()
}

/// Returns the devices of the running workers, or none if an entry is not a single network.
fn workers(engine: &Engine, entry: &CatalogueEntry) -> Vec<DeviceIndex> {
    let ([column], true) = (&entry.columns()[..], entry.interface().composing.is_empty()) else {
        return Vec::new();
    };
    let matrix = engine.matrix();
    let retired = engine.telemetry().retired(&matrix);
    let cells = matrix.workers().map(|(cell, _)| cell);
    let there = cells.filter(|cell| cell.member == *column && !retired.contains(cell));
    there.map(|cell| cell.device).collect()
}
