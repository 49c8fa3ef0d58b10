//! One lowered network, batches that change between calls.

use std::sync::Arc;

use candle_core::Tensor;
use divisi_runtime::compute::{
    CpuPredictor, Family, Lowered, NetworkOp, Predictor, host_rows, read_rows,
};
use divisi_runtime::network::{Conv2d, Graph, NodeId, Op, Pool, Shape};

use super::{Net, TOLERANCE, difference, input, lowered, plain, team, values};
use crate::compute::weights;

/// Every kind of step; convolutions large enough that threads share them and that some
/// are transformed.
fn everything() -> Graph {
    let conv = |to, kernel: usize| Conv2d::new(to, kernel).same().biased();
    let mut net = Net::new(Shape::image(3, 28, 28)).then(Op::Conv2d(conv(32, 3).strided(2)));
    let stem = net.0.last();
    let a = net.add(Op::Conv2d(conv(32, 3)), &[stem]);
    let b = net.add(Op::Conv2d(conv(24, 5)), &[stem]);
    let c = net.add(Op::Conv2d(conv(32, 3).grouped(32)), &[stem]);
    let d = net.add(Op::Conv2d(conv(32, 3).grouped(4)), &[stem]);
    let joined = net.add(Op::Concat, &[a, b, c, d]);
    let x = net.add(Op::Conv2d(conv(64, 1)), &[joined]);
    let y = net.add(Op::Conv2d(conv(64, 3)), &[x]);
    net.add(Op::Add, &[x, y]);
    net.then(Op::Relu)
        .then(Op::MaxPool(Pool::new(3, 2)))
        .then(Op::Conv2d(
            Conv2d::new(48, (3, 3)).strided(2).padded((1, 0)),
        ))
        .then(Op::GlobalAvgPool)
        .then(Op::Linear {
            features: 30,
            bias: true,
        })
        .then(Op::Softmax)
        .build()
}

/// A network so small that a pool is not worth waking for few samples.
fn small() -> Graph {
    Net::new(Shape::image(16, 8, 8))
        .then(Op::Conv2d(Conv2d::new(16, 3).same()))
        .then(Op::Conv2d(Conv2d::new(20, 3).same()))
        .then(Op::GlobalAvgPool)
        .build()
}

/// A convolution that threads transform together for few samples, in blocks for many.
fn large() -> Graph {
    Net::new(Shape::image(64, 28, 28))
        .then(Op::Conv2d(Conv2d::new(64, 3).same()))
        .then(Op::GlobalAvgPool)
        .build()
}

const BATCHES: [usize; 9] = [8, 1, 7, 3, 8, 2, 5, 1, 6];

fn predict(op: &NetworkOp, x: &Tensor, first: usize, batch: usize) -> Vec<f32> {
    let rows = x.narrow(0, first, batch).expect("samples");
    values(&rows.apply_op1_no_bwd(op).expect("runs"))
}

/// The answers of a network's samples alone, one by one, on the caller's thread.
fn alone(network: &Arc<Lowered>, x: &Tensor) -> Vec<f32> {
    let op = NetworkOp::new(Arc::clone(network), 1, None).expect("op");
    let samples = 0..x.dim(0).expect("samples");
    samples.flat_map(|i| predict(&op, x, i, 1)).collect()
}

