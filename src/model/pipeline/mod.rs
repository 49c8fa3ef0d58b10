//! Pipelines: graphs of models and host steps, connected by the names of tensors.
//!
//! [`Pipeline::new`] checks names, types and shapes, finds the order of the steps, and returns a
//! pipeline that can run. The tensors of a step's result are concatenated in a row of float32. If
//! the lengths of samples vary, each tensor is stored at the longest length, and the length is the
//! first value of a sample's row. Models that need the length read it from there, like a tensor.

mod build;
mod certainty;
mod checks;
mod condition;
mod error;
mod host;
mod host_rows;
mod order;
mod run;

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use crate::dataflow::{Dataflow, StepIndex};
use divisi_runtime::device::MemberIndex;
use divisi_runtime::tensor::{Lengths, MOST_EXACT, Signature, TensorSpec};

pub use condition::{Relation, StepCondition, TensorReduction};
pub use error::PipelineError;
pub use host::{HostStep, HostStepKind};
pub use run::RowInputs;

/// The maximum wait of a quorum for all of its inputs, and the default wait. A request also has its
/// own deadline.
pub const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// A step as written.
#[derive(Clone, Debug, PartialEq)]
pub struct StepSpec {
    /// Its name, unique in the pipeline.
    pub name: String,
    /// Its executor.
    pub work: WorkSpec,
    /// The condition for running it on a row, if any.
    pub when: Option<StepCondition>,
    /// The minimum number of inputs, and the maximum wait for the others, if it has a quorum.
    pub quorum: Option<(usize, Duration)>,
}

/// The executor of a step, and the tensors that it reads and makes.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkSpec {
    /// A model.
    Model {
        /// The model's column in the matrix.
        member: MemberIndex,
        /// Its own tensors.
        signature: Signature,
        /// The names of its inputs, each with the pipeline's tensor. An unlisted input reads the
        /// tensor of the same name.
        inputs: Vec<(String, String)>,
        /// The names of its outputs, each with the pipeline's tensor. An unlisted output makes the
        /// tensor of the same name.
        outputs: Vec<(String, String)>,
    },
    /// The host.
    Host {
        /// The kind of step.
        step: HostStep,
        /// The tensors that it reads, in order.
        inputs: Vec<String>,
        /// The tensors that it makes, in order.
        outputs: Vec<String>,
    },
}

/// A validated pipeline.
#[derive(Clone, Debug, PartialEq)]
pub struct Pipeline {
    inputs: Vec<TensorSpec>,
    lengths: Option<Lengths>,
    steps: Box<[PipelineStep]>,
    outputs: Vec<PipelineOutput>,
    /// The rows of each layout of models' inputs, by its number.
    planes: Vec<PlaneRows>,
    flow: Arc<Dataflow>,
}

/// A step of a pipeline.
#[derive(Clone, Debug, PartialEq)]
pub struct PipelineStep {
    /// Its name. A condition has the name of its step.
    pub name: String,
    /// Its executor.
    pub role: StepRole,
    /// The tensors that it reads, in order.
    pub sources: Vec<TensorSource>,
    /// The dimensions of the first tensor.
    pub dims: Vec<usize>,
    /// The tensors that it makes, in the order of its row.
    pub tensors: Vec<TensorSpec>,
    /// The number of values of its row.
    pub width: usize,
    /// The length of the longest sample, at which its tensors are stored in its row, or 0 if no
    /// length varies.
    pub most: usize,
}

/// The kind of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum StepRole {
    /// A model runs it.
    Model(MemberIndex),
    /// The host runs it.
    Host(HostStep),
    /// It selects the rows for which another step runs.
    Gate(StepCondition),
}

/// The location of a tensor's values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorSource {
    /// The row.
    pub origin: RowOrigin,
    /// The range of values in the row.
    pub run: Range<usize>,
}

/// A row of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowOrigin {
    /// A sample of the request, with its tensors concatenated.
    Request,
    /// The result of a step.
    Step(StepIndex),
}

/// A tensor of the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct PipelineOutput {
    /// Its name, type and dimensions.
    pub spec: TensorSpec,
    /// The location of its values.
    pub source: TensorSource,
}

/// The rows of one layout of inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaneRows {
    /// Ranges of a sample of the request.
    Request(Vec<Range<usize>>),
    /// Tensors of which some are results of steps.
    Gathered(Vec<TensorSource>),
}

