//! Models as pipelines: a network as one step, and an ensemble as steps connected by its maps.

mod graph;
mod parts;
mod shapes;

use std::sync::Arc;

use divisi_model::ensemble::{BatchSizes, Ensemble, Member, PolicyKind, Wait};
use divisi_model::pipeline::{Pipeline, PipelineError, StepSpec, WorkSpec};
use divisi_runtime::device::MemberIndex;
use divisi_runtime::tensor::{Lengths, Signature, TensorSpec};

use crate::batch::ModelRows;
use crate::config::{DynamicBatching, ModelConfig};
use crate::loaded::PipelinePart;
use crate::model::ModelTensors;

pub(crate) use graph::{EnsembleGraph, assemble};

/// A pipeline as an ensemble, and as a part of other pipelines.
pub(crate) struct Assembled {
    pub(crate) ensemble: Ensemble,
    pub(crate) part: PipelinePart,
}

/// Makes a pipeline of one step of a model.
///
/// # Errors
/// Its samples or answers are too large.
pub(crate) fn single(
    member: Arc<Member>,
    tensors: &ModelTensors,
) -> Result<Assembled, PipelineError> {
    let (inputs, name) = (tensors.signature.inputs.clone(), member.name.clone());
    let step = step_of(&name, tensors.signature.clone());
    let graph = MemberSteps {
        members: vec![member],
        steps: vec![step],
        lengths: None,
    };
    graph.built(name, inputs, &tensors.outputs)
}

/// Returns a model for samples of any length as a part of pipelines.
pub(crate) fn varying_part(member: &Arc<Member>) -> PipelinePart {
    let signature = member.graph.signature();
    PipelinePart {
        members: vec![Arc::clone(member)],
        steps: vec![step_of(&member.name, signature.clone())],
        inputs: signature.inputs,
        outputs: signature.outputs,
        lengths: signature.lengths,
    }
}

/// Returns the single step of a model, with the model's own tensor names.
fn step_of(name: &str, signature: Signature) -> StepSpec {
    let own = |specs: &[TensorSpec]| -> Vec<(String, String)> {
        let names = specs
            .iter()
            .map(|spec| (spec.name.clone(), spec.name.clone()));
        names.collect()
    };
    StepSpec {
        name: name.to_owned(),
        work: WorkSpec::Model {
            member: MemberIndex::new(0),
            inputs: own(&signature.inputs),
            outputs: own(&signature.outputs),
            signature,
        },
        when: None,
        quorum: None,
    }
}

/// Steps over members.
struct MemberSteps {
    members: Vec<Arc<Member>>,
    steps: Vec<StepSpec>,
    /// The lengths of samples, if they vary.
    lengths: Option<Lengths>,
}

impl MemberSteps {
    /// Builds their pipeline.
    fn built(
        self,
        name: String,
        inputs: Vec<TensorSpec>,
        outputs: &[String],
    ) -> Result<Assembled, PipelineError> {
        let MemberSteps {
            members,
            steps,
            lengths,
        } = self;
        let pipeline = Pipeline::of_lengths(lengths, inputs, steps.clone(), outputs)?;
        let part = PipelinePart {
            members: members.clone(),
            steps,
            inputs: pipeline.inputs().to_vec(),
            outputs: pipeline.outputs().iter().map(|o| o.spec.clone()).collect(),
            lengths: pipeline.lengths().cloned(),
        };
        let ensemble = Ensemble::from_pipeline(name, members, pipeline)?;
        Ok(Assembled { ensemble, part })
    }
}

/// Sets the configured batch sizes, policy and priorities.
pub(crate) fn batched(ensemble: &mut Ensemble, config: &ModelConfig, batch: ModelRows) {
    let batching = config.batching.as_ref();
    if let Some(sizes) = sizes(batch, batching) {
        ensemble.batch_sizes = sizes;
    }
    ensemble.queueing = batching.and_then(|batching| batching.queueing.clone());
    let delay = batching.map(|batching| batching.delay).unwrap_or_default();
    if !delay.is_zero() {
        let wait = Wait::nearest(delay);
        ensemble.policy = PolicyKind::OptWait { wait };
    }
}

/// The batch sizes of a model without a bound. Models with a bound use the sizes up to it.
pub(crate) const SIZES: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// The largest batch size that is used without a configured size.
const MOST_SIZE: usize = 128;

/// Returns the batch sizes of a model: powers of two up to its largest size, the largest size and
/// the preferred sizes. Returns `None` for the defaults.
fn sizes(batch: ModelRows, batching: Option<&DynamicBatching>) -> Option<BatchSizes> {
    let preferred = batching.map_or(&[][..], |batching| &batching.preferred);
    let most = match batch {
        ModelRows::UpTo(most) => most,
        // Rows of several requests may still share a batch.
        _ => MOST_SIZE,
    };
    let whole = match batch {
        ModelRows::Exactly(size) => size,
        _ => most,
    };
    let usual = SIZES.into_iter().chain([whole.min(MOST_SIZE)]);
    let all = usual.chain(preferred.iter().copied());
    let within = all.filter(|size| *size <= most);
    let sizes: Vec<i64> = within.filter_map(|size| i64::try_from(size).ok()).collect();
    BatchSizes::new(&sizes).ok()
}
