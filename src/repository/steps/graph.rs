//! Builds a pipeline from the steps of an ensemble's configuration.

use std::collections::HashMap;
use std::sync::Arc;

use divisi_model::pipeline::PipelineError;
use divisi_runtime::tensor::{Lengths, TensorSpec};

use crate::batch::ModelRows;
use crate::config::{MOST_LENGTH_PARAMETER, ModelConfig, StepConfig, TensorConfig};
use crate::error::LoadFault;
use crate::loaded::{LoadedModel, PipelinePart};

use super::parts::{GraphParts, StepNames};
use super::shapes::{as_row, batch, fits, row_dims};
use super::{Assembled, MemberSteps};

/// An ensemble under construction.
pub(crate) struct EnsembleGraph<'c> {
    /// Its name.
    pub(crate) name: &'c str,
    /// The name of its configuration file for messages.
    pub(crate) file: String,
    pub(crate) config: &'c ModelConfig,
    pub(crate) steps: &'c [StepConfig],
    /// The model of each step.
    pub(crate) models: Vec<Arc<LoadedModel>>,
}

/// The remedy if a tensor has an open length in one model and a fixed length in another.
const EQUALLY_OPEN: &str = "; write -1, or the same number, in the config.pbtxt of all models that \
                            share the tensor";

/// A step with its name and model.
struct NamedStep<'g> {
    name: String,
    written: &'g StepConfig,
    model: &'g LoadedModel,
    part: &'g PipelinePart,
}

