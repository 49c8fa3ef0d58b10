//! The arguments of the subcommands: a network, its weights, and its hardware, which is cores of
//! this machine or one of its GPUs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use divisi_engine::serving::GpuRunner;
use divisi_model::ensemble::{MemberPrecision, PrecisionRemark};
use divisi_runtime::compute::gpu::{Precision, lower};
use divisi_runtime::compute::{
    ComputeError, CpuKernels, CpuPredictor, Family, Footprint, FootprintModel, Lowered, Predictor,
    VaryingNetwork, VaryingPredictor, host_rows, read_rows, write_rows,
};
use divisi_runtime::device::gpu::{Gpu, open};
use divisi_runtime::device::{DeviceIndex, Devices, Host, pin_current_thread, thread_team};
use divisi_runtime::network::builders::{Builder, Published};
use divisi_runtime::network::file::LayersFile;
use divisi_runtime::network::{Graph, NetworkByLength, Shape, Weights};
use divisi_runtime::onnx::{OnnxError, OnnxModel, OnnxNetwork};
use divisi_runtime::{reading, words};
use serde::Serialize;

use crate::cli::args::{at_least_one, parse_precision, parse_shape};

/// The network and its sample shape.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Network")]
pub(crate) struct NetworkChoice {
    /// Published network (`divisi network list`), .toml file of layers, or .onnx file
    #[arg(value_name = "NAME", help_heading = None)]
    name: String,
    /// Sample shape: channels,height,width or features (default: the network's own; 3,224,224 for a
    /// .toml file)
    #[arg(long, value_name = "SHAPE", value_parser = parse_shape)]
    shape: Option<Shape>,
    /// Number of classes of a published network
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = at_least_one)]
    classes: usize,
}

/// The origin of a network's weights.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Network")]
pub(crate) struct WeightsChoice {
    /// safetensors file with torchvision's (else timm's) names (default: synthetic weights)
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Seed of synthetic weights
    #[arg(
        long,
        default_value_t = 0,
        value_name = "S",
        conflicts_with = "weights"
    )]
    seed: u64,
}

/// The remark in reports on untrained weights.
pub(crate) const SYNTHETIC: &str = "synthetic weights";

/// A network and its name in reports.
pub(crate) struct ChosenNetwork {
    pub name: String,
    pub graph: Graph,
    /// The weights in the network's own file.
    own: Option<Arc<Weights>>,
    /// The source of its networks for other lengths, if lengths vary.
    by_length: Option<Arc<dyn NetworkByLength>>,
}

impl ChosenNetwork {
    /// Builds the network.
    pub(crate) fn new(choice: &NetworkChoice) -> Result<Self> {
        let named = |name: &str, graph: Graph| ChosenNetwork {
            name: name.to_owned(),
            graph,
            own: None,
            by_length: None,
        };
        let (name, path) = (choice.name.as_str(), Path::new(&choice.name));
        if name.ends_with(".toml") {
            let shape = choice.shape.unwrap_or(Shape::image(3, 224, 224));
            return Ok(named(name, layers(path, shape)?));
        }
        if name.ends_with(".onnx") {
            let opened = onnx(path, choice.shape).with_context(|| name.to_owned());
            let (network, by_length) = opened?;
            return Ok(ChosenNetwork {
                own: Some(Arc::new(network.weights)),
                by_length,
                ..named(name, network.graph)
            });
        }
        let network = Published::from_name(name).ok_or_else(|| unknown(name))?;
        let shape = choice.shape.unwrap_or(network.input());
        let graph = Builder::Published(network).build(shape, choice.classes);
        let graph = graph.with_context(|| format!("{} for samples of {shape}", network.name()))?;
        Ok(named(network.name(), graph))
    }

    /// Returns whether the network's own file holds its weights.
    pub(crate) fn has_weights(&self) -> bool {
        self.own.is_some()
    }

    /// Reads its weights from the file, or generates them from the seed. Weights of the network's
    /// own file are returned once.
    pub(crate) fn weights(&mut self, choice: &WeightsChoice) -> Result<Arc<Weights>> {
        let path = match (&choice.weights, self.own.take()) {
            (Some(_), Some(_)) => bail!("--weights: {} holds its own weights", self.name),
            (None, Some(own)) => return Ok(own),
            (None, None) => {
                return Ok(Arc::new(Weights::synthetic(&self.graph, choice.seed)));
            }
            (Some(path), None) => path,
        };
        let weights = Weights::open(path, &self.graph).map(Arc::new);
        weights.with_context(|| format!("{}, weights of {}", path.display(), self.name))
    }
}

/// The networks for lengths below the maximum, if lengths vary.
type ByLength = Option<Arc<dyn NetworkByLength>>;

/// Opens an ONNX file. An open length varies unless a shape fixes it.
fn onnx(path: &Path, shape: Option<Shape>) -> Result<(OnnxNetwork, ByLength), OnnxError> {
    let model = OnnxModel::open(path)?;
    match (model.open_lengths(), shape) {
        (Some(open), None) => {
            let lengths = model.usual_lengths(&open, None)?;
            let (network, model) = model.varying(&open, lengths)?;
            Ok((network, Some(model)))
        }
        (open, shape) => Ok((model.shaped(open.as_ref(), shape)?, None)),
    }
}