#[test]
fn an_answer_does_not_depend_on_its_batch_or_on_the_threads() {
    for graph in [everything(), small(), large()] {
        let (weights, x) = (weights(&graph), input(&graph, 8));
        let expected = plain(&graph, &weights, &x);
        for family in Family::available() {
            let network = lowered(&graph, &weights, family);
            let alone = alone(&network, &x);
            let off = difference(&expected, &alone);
            assert!(off < TOLERANCE, "{family}: off by {off}");
            for threads in 0..4 {
                let op = NetworkOp::new(Arc::clone(&network), 8, team(threads)).expect("op");
                for (turn, batch) in BATCHES.into_iter().enumerate() {
                    let first = turn % (9 - batch);
                    let found = predict(&op, &x, first, batch);
                    let columns = network.outputs();
                    let expected = &alone[first * columns..][..batch * columns];
                    assert!(
                        found == expected,
                        "{family}, {threads} threads, batch {batch}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_batch_larger_than_there_is_memory_for_is_refused() {
    let graph = small();
    let network = lowered(&graph, &weights(&graph), Family::best());
    let op = NetworkOp::new(network, 2, None).expect("op");
    let refused = input(&graph, 3).apply_op1_no_bwd(&op);
    let why = refused.expect_err("refused").to_string();
    assert!(
        why.contains("batch of 3") && why.contains("at most 2"),
        "{why}"
    );
    assert!(input(&graph, 2).apply_op1_no_bwd(&op).is_ok());
}

#[test]
fn a_batch_of_no_samples_has_no_answers() {
    for graph in [everything(), small()] {
        for (family, threads) in Family::available().flat_map(|f| [(f, 0), (f, 2)]) {
            let network = lowered(&graph, &weights(&graph), family);
            let mut predictor = CpuPredictor::new(network, 2, team(threads)).expect("predictor");
            let output = host_rows(2, graph.output().elements()).expect("rows");
            predictor
                .predict(0, &input(&graph, 2), &output)
                .expect("nothing to do");
            let untouched = read_rows(&output, |r| r.iter().all(|&v| v == 0.0));
            assert!(untouched.expect("rows"));
        }
    }
}

#[test]
fn memory_for_a_batch_is_enough_for_every_smaller_one() {
    // Phases and scratch differ with the number of tiles: from one sample to many.
    let graph = Net::new(Shape::image(16, 6, 6))
        .then(Op::Conv2d(Conv2d::new(16, 3).same()))
        .then(Op::Conv2d(Conv2d::new(40, 5).same()))
        .then(Op::GlobalAvgPool)
        .build();
    let (weights, x) = (weights(&graph), input(&graph, 64));
    for family in Family::available() {
        let network = lowered(&graph, &weights, family);
        let all = alone(&network, &x);
        for threads in [0, 2, 3] {
            let op = NetworkOp::new(Arc::clone(&network), 64, team(threads)).expect("op");
            for batch in (1..=64).rev() {
                let found = predict(&op, &x, 64 - batch, batch);
                let expected = &all[(64 - batch) * network.outputs()..];
                assert!(
                    found == expected,
                    "{family}, {threads} threads, batch {batch}"
                );
            }
        }
    }
}

#[test]
fn large_images_go_through_in_parts_of_any_batch() {
    // Three at a time would stay in cache: parts of two for a batch of four, of three for
    // one of three.
    let graph = Net::new(Shape::image(3, 110, 110))
        .then(Op::Conv2d(Conv2d::new(48, 3).same()))
        .then(Op::MaxPool(Pool::new(4, 4)))
        .then(Op::Conv2d(Conv2d::new(32, 3).same()))
        .then(Op::GlobalAvgPool)
        .build();
    let (weights, x) = (weights(&graph), input(&graph, 5));
    let expected = plain(&graph, &weights, &x);
    for family in Family::available() {
        let network = lowered(&graph, &weights, family);
        let all = alone(&network, &x);
        assert!(difference(&expected, &all) < TOLERANCE, "{family}");
        for (most, threads) in [(5, 0), (4, 2), (3, 0)] {
            let op = NetworkOp::new(Arc::clone(&network), most, team(threads)).expect("op");
            for batch in 1..=most {
                let found = predict(&op, &x, 0, batch);
                assert!(found == all[..batch * 32], "{family}, {batch} of {most}");
            }
        }
    }
}

#[test]
fn batches_too_large_to_run_together_are_run_in_parts() {
    let graph = Net::new(Shape::image(4, 64, 64))
        .then(Op::Conv2d(Conv2d::new(40, 1).biased()))
        .then(Op::Conv2d(Conv2d::new(8, 1).strided(8)))
        .then(Op::GlobalAvgPool)
        .build();
    super::check(&graph, 131, 2).expect("as plain");
}

#[test]
fn an_input_that_nobody_reads_first_is_turned_once_for_all() {
    let mut net = Net::new(Shape::image(3, 12, 12));
    let conv = Op::Conv2d(Conv2d::new(3, 3).same());
    let a = net.add(conv, &[NodeId::INPUT]);
    let b = net.add(Op::Add, &[a, NodeId::INPUT]);
    net.add(Op::Concat, &[NodeId::INPUT, b]);
    super::check(&net.build(), 5, 2).expect("as plain");
}