impl NamedStep<'_> {
    /// Returns whether the pipeline step `name` is this step, or part of this step's ensemble.
    fn has(&self, name: &str) -> bool {
        let rest = name.strip_prefix(&*self.name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// Builds an ensemble.
///
/// # Errors
/// A tensor has a wrong name, type, dimension or number of rows, a tensor has no writer or two
/// writers, or steps form a cycle.
pub(crate) fn assemble(graph: &EnsembleGraph<'_>) -> Result<(Assembled, ModelRows), LoadFault> {
    let steps = graph.named_steps()?;
    for step in &steps {
        graph.check_maps(step)?;
        graph.check_reads(step)?;
    }
    let rows: Vec<(&str, ModelRows)> = steps.iter().map(|s| (&*s.name, s.model.batch)).collect();
    let batch = batch(graph.config, &rows).map_err(|(line, why)| graph.wrong(line, &why))?;
    let mut parts = GraphParts::default();
    for step in &steps {
        let names = StepNames::new(&step.name, step.written);
        let row = |specs: &[TensorSpec]| as_row(specs, step.model.batch, batch);
        let added = parts.add(step.part, &names, row);
        added.map_err(|why| graph.of_step(step.written, &step.name, &why))?;
    }
    let inputs = graph.config.inputs.iter();
    let inputs = inputs.map(|input| graph.input(input, &steps, batch));
    let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
    let outputs = graph
        .config
        .outputs
        .iter()
        .map(|output| output.name.clone());
    let outputs: Vec<String> = outputs.collect();
    let lengths = graph.lengths(&steps)?;
    let pipeline = MemberSteps {
        members: parts.members,
        steps: parts.steps,
        lengths,
    };
    let made = pipeline.built(graph.name.to_owned(), inputs, &outputs);
    let made = made.map_err(|error| graph.unbuilt(&steps, &error))?;
    graph.check_outputs(&made.part.outputs, batch)?;
    Ok((made, batch))
}

impl<'c> EnsembleGraph<'c> {
    fn wrong(&self, line: usize, why: &str) -> LoadFault {
        LoadFault::of_line(&self.file, line, why)
    }

    fn of_step(&self, written: &StepConfig, name: &str, why: &str) -> LoadFault {
        self.wrong(written.line, &format!("step `{name}`: {why}"))
    }

    /// Returns an error of the graph, at the line of the output or step that it names.
    fn unbuilt(&self, steps: &[NamedStep<'_>], error: &PipelineError) -> LoadFault {
        if let Some(unmade) = self.unmade(error) {
            return unmade;
        }
        let why = error.to_string();
        let named = |step: &&NamedStep<'_>| match error {
            PipelineError::Cycle { steps } => steps.iter().any(|of| step.has(of)),
            _ => why.contains(&format!("`{}`", step.name)),
        };
        let line = steps.iter().find(named).map_or(1, |step| step.written.line);
        let remedy = match error {
            PipelineError::Unfit {
                one_varies: true, ..
            } => EQUALLY_OPEN,
            _ => "",
        };
        self.wrong(line, &format!("ensemble_scheduling: {why}{remedy}"))
    }

    /// Returns the error of an output that no step makes, or `None` for other errors.
    fn unmade(&self, error: &PipelineError) -> Option<LoadFault> {
        let PipelineError::Missing {
            step,
            tensor,
            known,
        } = error
        else {
            return None;
        };
        let mut outputs = self.config.outputs.iter().filter(|_| step == "outputs");
        let output = outputs.find(|output| output.name == *tensor)?;
        let known = known.join(", ");
        let why = format!("output `{tensor}`: no step makes it; expected one of {known}");
        Some(self.wrong(output.line, &why))
    }

    /// Names the steps after their models. The second step of a model is `model-2`.
    fn named_steps(&self) -> Result<Vec<NamedStep<'_>>, LoadFault> {
        let mut uses: HashMap<&str, usize> = HashMap::new();
        let pairs = self.steps.iter().zip(&self.models);
        let steps = pairs.map(|(written, model)| {
            let count = uses.entry(&written.model).or_default();
            *count += 1;
            let name = match *count {
                1 => written.model.clone(),
                count => format!("{}-{count}", written.model),
            };
            let Some(part) = &model.part else {
                let why = "a model with an ensemble.toml or pipeline.toml cannot be a step";
                return Err(self.of_step(written, &name, why));
            };
            Ok(NamedStep {
                name,
                written,
                model,
                part,
            })
        });
        steps.collect()
    }

    /// Returns the lengths of samples, or `None` if no step has varying samples. A tensor is stored
    /// at the longest length, so all steps need the same bound. Each model pads samples as it does
    /// alone.
    fn lengths(&self, steps: &[NamedStep<'_>]) -> Result<Option<Lengths>, LoadFault> {
        let varying = steps.iter();
        let mut varying = varying.filter_map(|step| Some((step, step.part.lengths.as_ref()?)));
        let Some((first, lengths)) = varying.next() else {
            return Ok(None);
        };
        match varying.find(|(_, other)| other.largest() != lengths.largest()) {
            None => Ok(Some(lengths.unpadded())),
            Some((step, other)) => {
                let (most, found, name) = (lengths.largest(), other.largest(), &first.name);
                let why = format!(
                    "expected lengths up to {most}, as in step `{name}`, found {found}; set the \
                     parameter `{MOST_LENGTH_PARAMETER}` to the same number in the config.pbtxt \
                     of both models"
                );
                Err(self.of_step(step.written, &step.name, &why))
            }
        }
    }

    /// Checks that the maps name all inputs of a model, and no unknown tensors.
    fn check_maps(&self, step: &NamedStep<'_>) -> Result<(), LoadFault> {
        let sides = [
            ("input_map", &step.written.inputs, &step.part.inputs),
            ("output_map", &step.written.outputs, &step.part.outputs),
        ];
        for (field, map, own) in sides {
            let known: Vec<&str> = own.iter().map(|spec| spec.name.as_str()).collect();
            if let Some((name, _)) = map.iter().find(|(name, _)| !known.contains(&&**name)) {
                let known = known.join(", ");
                let why = format!("{field}: the model has no `{name}`; expected {known}");
                return Err(self.of_step(step.written, &step.name, &why));
            }
        }
        let mapped = |name: &str| step.written.inputs.iter().any(|(own, _)| own == name);
        match step.part.inputs.iter().find(|spec| !mapped(&spec.name)) {
            None => Ok(()),
            Some(spec) => {
                let why = format!(
                    "input_map: expected a tensor for `{}`, found none",
                    spec.name
                );
                Err(self.of_step(step.written, &step.name, &why))
            }
        }
    }

    /// Checks that each tensor that a step reads is an input of the ensemble or made by a step.
    fn check_reads(&self, step: &NamedStep<'_>) -> Result<(), LoadFault> {
        let inputs = self.config.inputs.iter().map(|input| &*input.name);
        let made = self.steps.iter().flat_map(|step| &step.outputs);
        let known: Vec<&str> = inputs.chain(made.map(|(_, tensor)| &**tensor)).collect();
        let mut read = step.written.inputs.iter();
        match read.find(|(_, tensor)| !known.contains(&&**tensor)) {
            None => Ok(()),
            Some((own, tensor)) => {
                let known = known.join(", ");
                let why =
                    format!("input_map `{own}`: no step makes `{tensor}`; expected one of {known}");
                Err(self.of_step(step.written, &step.name, &why))
            }
        }
    }

    /// Returns an input of the ensemble per row. Varying dimensions come from the first step that
    /// reads it.
    fn input(
        &self,
        input: &TensorConfig,
        steps: &[NamedStep<'_>],
        batch: ModelRows,
    ) -> Result<TensorSpec, LoadFault> {
        let wrong = |why: String| self.wrong(input.line, &format!("input `{}`: {why}", input.name));
        if input.reshape.is_some() {
            return Err(wrong("reshape: expected none in an ensemble".into()));
        }
        let readers = steps.iter().filter_map(|step| {
            let mut map = step.written.inputs.iter();
            let (own, _) = map.find(|(_, tensor)| *tensor == input.name)?;
            let spec = step.part.inputs.iter().find(|spec| spec.name == *own)?;
            Some((step, spec))
        });
        let Some((step, spec)) = readers.take(1).next() else {
            return Err(wrong("no step reads it".into()));
        };
        let row = as_row(std::slice::from_ref(spec), step.model.batch, batch);
        let row = row.map_err(|why| self.of_step(step.written, &step.name, &why))?;
        let written = row_dims(input, self.config, batch);
        match row.into_iter().next() {
            Some(row) if input.data_type == row.data_type && fits(written, &row) => {
                Ok(TensorSpec {
                    name: input.name.clone(),
                    ..row
                })
            }
            row => {
                let varies = row.as_ref().is_some_and(TensorSpec::varies);
                let remedy = if varies { EQUALLY_OPEN } else { "" };
                let expected = row.map(|row| row.to_string()).unwrap_or_default();
                let (name, data_type) = (&step.name, input.data_type);
                Err(wrong(format!(
                    "expected {expected}, as step `{name}` reads it, found {data_type} \
                     {written:?}{remedy}"
                )))
            }
        }
    }

    /// Checks the configured outputs against the tensors that the steps make.
    fn check_outputs(&self, made: &[TensorSpec], batch: ModelRows) -> Result<(), LoadFault> {
        for (output, made) in self.config.outputs.iter().zip(made) {
            let written = row_dims(output, self.config, batch);
            if output.reshape.is_some() {
                let why = format!(
                    "output `{}`: reshape: expected none in an ensemble",
                    output.name
                );
                return Err(self.wrong(output.line, &why));
            }
            if output.data_type != made.data_type || !fits(written, made) {
                let (name, data_type) = (&output.name, output.data_type);
                let why = format!(
                    "output `{name}`: expected {made}, as its step makes it, found {data_type} \
                     {written:?}"
                );
                return Err(self.wrong(output.line, &why));
            }
        }
        Ok(())
    }
}
