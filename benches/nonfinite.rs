//! The cost of values that are not finite, against ordinary ones.
//!
//! `cargo bench --bench nonfinite [-- NETWORK…]`: each network over a batch of 4 samples on
//! one thread, ordinary and special samples in turn; medians over the rounds.

#![allow(clippy::print_stdout, reason = "benchmarks print their figures")]

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use candle_core::{Device, Tensor};
use divisi_model::metrics::stats::{median, quantile};
use divisi_runtime::compute::{Lowered, NetworkOp, kernels_in_use};
use divisi_runtime::network::Weights;
use divisi_runtime::network::builders::{Builder, Published};

const SAMPLES: usize = 4;
const ROUNDS: usize = 9;
const NETWORKS: [&str; 6] = [
    "resnet18",
    "resnet50",
    "vgg16",
    "densenet121",
    "inception-v3",
    "mobilenet-v2",
];

/// The values put into ordinary samples: `(what, share of values, value)`.
const SPECIAL: [(&str, f64, f32); 5] = [
    ("one value of 1e37", 0.0, 1e37),
    ("one NaN", 0.0, f32::NAN),
    ("one sample of 1e37", 1.0 / SAMPLES as f64, 1e37),
    ("all 1e20", 1.0, 1e20),
    ("all 1e37", 1.0, 1e37),
];

fn main() -> Result<()> {
    let named: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    let names: Vec<&str> = match named.is_empty() {
        true => NETWORKS.to_vec(),
        false => named.iter().map(String::as_str).collect(),
    };
    println!("batch {SAMPLES}, one thread, {}", kernels_in_use());
    println!("time with special values over that with ordinary ones (quartiles), {ROUNDS} rounds");
    let mut worst = (0.0, String::new());
    for name in names {
        let bed = Bed::new(name)?;
        for (what, share, value) in SPECIAL {
            let ratio = bed.ratio(share, value)?;
            println!(
                "{name:<14} {what:<20} {:.2} ({:.2} to {:.2})",
                median(&ratio),
                quantile(&ratio, 0.25),
                quantile(&ratio, 0.75)
            );
            if median(&ratio) > worst.0 {
                worst = (median(&ratio), format!("{name}, {what}"));
            }
        }
    }
    println!("worst: {:.2} ({})", worst.0, worst.1);
    Ok(())
}

struct Bed {
    op: NetworkOp,
    ordinary: Vec<f32>,
}

impl Bed {
    fn new(name: &str) -> Result<Self> {
        let published = Published::from_name(name).context("no published network has this name")?;
        let graph = Builder::Published(published).build(published.input(), 1000)?;
        let weights = Weights::synthetic(&graph, 1);
        let op = NetworkOp::new(Arc::new(Lowered::new(&graph, &weights)?), SAMPLES, None)?;
        let count = SAMPLES * graph.input().elements();
        let ordinary = (0..count).map(|i| (i * 7919 % 1009) as f32 / 504.5 - 1.0);
        Ok(Bed {
            op,
            ordinary: ordinary.collect(),
        })
    }

    /// Of each round, the special samples' time over the ordinary ones'.
    fn ratio(&self, share: f64, value: f32) -> Result<Vec<f64>> {
        let mut special = self.ordinary.clone();
        let most = ((special.len() as f64 * share) as usize).max(1);
        special[..most].fill(value);
        let mut ratios = Vec::new();
        for round in 0..=ROUNDS {
            let ordinary = self.time(&self.ordinary)?;
            let ratio = self.time(&special)? / ordinary;
            if round > 0 {
                ratios.push(ratio);
            }
        }
        Ok(ratios)
    }

    fn time(&self, values: &[f32]) -> Result<f64> {
        let columns = values.len() / SAMPLES;
        let x = Tensor::from_slice(values, (SAMPLES, columns), &Device::Cpu)?;
        let start = Instant::now();
        x.apply_op1_no_bwd(&self.op)?;
        Ok(start.elapsed().as_secs_f64())
    }
}
