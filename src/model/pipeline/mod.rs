//! Pipelines: graphs of models and steps of the host, joined by the names of tensors.
//!
//! [`Pipeline::new`] checks names, types and shapes and finds the order of the steps; what it
//! returns can be run. Tensors of a step's result lie one after another in a row of float32. Where
//! the lengths of samples vary, each lies as one of the longest sample, and the length is the first
//! value of a sample's row: models that need it read it there, as if it were a tensor.

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

pub use condition::{ConditionError, Relation, StepCondition, TensorReduction};
pub use error::PipelineError;
pub use host::{HostStep, HostStepError, HostStepKind};
pub use run::RowInputs;

/// The longest that a quorum may wait for all of its inputs, and how long it waits where it is not
/// said: a request has its own deadline.
pub const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// A step as it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct StepSpec {
    /// Its name, unique in the pipeline.
    pub name: String,
    /// Who does its work.
    pub work: WorkSpec,
    /// The condition under which it runs for a row, if there is one.
    pub when: Option<StepCondition>,
    /// From how many of its inputs on it may do without the others, and how long it waits for
    /// them.
    pub quorum: Option<(usize, Duration)>,
}

/// Who does the work of a step, and the tensors that it reads and makes.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkSpec {
    /// A model.
    Model {
        /// The model: a column of the matrix.
        member: MemberIndex,
        /// Its own tensors.
        signature: Signature,
        /// Its inputs' names, each with that of the pipeline's tensor. An input that is not named
        /// reads the tensor of its own name.
        inputs: Vec<(String, String)>,
        /// Its outputs' names, likewise.
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

/// A pipeline that can be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Pipeline {
    inputs: Vec<TensorSpec>,
    lengths: Option<Lengths>,
    steps: Box<[PipelineStep]>,
    outputs: Vec<PipelineOutput>,
    /// Of each plane the runs of a request's row, where a model reads the request alone.
    planes: Vec<PlaneRows>,
    flow: Arc<Dataflow>,
}

/// A step of a pipeline.
#[derive(Clone, Debug, PartialEq)]
pub struct PipelineStep {
    /// Its name; a condition has that of the step that it is of.
    pub name: String,
    /// Who does its work.
    pub role: StepRole,
    /// The tensors that it reads, in order.
    pub sources: Vec<TensorSource>,
    /// The dimensions of the first of them.
    pub dims: Vec<usize>,
    /// The tensors that it makes, in the order in which they lie in its row.
    pub tensors: Vec<TensorSpec>,
    /// Values of its row.
    pub width: usize,
    /// The length of the longest sample, as which its tensors lie in its row; 0 where none varies.
    pub most: usize,
}

/// The kind of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum StepRole {
    /// A model runs it.
    Model(MemberIndex),
    /// The host runs it.
    Host(HostStep),
    /// It says for which rows another step runs.
    Gate(StepCondition),
}

/// Where the values of a tensor lie.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorSource {
    /// In which row.
    pub origin: RowOrigin,
    /// Where in it.
    pub run: Range<usize>,
}

/// A row of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowOrigin {
    /// A sample of the request: its tensors one after another.
    Request,
    /// The result of a step.
    Step(StepIndex),
}

/// A tensor of the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct PipelineOutput {
    /// Its name, type and dimensions.
    pub spec: TensorSpec,
    /// Where it lies.
    pub source: TensorSource,
}

/// The rows of one layout of inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaneRows {
    /// Runs of a sample of the request.
    Request(Vec<Range<usize>>),
    /// Tensors of which some are results of steps.
    Gathered(Vec<TensorSource>),
}

impl PipelineStep {
    /// Returns the place of a tensor that has, in a row of its result, an integer that need not be
    /// the one that was computed, or `None` if there is none: it is NaN, which no integer is, or so
    /// large that float32 does not hold all of its neighbours.
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

    /// Whether its result has integers.
    pub fn has_integers(&self) -> bool {
        self.tensors.iter().any(|spec| spec.data_type.is_integer())
    }
}

impl Pipeline {
    /// Returns the tensors of a sample.
    pub fn inputs(&self) -> &[TensorSpec] {
        &self.inputs
    }

    /// Returns the lengths of samples, where dimensions of their tensors vary.
    pub fn lengths(&self) -> Option<&Lengths> {
        self.lengths.as_ref()
    }

    /// Returns the tensors of an answer, in the order in which they lie in its row.
    pub fn outputs(&self) -> &[PipelineOutput] {
        &self.outputs
    }

    /// Returns the steps that make some of the outputs, named by their positions; `None` for all of
    /// them, where no output is named or no step makes any.
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

    /// Returns its steps, each after those that it needs; conditions are steps of their own.
    pub fn steps(&self) -> &[PipelineStep] {
        &self.steps
    }

    /// Returns a step.
    pub fn step(&self, step: StepIndex) -> &PipelineStep {
        &self.steps[step.get()]
    }

    /// Returns the tensor whose values lie at `source`, or `None` if none do.
    pub fn tensor(&self, source: &TensorSource) -> Option<&TensorSpec> {
        let (tensors, mut first) = match source.origin {
            RowOrigin::Request => (&self.inputs, usize::from(self.lengths.is_some())),
            RowOrigin::Step(step) => (&self.steps.get(step.get())?.tensors, 0),
        };
        let most = self.lengths.as_ref().map_or(0, Lengths::most);
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

    /// Whether anything but a model on its own reads tensors of the request: a step of the host, an
    /// output, or a model that reads results of steps beside them.
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

    /// Returns the values that all results of a sample take together.
    pub fn values(&self) -> usize {
        self.steps.iter().map(|step| step.width).sum()
    }
}
