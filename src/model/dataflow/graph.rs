//! A graph of steps: their dependencies and their kinds of work.

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use divisi_runtime::device::MemberIndex;

/// A step's position in its graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepIndex(u16);

impl StepIndex {
    /// Creates it from its number, from 0.
    pub const fn new(number: u16) -> Self {
        StepIndex(number)
    }

    /// Returns its number, from 0.
    pub fn get(self) -> usize {
        usize::from(self.0)
    }

    /// Returns its number in its stored form.
    pub const fn number(self) -> u16 {
        self.0
    }

    pub(super) fn nth(number: usize) -> Self {
        StepIndex(u16::try_from(number).unwrap_or(u16::MAX))
    }
}

/// The executor of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepWork {
    /// A model, in batches that may mix rows of several requests.
    Model {
        /// The model's column in the matrix.
        member: MemberIndex,
        /// The layout of its input. Steps of a request that read equal values share it.
        plane: usize,
    },
    /// The host, all rows of a part at once.
    Host,
    /// No executor: rows are folded as they arrive, and the step ends with the last row.
    Fold,
}

/// Which rows a step has, depending on the steps that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowJoin {
    /// Rows that exist in all of them.
    All,
    /// Rows that exist in any of them.
    Any,
    /// All rows, once all needed steps are over: another result can stand in for missing rows.
    Always,
    /// Rows that exist in a minimum number of the steps that ended within a time from the request's
    /// arrival. Until then the quorum waits for all steps.
    Quorum {
        /// The minimum number of steps.
        least: usize,
        /// The time.
        wait: Duration,
    },
}

/// A step of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowStep {
    /// Its executor.
    pub work: StepWork,
    /// The steps whose results it reads. A step without needs reads only the request.
    pub needs: Vec<StepIndex>,
    /// Its rows, depending on the rows of these steps.
    pub join: RowJoin,
}

/// An invalid graph of steps.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DataflowError {
    /// There is no step, or no output.
    #[error("a pipeline needs at least one step and one output")]
    Empty,
    /// There are more steps than step numbers.
    #[error("a pipeline has at most {most} steps, found {found}")]
    Many {
        /// The maximum.
        most: usize,
        /// The number of steps.
        found: usize,
    },
    /// A step needs itself, a later step or a missing step.
    #[error("step {step} needs step {needs}, which is not an earlier step")]
    Order {
        /// The step.
        step: usize,
        /// The needed step.
        needs: usize,
    },
    /// A quorum of zero, or of more steps than are needed.
    #[error("step {step}: expected a quorum from 1 to {of}, found {least}")]
    Quorum {
        /// The step.
        step: usize,
        /// The quorum.
        least: usize,
        /// The number of steps that it needs.
        of: usize,
    },
}

/// An acyclic graph of steps, ordered so that each step needs only earlier steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dataflow {
    steps: Box<[FlowStep]>,
    readers: Box<[Vec<StepIndex>]>,
    outputs: Vec<StepIndex>,
    first: Vec<StepIndex>,
    planes: usize,
    waits: Vec<Duration>,
    spared: Box<[bool]>,
    whole: Box<[bool]>,
    all: WantedSteps,
}

/// The steps that must run for some of a graph's outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedSteps(Arc<[bool]>);

impl WantedSteps {
    /// Returns whether a step must run.
    pub fn has(&self, step: StepIndex) -> bool {
        self.0[step.get()]
    }
}

impl Dataflow {
    /// Returns the graph with its models mapped to these columns of a matrix.
    #[must_use]
    pub fn on_columns(&self, columns: &[MemberIndex]) -> Self {
        let mut same = self.clone();
        for step in &mut same.steps {
            if let StepWork::Model { member, .. } = &mut step.work {
                *member = columns[member.get()];
            }
        }
        same
    }

    /// Creates the graph of `steps`, numbered in their order. The answer consists of the results of
    /// `outputs`.
    ///
    /// # Errors
    /// [`DataflowError`]: a step needs a step that is not an earlier one, or there is no output.
    pub fn new(steps: Vec<FlowStep>, outputs: &[usize]) -> Result<Self, DataflowError> {
        if steps.is_empty() || outputs.is_empty() || outputs.iter().any(|o| *o >= steps.len()) {
            return Err(DataflowError::Empty);
        }
        if steps.len() > usize::from(u16::MAX) {
            let (most, found) = (usize::from(u16::MAX), steps.len());
            return Err(DataflowError::Many { most, found });
        }
        let mut readers = vec![Vec::new(); steps.len()];
        for (at, step) in steps.iter().enumerate() {
            check(at, step)?;
            for need in &step.needs {
                readers[need.get()].push(StepIndex::nth(at));
            }
        }
        let outputs: Vec<StepIndex> = outputs.iter().map(|&o| StepIndex::nth(o)).collect();
        Ok(Dataflow {
            all: wanted(&steps, &outputs),
            planes: planes(&steps),
            waits: waits(&steps),
            spared: spared(&steps, &readers, &outputs),
            whole: whole(&steps),
            first: first(&steps),
            steps: steps.into(),
            readers: readers.into(),
            outputs,
        })
    }

