//! The order of steps, determined by the tensors that they read and make.

use std::collections::HashMap;

use divisi_runtime::reading::ReadError;
use divisi_runtime::tensor::TensorSpec;

use super::error::PipelineError;
use super::{StepSpec, WorkSpec};

/// Finds an order in which each step comes after the steps whose tensors it reads. If several steps
/// could be next, the one written first is next.
pub(super) fn ordered(
    inputs: &[TensorSpec],
    steps: &[StepSpec],
) -> Result<Vec<usize>, PipelineError> {
    let writers = writers(inputs, steps)?;
    let mut needs: Vec<Vec<usize>> = Vec::with_capacity(steps.len());
    for step in steps {
        let read = step.reads().into_iter();
        let made = read.map(|tensor| match writers.get(tensor) {
            Some(writer) => Ok(*writer),
            None => Err(missing(&step.name, tensor, writers.keys())),
        });
        let made = made.collect::<Result<Vec<Option<usize>>, _>>()?;
        needs.push(made.into_iter().flatten().collect());
    }
    let mut order: Vec<usize> = Vec::with_capacity(steps.len());
    while order.len() < steps.len() {
        let mut left = (0..steps.len()).filter(|at| !order.contains(at));
        let next = left.find(|&at| needs[at].iter().all(|need| order.contains(need)));
        match next {
            Some(next) => order.push(next),
            None => return Err(cycle(steps, &needs, &order)),
        }
    }
    Ok(order)
}

/// Follows waiting steps until a step repeats.
fn cycle(steps: &[StepSpec], needs: &[Vec<usize>], done: &[usize]) -> PipelineError {
    let waits = |at: &usize| !done.contains(at);
    let mut path: Vec<usize> = (0..steps.len()).filter(waits).take(1).collect();
    while let Some(&last) = path.last() {
        let Some(&next) = needs[last].iter().find(|need| waits(need)) else {
            break;
        };
        let met = path.iter().position(|step| *step == next);
        path.push(next);
        if let Some(met) = met {
            path.drain(..met);
            break;
        }
    }
    path.reverse();
    let steps = path.iter().map(|&at| steps[at].name.clone()).collect();
    PipelineError::Cycle { steps }
}

/// Returns the writer of each tensor, or `None` for the pipeline's inputs.
fn writers<'a>(
    inputs: &'a [TensorSpec],
    steps: &'a [StepSpec],
) -> Result<HashMap<&'a str, Option<usize>>, ReadError> {
    let mut writers: HashMap<&str, Option<usize>> = HashMap::new();
    let name_of = |writer: Option<usize>| match writer {
        None => "input".to_owned(),
        Some(at) => steps[at].name.clone(),
    };
    let of_inputs = inputs.iter().map(|spec| (spec.name.as_str(), None));
    let of_steps = steps.iter().enumerate();
    let of_steps = of_steps.flat_map(|(at, step)| {
        step.makes()
            .into_iter()
            .map(move |tensor| (tensor, Some(at)))
    });
    for (tensor, writer) in of_inputs.chain(of_steps) {
        if let Some(first) = writers.insert(tensor, writer) {
            return Err(ReadError::new(format_args!(
                "`{tensor}` is made by both `{}` and `{}`",
                name_of(first),
                name_of(writer)
            )));
        }
    }
    let mut names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(ReadError::new(format_args!(
            "step `{}` appears twice",
            pair[0]
        ))),
        None => Ok(writers),
    }
}

impl StepSpec {
    /// Returns the tensors that it reads, including the condition's.
    fn reads(&self) -> Vec<&str> {
        let mut tensors: Vec<&str> = match &self.work {
            WorkSpec::Host { inputs, .. } => inputs.iter().map(String::as_str).collect(),
            WorkSpec::Model {
                signature, inputs, ..
            } => {
                let own = signature.inputs.iter().map(|spec| spec.name.as_str());
                own.map(|own| mapped(inputs, own)).collect()
            }
        };
        tensors.extend(self.when.as_ref().map(|when| when.tensor.as_str()));
        tensors
    }

    /// Returns the tensors that it makes.
    fn makes(&self) -> Vec<&str> {
        match &self.work {
            WorkSpec::Host { outputs, .. } => outputs.iter().map(String::as_str).collect(),
            WorkSpec::Model {
                signature, outputs, ..
            } => {
                let own = signature.outputs.iter().map(|spec| spec.name.as_str());
                own.map(|own| mapped(outputs, own)).collect()
            }
        }
    }
}

/// Returns the pipeline's name of a model's tensor.
pub(super) fn mapped<'a>(map: &'a [(String, String)], own: &'a str) -> &'a str {
    let found = map.iter().find(|(name, _)| name == own);
    found.map_or(own, |(_, tensor)| tensor.as_str())
}

pub(super) fn missing<'a>(
    step: &str,
    tensor: &str,
    known: impl Iterator<Item = &'a &'a str>,
) -> PipelineError {
    let mut known: Vec<String> = known.map(|name| (*name).to_owned()).collect();
    known.sort_unstable();
    PipelineError::Missing {
        step: step.to_owned(),
        tensor: tensor.to_owned(),
        known,
    }
}
