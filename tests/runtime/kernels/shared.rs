//! Several networks on one team of threads, and threads that are kept busy elsewhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use divisi_runtime::compute::{Family, NetworkOp};
use divisi_runtime::network::{Conv2d, Graph, Op, Shape};

use super::{Net, answer, input, lowered, team, values};
use crate::compute::weights;

/// Enough work that threads are woken for it.
fn network(channels: usize, side: usize) -> Graph {
    let conv = |to| Op::Conv2d(Conv2d::new(to, 3).same().biased());
    Net::new(Shape::image(3, side, side))
        .then(conv(channels))
        .then(conv(32))
        .then(Op::Conv2d(Conv2d::new(40, 3).strided(2).padded(1)))
        .then(Op::GlobalAvgPool)
        .build()
}

#[test]
fn networks_that_run_at_once_on_one_team_do_not_wait_for_each_other() {
    for threads in 1..4 {
        std::thread::scope(|scope| {
            for (channels, side) in [(16, 20), (40, 13)] {
                let graph = network(channels, side);
                let network = lowered(&graph, &weights(&graph), Family::best());
                let x = input(&graph, 4);
                let expected = answer(&network, &x, 0);
                scope.spawn(move || {
                    let op = NetworkOp::new(network, 4, team(threads)).expect("op");
                    for _ in 0..25 {
                        let found = x.apply_op1_no_bwd(&op).expect("runs");
                        assert!(values(&found) == expected, "{threads} threads");
                    }
                });
            }
        });
    }
}

#[test]
fn threads_that_are_busy_elsewhere_change_nothing() {
    let graph = network(24, 16);
    let network = lowered(&graph, &weights(&graph), Family::best());
    let x = input(&graph, 3);
    let expected = answer(&network, &x, 0);
    let team = team(3).expect("a team");
    let op = NetworkOp::new(network, 3, Some(Arc::clone(&team))).expect("op");
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                team.run(|_| thread::sleep(Duration::from_micros(200)));
            }
        });
        for round in 0..60 {
            let found = x.apply_op1_no_bwd(&op).expect("runs");
            assert!(values(&found) == expected, "round {round}");
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_network_may_be_run_from_a_thread_of_its_own_team() {
    let graph = network(24, 16);
    let network = lowered(&graph, &weights(&graph), Family::best());
    let x = input(&graph, 3);
    let expected = answer(&network, &x, 0);
    let team = team(2).expect("a team");
    let op = NetworkOp::new(network, 3, Some(Arc::clone(&team))).expect("op");
    for _ in 0..20 {
        team.run(|_| {
            let found = x.apply_op1_no_bwd(&op).expect("runs");
            assert!(values(&found) == expected);
        });
    }
}
