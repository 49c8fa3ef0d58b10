//! The linear program: its solutions can be done, are proved best by their prices,
//! and equal another method's; changes from a solution equal solving anew.

use divisi_engine::search::model::{LinearProgram, WorkerRate};
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use proptest::prelude::*;

/// A random linear program: times from a few values, so that many vertices coincide.
fn programs() -> impl Strategy<Value = (usize, usize, Vec<WorkerRate>)> {
    (1usize..8, 1usize..9).prop_flat_map(|(members, devices)| {
        let worker = move |member: std::ops::Range<usize>| {
            let seconds = prop_oneof![(1u32..5).prop_map(|n| f64::from(n) * 0.01), (1e-6f64..0.5),];
            let share = prop_oneof![Just(1.0), (0.01f64..1.0)];
            (member, 0..devices, seconds, share).prop_map(|(member, device, seconds, share)| {
                WorkerRate {
                    member: MemberIndex::new(member),
                    device: DeviceIndex::new(device),
                    seconds,
                    most: share / seconds,
                }
            })
        };
        let first: Vec<_> = (0..members).map(|m| worker(m..m + 1)).collect();
        let more = prop::collection::vec(worker(0..members), 0..30);
        (first, more).prop_map(move |(mut workers, more)| {
            workers.extend(more);
            (members, devices, workers)
        })
    })
}

/// No solution can be better than what the prices pay for every device's second and
/// every worker's own limit (weak duality).
fn proved_bound(program: &LinearProgram, workers: &[WorkerRate]) -> f64 {
    let prices = program.bottlenecks();
    let throughput = program.throughput();
    let devices: Vec<f64> = prices
        .devices
        .iter()
        .map(|p| p.max(0.0) * throughput)
        .collect();
    let members: Vec<f64> = prices.members.iter().map(|p| p.max(0.0)).collect();
    let scale: f64 = members.iter().sum();
    let limits = workers.iter().map(|w| {
        let gain = members[w.member] - w.seconds * devices[w.device];
        w.most * gain.max(0.0)
    });
    (devices.iter().sum::<f64>() + limits.sum::<f64>()) / scale
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn solutions_can_be_done_and_are_proved_best((members, devices, workers) in programs()) {
        let program = LinearProgram::new(members, devices, &workers);
        let throughput = program.throughput();
        let mut answered = vec![0.0; members];
        let mut busy = vec![0.0; devices];
        for (index, worker) in workers.iter().enumerate() {
            let rate = program.rate(index);
            prop_assert!(rate >= 0.0 && rate <= worker.most * (1.0 + 1e-9));
            answered[worker.member] += rate;
            busy[worker.device] += rate * worker.seconds;
        }
        for sum in answered {
            prop_assert!(near(sum, throughput), "{sum} {throughput}");
        }
        prop_assert!(busy.iter().all(|b| *b <= 1.0 + 1e-9), "{busy:?}");
        let bound = proved_bound(&program, &workers);
        prop_assert!(near(bound, throughput), "{bound} {throughput}");
    }

    #[test]
    fn a_textbook_tableau_gives_the_same((members, devices, workers) in programs()) {
        let found = LinearProgram::new(members, devices, &workers).throughput();
        let expected = tableau(members, devices, &workers);
        prop_assert!((found - expected).abs() <= 1e-7 * expected, "{found} {expected}");
    }

    #[test]
    fn a_change_from_a_solution_equals_solving_anew(
        (members, devices, workers) in programs(),
        new in prop::collection::vec((0usize..8, 0usize..9, 1e-4f64..0.5, 0.01f64..1.0), 0..3),
        gone in prop::collection::vec(0usize..40, 0..3),
    ) {
        let new: Vec<WorkerRate> = new.into_iter().map(|(m, d, seconds, share)| WorkerRate {
            member: MemberIndex::new(m % members), device: DeviceIndex::new(d % devices),
            seconds, most: share / seconds,
        }).collect();
        let mut gone: Vec<usize> = gone.into_iter().map(|g| g % workers.len()).collect();
        gone.sort_unstable();
        gone.dedup();
        let rest = workers.iter().enumerate().filter(|(i, _)| !gone.contains(i)).map(|(_, w)| *w);
        let changed: Vec<WorkerRate> = rest.chain(new.iter().copied()).collect();
        prop_assume!((0..members).all(|m| changed.iter().any(|w| w.member == MemberIndex::new(m))));
        let anew = LinearProgram::new(members, devices, &changed).throughput();
        let base = LinearProgram::new(members, devices, &workers);
        let mut scratch = LinearProgram::default();
        let found = base.changed(&mut scratch, &gone, &new);
        prop_assert!(near(found, anew), "{found} {anew}");
        if gone.is_empty() && found > base.throughput() * (1.0 + 1e-7) {
            prop_assert!(new.iter().any(|w| base.gains_from(w)));
        }
    }
}

