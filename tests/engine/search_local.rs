//! Local search: neighbours score what they would score as matrices, fit as the ledger
//! says, nothing beats the bound, and small instances are solved nearly to the best.

use std::sync::{Arc, OnceLock};

use divisi_engine::search::local::{EntryEdit, LocalSearch, MemoryBudget, Position};
use divisi_engine::search::model::{Batching, Limits, ModelEvaluator, Rates};
use divisi_engine::search::{Control, Evaluator, worst_fit};
use divisi_model::allocation::{Cell, Footprints, Frame, Matrix};
use divisi_model::ensemble::{BatchSize, BatchSizes, Ensemble};
use divisi_model::profile::Costs;
use divisi_runtime::device::simulated::{DeviceClass, DeviceProfile, find_profile};
use divisi_runtime::device::{DeviceIndex, Devices, MemberIndex};
use proptest::prelude::*;

use crate::common::digits;

/// Devices of one class, each with so much memory beside what workers take anyway.
fn devices(class: DeviceClass, count: usize, kilobytes: u64) -> Devices {
    let profile = DeviceProfile {
        class,
        worker_bytes: 0,
        memory_bytes: kilobytes << 10,
        ..DeviceProfile::clone(&find_profile("v100").expect("built in"))
    };
    Devices::simulated(&Arc::new(profile), count)
}

/// Digits as it is read, once.
fn all() -> &'static Ensemble {
    static DIGITS: OnceLock<Arc<Ensemble>> = OnceLock::new();
    DIGITS.get_or_init(digits)
}

fn few(members: &[usize], sizes: &[i64]) -> Ensemble {
    let mut ensemble = Ensemble::clone(all());
    ensemble.members = members
        .iter()
        .map(|&m| Arc::clone(&all().members[m]))
        .collect();
    ensemble.batch_sizes = BatchSizes::new(sizes).expect("sizes");
    ensemble
}

/// Everything that a search on these devices works with.
struct Bed {
    frame: Arc<Frame>,
    devices: Devices,
    footprints: Footprints,
    rates: Rates,
    limits: Limits,
    room: MemoryBudget,
    model: ModelEvaluator,
}

fn bed(ensemble: &Ensemble, devices: Devices) -> Bed {
    let frame = Frame::from_ensemble(ensemble, &devices);
    let costs = Costs::of_laws(ensemble, &devices);
    let footprints = Footprints::plan(ensemble, &devices);
    let batching = Batching::from_ensemble(ensemble);
    Bed {
        rates: Rates::new(&frame, &devices, &costs, batching),
        limits: Limits::new(&frame, &devices, &costs, batching),
        room: MemoryBudget::new(&frame, &devices, &footprints),
        model: ModelEvaluator::new(&frame, &devices, footprints.clone(), &costs, batching)
            .expect("known"),
        frame,
        devices,
        footprints,
    }
}

fn class(gpu: bool) -> DeviceClass {
    if gpu {
        DeviceClass::Gpu
    } else {
        DeviceClass::Cpu
    }
}

/// The matrix whose entries are batch sizes' numbers, 0 for none.
fn matrix(frame: &Arc<Frame>, numbers: &[usize]) -> Option<Matrix> {
    let sizes: Vec<BatchSize> = frame.batch_sizes.iter().collect();
    let entry = |n: &usize| n.checked_sub(1).map(|n| sizes[n]);
    Matrix::new(Arc::clone(frame), numbers.iter().map(entry).collect()).ok()
}

