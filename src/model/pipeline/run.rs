//! Runs a host step on some rows, and a whole pipeline on one sample.

use crate::dataflow::{RowJoin, StepIndex};
use divisi_runtime::device::MemberIndex;

use super::{Pipeline, RowOrigin, StepRole, TensorSource};

/// The input rows of a host step.
pub trait RowInputs {
    /// Returns the tensor at `source` of a row, or `None` if it does not exist.
    fn tensor(&self, row: usize, source: &TensorSource) -> Option<&[f32]>;
}

/// The results of one sample, step by step.
type Tensors = Vec<Option<Vec<f32>>>;

impl Pipeline {
    /// Computes a row of a host step into `out`. Returns whether the row continues: false if a
    /// condition does not hold.
    pub fn run_row(
        &self,
        step: StepIndex,
        row: usize,
        rows: &dyn RowInputs,
        out: &mut [f32],
    ) -> bool {
        let step = self.step(step);
        let inputs = step.sources.iter().map(|source| rows.tensor(row, source));
        let inputs: Vec<Option<&[f32]>> = inputs.collect();
        match &step.role {
            StepRole::Gate(condition) => {
                let tensor = inputs.first().copied().flatten();
                tensor.is_some_and(|values| condition.holds(values))
            }
            StepRole::Host(host) => {
                host.compute(&inputs, &step.dims, out);
                true
            }
            StepRole::Model(_) => true,
        }
    }

    /// Computes the answer to one sample (a row of all outputs) without an engine. `model` returns
    /// a model's row.
    ///
    /// This is the reference definition of a pipeline's answers.
    pub fn answer(
        &self,
        sample: &[f32],
        mut model: impl FnMut(MemberIndex, &[f32]) -> Vec<f32>,
    ) -> Vec<f32> {
        let mut tensors: Tensors = Vec::with_capacity(self.steps.len());
        for (at, flow) in self.flow.steps() {
            let held = flow
                .needs
                .iter()
                .filter(|need| tensors[need.get()].is_some());
            let exists = match flow.join {
                RowJoin::Any => held.count() > 0,
                RowJoin::Always => true,
                _ => held.count() == flow.needs.len(),
            };
            let made = exists.then(|| self.answer_of(at, sample, &tensors, &mut model));
            tensors.push(made.flatten());
        }
        let outputs = self.outputs.iter().flat_map(|output| {
            let found = OneSample(sample, &tensors);
            let found = found.tensor(0, &output.source).map(<[f32]>::to_vec);
            found.unwrap_or_else(|| vec![f32::NAN; output.source.run.len()])
        });
        outputs.collect()
    }

    fn answer_of(
        &self,
        at: StepIndex,
        sample: &[f32],
        tensors: &Tensors,
        model: &mut impl FnMut(MemberIndex, &[f32]) -> Vec<f32>,
    ) -> Option<Vec<f32>> {
        let step = self.step(at);
        let rows = OneSample(sample, tensors);
        if let StepRole::Model(member) = step.role {
            let inputs = step
                .sources
                .iter()
                .filter_map(|source| rows.tensor(0, source));
            let input: Vec<f32> = inputs.flatten().copied().collect();
            return Some(model(member, &input));
        }
        let mut out = vec![0.0; step.width];
        self.run_row(at, 0, &rows, &mut out).then_some(out)
    }
}

/// A sample and its results.
struct OneSample<'a>(&'a [f32], &'a Tensors);

impl RowInputs for OneSample<'_> {
    fn tensor(&self, _row: usize, source: &TensorSource) -> Option<&[f32]> {
        let row = match source.origin {
            RowOrigin::Request => self.0,
            RowOrigin::Step(step) => self.1[step.get()].as_deref()?,
        };
        row.get(source.run.clone())
    }
}
