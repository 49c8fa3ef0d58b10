//! The sample pool takes its part of the host's memory in every ledger.

use std::sync::Arc;

use divisi_engine::search::{evacuate, worst_fit};
use divisi_engine::serving::{Engine, EngineError, EngineOptions};
use divisi_model::allocation::{Cell, DoesNotFit, Footprints, Matrix, PoolBounds, PoolSize};
use divisi_model::catalogue::{Catalogue, Interface, NewEntry};
use divisi_runtime::device::{DeviceIndex, Devices, Host};

use crate::common::{digits, everywhere, fakes};

fn host(memory_bytes: u64) -> Host {
    Host {
        cores: vec![0, 1],
        memory_bytes,
    }
}

fn partitions(memory_bytes: u64) -> Devices {
    Devices::default_of(&host(memory_bytes))
}

fn pool() -> u64 {
    let pool = PoolSize::for_ensemble(&digits(), PoolBounds::default());
    pool.expect("small samples").bytes()
}

/// Returns the bytes that the workers of `matrix` book on one memory space; the pool left out.
fn workers_bytes(matrix: &Matrix, footprints: &Footprints) -> u64 {
    let mut weights = vec![0; matrix.frame().members.len()];
    let mut activations = 0;
    for (cell, size) in matrix.workers() {
        let booking = footprints.booking(cell, size);
        weights[cell.member] = booking.weight_bytes;
        activations += booking.activation_bytes;
    }
    weights.iter().sum::<u64>() + activations
}

#[test]
fn an_engine_needs_room_for_its_workers_and_its_pool() {
    let ensemble = digits();
    let roomy = partitions(1 << 40);
    let footprints = Footprints::plan(&ensemble, &roomy);
    let workers = workers_bytes(&everywhere(&ensemble, &roomy), &footprints);
    let start = |bytes| {
        let devices = partitions(bytes);
        let matrix = everywhere(&ensemble, &devices);
        let options = EngineOptions::default();
        let factory = fakes(&ensemble);
        Engine::start(Arc::clone(&ensemble), devices, &matrix, factory, options)
    };
    let engine = start(workers + pool()).expect("exactly enough");
    let ledger = engine.ledger(&engine.matrix()).expect("it runs");
    assert_eq!(ledger.booked(DeviceIndex::new(0)), workers + pool());
    let refused = start(workers + pool() - 1).map(|_| ());
    let worker = matches!(
        refused,
        Err(EngineError::DoesNotFit(DoesNotFit::Worker { .. }))
    );
    assert!(worker, "{refused:?}");
}

#[test]
fn a_host_without_room_for_the_pool_is_told_so() {
    let ensemble = digits();
    let devices = partitions(pool() - 1);
    let footprints = Footprints::plan(&ensemble, &devices);
    let refused = footprints.ledger(&devices).map(|_| ());
    let needed = pool();
    let free = needed - 1;
    assert_eq!(refused, Err(DoesNotFit::Pool { needed, free }));
}

#[test]
fn allocation_leaves_the_pool_its_room() {
    let ensemble = digits();
    let roomy = partitions(1 << 40);
    let footprints = Footprints::plan(&ensemble, &roomy);
    let frame = everywhere(&ensemble, &roomy).frame().clone();
    let smallest = worst_fit(&frame, &roomy, &footprints).expect("roomy");
    let workers = workers_bytes(&smallest, &footprints);
    let placed = |bytes| worst_fit(&frame, &partitions(bytes), &footprints).is_ok();
    assert!(placed(workers + pool()));
    assert!(!placed(workers + pool() - 1));
}

#[test]
fn simulated_devices_hold_no_pool_and_a_lost_host_needs_none() {
    let ensemble = digits();
    let named =
        |names: &str| Devices::from_names(&[names.to_owned()], &host(1 << 40)).expect("names");
    let simulated = named("sim:v100,sim:cpu");
    assert_eq!(
        Footprints::plan(&ensemble, &simulated).pool(&simulated),
        None
    );

    let devices = named("cpu:0-1,sim:v100");
    let footprints = Footprints::plan(&ensemble, &devices);
    assert_eq!(
        footprints.pool(&devices).map(|(_, bytes)| bytes),
        Some(pool())
    );
    let matrix = everywhere(&ensemble, &devices);
    let left = evacuate(&matrix, &[DeviceIndex::new(0)], &devices, &footprints)
        .expect("the other has room");
    assert!(
        left.workers()
            .all(|(Cell { device, .. }, _)| device == DeviceIndex::new(1))
    );
}

#[test]
fn the_pools_of_a_catalogue_have_a_bound_together_and_each_has_room_for_two_batches() {
    let ensemble = digits();
    let entry = |number: usize| NewEntry {
        name: format!("digits-{number}"),
        ..NewEntry::from_ensemble(Arc::clone(&ensemble), Interface::default())
    };
    let batch = ensemble.batch_sizes.largest().get();
    let alone = PoolSize::for_ensemble(&ensemble, PoolBounds::default()).expect("small samples");
    let sample = alone.bytes() / alone.samples() as u64;
    let bounds = |bytes| PoolBounds {
        bytes,
        ..PoolBounds::default()
    };
    for count in [1, 3, 40] {
        let entries = (0..count).map(entry).collect();
        let catalogue = Catalogue::new("all", entries).expect("a catalogue");
        let pools =
            |bytes| PoolSize::for_catalogue(&catalogue, bounds(bytes)).expect("small samples");
        // As long as there is room, each is as it would be alone.
        let roomy = pools(count as u64 * alone.bytes());
        assert!(roomy.iter().all(|pool| *pool == alone));
        // All give up the same, but for their last batches.
        let least = 2 * batch as u64 * sample;
        for bytes in [count as u64 * least / 4, count as u64 * least, least] {
            let tight = pools(bytes);
            let taken: u64 = tight.iter().map(|pool| pool.bytes()).sum();
            assert!(taken <= (4 * bytes).max(count as u64 * least), "{bytes}");
            assert!(tight.iter().all(|pool| pool.samples() >= 2 * batch));
        }
    }
}