impl PipelineStep {
    /// Returns the place of a tensor with an integer in a row of its result that may differ from
    /// the computed integer, or `None` if there is no such tensor. The integer is NaN, or so large
    /// that float32 does not hold all of its neighbours.
    pub fn inexact(&self, row: &[f32]) -> Option<usize> {
        let mut first = 0;
        self.tensors.iter().position(|spec| {
            let run = first..first + spec.elements_at(self.most).unwrap_or(0);
            first = run.end;
            let values = row.get(run).unwrap_or_default();
            let is_exact = |value: &f32| value.abs() < MOST_EXACT as f32;
            spec.data_type.is_integer() && !values.iter().all(is_exact)
        })
    }

    /// Returns whether its result contains integers.
    pub fn has_integers(&self) -> bool {
        self.tensors.iter().any(|spec| spec.data_type.is_integer())
    }
}

impl Pipeline {
    /// Returns the tensors of a sample.
    pub fn inputs(&self) -> &[TensorSpec] {
        &self.inputs
    }

    /// Returns the lengths of samples, or `None` if no dimensions vary.
    pub fn lengths(&self) -> Option<&Lengths> {
        self.lengths.as_ref()
    }

    /// Returns the tensors of an answer, in the order of its row.
    pub fn outputs(&self) -> &[PipelineOutput] {
        &self.outputs
    }

    /// Returns the steps that make the outputs at these positions, or `None` for all steps, if no
    /// output is named or no step makes any of them.
    pub fn steps_of(&self, outputs: &[usize]) -> Option<Vec<StepIndex>> {
        let named = outputs.iter().filter_map(|at| self.outputs.get(*at));
        let steps = named.filter_map(|output| match output.source.origin {
            RowOrigin::Step(step) => Some(step),
            RowOrigin::Request => None,
        });
        let steps: Vec<StepIndex> = steps.collect();
        (!steps.is_empty()).then_some(steps)
    }

    /// Returns the number of values of an answer.
    pub fn width(&self) -> usize {
        self.outputs.iter().map(|o| o.source.run.len()).sum()
    }

    /// Returns its steps, each after the steps that it needs. Conditions are separate steps.
    pub fn steps(&self) -> &[PipelineStep] {
        &self.steps
    }

    /// Returns a step.
    pub fn step(&self, step: StepIndex) -> &PipelineStep {
        &self.steps[step.get()]
    }

    /// Returns the tensor whose values are at `source`, or `None` if there is no such tensor.
    pub fn tensor(&self, source: &TensorSource) -> Option<&TensorSpec> {
        let (tensors, mut first) = match source.origin {
            RowOrigin::Request => (&self.inputs, usize::from(self.lengths.is_some())),
            RowOrigin::Step(step) => (&self.steps.get(step.get())?.tensors, 0),
        };
        let most = self.lengths.as_ref().map_or(0, Lengths::largest);
        tensors.iter().find(|spec| {
            let run = first..first + spec.elements_at(most).unwrap_or(0);
            first = run.end;
            run == source.run
        })
    }

    /// Returns the order of work.
    pub fn flow(&self) -> &Arc<Dataflow> {
        &self.flow
    }

    /// Returns the layouts of models' inputs, by their numbers.
    pub fn planes(&self) -> &[PlaneRows] {
        &self.planes
    }

    /// Returns whether tensors of the request are read by anything other than a model on its own: a
    /// host step, an output, or a model that also reads results of steps.
    pub fn reads_samples(&self) -> bool {
        let of_host = self.steps.iter();
        let of_host = of_host.filter(|step| !matches!(step.role, StepRole::Model(_)));
        let of_host = of_host.flat_map(|step| &step.sources);
        let gathered = self.planes.iter().flat_map(|plane| match plane {
            PlaneRows::Gathered(sources) => &sources[..],
            PlaneRows::Request(_) => &[],
        });
        let outputs = self.outputs.iter().map(|output| &output.source);
        let mut all = of_host.chain(gathered).chain(outputs);
        all.any(|source| source.origin == RowOrigin::Request)
    }

    /// Returns the number of values of all results of a sample.
    pub fn values(&self) -> usize {
        self.steps.iter().map(|step| step.width).sum()
    }
}
