//! The linear programme: its solutions can be done, are proved best by their prices,
//! and equal another method's; changes from a solution equal solving anew.

use divisi::search::model::{Programme, WorkerRate};
use proptest::prelude::*;

/// A random programme: times from a few values, so that many vertices coincide.
fn programmes() -> impl Strategy<Value = (usize, usize, Vec<WorkerRate>)> {
    (1usize..8, 1usize..9).prop_flat_map(|(members, devices)| {
        let worker = move |member: std::ops::Range<usize>| {
            let seconds = prop_oneof![(1u32..5).prop_map(|n| f64::from(n) * 0.01), (1e-6f64..0.5),];
            let share = prop_oneof![Just(1.0), (0.01f64..1.0)];
            (member, 0..devices, seconds, share).prop_map(|(member, device, seconds, share)| {
                WorkerRate {
                    member,
                    device,
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
fn proved_bound(programme: &Programme, workers: &[WorkerRate]) -> f64 {
    let prices = programme.bottlenecks();
    let throughput = programme.throughput();
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
    fn solutions_can_be_done_and_are_proved_best((members, devices, workers) in programmes()) {
        let programme = Programme::new(members, devices, &workers);
        let throughput = programme.throughput();
        let mut answered = vec![0.0; members];
        let mut busy = vec![0.0; devices];
        for (index, worker) in workers.iter().enumerate() {
            let rate = programme.rate(index);
            prop_assert!(rate >= 0.0 && rate <= worker.most * (1.0 + 1e-9));
            answered[worker.member] += rate;
            busy[worker.device] += rate * worker.seconds;
        }
        for sum in answered {
            prop_assert!(near(sum, throughput), "{sum} {throughput}");
        }
        prop_assert!(busy.iter().all(|b| *b <= 1.0 + 1e-9), "{busy:?}");
        let bound = proved_bound(&programme, &workers);
        prop_assert!(near(bound, throughput), "{bound} {throughput}");
    }

    #[test]
    fn a_textbook_tableau_gives_the_same((members, devices, workers) in programmes()) {
        let found = Programme::new(members, devices, &workers).throughput();
        let expected = tableau(members, devices, &workers);
        prop_assert!((found - expected).abs() <= 1e-7 * expected, "{found} {expected}");
    }

    #[test]
    fn a_change_from_a_solution_equals_solving_anew(
        (members, devices, workers) in programmes(),
        new in prop::collection::vec((0usize..8, 0usize..9, 1e-4f64..0.5, 0.01f64..1.0), 0..3),
        gone in prop::collection::vec(0usize..40, 0..3),
    ) {
        let new: Vec<WorkerRate> = new.into_iter().map(|(m, d, seconds, share)| WorkerRate {
            member: m % members, device: d % devices, seconds, most: share / seconds,
        }).collect();
        let mut gone: Vec<usize> = gone.into_iter().map(|g| g % workers.len()).collect();
        gone.sort_unstable();
        gone.dedup();
        let rest = workers.iter().enumerate().filter(|(i, _)| !gone.contains(i)).map(|(_, w)| *w);
        let changed: Vec<WorkerRate> = rest.chain(new.iter().copied()).collect();
        prop_assume!((0..members).all(|m| changed.iter().any(|w| w.member == m)));
        let anew = Programme::new(members, devices, &changed).throughput();
        let base = Programme::new(members, devices, &workers);
        let mut scratch = Programme::default();
        let found = base.changed(&mut scratch, &gone, &new);
        prop_assert!(near(found, anew), "{found} {anew}");
        if gone.is_empty() && found > base.throughput() * (1.0 + 1e-7) {
            prop_assert!(new.iter().any(|w| base.gains_from(w)));
        }
    }
}

/// Dense tableau, Bland's rule, slacks for every bound: slow and plain.
fn tableau(members: usize, devices: usize, workers: &[WorkerRate]) -> f64 {
    let variables = 1 + workers.len();
    let rows = members + devices + workers.len();
    let width = variables + rows + 1;
    let mut t = vec![vec![0.0; width]; rows + 1];
    for m in 0..members {
        t[m][0] = 1.0;
    }
    for (i, w) in workers.iter().enumerate() {
        t[w.member][1 + i] = -1.0;
        t[members + w.device][1 + i] = w.seconds;
        let row = members + devices + i;
        t[row][1 + i] = 1.0 / w.most;
        t[row][width - 1] = 1.0;
    }
    for d in 0..devices {
        t[members + d][width - 1] = 1.0;
    }
    for row in 0..rows {
        t[row][variables + row] = 1.0;
    }
    t[rows][0] = -1.0;
    let mut basic: Vec<usize> = (variables..variables + rows).collect();
    while let Some(column) = (0..width - 1).find(|&c| t[rows][c] < -1e-10) {
        let ratio = |r: usize| t[r][width - 1] / t[r][column];
        let row = (0..rows)
            .filter(|&r| t[r][column] > 1e-10)
            .min_by(|&a, &b| ratio(a).total_cmp(&ratio(b)).then(basic[a].cmp(&basic[b])))
            .expect("bounded");
        let pivot = t[row][column];
        t[row].iter_mut().for_each(|v| *v /= pivot);
        let line = t[row].clone();
        for (r, other) in t.iter_mut().enumerate().filter(|(r, _)| *r != row) {
            let _ = r;
            let factor = other[column];
            other
                .iter_mut()
                .zip(&line)
                .for_each(|(v, l)| *v -= factor * l);
        }
        basic[row] = column;
    }
    t[rows][width - 1]
}

#[test]
fn prices_name_what_binds() {
    let worker = |member, device, seconds: f64| WorkerRate {
        member,
        device,
        seconds,
        most: 2.0 / seconds,
    };
    // Member 1 is slow on device 1; member 0 has device 0 to itself.
    let programme = Programme::new(2, 2, &[worker(0, 0, 0.01), worker(1, 1, 0.1)]);
    assert!((programme.throughput() - 10.0).abs() < 1e-9);
    let binds = programme.bottlenecks();
    assert_eq!(binds.members, [0.0, 1.0]);
    assert!((binds.devices[1] - 1.0).abs() < 1e-9 && binds.devices[0] == 0.0);
    assert!(programme.gains_from(&worker(1, 0, 0.1)));
    assert!(!programme.gains_from(&worker(0, 1, 0.01)));
}
