//! Reloads: planned against the ledger, back to the old matrix when one fails.

use std::collections::HashSet;
use std::sync::Arc;

use divisi_engine::serving::{Reload, ReloadAction, ReloadEvent, ReloadPlan};
use divisi_model::allocation::{Cell, Footprints, Matrix};
use divisi_model::ensemble::{BatchSize, MemberPrecision};
use divisi_runtime::device::{DeviceIndex, Devices, Host, MemberIndex};
use proptest::prelude::*;

use crate::common::{digits, frame};

fn devices(bytes: u64) -> Devices {
    Devices::default_of(&Host {
        cores: vec![0, 1],
        memory_bytes: bytes,
    })
}

fn rows() -> impl Strategy<Value = Vec<Vec<i64>>> {
    let entry = prop::sample::select(vec![0, 8, 16, 64, 128]);
    prop::collection::vec(prop::collection::vec(entry, 6), 2)
}

type Workers = HashSet<(Cell, BatchSize)>;

/// Carries the actions out; `fails` says which build goes wrong.
fn carry_out(
    old: &Matrix,
    plan: ReloadPlan,
    fails: Option<usize>,
    check: impl Fn(&Workers),
) -> (Workers, ReloadAction) {
    let mut running: Workers = old.workers().collect();
    let mut built = Vec::new();
    let mut builds = 0;
    let mut reload = Reload::new(plan);
    let mut event = ReloadEvent::Start;
    loop {
        let action = reload.step(event);
        event = ReloadEvent::Done;
        match action {
            ReloadAction::Drain(cell) => {
                let new: Vec<_> = built.clone();
                running.retain(|w| w.0 != cell || new.contains(w));
            }
            ReloadAction::Build(cell, size) if fails == Some(builds) => {
                event = ReloadEvent::Failed(format!("{cell:?} {size}"));
            }
            ReloadAction::Build(cell, size) => built.push((cell, size)),
            ReloadAction::Activate => running.extend(built.iter().copied()),
            ReloadAction::Discard => built.clear(),
            ReloadAction::Restore(cell, size) => {
                running.insert((cell, size));
            }
            last @ (ReloadAction::Done | ReloadAction::Failed(_)) => return (running, last),
        }
        builds += usize::from(matches!(action, ReloadAction::Build(..)));
        let mut all = running.clone();
        all.extend(built.iter().copied());
        check(&all);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_reload_ends_in_the_new_matrix_or_back_in_the_old_and_always_fits(
        a in rows(), b in rows(), megabytes in prop::sample::select(vec![8u64, 30, 60, 400]),
        fails in prop::option::of(0usize..8),
    ) {
        let ensemble = digits();
        let devices = devices(megabytes << 20);
        let frame = frame(&ensemble, &devices);
        let footprints = Footprints::plan(&ensemble, &devices);
        let (Ok(old), Ok(new)) = (Matrix::from_rows(Arc::clone(&frame), &a), Matrix::from_rows(frame, &b)) else { return Ok(()) };
        if footprints.book(&old, &devices).is_err() { return Ok(()) }
        let Ok(plan) = ReloadPlan::new(&old, &new, &footprints, &devices) else {
            prop_assert!(footprints.book(&new, &devices).is_err());
            return Ok(());
        };
        let fails = fails.filter(|n| *n < plan.starts.len());
        let fits = |workers: &Workers| {
            let mut ledger = footprints.ledger(&devices).expect("room for the pool");
            for (cell, size) in workers {
                assert!(ledger.book(&footprints.booking(*cell, *size)).is_ok(), "over the ledger");
            }
        };
        let (end, last) = carry_out(&old, plan, fails, fits);
        let wanted: Workers = if fails.is_some() { old.workers().collect() } else { new.workers().collect() };
        prop_assert_eq!(matches!(last, ReloadAction::Failed(_)), fails.is_some());
        prop_assert_eq!(end, wanted);
    }

    #[test]
    fn members_in_other_numbers_are_built_again_and_always_fit(
        a in rows(), b in rows(), megabytes in prop::sample::select(vec![8u64, 30, 60, 400]),
        rebuilt in prop::collection::vec(any::<bool>(), 6),
        fails in prop::option::of(0usize..8),
    ) {
        let ensemble = digits();
        let devices = devices(megabytes << 20);
        let frame = frame(&ensemble, &devices);
        let names = rebuilt.iter().map(|rebuilt| if *rebuilt { "int8" } else { "f32" });
        let precisions: Vec<MemberPrecision> = names.map(|n| n.parse().expect("a name")).collect();
        let before = Footprints::plan(&ensemble, &devices);
        let after = before.in_precisions(&ensemble, &devices, &precisions);
        let (Ok(old), Ok(new)) = (Matrix::from_rows(Arc::clone(&frame), &a), Matrix::from_rows(frame, &b)) else { return Ok(()) };
        if before.book(&old, &devices).is_err() { return Ok(()) }
        let is_rebuilt = |cell: Cell| rebuilt[cell.member.get()];
        let plan = ReloadPlan::rebuilding(&old, &before, &new, &after, &devices, is_rebuilt);
        let Ok(plan) = plan else {
            prop_assert!(after.book(&new, &devices).is_err());
            return Ok(());
        };
        for (cell, size) in new.workers().filter(|(cell, _)| is_rebuilt(*cell)) {
            prop_assert!(plan.starts.contains(&(cell, size)));
        }
        for worker in old.workers().filter(|(cell, _)| is_rebuilt(*cell)) {
            prop_assert!(plan.early.contains(&worker) || plan.late.contains(&worker));
        }
        let fails = fails.filter(|n| *n < plan.starts.len());
        let stopped: Workers = plan.early.iter().chain(&plan.late).copied().collect();
        // Old and new workers of a member in other numbers share no weights.
        let mut ledger = before.ledger(&devices).expect("room for the pool");
        let stays = old.workers().filter(|worker| !plan.early.contains(worker));
        for (cell, size) in stays {
            prop_assert!(ledger.book(&before.booking(cell, size)).is_ok());
        }
        for (cell, size) in &plan.starts {
            let mut booking = after.booking(*cell, *size);
            if is_rebuilt(*cell) {
                booking.member = MemberIndex::new(6 + cell.member.get());
            }
            let fits = ledger.book(&booking).is_ok();
            prop_assert!(fits || stopped == plan.early.iter().copied().collect());
        }
        let (_, last) = carry_out(&old, plan, fails, |_| {});
        prop_assert_eq!(matches!(last, ReloadAction::Failed(_)), fails.is_some());
    }

    #[test]
    fn bookings_taken_back_leave_the_pool_alone(rows in rows()) {
        let ensemble = digits();
        let devices = devices(1 << 30);
        let Ok(matrix) = Matrix::from_rows(frame(&ensemble, &devices), &rows) else { return Ok(()) };
        let footprints = Footprints::plan(&ensemble, &devices);
        let mut ledger = footprints.book(&matrix, &devices).expect("a gigabyte is enough");
        for (cell, size) in matrix.workers() {
            ledger.release(&footprints.booking(cell, size));
        }
        let pool = footprints.pool(&devices).map(|(_, bytes)| bytes);
        prop_assert_eq!(Some(ledger.booked(DeviceIndex::new(0))), pool);
        let flops = [0, 1].map(|device| ledger.flops(DeviceIndex::new(device)));
        prop_assert_eq!(flops, [0, 0]);
    }
}
