//! A network ready to answer one input.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use candle_core::{DType, Device, Tensor};
use divisi::compute::{CpuPredictor, Lowered, Predictor, footprint};
use divisi::device::{pin_current_thread, thread_pool};
use divisi::network::builders::{Builder, Published};
use divisi::network::{Graph, Shape, Weights};

use crate::ask::{Describe, Load};
use crate::encoder;

const CLASSES: usize = 1000;

/// A predictor with its input and the place of its answer.
pub struct Loaded {
    predictor: CpuPredictor,
    input: Tensor,
    output: Tensor,
    /// The core of the thread that runs it, where one thread does.
    pub core: Option<usize>,
    /// Weights, activations, input and answer as the ledger would book them, in bytes.
    pub planned: u64,
    /// The kernels it runs.
    pub variant: String,
}

impl Loaded {
    /// Reads the network and answers its input once.
    pub fn answering(load: &Load) -> Result<Self> {
        let mut loaded = Self::read(load)?;
        loaded.once()?;
        Ok(loaded)
    }

    fn read(load: &Load) -> Result<Self> {
        let graph = graph(load)?;
        let network = Arc::new(lowered(&graph, &load.weights)?);
        let rows = Tensor::read_npy(&load.input)?;
        let input = rows.flatten_from(1)?;
        let batch = input.dim(0)?;
        let plan = footprint(&graph, batch, load.cores.len());
        let output = Tensor::zeros((batch, network.outputs()), DType::F32, &Device::Cpu)?;
        Ok(Loaded {
            variant: network.family().to_string(),
            predictor: CpuPredictor::new(network, batch, thread_pool(&load.cores)?)?,
            input,
            output,
            core: match load.cores[..] {
                [core] => Some(core),
                _ => None,
            },
            planned: plan.weight_bytes + plan.activation_bytes,
        })
    }

    /// Answers the input.
    pub fn once(&mut self) -> Result<()> {
        let batch = self.input.dim(0)?;
        Ok(self.predictor.predict(batch, &self.input, &self.output)?)
    }

    /// Keeps the calling thread on the network's core, if it has one of its own.
    pub fn pin(&self) {
        if let Some(core) = self.core {
            pin_current_thread(&[core]);
        }
    }

    /// Writes the last answer as npy.
    pub fn write(&self, path: &Path) -> Result<()> {
        Ok(self.output.write_npy(path)?)
    }
}

/// Writes an encoder's graph and synthetic weights.
pub fn describe(wanted: &Describe) -> Result<()> {
    let name = &wanted.network;
    let graph = encoder(name)?.with_context(|| format!("no encoder is called `{name}`"))?;
    std::fs::write(&wanted.graph, serde_json::to_string(&graph)?)?;
    Ok(Weights::synthetic(&graph, wanted.seed).write(&graph, &wanted.weights)?)
}

/// Returns the encoder of this name, or `None` if it is no encoder's.
fn encoder(name: &str) -> Result<Option<Graph>> {
    let tokens = name.strip_prefix("encoder-").and_then(|n| n.parse().ok());
    tokens.map(encoder::graph).transpose()
}

fn graph(load: &Load) -> Result<Graph> {
    if let Some(encoder) = encoder(&load.network)? {
        return Ok(encoder);
    }
    let network = Published::named(&load.network)
        .with_context(|| format!("no published network is called `{}`", load.network))?;
    let sample = Shape::try_from(load.shape.clone())?;
    Ok(Builder::Published(network).build(sample, CLASSES)?)
}

fn lowered(graph: &Graph, weights: &Path) -> Result<Lowered> {
    let file = || weights.display().to_string();
    let weights = Weights::open(weights, graph).with_context(file)?;
    let lowered = Lowered::new(graph, &weights)?;
    weights.check().with_context(file)?;
    Ok(lowered)
}
