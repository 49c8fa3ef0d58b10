//! Profiles of GPUs, and scores of matrices over GPUs and partitions.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use divisi_engine::search::model::{Batching, ModelEvaluator};
use divisi_engine::search::profiling::Profiler;
use divisi_engine::search::{BenchEvaluator, Cache, Control, Evaluator, worst_fit};
use divisi_model::allocation::Footprints;
use divisi_model::catalogue::Catalogue;
use divisi_model::ensemble::Ensemble;
use divisi_model::profile::Costs;
use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::device::DeviceIndex;

use crate::common::frame;
use crate::gpu_bed::{Bed, SIZE};
use crate::wait::wait_until;

fn profiled(bed: &Bed, ensemble: &Ensemble, cache: Option<&Cache>) -> (Costs, usize) {
    let profiler = Profiler {
        catalogue: &Catalogue::from_ensemble(Arc::new(ensemble.clone())),
        devices: &bed.devices,
        footprints: &Footprints::plan(ensemble, &bed.devices),
        factory: bed.factory.as_ref(),
        cache,
        control: &Control::default(),
    };
    let profiled = profiler.costs().expect("profiles");
    assert!(profiled.costs.is_complete());
    (profiled.costs, profiled.measured)
}

#[test]
fn gpus_of_a_model_are_measured_once_for_each_precision_and_kept() {
    let bed = Bed::new(&["cuda:0", "cuda:1", "cpu:0", "cpu:1"]);
    let folder = std::env::temp_dir().join(format!("divisi-gpu-profiles-{}", std::process::id()));
    let cache = Cache::at(&folder);
    let members = bed.ensemble.members.len();
    assert_eq!(profiled(&bed, &bed.ensemble, Some(&cache)).1, 2 * members);
    let launched = |index: usize| {
        bed.factory
            .soft(index)
            .state
            .launched
            .load(Ordering::Acquire)
    };
    assert!(launched(0) > 0);
    assert_eq!(launched(1), 0, "the other one is like it");
    assert_eq!(profiled(&bed, &bed.ensemble, Some(&cache)).1, 0);
    let mut other = Ensemble::clone(&bed.ensemble);
    other.precision = Precision::Bf16;
    // Partitions compute as before.
    assert_eq!(profiled(&bed, &other, Some(&cache)).1, members);
    let state = &bed.gpu().state;
    wait_until("nothing is left there", || state.used() == 0);
    std::fs::remove_dir_all(&folder).expect("cleans up");
}

#[test]
fn matrices_over_gpus_and_partitions_are_scored_by_model_and_by_bench() {
    let bed = Bed::new(&["cuda:0", "cpu:0"]);
    let (costs, _) = profiled(&bed, &bed.ensemble, None);
    let frame = frame(&bed.ensemble, &bed.devices);
    let footprints = Footprints::plan(&bed.ensemble, &bed.devices);
    let start = worst_fit(&frame, &bed.devices, &footprints).expect("fits");
    // The GPU has more memory left than the partition until it holds several.
    assert!(
        start
            .workers()
            .any(|(cell, _)| cell.device == DeviceIndex::new(0))
    );
    let model = ModelEvaluator::new(
        &frame,
        &bed.devices,
        footprints,
        &costs,
        Batching::from_ensemble(&bed.ensemble),
    );
    let mut model = model.expect("all is known");
    let samples = bed.ensemble.calibration.clone().expect("samples");
    let mut bench = BenchEvaluator::new(
        &Catalogue::from_ensemble(Arc::clone(&bed.ensemble)),
        bed.devices.clone(),
        Arc::clone(&bed.factory) as Arc<_>,
        samples,
        Arc::default(),
    );
    for matrix in [start, bed.matrix(&[0, 1], SIZE), bed.matrix(&[0], SIZE)] {
        assert!(model.throughput(&matrix) > 0.0);
        let score = bench.glance(&matrix, 512).expect("measured");
        assert!(score.samples_per_s > 0.0);
    }
    drop(bench);
    assert_eq!(bed.gpu().state.used(), 0);
}
