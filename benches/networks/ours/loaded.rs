//! A network ready to answer one input.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use candle_core::{DType, Device, Tensor};
use divisi_runtime::compute::{
    CpuKernels, CpuPredictor, Family, FootprintModel, Lowered, Predictor,
};
use divisi_runtime::device::{pin_current_thread, thread_team};
use divisi_runtime::network::builders::{Builder, Published};
use divisi_runtime::network::{Graph, Shape, Weights};
use divisi_runtime::onnx::OnnxModel;

use crate::ask::{Describe, Load, Source};
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
        let kernels = CpuKernels {
            family: Family::best(),
            precision: load.precision.parse()?,
        };
        let (graph, network) = lowered(load, kernels)?;
        let input = rows(&load.input)?;
        let batch = input.dim(0)?;
        let plan = FootprintModel::of_kernels(&graph, kernels).at(batch, load.cores.len());
        let output = Tensor::zeros((batch, network.outputs()), DType::F32, &Device::Cpu)?;
        Ok(Loaded {
            variant: kernels.to_string(),
            predictor: CpuPredictor::new(
                Arc::new(network),
                batch,
                thread_team(&load.cores, None)?,
            )?,
            input,
            output,
            core: match load.cores[..] {
                [core] => Some(core),
                _ => None,
            },
            planned: plan.weight_bytes + plan.activation_bytes,
        })
    }

    /// Replaces the input by another of as many samples.
    pub fn take(&mut self, input: &Path) -> Result<()> {
        let (taken, expected) = (rows(input)?, self.input.dims());
        if taken.dims() != expected {
            bail!(
                "{}: expected {expected:?}, found {:?}",
                input.display(),
                taken.dims()
            );
        }
        self.input = taken;
        Ok(())
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
    let network = Published::from_name(&load.network)
        .with_context(|| format!("no published network is called `{}`", load.network))?;
    let sample = Shape::try_from(load.shape.clone())?;
    Ok(Builder::Published(network).build(sample, CLASSES)?)
}

/// Returns the samples of a file, one a row.
fn rows(path: &Path) -> Result<Tensor> {
    Ok(Tensor::read_npy(path)?.flatten_from(1)?)
}

/// Returns the network as it is described, and ready to run.
fn lowered(load: &Load, kernels: CpuKernels) -> Result<(Graph, Lowered)> {
    let (graph, weights, file) = match load.source {
        Source::Builder => {
            let graph = graph(load)?;
            let weights = Weights::open(&load.weights, &graph);
            let weights = weights.with_context(|| load.weights.display().to_string())?;
            (graph, weights, &load.weights)
        }
        Source::File => {
            let network = OnnxModel::open(&load.model).and_then(|model| model.network(None));
            let network = network.with_context(|| load.model.display().to_string())?;
            (network.graph, network.weights, &load.model)
        }
    };
    let lowered = Lowered::with(&graph, &weights, kernels)?;
    weights
        .check()
        .with_context(|| file.display().to_string())?;
    Ok((graph, lowered))
}
