//! Published networks answer as PyTorch's do, with the same weights and samples.
//!
//! `tests/pytorch/logits.py` made the answers, in float64.

use std::fs;
use std::sync::Arc;

use crate::place::root;
use candle_core::{Device, Tensor};
use divisi_runtime::compute::{Lowered, NetworkOp};
use divisi_runtime::network::builders::{Builder, Published};
use divisi_runtime::network::{Filling, Graph, Shape, Weights, fillings};
use serde::Deserialize;

/// One network's answers.
#[derive(Deserialize)]
struct Answers {
    network: String,
    model: String,
    input: Shape,
    samples: Vec<Row>,
}

/// One sample's thousand logits.
#[derive(Deserialize)]
struct Row {
    first: Vec<f64>,
    largest: f64,
    sum: f64,
    norm: f64,
}

/// As a share of the largest logit, or of the norm.
const TOLERANCE: f64 = 1e-4;

/// Where the counter of the samples begins.
const INPUT_KEY: u64 = 1;

fn answers() -> Vec<Answers> {
    let path = root().join("tests/pytorch/logits.json");
    let text = fs::read_to_string(path).expect("logits.json");
    serde_json::from_str(&text).expect("answers")
}

/// Synthetic weights; what is constant is made to differ by channel, so that no norm is
/// the identity.
fn weights(graph: &Graph) -> Weights {
    let made = fillings(graph, 0).into_iter().map(|(parameter, filling)| {
        let mut values = filling.values(parameter.elements());
        if let Filling::Constant(_) = filling {
            let variance = parameter.name.ends_with("running_var");
            let shift = if variance { 0.5 } else { 0.1 };
            for (i, value) in values.iter_mut().enumerate() {
                *value += shift * (i % 5) as f32 / 5.0;
            }
        }
        (parameter.name, values)
    });
    Weights::from_values(made.collect(), graph).expect("the graph's own")
}

fn logits(network: Published, input: Shape, samples: usize) -> Vec<f32> {
    let graph = Builder::Published(network).build(input, 1000);
    let graph = graph.expect("builds");
    let drawn = Filling::Uniform {
        key: INPUT_KEY,
        bound: 1.0,
    };
    let values = drawn.values(samples * input.elements());
    let x = Tensor::from_vec(values, (samples, input.elements()), &Device::Cpu).expect("x");
    let lowered = Lowered::new(&graph, &weights(&graph)).expect("lowers");
    let op = NetworkOp::new(Arc::new(lowered), samples, None).expect("op");
    let y = x.apply_op1_no_bwd(&op).expect("runs");
    y.flatten_all().and_then(|y| y.to_vec1()).expect("logits")
}

fn compare(answers: &Answers) {
    let network = Published::from_name(&answers.network).expect("published");
    let ours = logits(network, answers.input, answers.samples.len());
    for (sample, (row, theirs)) in ours.chunks(1000).zip(&answers.samples).enumerate() {
        let row: Vec<f64> = row.iter().map(|v| f64::from(*v)).collect();
        let context = format!(
            "{} {}, {}, sample {sample}",
            answers.network, answers.input, answers.model
        );
        let close = |what: &str, ours: f64, theirs: f64, scale: f64| {
            let difference = (ours - theirs).abs() / scale;
            // A NaN is not close.
            let is_close = difference < TOLERANCE;
            assert!(is_close, "{context}: {what} {ours}, expected {theirs}");
        };
        for (i, (ours, expected)) in row.iter().zip(&theirs.first).enumerate() {
            close(&format!("logit {i}"), *ours, *expected, theirs.largest);
        }
        let largest = row.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        close("largest", largest, theirs.largest, theirs.largest);
        close("sum", row.iter().sum(), theirs.sum, theirs.norm);
        let norm = row.iter().map(|v| v * v).sum::<f64>().sqrt();
        close("norm", norm, theirs.norm, theirs.norm);
    }
}

/// Each family, and the first part of its networks' names. Of the larger ones of a family only
/// the tensors are compared, in `networks.rs`.
const FAMILIES: [&str; 24] = [
    "alexnet",
    "convnext",
    "deit",
    "densenet",
    "efficientnet-b",
    "efficientnet-v2",
    "googlenet",
    "inception-resnet",
    "inception-v3",
    "inception-v4",
    "mnasnet",
    "mobilenet-v1",
    "mobilenet-v2",
    "mobilenet-v3",
    "regnet-x",
    "regnet-y",
    "resnet",
    "resnext",
    "shufflenet",
    "squeezenet",
    "swin",
    "vgg",
    "vit-b-",
    "xception",
];

#[test]
fn published_networks_of_every_family_answer_as_pytorch() {
    let all = answers();
    for family in FAMILIES {
        let compared = all.iter().any(|a| a.network.starts_with(family));
        assert!(compared, "{family} is not compared");
    }
    all.iter().for_each(compare);
}
