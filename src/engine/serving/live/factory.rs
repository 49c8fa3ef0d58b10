//! Where predictors come from: lowered networks, or stand-ins.

use std::any::Any;
use std::io;
use std::sync::{Arc, Weak};

use rayon::ThreadPool;
use thiserror::Error;

use divisi_model::ensemble::{
    BatchSize, ComputedMember, Ensemble, Member, MemberPrecision, OutputKind,
};
use divisi_runtime::compute::gpu::{Precision, Program, lower};
use divisi_runtime::compute::{
    ComputeError, CpuKernels, CpuPrecision, CpuPredictor, FakePredictor, Lowered, Predictor,
    VaryingNetwork, VaryingPredictor, check_padding,
};
use divisi_runtime::device::MemberIndex;
use divisi_runtime::device::gpu::{self, Gpu, GpuInfo};
use divisi_runtime::lock::Ranked;
use divisi_runtime::network::{Graph, GraphError, Weights, WeightsError};

use super::locks::NetworksRank;
use super::promise::Panicked;

/// Why a worker could not be built.
#[derive(Debug, Error)]
pub enum BuildError {
    /// The device, or its library, refused.
    #[error(transparent)]
    Compute(#[from] ComputeError),
    /// The network is no valid graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The weights cannot be read, or changed meanwhile.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// It panicked while it was built.
    #[error(transparent)]
    Panicked(#[from] Panicked),
    /// Its device is gone.
    #[error("the GPU is gone")]
    Gone,
    /// The system has no thread left.
    #[error("a thread could not be started: {0}")]
    Thread(io::Error),
    /// Its thread was over before the worker was ready.
    #[error("its thread ended")]
    ThreadEnded,
    /// The factory builds nothing for GPUs.
    #[error("there is no program for member {member} on {gpu}")]
    NoProgram {
        /// The member's number.
        member: MemberIndex,
        /// The GPU's name.
        gpu: String,
    },
    /// A factory of another kind refuses; says why.
    #[error("{0}")]
    Other(String),
}

/// Builds the predictor of one worker. Predictors answer rows as combination rules take them.
pub trait PredictorFactory: Send + Sync {
    /// A predictor of a member for batches of up to `size`; `pool` has the device's
    /// threads where it has several.
    ///
    /// # Errors
    /// The device cannot hold it.
    fn build(
        &self,
        network: ComputedMember,
        size: BatchSize,
        pool: Option<Arc<ThreadPool>>,
    ) -> Result<Box<dyn Predictor>, BuildError>;

    /// Returns what the workers of a network share in host memory, if there is any: it stays as
    /// long as somebody holds this.
    fn hold(&self, network: ComputedMember) -> Option<Arc<dyn Any + Send + Sync>> {
        let _ = network;
        None
    }

    /// Opens a GPU.
    ///
    /// # Errors
    /// It cannot be used.
    fn gpu(&self, info: &GpuInfo) -> Result<Arc<dyn Gpu>, BuildError> {
        Ok(gpu::open(info.index).map_err(ComputeError::Gpu)?)
    }

    /// The network of a member on a GPU, with its weights: the same one for all who hold
    /// it.
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

/// The ensemble's own networks. A member is lowered once for each precision, at its first worker,
/// and shared by all until its last one leaves: in host memory, and on each GPU.
pub struct NetworkFactory {
    ensemble: Arc<Ensemble>,
    lowered: Ranked<NetworksRank, Vec<LoweredMember>>,
    programs: Programs,
}

/// The networks of one member that somebody may hold, by the numbers of their products.
type LoweredMember = Vec<(CpuPrecision, WeakNetwork)>;

impl NetworkFactory {
    /// For the members of `ensemble`.
    pub fn new(ensemble: Arc<Ensemble>) -> Self {
        NetworkFactory {
            lowered: Ranked::new(ensemble.members.iter().map(|_| Vec::new()).collect()),
            ensemble,
            programs: Programs::default(),
        }
    }

    /// For the members of `ensemble`, some of which `before` may have lowered already: the same
    /// network with the same weights is there once.
    pub fn after(before: &NetworkFactory, ensemble: Arc<Ensemble>) -> Self {
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

/// Returns the network of a member in these numbers, if somebody holds it.
fn held(known: &LoweredMember, precision: MemberPrecision) -> Option<LoweredNetwork> {
    let mut same = known.iter().filter(|(cores, _)| *cores == precision.cores);
    same.find_map(|(_, known)| known.upgrade())
}

impl PredictorFactory for NetworkFactory {
    fn build(
        &self,
        network: ComputedMember,
        size: BatchSize,
        pool: Option<Arc<ThreadPool>>,
    ) -> Result<Box<dyn Predictor>, BuildError> {
        Ok(match self.lowered(network)? {
            LoweredNetwork::One(lowered) => Box::new(CpuPredictor::new(lowered, size.get(), pool)?),
            LoweredNetwork::Varying(lowered) => {
                Box::new(VaryingPredictor::new(lowered, size.get(), pool)?)
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
        self.programs.get((network.member, precision), gpu, lower)
    }
}

/// The lowered network of a member: one, or one of several lengths.
enum LoweredNetwork {
    One(Arc<Lowered>),
    Varying(Arc<VaryingNetwork>),
}

/// A lowered network that somebody else holds.
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

/// A constant known per member in place of each network.
pub struct FakeFactory {
    /// Numbers in an answer.
    pub classes: usize,
}

impl PredictorFactory for FakeFactory {
    fn build(
        &self,
        network: ComputedMember,
        _size: BatchSize,
        _pool: Option<Arc<ThreadPool>>,
    ) -> Result<Box<dyn Predictor>, BuildError> {
        Ok(Box::new(FakePredictor::new(network.member, self.classes)))
    }
}

/// Programs that somebody holds.
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
    /// The one of `member` on `gpu` in these numbers; where nobody holds it, `lower` makes it.
    ///
    /// # Errors
    /// It could not be made.
    pub fn get(
        &self,
        (member, precision): (MemberIndex, Precision),
        gpu: &Arc<dyn Gpu>,
        lower: impl FnOnce() -> Result<Arc<dyn Program>, BuildError>,
    ) -> Result<Arc<dyn Program>, BuildError> {
        let mut known = self.known.lock();
        known.retain(|k| k.program.strong_count() > 0);
        // A GPU that was opened again is another one.
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
/// The GPU cannot hold it, its weights changed meanwhile, or this build knows no GPUs.
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

/// Lowers a member's network, with a softmax where its logits are those of classes.
fn lower_by<T>(
    member: &Member,
    lower: impl FnOnce(&Graph, &Weights) -> Result<T, ComputeError>,
) -> Result<T, BuildError> {
    let weights = &member.weights;
    weights.check()?;
    let lowered = match member.outputs {
        OutputKind::Logits => lower(&member.graph.with_softmax()?, weights),
        // The sigmoid of labels is the combination rule's: it may need the logits. So is the
        // softmax of positions: in masks their classes lie far from each other.
        OutputKind::Probabilities
        | OutputKind::Values
        | OutputKind::LabelLogits
        | OutputKind::LabelProbabilities
        | OutputKind::PositionLogits
        | OutputKind::PositionProbabilities
        | OutputKind::Boxes(_) => lower(&member.graph, weights),
    };
    // A file that was written to meanwhile gave neither the old weights nor the new.
    weights.check()?;
    weights.release();
    Ok(lowered?)
}