fn unknown(name: &str) -> anyhow::Error {
    anyhow!(
        "no published network `{name}`: expected a name from `divisi network list`, a .toml file of \
         layers, or an .onnx file"
    )
}

/// Reads a file of layers for samples of `shape`.
pub(in crate::cli) fn layers(path: &Path, shape: Shape) -> Result<Graph> {
    let file = path.display();
    let text = reading::text(path).with_context(|| format!("reading {file}"))?;
    let wrong = |offset: usize, why: String| {
        let line = 1 + text[..offset].matches('\n').count();
        anyhow!("{file}, line {line}: {why}")
    };
    let parsed: LayersFile = toml::from_str(&text).map_err(|e| {
        let offset = e.span().map_or(0, |span| span.start);
        wrong(offset, words::plain(e.message()))
    })?;
    let built = parsed.build(shape);
    built.map_err(|e| wrong(e.offset, e.error.to_string()))
}

/// The cores and kernels, or the GPU, of a network.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Hardware")]
pub(crate) struct PlaceChoice {
    /// Number of threads, pinned to the first usable cores (default: all)
    #[arg(long, value_name = "T", value_parser = at_least_one)]
    threads: Option<usize>,
    /// CPU kernels: avx512, avx2-vnni, avx2, neon-dot, neon or plain (default: the fastest)
    #[arg(long, value_name = "NAME", hide = true, value_parser = parse_family)]
    kernels: Option<Family>,
    /// GPU to run on, such as cuda:0 (default: CPU cores)
    #[arg(long, value_name = "NAME", conflicts_with_all = ["threads", "kernels"])]
    device: Option<String>,
    /// Precision: f32, bf16 or int8 on cores; f32, tf32, bf16 or f16 on GPUs; auto: native
    /// (default: f32)
    #[arg(long, value_name = "NAME", value_parser = parse_precision())]
    precision: Option<MemberPrecision>,
}

/// Maps the rows of at most a batch of samples to rows of logits.
pub(crate) type NetworkRunner = Box<dyn FnMut(&[f32]) -> Result<Vec<f32>>>;

/// The hardware of a network.
pub(crate) enum NetworkPlace {
    /// The first usable cores, and their kernels.
    Cores(Vec<usize>, CpuKernels, Option<PrecisionRemark>),
    Gpu {
        name: String,
        gpu: Arc<dyn Gpu>,
        precision: Precision,
        /// The remark if the precision is not the requested one.
        remark: Option<PrecisionRemark>,
    },
}

/// The hardware of a network in a report.
#[derive(Serialize)]
pub(crate) struct PlaceReport {
    /// The number of threads that share a batch.
    pub threads: usize,
    pub device: String,
    /// A family of the processor's kernels with its precision, or the GPU's precision.
    pub kernels: String,
}

impl NetworkPlace {
    /// Chooses the requested number of cores, from the first, or the named GPU.
    pub(crate) fn new(choice: &PlaceChoice) -> Result<Self> {
        match &choice.device {
            Some(name) => gpu(name, choice),
            None => cores(choice),
        }
    }

    /// Returns the hardware for reports.
    pub(crate) fn report(&self) -> PlaceReport {
        match self {
            NetworkPlace::Cores(cores, kernels, _) => PlaceReport {
                threads: cores.len(),
                device: "cpu".to_owned(),
                kernels: kernels.to_string(),
            },
            NetworkPlace::Gpu {
                name, precision, ..
            } => PlaceReport {
                threads: 1,
                device: name.clone(),
                kernels: format!("cuda {precision}"),
            },
        }
    }

    /// Returns the remark on a precision that is not multiplied natively.
    pub(crate) fn remark(&self) -> Option<String> {
        let (NetworkPlace::Cores(.., remark) | NetworkPlace::Gpu { remark, .. }) = self;
        remark.map(|remark| remark.to_string())
    }

    /// Returns the planned memory for batches of up to `batch` samples.
    pub(crate) fn footprint(&self, graph: &Graph, batch: usize) -> Footprint {
        match self {
            NetworkPlace::Cores(cores, kernels, _) => {
                FootprintModel::of_kernels(graph, *kernels).at(batch, cores.len())
            }
            NetworkPlace::Gpu { precision, .. } => {
                FootprintModel::of_gpu(graph, *precision).at(batch, 1)
            }
        }
    }