/// Entries of four members on three devices, each member with a worker.
fn filled() -> impl Strategy<Value = Vec<usize>> {
    let entries = prop::collection::vec(0usize..4, 12);
    (entries, prop::collection::vec((0usize..3, 1usize..3), 4)).prop_map(|(mut entries, sure)| {
        for (member, (device, size)) in sure.into_iter().enumerate() {
            entries[device * 4 + member] = size;
        }
        entries
    })
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn neighbours_score_and_fit_as_their_matrices_do(
        gpu: bool,
        kilobytes in 3000u64..20000,
        numbers in filled(),
        changes in prop::collection::vec((0usize..12, 0usize..4), 1..4),
    ) {
        let ensemble = few(&[1, 2, 3, 5], &[8, 32, 128]);
        let mut bed = bed(&ensemble, devices(class(gpu), 3, kilobytes));
        let old = matrix(&bed.frame, &numbers);
        prop_assume!(old.as_ref().is_some_and(|m| bed.footprints.book(m, &bed.devices).is_ok()));
        let old = old.expect("valid");
        let mut position = Position::new(&bed.rates, bed.room.clone(), &old);
        prop_assert!(near(position.score(), bed.model.run(&old)));
        prop_assert_eq!(&position.matrix(&bed.frame).expect("valid"), &old);
        let mut changes = changes;
        changes.sort_unstable();
        changes.dedup_by_key(|(cell, _)| *cell);
        let edit = |&(cell, to): &(usize, usize)| EntryEdit {
            cell: Cell { device: DeviceIndex::new(cell / 4), member: MemberIndex::new(cell % 4) },
            to: to.checked_sub(1),
        };
        let edits: Vec<EntryEdit> = changes.iter().map(edit).collect();
        let mut after = numbers.clone();
        changes.iter().for_each(|&(cell, to)| after[cell] = to);
        let new = matrix(&bed.frame, &after);
        let fits = new.as_ref().is_some_and(|m| bed.footprints.book(m, &bed.devices).is_ok());
        prop_assert_eq!(position.allows(&edits), fits);
        if fits {
            let new = new.expect("valid");
            let expected = bed.model.run(&new);
            let found = position.score_with(&edits);
            prop_assert!(near(found, expected), "{found} {expected}");
            position.go(&edits);
            prop_assert!(near(position.score(), expected));
            position.go_to(&numbers.iter().map(|n| n.checked_sub(1)).collect::<Vec<_>>());
            prop_assert_eq!(position.matrix(&bed.frame).expect("valid"), old);
        }
    }

    #[test]
    fn nothing_is_predicted_above_the_bound_under_any_policy(
        gpu: bool,
        kilobytes in 3000u64..20000,
        numbers in filled(),
        policy in prop::sample::select(vec!["no-wait", "pipelined-opt-wait", "static", "segment", "elastic", "elastic:24", "elastic:1"]),
        segment in prop::sample::select(vec![5usize, 48, 128]),
    ) {
        let mut ensemble = few(&[0, 2, 4, 5], &[8, 32, 128]);
        ensemble.policy = policy.parse().expect("a policy");
        ensemble.segment_size = segment;
        let mut bed = bed(&ensemble, devices(class(gpu), 3, kilobytes));
        let matrix = matrix(&bed.frame, &numbers);
        prop_assume!(matrix.as_ref().is_some_and(|m| bed.footprints.book(m, &bed.devices).is_ok()));
        let matrix = matrix.expect("valid");
        let bound = bed.limits.bound(|cell, size| bed.room.fits_alone(cell, size));
        let (steady, run) = (bed.model.throughput(&matrix), bed.model.run(&matrix));
        let at_most = bed.limits.throughput(&matrix);
        prop_assert!(steady <= at_most * (1.0 + 1e-9), "{steady}, at most {at_most}");
        prop_assert!(at_most <= bound * (1.0 + 1e-9), "{at_most} {bound}");
        prop_assert!(run <= steady * (1.0 + 1e-9), "a run {run}, in the long run {steady}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn small_instances_are_solved_nearly_to_the_best(
        gpu: bool,
        kilobytes in 800u64..6000,
        members in prop::sample::subsequence(vec![0usize, 1, 2, 3, 4, 5], 3),
        seed in 0u64..1000,
    ) {
        let ensemble = few(&members, &[8, 64]);
        let mut bed = bed(&ensemble, devices(class(gpu), 2, kilobytes));
        let start = worst_fit(&bed.frame, &bed.devices, &bed.footprints);
        prop_assume!(start.is_ok());
        let best = (0..3usize.pow(6)).filter_map(|number| {
            let numbers: Vec<usize> = (0..6).map(|i| number / 3usize.pow(i) % 3).collect();
            let matrix = matrix(&bed.frame, &numbers)?;
            Some(bed.model.score(&matrix, 0.0).expect("scores").samples_per_s)
        });
        let best = best.fold(0.0, f64::max);
        let mut position = Position::new(&bed.rates, bed.room.clone(), &start.expect("fits"));
        let control = Control::default();
        let mut search = LocalSearch::new(&control, &bed.frame);
        let optima = search.climb_all(&mut position, 8, seed).expect("not cancelled");
        let found = optima[0].score;
        prop_assert!(found <= best * (1.0 + 1e-9), "{found} {best}");
        prop_assert!(found >= 0.95 * best, "{found} of {best}");
    }
}
