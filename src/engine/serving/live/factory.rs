//! The sources of predictors: lowered networks, or fakes.

use std::any::Any;
use std::io;
use std::sync::{Arc, Weak};

use thiserror::Error;

use divisi_model::ensemble::{
    BatchSize, ComputedMember, Ensemble, Member, MemberPrecision, OutputKind,
};
use divisi_runtime::compute::gpu::{Precision, Program, lower};
use divisi_runtime::compute::{
    ComputeError, CpuKernels, CpuPrecision, CpuPredictor, FakePredictor, Lowered, Predictor,
    VaryingNetwork, VaryingPredictor, check_padding,
};
use divisi_runtime::device::gpu::{self, Gpu, GpuInfo};
use divisi_runtime::device::{MemberIndex, ThreadTeam};
use divisi_runtime::lock::Ranked;
use divisi_runtime::network::{Graph, GraphError, Weights, WeightsError};

use super::locks::NetworksRank;
use super::promise::Panicked;

/// The reason why a worker could not be built.
#[derive(Debug, Error)]
pub enum BuildError {
    /// The device or its library failed.
    #[error(transparent)]
    Compute(#[from] ComputeError),
    /// The network is not a valid graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The weights cannot be read, or changed during the read.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// The build panicked.
    #[error(transparent)]
    Panicked(#[from] Panicked),
    /// The device is lost.
    #[error("the GPU is gone")]
    Gone,
    /// No thread could be started.
    #[error("a thread could not be started: {0}")]
    Thread(io::Error),
    /// The thread ended before the worker was ready.
    #[error("its thread ended")]
    ThreadEnded,
    /// The factory has no programs for GPUs.
    #[error("there is no program for member {member} on {gpu}")]
    NoProgram {
        /// The member's number.
        member: MemberIndex,
        /// The GPU's name.
        gpu: String,
    },
    /// An error of another factory; holds the reason.
    #[error("{0}")]
    Other(String),
}

/// Builds the predictor of one worker. Predictors return rows in the form of the combination rules.
pub trait PredictorFactory: Send + Sync {
    /// Builds a predictor of a member for batches of up to `size`. `team` has the device's threads
    /// if it has several.
    ///
    /// # Errors
    /// The device cannot hold it.
    fn build(
        &self,
        network: ComputedMember,
        size: BatchSize,
        team: Option<Arc<ThreadTeam>>,
    ) -> Result<Box<dyn Predictor>, BuildError>;

    /// Returns the host memory shared by the workers of a network, or `None`. It stays while the
    /// returned value is held.
    fn hold(&self, network: ComputedMember) -> Option<Arc<dyn Any + Send + Sync>> {
        let _ = network;
        None
    }

    /// Opens a GPU.
    ///
    /// # Errors
    /// The GPU cannot be used.
    fn gpu(&self, info: &GpuInfo) -> Result<Arc<dyn Gpu>, BuildError> {
        Ok(gpu::open(info.index).map_err(ComputeError::Gpu)?)
    }

    /// Returns the network of a member on a GPU, with its weights. All holders share it.
    ///
    /// # Errors
    /// The GPU cannot hold it.
    fn program(
        &self,
        network: ComputedMember,
        gpu: &Arc<dyn Gpu>,
    ) -> Result<Arc<dyn Program>, BuildError> {
        Err(BuildError::NoProgram {
            member: network.member,
            gpu: gpu.info().name.clone(),
        })
    }
}

/// The ensemble's own networks. A member is lowered once per precision, at its first worker. All
/// workers share it in host memory and on each GPU until the last one leaves.
pub struct NetworkFactory {
    ensemble: Arc<Ensemble>,
    lowered: Ranked<NetworksRank, Vec<LoweredMember>>,
    programs: Programs,
}

/// The networks of one member that may still be held, by precision.
type LoweredMember = Vec<(CpuPrecision, WeakNetwork)>;

impl NetworkFactory {
    /// Creates a factory for the members of `ensemble`.
    pub fn new(ensemble: Arc<Ensemble>) -> Self {
        NetworkFactory {
            lowered: Ranked::new(ensemble.members.iter().map(|_| Vec::new()).collect()),
            ensemble,
            programs: Programs::default(),
        }
    }

    /// Creates a factory for the members of `ensemble`. Shares networks with equal weights that
    /// `before` has already lowered.
    pub fn sharing_with(before: &NetworkFactory, ensemble: Arc<Ensemble>) -> Self {
        let known: Vec<LoweredMember> = {
            let lowered = before.lowered.lock();
            let same = |member: &Arc<Member>| {
                let others = before.ensemble.members.iter().zip(&lowered[..]);
                let same = others.filter(|(other, _)| other.has_weights_of(member));
                same.flat_map(|(_, known)| known.clone()).collect()
            };
            ensemble.members.iter().map(same).collect()
        };
        NetworkFactory {
            lowered: Ranked::new(known),
            ensemble,
            programs: Programs::default(),
        }
    }

    fn lowered(&self, network: ComputedMember) -> Result<LoweredNetwork, BuildError> {
        let ComputedMember { member, precision } = network;
        let mut all = self.lowered.lock();
        if let Some(lowered) = held(&all[member], precision) {
            return Ok(lowered);
        }
        let lowered = LoweredNetwork::new(&self.ensemble.members[member], precision.kernels())?;
        all[member].retain(|(_, known)| known.upgrade().is_some());
        all[member].push((precision.cores, lowered.downgrade()));
        Ok(lowered)
    }
}

/// Returns the network of a member in this precision, or `None` if no worker holds it.
fn held(known: &LoweredMember, precision: MemberPrecision) -> Option<LoweredNetwork> {
    let mut same = known.iter().filter(|(cores, _)| *cores == precision.cores);
    same.find_map(|(_, known)| known.upgrade())
}

impl PredictorFactory for NetworkFactory {
    fn build(
        &self,
        network: ComputedMember,
        size: BatchSize,
        team: Option<Arc<ThreadTeam>>,
    ) -> Result<Box<dyn Predictor>, BuildError> {
        Ok(match self.lowered(network)? {
            LoweredNetwork::One(lowered) => Box::new(CpuPredictor::new(lowered, size.get(), team)?),
            LoweredNetwork::Varying(lowered) => {
                Box::new(VaryingPredictor::new(lowered, size.get(), team)?)
            }
        })
    }

    fn hold(&self, network: ComputedMember) -> Option<Arc<dyn Any + Send + Sync>> {
        match held(&self.lowered.lock()[network.member], network.precision)? {
            LoweredNetwork::One(lowered) => Some(lowered),
            LoweredNetwork::Varying(lowered) => Some(lowered),
        }
    }

    fn program(
        &self,
        network: ComputedMember,
        gpu: &Arc<dyn Gpu>,
    ) -> Result<Arc<dyn Program>, BuildError> {
        let column = &self.ensemble.members[network.member];
        let of_all = self.ensemble.precision;
        let precision = network.precision.on_gpu(gpu.info(), of_all);
        let lower = || lower_for_gpu(column, precision, gpu);
        self.programs.get(network.member, precision, gpu, lower)
    }
}

/// The lowered network of a member: a single one, or one with varying lengths.
enum LoweredNetwork {
    One(Arc<Lowered>),
    Varying(Arc<VaryingNetwork>),
}

/// A weak reference to a lowered network.
#[derive(Clone)]
enum WeakNetwork {
    One(Weak<Lowered>),
    Varying(Weak<VaryingNetwork>),
}

impl LoweredNetwork {
    fn new(member: &Member, kernels: CpuKernels) -> Result<Self, BuildError> {
        let Some(by_length) = &member.by_length else {
            let lowered = lower_by(member, |graph, weights| {
                Lowered::with(graph, weights, member.lowered_by(kernels))
            })?;
            return Ok(LoweredNetwork::One(Arc::new(lowered)));
        };
        let (weights, by_length) = (Arc::clone(&member.weights), Arc::clone(by_length));
        let softmax = member.outputs == OutputKind::Logits;
        let lowered = VaryingNetwork::new(&member.graph, weights, by_length, softmax, kernels)?;
        Ok(LoweredNetwork::Varying(Arc::new(lowered)))
    }

    fn downgrade(&self) -> WeakNetwork {
        match self {
            LoweredNetwork::One(lowered) => WeakNetwork::One(Arc::downgrade(lowered)),
            LoweredNetwork::Varying(lowered) => WeakNetwork::Varying(Arc::downgrade(lowered)),
        }
    }
}

impl WeakNetwork {
    fn upgrade(&self) -> Option<LoweredNetwork> {
        Some(match self {
            WeakNetwork::One(lowered) => LoweredNetwork::One(lowered.upgrade()?),
            WeakNetwork::Varying(lowered) => LoweredNetwork::Varying(lowered.upgrade()?),
        })
    }
}

/// Predictors with a constant per member instead of networks.
pub struct FakeFactory {
    /// The numbers of an answer.
    pub classes: usize,
}

impl PredictorFactory for FakeFactory {
    fn build(
        &self,
        network: ComputedMember,
        _size: BatchSize,
        _team: Option<Arc<ThreadTeam>>,
    ) -> Result<Box<dyn Predictor>, BuildError> {
        Ok(Box::new(FakePredictor::new(network.member, self.classes)))
    }
}

/// Programs in use on GPUs.
#[derive(Default)]
pub struct Programs {
    known: Ranked<NetworksRank, Vec<Known>>,
}

struct Known {
    member: MemberIndex,
    precision: Precision,
    gpu: Weak<dyn Gpu>,
    program: Weak<dyn Program>,
}

impl Programs {
    /// Returns the program of `member` on `gpu` in this precision. Calls `lower` to create it if it
    /// is not in use.
    ///
    /// # Errors
    /// The program could not be created.
    pub fn get(
        &self,
        member: MemberIndex,
        precision: Precision,
        gpu: &Arc<dyn Gpu>,
        lower: impl FnOnce() -> Result<Arc<dyn Program>, BuildError>,
    ) -> Result<Arc<dyn Program>, BuildError> {
        let mut known = self.known.lock();
        known.retain(|k| k.program.strong_count() > 0);
        // A reopened GPU counts as another one.
        let same = |k: &&Known| (k.member, k.precision) == (member, precision) && is(&k.gpu, gpu);
        if let Some(program) = known.iter().find(same).and_then(|k| k.program.upgrade()) {
            return Ok(program);
        }
        let program = lower()?;
        known.push(Known {
            member,
            precision,
            gpu: Arc::downgrade(gpu),
            program: Arc::downgrade(&program),
        });
        Ok(program)
    }
}

fn is(known: &Weak<dyn Gpu>, gpu: &Arc<dyn Gpu>) -> bool {
    known
        .upgrade()
        .is_some_and(|known| Arc::ptr_eq(&known, gpu))
}

/// Lowers a member's network for a GPU.
///
/// # Errors
/// The GPU cannot hold it, its weights changed during the read, or this build does not support
/// GPUs.
fn lower_for_gpu(
    member: &Member,
    precision: Precision,
    gpu: &Arc<dyn Gpu>,
) -> Result<Arc<dyn Program>, BuildError> {
    if let Some(by_length) = member.by_length.as_deref() {
        check_padding(&member.graph, &member.weights, by_length)?;
    }
    lower_by(member, |graph, weights| {
        lower(gpu, graph, weights, precision)
    })
}

/// Lowers a member's network, with a softmax if it returns logits of classes.
fn lower_by<T>(
    member: &Member,
    lower: impl FnOnce(&Graph, &Weights) -> Result<T, ComputeError>,
) -> Result<T, BuildError> {
    let weights = &member.weights;
    weights.check()?;
    let lowered = match member.outputs {
        OutputKind::Logits => lower(&member.graph.with_softmax()?, weights),
        // The combination rule applies the sigmoid of labels, because it may need the logits. It
        // also applies the softmax of positions, because in masks their classes are far apart in
        // memory.
        OutputKind::Probabilities
        | OutputKind::Values
        | OutputKind::LabelLogits
        | OutputKind::LabelProbabilities
        | OutputKind::PositionLogits
        | OutputKind::PositionProbabilities
        | OutputKind::Boxes(_) => lower(&member.graph, weights),
    };
    // A file that was written during the read yields neither the old weights nor the new ones.
    weights.check()?;
    weights.release();
    Ok(lowered?)
}
