//! Several networks on one pool of threads, and threads that are kept busy elsewhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use divisi_runtime::compute::{Family, NetworkOp};
use divisi_runtime::network::{Conv2d, Graph, Op, Shape};

use super::{Net, answer, input, lowered, pool, values};
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
fn networks_that_run_at_once_on_one_pool_do_not_wait_for_each_other() {
    for threads in 1..4 {
        std::thread::scope(|scope| {
            for (channels, side) in [(16, 20), (40, 13)] {
                let graph = network(channels, side);
                let network = lowered(&graph, &weights(&graph), Family::best());
                let x = input(&graph, 4);
                let expected = answer(&network, &x, 0);
                scope.spawn(move || {
                    let op = NetworkOp::new(network, 4, pool(threads)).expect("op");
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
fn threads_that_are_busy_elsewhere_delay_a_batch_and_change_nothing() {
    let graph = network(24, 16);
    let network = lowered(&graph, &weights(&graph), Family::best());
    let x = input(&graph, 3);
    let expected = answer(&network, &x, 0);
    let pool = pool(3).expect("pool");
    let op = NetworkOp::new(network, 3, Some(Arc::clone(&pool))).expect("op");
    let done = Arc::new(AtomicUsize::new(0));
    for round in 0..60 {
        for _ in 0..round % 4 {
            let done = Arc::clone(&done);
            pool.spawn(move || {
                // It sleeps: a thread that yields is done late where others are busy, too.
                std::thread::sleep(Duration::from_micros(200));
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
        let found = x.apply_op1_no_bwd(&op).expect("runs");
        assert!(values(&found) == expected, "round {round}");
    }
}

#[test]
fn a_network_may_be_run_from_a_thread_of_its_own_pool() {
    let graph = network(24, 16);
    let network = lowered(&graph, &weights(&graph), Family::best());
    let x = input(&graph, 3);
    let expected = answer(&network, &x, 0);
    let pool = pool(2).expect("pool");
    let op = NetworkOp::new(network, 3, Some(Arc::clone(&pool))).expect("op");
    for _ in 0..20 {
        let found = pool.install(|| x.apply_op1_no_bwd(&op).expect("runs"));
        assert!(values(&found) == expected);
    }
}
