//! Builds a pipeline from written steps: finds the order, and resolves every tensor.

use std::collections::HashMap;
use std::sync::Arc;

use crate::dataflow::{Dataflow, FlowStep, RowJoin, StepIndex, StepWork};
use divisi_runtime::device::MemberIndex;
use divisi_runtime::reading::ReadError;
use divisi_runtime::tensor::{DataType, Lengths, Signature, TensorSpec};

use super::checks::{fits, fixed, has_all, origins, varies};
use super::condition::TensorReduction;
use super::error::PipelineError;
use super::host::HostStep;
use super::order::{mapped, missing, ordered};
use super::{
    Pipeline, PipelineOutput, PipelineStep, PlaneRows, RowOrigin, StepRole, StepSpec, TensorSource,
    WorkSpec,
};

/// A tensor available to later steps.
#[derive(Clone)]
struct KnownTensor {
    spec: TensorSpec,
    source: TensorSource,
}

/// A step's role, the tensors that it reads, and the tensors that it makes.
type BuiltStep = (StepRole, Vec<KnownTensor>, Vec<TensorSpec>);

/// A pipeline under construction.
struct Builder {
    inputs: Vec<TensorSpec>,
    /// The lengths of samples, if they vary.
    lengths: Option<Lengths>,
    tensors: HashMap<String, KnownTensor>,
    steps: Vec<PipelineStep>,
    flow: Vec<FlowStep>,
    /// For each step, the name of the step that may skip rows of it, if any.
    partial: Vec<Option<String>>,
    planes: Vec<PlaneRows>,
}

impl Pipeline {
    /// Creates the pipeline of `steps`, in any order, for samples of the tensors `inputs`. The
    /// answer consists of the tensors `outputs`.
    ///
    /// # Errors
    /// A name, type or shape does not match, a tensor has no writer or two
    /// writers, or steps form a cycle.
    pub fn new(
        inputs: Vec<TensorSpec>,
        steps: Vec<StepSpec>,
        outputs: &[String],
    ) -> Result<Self, PipelineError> {
        Pipeline::of_lengths(None, inputs, steps, outputs)
    }

    /// Creates the pipeline of `steps` for samples of these lengths, if dimensions of tensors vary.
    ///
    /// # Errors
    /// As for [`Pipeline::new`], or a host step or condition reads a varying tensor.
    pub fn of_lengths(
        lengths: Option<Lengths>,
        inputs: Vec<TensorSpec>,
        steps: Vec<StepSpec>,
        outputs: &[String],
    ) -> Result<Self, PipelineError> {
        let order = ordered(&inputs, &steps)?;
        let mut builder = Builder::new(&inputs, lengths)?;
        for at in order {
            builder.add(&steps[at])?;
        }
        builder.finish(outputs)
    }
}

impl Builder {
    fn new(inputs: &[TensorSpec], lengths: Option<Lengths>) -> Result<Self, PipelineError> {
        let mut builder = Builder {
            inputs: inputs.to_vec(),
            lengths,
            tensors: HashMap::new(),
            steps: Vec::new(),
            flow: Vec::new(),
            partial: Vec::new(),
            planes: Vec::new(),
        };
        builder.know(RowOrigin::Request, inputs)?;
        Ok(builder)
    }

    /// Registers tensors that are concatenated in a row. Returns the row's width.
    fn know(&mut self, origin: RowOrigin, specs: &[TensorSpec]) -> Result<usize, ReadError> {
        let mut first = match origin {
            RowOrigin::Request => usize::from(self.lengths.is_some()),
            RowOrigin::Step(_) => 0,
        };
        for spec in specs {
            let values = match self.lengths {
                Some(_) => spec.elements_at(self.most()),
                None => spec.elements(),
            };
            let values = values.ok_or_else(|| varies(spec))?;
            let run = first..first + values;
            first = run.end;
            let source = TensorSource { origin, run };
            let spec = spec.clone();
            self.tensors
                .insert(spec.name.clone(), KnownTensor { spec, source });
        }
        Ok(first)
    }

    /// Returns the length of the longest sample, or 0 if no length varies.
    fn most(&self) -> usize {
        self.lengths.as_ref().map_or(0, Lengths::largest)
    }

    fn tensor(&self, step: &str, name: &str) -> Result<KnownTensor, PipelineError> {
        let known = self.tensors.get(name).cloned();
        let names: Vec<&str> = self.tensors.keys().map(String::as_str).collect();
        known.ok_or_else(|| missing(step, name, names.iter()))
    }