/// Dense tableau, Bland's rule, slacks for every bound: slow and plain.
fn tableau(members: usize, devices: usize, workers: &[WorkerRate]) -> f64 {
    let mut table = rows(members, devices, workers);
    let objective = table.len() - 1;
    let last = table[0].len() - 1;
    let variables = last - objective;
    let mut basic: Vec<usize> = (variables..last).collect();
    while let Some(column) = (0..last).find(|&c| table[objective][c] < -1e-10) {
        let ratio = |row: usize| table[row][last] / table[row][column];
        let leaves = |a: &usize, b: &usize| {
            let ratios = ratio(*a).total_cmp(&ratio(*b));
            ratios.then(basic[*a].cmp(&basic[*b]))
        };
        let rows = (0..objective).filter(|&r| table[r][column] > 1e-10);
        let row = rows.min_by(leaves).expect("bounded");
        let pivot = table[row][column];
        let line: Vec<f64> = table[row].iter().map(|v| v / pivot).collect();
        for other in &mut table {
            let factor = other[column];
            let both = other.iter_mut().zip(&line);
            both.for_each(|(v, l)| *v -= factor * l);
        }
        table[row] = line;
        basic[row] = column;
    }
    table[objective][last]
}

/// T − Σ x ≤ 0 a member, Σ x · seconds ≤ 1 a device, x / most ≤ 1 a worker; −T at last.
fn rows(members: usize, devices: usize, workers: &[WorkerRate]) -> Vec<Vec<f64>> {
    let variables = 1 + workers.len();
    let count = members + devices + workers.len();
    let mut rows = vec![vec![0.0; variables + count + 1]; count + 1];
    for row in rows.iter_mut().take(members) {
        row[0] = 1.0;
    }
    for (number, worker) in workers.iter().enumerate() {
        rows[worker.member][1 + number] = -1.0;
        rows[members + worker.device.get()][1 + number] = worker.seconds;
        rows[members + devices + number][1 + number] = 1.0 / worker.most;
    }
    for (number, row) in rows.iter_mut().enumerate().take(count) {
        row[variables + number] = 1.0;
        row[variables + count] = if number < members { 0.0 } else { 1.0 };
    }
    rows[count][0] = -1.0;
    rows
}

#[test]
fn prices_name_what_binds() {
    let worker = |member, device, seconds: f64| WorkerRate {
        member: MemberIndex::new(member),
        device: DeviceIndex::new(device),
        seconds,
        most: 2.0 / seconds,
    };
    // Member 1 is slow on device 1; member 0 has device 0 to itself.
    let program = LinearProgram::new(2, 2, &[worker(0, 0, 0.01), worker(1, 1, 0.1)]);
    assert!((program.throughput() - 10.0).abs() < 1e-9);
    let binds = program.bottlenecks();
    assert_eq!(binds.members, [0.0, 1.0]);
    assert!((binds.devices[1] - 1.0).abs() < 1e-9 && binds.devices[0] == 0.0);
    assert!(program.gains_from(&worker(1, 0, 0.1)));
    assert!(!program.gains_from(&worker(0, 1, 0.01)));
}
