//! Searches over GPUs and CPU partitions together, on GPUs that are made up.

use std::sync::Arc;

use divisi_engine::search::{
    Bounds, CacheKey, Control, Evaluator, Method, Score, SearchError, best_batch, evacuate, greedy,
    worst_fit,
};
use divisi_model::allocation::{Cell, Footprints, Matrix};
use divisi_model::catalogue::Demand;
use divisi_model::ensemble::Ensemble;
use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::device::gpu::FoundGpus;
use divisi_runtime::device::{DeviceIndex, Devices, Host, MemberIndex};

use crate::common::{digits, frame, h100};

/// GPUs with so many free bytes each, then two partitions.
fn mixed(free: &[u64]) -> Devices {
    let host = Host {
        cores: vec![0, 1],
        memory_bytes: 4 << 30,
    };
    let usable = free.iter().enumerate();
    let usable = usable.map(|(index, bytes)| h100(index, *bytes)).collect();
    let unusable = Vec::new();
    Devices::default_with(&host, &FoundGpus { usable, unusable })
}

fn fitted(ensemble: &Ensemble, devices: &Devices) -> Matrix {
    let footprints = Footprints::plan(ensemble, devices);
    worst_fit(&frame(ensemble, devices), devices, &footprints).expect("fits")
}

fn workers_by_device(matrix: &Matrix) -> Vec<usize> {
    let count = |row: &Vec<usize>| row.iter().filter(|n| **n > 0).count();
    matrix.rows().iter().map(count).collect()
}

#[test]
fn worst_fit_fills_gpus_before_partitions() {
    let ensemble = digits();
    assert_eq!(
        workers_by_device(&fitted(&ensemble, &mixed(&[8 << 30]))),
        [6, 0, 0]
    );
    let two = fitted(&ensemble, &mixed(&[8 << 30, 8 << 30]));
    assert_eq!(workers_by_device(&two)[2..], [0, 0]);
    assert!(
        workers_by_device(&two)[..2].iter().all(|n| *n > 0),
        "{two:?}"
    );
}

#[test]
fn the_roomier_gpu_takes_the_largest_member() {
    let ensemble = digits();
    let devices = mixed(&[1 << 30, 8 << 30]);
    assert_eq!(
        workers_by_device(&fitted(&ensemble, &devices)),
        [0, 6, 0, 0]
    );
}

#[test]
fn what_gpus_do_not_hold_goes_to_partitions() {
    let ensemble = digits();
    let roomy = mixed(&[8 << 30]);
    let footprints = Footprints::plan(&ensemble, &roomy);
    let smallest = ensemble.batch_sizes.smallest();
    let bytes = |member| {
        footprints.bytes(
            Cell {
                device: DeviceIndex::new(0),
                member,
            },
            smallest,
        )
    };
    let all: u64 = MemberIndex::all(6).map(bytes).sum();
    let devices = mixed(&[all / 2]);
    let matrix = fitted(&ensemble, &devices);
    let counts = workers_by_device(&matrix);
    assert!(counts[0] > 0 && counts[1] + counts[2] > 0, "{counts:?}");
    assert!(
        Footprints::plan(&ensemble, &devices)
            .book(&matrix, &devices)
            .is_ok()
    );
}

#[test]
fn a_lost_gpus_members_move_to_what_remains() {
    let ensemble = digits();
    let devices = mixed(&[8 << 30, 8 << 30]);
    let footprints = Footprints::plan(&ensemble, &devices);
    let matrix = fitted(&ensemble, &devices);
    let to_gpu = evacuate(&matrix, &[DeviceIndex::new(0)], &devices, &footprints).expect("room");
    assert_eq!(workers_by_device(&to_gpu), [0, 6, 0, 0]);
    let to_partitions = evacuate(
        &matrix,
        &[DeviceIndex::new(0), DeviceIndex::new(1)],
        &devices,
        &footprints,
    )
    .expect("room");
    assert_eq!(workers_by_device(&to_partitions)[..2], [0, 0]);
    assert_eq!(to_partitions.workers().count(), 6);
}

/// A GPU is worth ten partitions; larger batches are better.
struct Speeds;

impl Evaluator for Speeds {
    fn score(&mut self, matrix: &Matrix, _best: f64) -> Result<Score, SearchError> {
        let names = &matrix.frame().devices;
        let speed = |(device, size): (DeviceIndex, usize)| {
            let each = if names[device].starts_with("cuda") {
                10.0
            } else {
                1.0
            };
            each * size as f64
        };
        let members = MemberIndex::all(matrix.frame().members.len());
        let seconds = |member| {
            let column = matrix.column(member);
            let workers = column.filter_map(|(device, size)| Some((device, size?.get())));
            1.0 / workers.map(speed).sum::<f64>()
        };
        Ok(Score::exact(1.0 / members.map(seconds).sum::<f64>()))
    }
}

#[test]
fn greedy_uses_gpus_and_partitions_together() {
    let ensemble = digits();
    let devices = mixed(&[8 << 30, 8 << 30]);
    let bounds = Bounds {
        max_iter: 40,
        max_neighs: 1000,
        seed: 1,
    };
    let start = fitted(&ensemble, &devices);
    let found = greedy(start, bounds, &mut Speeds, &Control::default()).expect("runs");
    let counts = workers_by_device(&found.matrix);
    assert!(counts.iter().all(|n| *n > 0), "{counts:?}");
}

fn best_batch_on(ensemble: &Ensemble, devices: &Devices) -> Matrix {
    let found = best_batch(
        &frame(ensemble, devices),
        devices,
        &Footprints::plan(ensemble, devices),
        |_| Ok(Box::new(Speeds) as Box<dyn Evaluator>),
        &Control::default(),
    );
    found.expect("fits").0
}

#[test]
fn best_batch_gives_each_member_a_gpu_or_shares_all() {
    let ensemble = digits();
    let many = best_batch_on(&ensemble, &mixed(&[8 << 30; 6]));
    assert_eq!(workers_by_device(&many), [1, 1, 1, 1, 1, 1, 0, 0]);
    // One GPU and two partitions are three devices, and yet nobody is sent away from it.
    let few = best_batch_on(&ensemble, &mixed(&[8 << 30]));
    assert_eq!(workers_by_device(&few), [6, 0, 0]);
    let largest = ensemble.batch_sizes.largest();
    assert!(few.workers().all(|(_, size)| size == largest));
}

fn key(ensemble: &Ensemble, devices: &Devices) -> CacheKey {
    let alone = Demand::from_ensemble(Arc::new(ensemble.clone()));
    CacheKey::new(&alone, devices, &Method::default())
}

#[test]
fn results_belong_to_a_precision_where_there_is_a_gpu() {
    let ensemble = digits();
    let other = Ensemble {
        precision: Precision::Bf16,
        ..(*ensemble).clone()
    };
    let (gpus, partitions) = (mixed(&[1 << 30]), mixed(&[]));
    assert_ne!(key(&ensemble, &gpus), key(&other, &gpus));
    assert_eq!(key(&ensemble, &partitions), key(&other, &partitions));
}

#[test]
fn what_is_free_on_a_gpu_may_differ_from_time_to_time() {
    let (monday, tuesday) = (mixed(&[70 << 30]), mixed(&[71 << 30]));
    assert_ne!(monday, tuesday);
    assert_eq!(monday.with_whole_gpus(), tuesday.with_whole_gpus());
    let partitions = mixed(&[]);
    assert_eq!(partitions.with_whole_gpus(), partitions);
}
