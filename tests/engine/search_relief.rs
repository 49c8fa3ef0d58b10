//! Lost and slow devices: what is lost is placed elsewhere and the rest stays; a worker
//! leaves a device that has become slow, and only where that pays.

use std::sync::Arc;

use divisi_engine::search::model::Batching;
use divisi_engine::search::{evacuate, propose_move};
use divisi_model::allocation::{Cell, Footprints, Matrix};
use divisi_model::profile::Costs;
use divisi_runtime::device::simulated::{DeviceClass, DeviceProfile, find_profile};
use divisi_runtime::device::{DeviceIndex, Devices, Host, MemberIndex};
use proptest::prelude::*;

use crate::common::{digits, frame};

fn partitions() -> Devices {
    Devices::default_of(&Host {
        cores: vec![0, 1, 2],
        memory_bytes: 4 << 30,
    })
}

/// Simulated devices on which a worker takes no more than its network.
fn simulated(class: DeviceClass, count: usize) -> Devices {
    let profile = DeviceProfile {
        class,
        worker_bytes: 0,
        ..DeviceProfile::clone(&find_profile("v100").expect("built in"))
    };
    Devices::simulated(&Arc::new(profile), count)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn evacuation_keeps_what_is_not_lost_and_every_member(
        entries in prop::collection::vec(prop_oneof![Just(0i64), Just(8), Just(32)], 18),
        lost in prop::collection::btree_set(0usize..3, 1..3),
        cpus: bool,
    ) {
        let ensemble = digits();
        let devices = if cpus { partitions() } else { simulated(DeviceClass::Gpu, 3) };
        let frame = frame(&ensemble, &devices);
        let rows: Vec<Vec<i64>> = entries.chunks(6).map(<[i64]>::to_vec).collect();
        let matrix = Matrix::from_rows(frame, &rows);
        prop_assume!(matrix.is_ok());
        let matrix = matrix.expect("valid");
        let lost: Vec<DeviceIndex> = lost.into_iter().map(DeviceIndex::new).collect();
        let footprints = Footprints::plan(&ensemble, &devices);
        let after = evacuate(&matrix, &lost, &devices, &footprints).expect("there is room");
        prop_assert!(footprints.book(&after, &devices.without_memory_of(&lost)).is_ok());
        for cell in matrix.cells() {
            let (old, new) = (matrix.get(cell), after.get(cell));
            if lost.contains(&cell.device) {
                prop_assert_eq!(new, None);
            } else if old.is_some() {
                prop_assert_eq!(new, old);
            } else if new.is_some() {
                let mut column = matrix.column(cell.member);
                prop_assert!(column.all(|(d, e)| e.is_none() || lost.contains(&d)));
            }
        }
    }
}

#[test]
fn losing_every_device_says_which_member_has_no_room() {
    let (ensemble, devices) = (digits(), simulated(DeviceClass::Gpu, 2));
    let rows = vec![vec![8; 6]; 2];
    let matrix = Matrix::from_rows(frame(&ensemble, &devices), &rows).expect("valid");
    let footprints = Footprints::plan(&ensemble, &devices);
    let error = evacuate(
        &matrix,
        &[DeviceIndex::new(0), DeviceIndex::new(1)],
        &devices,
        &footprints,
    )
    .expect_err("nothing is left");
    assert!(
        error.to_string().contains("no device is large enough"),
        "{error}"
    );
}

#[test]
fn a_worker_leaves_a_slow_device_where_that_pays() {
    let (ensemble, devices) = (digits(), simulated(DeviceClass::Cpu, 2));
    let rows = vec![vec![0, 0, 0, 0, 8, 0], vec![8, 8, 8, 8, 0, 8]];
    let matrix = Matrix::from_rows(frame(&ensemble, &devices), &rows).expect("valid");
    let costs = Costs::of_laws(&ensemble, &devices);
    let batching = Batching::from_ensemble(&ensemble);
    let footprints = Footprints::plan(&ensemble, &devices);
    let cell = Cell {
        device: DeviceIndex::new(0),
        member: MemberIndex::new(4),
    };
    let propose = |slowdown: &[f64], cell| {
        propose_move(
            &matrix,
            &costs,
            batching,
            slowdown,
            &footprints,
            &devices,
            cell,
        )
    };
    let moved = propose(&[1e4, 1.0], cell).expect("a move");
    assert_eq!(moved.get(cell), None);
    assert!(
        moved
            .get(Cell {
                device: DeviceIndex::new(1),
                member: MemberIndex::new(4)
            })
            .is_some()
    );
    let empty = Cell {
        device: DeviceIndex::new(0),
        member: MemberIndex::new(1),
    };
    assert_eq!(propose(&[1e4, 1.0], empty), None);
    // A worker that does not hold the throughput down still becomes quicker elsewhere.
    let spread = Matrix::from_rows(
        frame(&ensemble, &devices),
        &[vec![8, 8, 8, 8, 8, 8], vec![0; 6]],
    );
    let (spread, first) = (
        spread.expect("valid"),
        Cell {
            device: DeviceIndex::new(0),
            member: MemberIndex::new(0),
        },
    );
    let slow = [8.0, 1.0];
    let moved = propose_move(
        &spread,
        &costs,
        batching,
        &slow,
        &footprints,
        &devices,
        first,
    );
    assert!(moved.is_some_and(|m| m.get(first).is_none()));
    // A device that is lost has no room for it.
    let alone = devices.without_memory_of(&[DeviceIndex::new(1)]);
    let stays = propose_move(
        &matrix,
        &costs,
        batching,
        &[1e4, 1.0],
        &footprints,
        &alone,
        cell,
    );
    assert!(stays.is_none_or(|m| {
        m.get(Cell {
            device: DeviceIndex::new(1),
            member: MemberIndex::new(4),
        })
        .is_none()
    }));
}