    /// Creates the graph of an ensemble: its members run in parallel, and their rows are folded as
    /// they arrive. `planes` are the numbers of the members' inputs.
    pub fn ensemble(planes: &[usize]) -> Self {
        let member = |(member, &plane): (MemberIndex, &usize)| FlowStep {
            work: StepWork::Model { member, plane },
            needs: Vec::new(),
            join: RowJoin::All,
        };
        let mut steps: Vec<FlowStep> = MemberIndex::enumerate(planes).map(member).collect();
        let fold = StepIndex::nth(steps.len());
        let needs: Vec<StepIndex> = (0..steps.len()).map(StepIndex::nth).collect();
        let mut readers = vec![vec![fold]; steps.len()];
        readers.push(Vec::new());
        steps.push(FlowStep {
            work: StepWork::Fold,
            needs,
            join: RowJoin::All,
        });
        Dataflow {
            all: wanted(&steps, &[fold]),
            planes: self::planes(&steps),
            waits: Vec::new(),
            spared: vec![false; steps.len()].into(),
            whole: whole(&steps),
            first: first(&steps),
            steps: steps.into(),
            readers: readers.into(),
            outputs: vec![fold],
        }
    }

    /// Iterates over the steps in order.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = (StepIndex, &FlowStep)> {
        let numbered = self.steps.iter().enumerate();
        numbered.map(|(at, step)| (StepIndex::nth(at), step))
    }

    /// Returns a step.
    pub fn step(&self, step: StepIndex) -> &FlowStep {
        &self.steps[step.get()]
    }

    /// Returns the steps that read a step's result.
    pub fn readers(&self, step: StepIndex) -> &[StepIndex] {
        &self.readers[step.get()]
    }

    /// Returns the output steps.
    pub fn outputs(&self) -> &[StepIndex] {
        &self.outputs
    }

    /// Returns the steps without needs.
    pub fn first_steps(&self) -> &[StepIndex] {
        &self.first
    }

    /// Returns the number of input layouts.
    pub fn planes(&self) -> usize {
        self.planes
    }

    /// Returns the wait times of its quorums.
    pub fn waits(&self) -> &[Duration] {
        &self.waits
    }

    /// Returns whether an answer may lack rows of a step, because only quorums use them.
    pub fn is_spared(&self, step: StepIndex) -> bool {
        self.spared[step.get()]
    }

    /// Returns whether a step has results for all rows unless it fails, because only models lead to
    /// it.
    pub fn is_whole(&self, step: StepIndex) -> bool {
        self.whole[step.get()]
    }

    /// Returns the steps that must run for all outputs.
    pub fn all_steps(&self) -> &WantedSteps {
        &self.all
    }

    /// Returns the steps that must run for some of the outputs.
    pub fn steps_for(&self, outputs: &[StepIndex]) -> WantedSteps {
        wanted(&self.steps, outputs)
    }

    /// Iterates over the models of its steps, one for each step that runs a model.
    pub fn members(&self) -> impl Iterator<Item = MemberIndex> + '_ {
        self.steps.iter().filter_map(|step| match step.work {
            StepWork::Model { member, .. } => Some(member),
            StepWork::Host | StepWork::Fold => None,
        })
    }
}

fn check(at: usize, step: &FlowStep) -> Result<(), DataflowError> {
    if let Some(need) = step.needs.iter().find(|need| need.get() >= at) {
        let (step, needs) = (at, need.get());
        return Err(DataflowError::Order { step, needs });
    }
    let of = step.needs.len();
    match step.join {
        RowJoin::Quorum { least, .. } if least == 0 || least > of => Err(DataflowError::Quorum {
            step: at,
            least,
            of,
        }),
        RowJoin::All | RowJoin::Any | RowJoin::Always | RowJoin::Quorum { .. } => Ok(()),
    }
}

/// Walks backwards from `outputs`, because a step's needs come before it.
fn wanted(steps: &[FlowStep], outputs: &[StepIndex]) -> WantedSteps {
    let mut wanted = vec![false; steps.len()];
    for output in outputs {
        wanted[output.get()] = true;
    }
    for at in (0..steps.len()).rev() {
        if wanted[at] {
            for need in &steps[at].needs {
                wanted[need.get()] = true;
            }
        }
    }
    WantedSteps(wanted.into())
}

/// Walks backwards from the last step, because a step's readers come after it.
fn spared(steps: &[FlowStep], readers: &[Vec<StepIndex>], outputs: &[StepIndex]) -> Box<[bool]> {
    let mut spared = vec![false; steps.len()];
    for at in (0..steps.len()).rev() {
        let does_without = |reader: &StepIndex| match steps[reader.get()].join {
            RowJoin::Quorum { .. } => true,
            RowJoin::All => spared[reader.get()],
            RowJoin::Any | RowJoin::Always => false,
        };
        let is_answered = outputs.iter().any(|output| output.get() == at);
        spared[at] = !is_answered && readers[at].iter().all(does_without);
    }
    spared.into()
}

fn whole(steps: &[FlowStep]) -> Box<[bool]> {
    let mut whole: Vec<bool> = Vec::with_capacity(steps.len());
    for step in steps {
        let is_model = !matches!(step.work, StepWork::Host);
        whole.push(is_model && step.needs.iter().all(|need| whole[need.get()]));
    }
    whole.into()
}

fn first(steps: &[FlowStep]) -> Vec<StepIndex> {
    let numbered = steps.iter().enumerate();
    let first = numbered.filter(|(_, step)| step.needs.is_empty());
    first.map(|(at, _)| StepIndex::nth(at)).collect()
}

fn planes(steps: &[FlowStep]) -> usize {
    let planes = steps.iter().filter_map(|step| match step.work {
        StepWork::Model { plane, .. } => Some(plane + 1),
        StepWork::Host | StepWork::Fold => None,
    });
    planes.max().unwrap_or(0)
}

fn waits(steps: &[FlowStep]) -> Vec<Duration> {
    let waits = steps.iter().filter_map(|step| match step.join {
        RowJoin::Quorum { wait, .. } => Some(wait),
        RowJoin::All | RowJoin::Any | RowJoin::Always => None,
    });
    waits.collect()
}
