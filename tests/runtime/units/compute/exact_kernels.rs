//! Tests of the kernels that layers of bytes take: the fastest that are exact for their weights.
#![allow(clippy::expect_used, reason = "tests fail by it")]

use super::family::Family;
use super::kernels::StepMethod;
use super::lowered::Lowered;
use crate::network::{Activation, Conv2d, Graph, GraphBuilder, Op, Shape, Weights};

const CHANNELS: usize = 32;

/// A layer over bytes of 8 bits.
fn graph() -> Graph {
    let mut net = GraphBuilder::new(Shape::image(CHANNELS, 2, 2));
    let bytes = Op::Activation(Activation::FakeQuantise {
        scale: 1.0,
        least: -128.0,
        most: 127.0,
    });
    let layer = Op::Conv2d(Conv2d::new(CHANNELS, 1));
    for (name, op) in [("bytes", bytes), ("layer", layer), ("row", Op::Flatten)] {
        let last = net.last();
        net.add(name.to_owned(), op, &[last]).expect("fits");
    }
    net.build().expect("graph")
}

/// Returns the kernel that multiplies weights with only AVX2.
fn kernel(weights: &[f32]) -> String {
    let graph = graph();
    let each = [("layer.weight".to_owned(), weights.to_vec())];
    let weights = Weights::from_values(each.into_iter().collect(), &graph).expect("weights");
    let graph = graph.with_steps_of(&weights);
    let lowered = Lowered::with(&graph, &weights, Family::Avx2).expect("lowers");
    let mut kernels = lowered
        .folded()
        .filter_map(|(step, folded)| match &step.method {
            StepMethod::Reduced(product) => Some(product.kernel().of_pairs(folded.pairs_fit)),
            _ => None,
        });
    format!("{:?}", kernels.next().expect("a product of bytes"))
}

/// Returns weights with a 1 in each channel, so that bytes are the weights themselves, and a pair.
fn with_pair(pair: [f32; 2]) -> Vec<f32> {
    let row: Vec<f32> = [1.0, 0.0, 0.0, 0.0].into_iter().chain(pair).collect();
    let zeros = vec![0.0; CHANNELS - row.len()];
    [row, zeros].concat().repeat(CHANNELS)
}

#[test]
fn a_layer_takes_the_fastest_kernel_that_is_exact_for_its_weights() {
    if !Family::Avx2.is_available() {
        return;
    }
    for (pair, expected) in [
        ([64.0, 64.0], "Bytes(Avx2)"),
        ([-64.0, -64.0], "Bytes(Avx2)"),
        ([127.0, -127.0], "Bytes(Avx2)"),
        ([1.0, 127.0], "Bytes(Avx2)"),
        ([65.0, 64.0], "Bytes(Avx2Wide)"),
        ([-64.0, -65.0], "Bytes(Avx2Wide)"),
        ([127.0, 127.0], "Bytes(Avx2Wide)"),
    ] {
        assert_eq!(kernel(&with_pair(pair)), expected, "{pair:?}");
    }
    // A single pair: the last one of the last channel.
    let mut weights = with_pair([64.0, 64.0]);
    let last = weights.len() - 2;
    weights[last..].copy_from_slice(&[2.0, 127.0]);
    assert_eq!(kernel(&weights), "Bytes(Avx2Wide)");
}
