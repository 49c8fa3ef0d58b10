//! From what was said on the command line to a graph, weights, cores and kernels.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use divisi::compute::{CpuPredictor, Family, Lowered, Predictor, host_rows, read_rows, write_rows};
use divisi::device::{Host, pin_current_thread, thread_pool};
use divisi::network::builders::{Builder, Published};
use divisi::network::file::LayersFile;
use divisi::network::{Graph, Shape, Weights};

use crate::cli::args::{NetworkChoice, PlaceChoice, WeightsChoice};

/// A network with the name that reports give it.
pub struct Chosen {
    pub name: String,
    pub graph: Graph,
}

impl Chosen {
    /// Builds the network.
    pub fn new(choice: &NetworkChoice) -> Result<Self> {
        if choice.name.ends_with(".toml") {
            let shape = choice.shape.unwrap_or(Shape::image(3, 224, 224));
            return Ok(Chosen {
                name: choice.name.clone(),
                graph: layers(Path::new(&choice.name), shape)?,
            });
        }
        let network = Published::named(&choice.name).ok_or_else(|| unknown(&choice.name))?;
        let shape = choice.shape.unwrap_or(network.input());
        let graph = Builder::Published(network).build(shape, choice.classes);
        Ok(Chosen {
            name: network.name().to_owned(),
            graph: graph.with_context(|| format!("{} for samples of {shape}", network.name()))?,
        })
    }

    /// Reads or makes up its weights.
    pub fn weights(&self, choice: &WeightsChoice) -> Result<Weights> {
        let Some(path) = &choice.weights else {
            return Ok(Weights::synthetic(&self.graph, choice.seed));
        };
        let weights = Weights::open(path, &self.graph);
        weights.with_context(|| format!("{}, weights of {}", path.display(), self.name))
    }
}

fn unknown(name: &str) -> anyhow::Error {
    let known = Published::ALL.map(|(_, name)| name).join(", ");
    anyhow!("no published network is called `{name}`: expected a .toml file of layers, or {known}")
}

fn layers(path: &Path, shape: Shape) -> Result<Graph> {
    let file = path.display();
    let text = fs::read_to_string(path).with_context(|| format!("reading {file}"))?;
    let parsed: LayersFile = toml::from_str(&text).with_context(|| file.to_string())?;
    parsed.build(shape).map_err(|wrong| {
        let line = 1 + text[..wrong.offset].matches('\n').count();
        anyhow!("{file}, line {line}: {}", wrong.error)
    })
}

/// The cores and kernels that a network is to run on.
pub struct Place {
    cores: Vec<usize>,
    pub family: Family,
}

impl Place {
    /// The first cores this process may use, as many as are asked for.
    pub fn new(choice: &PlaceChoice) -> Result<Self> {
        let mut cores = Host::discover().cores;
        let threads = choice.threads.unwrap_or(cores.len());
        if threads > cores.len() {
            let most = cores.len();
            bail!(
                "--threads: expected 1 to {most}, the cores this process may use, found {threads}"
            );
        }
        cores.truncate(threads);
        if let Some(family) = choice.kernels
            && !Family::force(family)
        {
            bail!("--kernels: this processor cannot run the kernels `{family}`");
        }
        Ok(Place {
            cores,
            family: Family::best(),
        })
    }

    /// Threads a batch is split over.
    pub fn threads(&self) -> usize {
        self.cores.len()
    }

    /// Lowers the network for the chosen kernels.
    pub fn lower(&self, graph: &Graph, weights: &Weights) -> Result<Arc<Lowered>> {
        weights.check()?;
        let lowered = Lowered::with(graph, weights, self.family);
        weights.check()?;
        weights.release();
        Ok(Arc::new(lowered?))
    }

    /// What answers batches of up to `batch` on these cores; one core is the caller's
    /// thread, which is pinned to it.
    pub fn predictor(&self, lowered: Arc<Lowered>, batch: usize) -> Result<CpuPredictor> {
        let pool = thread_pool(&self.cores)?;
        if pool.is_none() {
            pin_current_thread(&self.cores);
        }
        Ok(CpuPredictor::new(lowered, batch, pool)?)
    }
}

/// A function from rows of samples, at most `batch` of them, to rows of logits.
pub fn runner(
    place: &Place,
    lowered: Arc<Lowered>,
    batch: usize,
) -> Result<impl FnMut(&[f32]) -> Result<Vec<f32>>> {
    let (inputs, outputs) = (lowered.inputs(), lowered.outputs());
    let input = host_rows(batch, inputs)?;
    let output = host_rows(batch, outputs)?;
    let mut predictor = place.predictor(lowered, batch)?;
    Ok(move |samples: &[f32]| {
        let rows = samples.len() / inputs;
        write_rows(&input, |to| to[..samples.len()].copy_from_slice(samples))?;
        predictor.predict(rows, &input, &output)?;
        Ok(read_rows(&output, |all| all[..rows * outputs].to_vec())?)
    })
}