    fn add(&mut self, spec: &StepSpec) -> Result<(), PipelineError> {
        let gate = self.add_gate(spec)?;
        let (role, read, made) = match &spec.work {
            WorkSpec::Model {
                member,
                signature,
                inputs,
                outputs,
            } => self.model(&spec.name, *member, signature, [inputs, outputs])?,
            WorkSpec::Host {
                step,
                inputs,
                outputs,
            } => self.host(spec, step, inputs, outputs)?,
        };
        let sources: Vec<TensorSource> = read.iter().map(|t| t.source.clone()).collect();
        let dims = read.first().map(|t| fixed(&t.spec)).unwrap_or_default();
        let mut needs = origins(&sources);
        needs.extend(gate);
        needs.sort_unstable();
        needs.dedup();
        let work = match &role {
            StepRole::Model(member) => StepWork::Model {
                member: *member,
                plane: self.plane(&sources),
            },
            StepRole::Host(_) | StepRole::Gate(_) => StepWork::Host,
        };
        let join = self.join(spec, &role, gate, &sources)?;
        self.partial.push(self.partial_of(spec, join, &needs));
        self.flow.push(FlowStep { work, needs, join });
        let at = StepIndex::new(self.steps.len() as u16);
        let width = self.know(RowOrigin::Step(at), &made)?;
        self.steps.push(PipelineStep {
            name: spec.name.clone(),
            role,
            sources,
            dims,
            tensors: made,
            width,
            most: self.most(),
        });
        Ok(())
    }

    /// Adds the condition of a step, if any, as a separate step.
    fn add_gate(&mut self, spec: &StepSpec) -> Result<Option<StepIndex>, PipelineError> {
        let Some(when) = &spec.when else {
            return Ok(None);
        };
        let tensor = self.tensor(&spec.name, &when.tensor)?;
        if tensor.spec.varies() {
            return Err(varies(&tensor.spec).into());
        }
        if when.reduction == TensorReduction::Value && tensor.source.run.len() != 1 {
            let (step, name, found) = (&spec.name, &when.tensor, &tensor.spec);
            return Err(ReadError::new(format_args!(
                "step `{step}`, when: expected one number, but `{name}` is {found}; compare \
                 `max({name})`, for example"
            ))
            .into());
        }
        let sources = vec![tensor.source.clone()];
        let at = StepIndex::new(self.steps.len() as u16);
        self.partial.push(Some(spec.name.clone()));
        self.flow.push(FlowStep {
            work: StepWork::Host,
            needs: origins(&sources),
            join: RowJoin::All,
        });
        self.steps.push(PipelineStep {
            name: spec.name.clone(),
            role: StepRole::Gate(when.clone()),
            dims: fixed(&tensor.spec),
            sources,
            tensors: Vec::new(),
            width: 0,
            most: self.most(),
        });
        Ok(Some(at))
    }

    fn model(
        &mut self,
        step: &str,
        member: MemberIndex,
        signature: &Signature,
        [inputs, outputs]: [&[(String, String)]; 2],
    ) -> Result<BuiltStep, PipelineError> {
        has_all(step, "input", inputs, &signature.inputs)?;
        has_all(step, "output", outputs, &signature.outputs)?;
        let mut read = self.length_of(step, signature)?;
        for own in &signature.inputs {
            let tensor = self.tensor(step, mapped(inputs, &own.name))?;
            fits(step, own, &tensor.spec)?;
            if tensor.source.origin == RowOrigin::Request {
                self.narrow(&tensor.spec.name, own);
            }
            read.push(tensor);
        }
        let made = signature.outputs.iter().map(|own| TensorSpec {
            name: mapped(outputs, &own.name).to_owned(),
            ..own.clone()
        });
        Ok((StepRole::Model(member), read, made.collect()))
    }

    /// Returns the source of the samples' length as the first tensor of a model, or an empty list
    /// if the model's samples do not vary.
    fn length_of(
        &self,
        step: &str,
        signature: &Signature,
    ) -> Result<Vec<KnownTensor>, PipelineError> {
        let Some(own) = &signature.lengths else {
            return Ok(Vec::new());
        };
        if own.largest() != self.most() {
            let expected = format_args!(
                "samples of lengths up to {}, as in the pipeline",
                self.most()
            );
            let wrong = ReadError::expected(expected, format_args!("up to {}", own.largest()));
            return Err(of_step(step, wrong).into());
        }
        Ok(vec![KnownTensor {
            spec: TensorSpec::fixed("", DataType::Fp32, &[]),
            source: TensorSource {
                origin: RowOrigin::Request,
                run: 0..1,
            },
        }])
    }

    /// A model reads an input of the pipeline, which is then limited to the model's valid values.
    fn narrow(&mut self, input: &str, own: &TensorSpec) {
        if let Some(spec) = self.inputs.iter_mut().find(|spec| spec.name == *input) {
            *spec = spec.clone().narrowed(own);
        }
    }