    /// Lowers the network and returns a runner for batches of up to `batch` samples.
    pub(crate) fn runner(
        &self,
        chosen: &ChosenNetwork,
        weights: &Arc<Weights>,
        batch: usize,
    ) -> Result<NetworkRunner> {
        weights.check()?;
        let graph = &chosen.graph;
        let (inputs, outputs) = (graph.input().elements(), graph.output().elements());
        let made = match self {
            NetworkPlace::Cores(cores, kernels, _) => {
                let lowered = lowered(chosen, weights, *kernels);
                lowered.map(|network| on_cores(cores, network, inputs, outputs, batch))
            }
            NetworkPlace::Gpu { gpu, precision, .. } => {
                let program = lower(gpu, graph, weights, *precision);
                program.and_then(|program| {
                    let runner = GpuRunner::new(gpu, program.as_ref(), batch, inputs, outputs)?;
                    Ok(Ok(on_gpu(runner, inputs, outputs)))
                })
            }
        };
        // A file written to meanwhile gave a mixture of old and new weights.
        weights.check()?;
        weights.release();
        made?
    }
}

fn cores(choice: &PlaceChoice) -> Result<NetworkPlace> {
    let mut cores = Host::discover().cores;
    let threads = choice.threads.unwrap_or(cores.len());
    if threads > cores.len() {
        let most = cores.len();
        bail!("--threads: expected 1 to {most}, the cores this process may use, found {threads}");
    }
    cores.truncate(threads);
    if let Some(family) = choice.kernels
        && !Family::force(family)
    {
        bail!("--kernels: this processor cannot run the kernels `{family}`");
    }
    let precision = choice.precision.unwrap_or_default();
    let remark = PrecisionRemark::on_cores(precision);
    Ok(NetworkPlace::Cores(cores, precision.kernels(), remark))
}

fn gpu(name: &str, choice: &PlaceChoice) -> Result<NetworkPlace> {
    let devices = Devices::from_names(&[name.to_owned()], &Host::discover())?;
    let gpus: Vec<_> = devices.iter().filter_map(|d| d.kind.gpu()).collect();
    let ([info], 1) = (gpus.as_slice(), devices.count()) else {
        bail!("--device: expected one GPU such as cuda:0, found `{name}`");
    };
    let asked = choice.precision.unwrap_or_default();
    Ok(NetworkPlace::Gpu {
        name: devices.get(DeviceIndex::new(0)).name.clone(),
        gpu: open(info.index)?,
        precision: asked.on_gpu(info, Precision::default()),
        remark: PrecisionRemark::on_gpus(asked, Precision::default()),
    })
}

/// A network lowered for cores, with one length or several.
enum CoreNetwork {
    One(Arc<Lowered>),
    Varying(Arc<VaryingNetwork>),
}

/// Lowers a network for cores: for one length, or for all lengths of its samples.
fn lowered(
    chosen: &ChosenNetwork,
    weights: &Arc<Weights>,
    kernels: CpuKernels,
) -> Result<CoreNetwork, ComputeError> {
    let graph = &chosen.graph;
    let Some(by_length) = &chosen.by_length else {
        let lowered = Lowered::with(graph, weights, kernels)?;
        return Ok(CoreNetwork::One(Arc::new(lowered)));
    };
    let lower = |graph: &Graph| {
        let (held, by_length) = (Arc::clone(weights), Arc::clone(by_length));
        VaryingNetwork::new(graph, held, by_length, false, kernels)
    };
    let lowered = match lower(graph) {
        Err(ComputeError::Padding { .. }) => lower(&graph.unpadded()),
        lowered => lowered,
    };
    Ok(CoreNetwork::Varying(Arc::new(lowered?)))
}

/// A single core is used by the caller's thread, which is pinned to it.
fn on_cores(
    cores: &[usize],
    network: CoreNetwork,
    inputs: usize,
    outputs: usize,
    batch: usize,
) -> Result<NetworkRunner> {
    let input = host_rows(batch, inputs)?;
    let output = host_rows(batch, outputs)?;
    let team = thread_team(cores, None)?;
    if team.is_none() {
        pin_current_thread(cores);
    }
    let mut predictor: Box<dyn Predictor> = match network {
        CoreNetwork::One(one) => Box::new(CpuPredictor::new(one, batch, team)?),
        CoreNetwork::Varying(all) => Box::new(VaryingPredictor::new(all, batch, team)?),
    };
    Ok(Box::new(move |samples| {
        let rows = samples.len() / inputs;
        write_rows(&input, |to| to[..samples.len()].copy_from_slice(samples))?;
        predictor.predict(rows, &input, &output)?;
        Ok(read_rows(&output, |all| all[..rows * outputs].to_vec())?)
    }))
}

/// A run includes the copies to and from the GPU.
fn on_gpu(mut runner: GpuRunner, inputs: usize, outputs: usize) -> NetworkRunner {
    Box::new(move |samples| {
        let rows = samples.len() / inputs;
        runner.samples()[..samples.len()].copy_from_slice(samples);
        runner.run(rows)?;
        Ok(runner.answers(rows)[..rows * outputs].to_vec())
    })
}

/// Parses a family of kernels that this processor can run.
fn parse_family(text: &str) -> Result<Family, String> {
    let known = Family::ALL.map(|(_, name)| name).join(", ");
    match Family::from_name(text) {
        Some(family) if family.is_available() => Ok(family),
        Some(_) => Err(format!("this processor cannot run the kernels `{text}`")),
        None => Err(format!("expected one of {known}, found `{text}`")),
    }
}