    fn host(
        &self,
        spec: &StepSpec,
        step: &HostStep,
        inputs: &[String],
        outputs: &[String],
    ) -> Result<BuiltStep, PipelineError> {
        let read = inputs.iter().map(|name| self.tensor(&spec.name, name));
        let read = read.collect::<Result<Vec<_>, _>>()?;
        if let Some(varying) = read.iter().find(|tensor| tensor.spec.elements().is_none()) {
            return Err(varies(&varying.spec).into());
        }
        let specs: Vec<&TensorSpec> = read.iter().map(|tensor| &tensor.spec).collect();
        let made = step.outputs(&specs, outputs);
        let made = made.map_err(|error| of_step(&spec.name, error))?;
        Ok((StepRole::Host(step.clone()), read, made))
    }

    fn join(
        &self,
        spec: &StepSpec,
        role: &StepRole,
        gate: Option<StepIndex>,
        sources: &[TensorSource],
    ) -> Result<RowJoin, PipelineError> {
        let of_request = sources.iter().any(|s| s.origin == RowOrigin::Request);
        let merges = matches!(role, StepRole::Host(HostStep::First)) && gate.is_none();
        match (spec.quorum, role) {
            (None, _) if merges && of_request => Ok(RowJoin::Always),
            (None, _) if merges => Ok(RowJoin::Any),
            (None, _) => Ok(RowJoin::All),
            (Some((least, wait)), StepRole::Host(step))
                if step.is_combination() && gate.is_none() =>
            {
                let of = origins(sources).len();
                match least <= of {
                    true => Ok(RowJoin::Quorum { least, wait }),
                    false => {
                        let expected = format_args!(
                            "a quorum of at most {of}, the number of steps that it reads"
                        );
                        Err(of_step(&spec.name, ReadError::expected(expected, least)).into())
                    }
                }
            }
            (Some(_), _) => {
                let wrong = ReadError::new(format_args!(
                    "`{}` needs all of its inputs and cannot have a quorum",
                    role.kind()
                ));
                Err(of_step(&spec.name, wrong).into())
            }
        }
    }

    /// Returns the step that may skip rows of this step, if any.
    fn partial_of(&self, spec: &StepSpec, join: RowJoin, needs: &[StepIndex]) -> Option<String> {
        let mut partial = needs.iter().map(|need| self.partial[need.get()].clone());
        match join {
            RowJoin::Always => None,
            RowJoin::Any => partial.all(|p| p.is_some()).then(|| spec.name.clone()),
            RowJoin::All | RowJoin::Quorum { .. } => partial.flatten().next(),
        }
    }

    /// Returns the number of the layout of a model's input.
    fn plane(&mut self, sources: &[TensorSource]) -> usize {
        let of_request = sources.iter().all(|s| s.origin == RowOrigin::Request);
        let plane = match of_request {
            true => PlaneRows::Request(sources.iter().map(|s| s.run.clone()).collect()),
            false => PlaneRows::Gathered(sources.to_vec()),
        };
        let known = self.planes.iter().position(|known| *known == plane);
        known.unwrap_or_else(|| {
            self.planes.push(plane);
            self.planes.len() - 1
        })
    }

    fn finish(self, outputs: &[String]) -> Result<Pipeline, PipelineError> {
        let mut answered: Vec<PipelineOutput> = Vec::new();
        for name in outputs {
            if answered.iter().any(|output| output.spec.name == *name) {
                let wrong = ReadError::new(format_args!("`{name}` appears twice"));
                return Err(wrong.at("outputs").into());
            }
            let KnownTensor { spec, source } = self.tensor("outputs", name)?;
            if let RowOrigin::Step(step) = source.origin
                && let Some(by) = &self.partial[step.get()]
            {
                return Err(ReadError::new(format_args!(
                    "output `{name}` does not exist for samples that skip `{by}`; merge it with a \
                     tensor that always exists, in a step `first`"
                ))
                .into());
            }
            answered.push(PipelineOutput { spec, source });
        }
        let ends = answered
            .iter()
            .filter_map(|output| match output.source.origin {
                RowOrigin::Step(step) => Some(step.get()),
                RowOrigin::Request => None,
            });
        let ends: Vec<usize> = ends.collect();
        Ok(Pipeline {
            inputs: self.inputs,
            lengths: self.lengths,
            flow: Arc::new(Dataflow::new(self.flow, &ends)?),
            steps: self.steps.into(),
            outputs: answered,
            planes: self.planes,
        })
    }
}

impl StepRole {
    /// Returns the name of its kind.
    pub fn kind(&self) -> &'static str {
        match self {
            StepRole::Model(_) => "model",
            StepRole::Host(step) => step.name(),
            StepRole::Gate(_) => "when",
        }
    }
}

fn of_step(step: &str, error: ReadError) -> ReadError {
    error.at(format_args!("step `{step}`"))
}
