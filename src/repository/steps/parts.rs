//! Adds the steps of a model to a pipeline that uses it, with new names and member numbers.

use std::collections::HashMap;
use std::sync::Arc;

use divisi_model::ensemble::Member;
use divisi_model::pipeline::{StepSpec, WorkSpec};
use divisi_runtime::device::MemberIndex;
use divisi_runtime::tensor::{Signature, TensorSpec};

use crate::config::StepConfig;
use crate::loaded::PipelinePart;

/// The maximum number of steps of a pipeline, including nested ensembles.
const MOST_STEPS: usize = 1024;

/// Steps and members of a pipeline under construction.
#[derive(Default)]
pub(super) struct GraphParts {
    pub(super) members: Vec<Arc<Member>>,
    pub(super) steps: Vec<StepSpec>,
}

/// The names of a model's tensors and steps in a pipeline that uses it.
pub(super) struct StepNames<'s> {
    /// The step's name.
    step: &'s str,
    /// The model's inputs and outputs, each with the pipeline's tensor.
    known: HashMap<&'s str, &'s str>,
}

impl<'s> StepNames<'s> {
    pub(super) fn new(step: &'s str, written: &'s StepConfig) -> Self {
        let all = written.inputs.iter().chain(&written.outputs);
        StepNames {
            step,
            known: all.map(|(own, tensor)| (&**own, &**tensor)).collect(),
        }
    }

    /// Returns the pipeline's name of a model's tensor. Tensors without other readers get a name of
    /// the step's own.
    fn tensor(&self, own: &str) -> String {
        match self.known.get(own) {
            Some(tensor) => (*tensor).to_owned(),
            None => format!("{}/{own}", self.step),
        }
    }

    /// Returns the name of one of a model's `count` steps.
    fn step(&self, own: &str, count: usize) -> String {
        match count {
            1 => self.step.to_owned(),
            _ => format!("{}/{own}", self.step),
        }
    }
}

impl GraphParts {
    /// Adds the steps of a model. `row` converts its tensors to tensors of a row.
    ///
    /// # Errors
    /// There are too many steps, or a tensor has no row form. The error is a text.
    pub(super) fn add(
        &mut self,
        part: &PipelinePart,
        names: &StepNames<'_>,
        row: impl Fn(&[TensorSpec]) -> Result<Vec<TensorSpec>, String>,
    ) -> Result<(), String> {
        if self.steps.len() + part.steps.len() > MOST_STEPS {
            return Err(format!(
                "expected at most {MOST_STEPS} steps in a pipeline, including the steps of its \
                 ensembles"
            ));
        }
        let members: Vec<MemberIndex> = part.members.iter().map(|m| self.member(m)).collect();
        for step in &part.steps {
            let name = names.step(&step.name, part.steps.len());
            let work = renamed(&step.work, &members, names, &row)?;
            self.steps.push(StepSpec {
                name,
                work,
                ..step.clone()
            });
        }
        Ok(())
    }

    /// Returns the number of a member, and adds the member if it is new.
    fn member(&mut self, member: &Arc<Member>) -> MemberIndex {
        let mut known = self.members.iter();
        let at = known.position(|known| Arc::ptr_eq(known, member));
        MemberIndex::new(at.unwrap_or_else(|| {
            self.members.push(Arc::clone(member));
            self.members.len() - 1
        }))
    }
}

fn renamed(
    work: &WorkSpec,
    members: &[MemberIndex],
    names: &StepNames<'_>,
    row: impl Fn(&[TensorSpec]) -> Result<Vec<TensorSpec>, String>,
) -> Result<WorkSpec, String> {
    let mapped = |map: &[(String, String)]| -> Vec<(String, String)> {
        let each = map.iter().map(|(own, t)| (own.clone(), names.tensor(t)));
        each.collect()
    };
    let listed = |tensors: &[String]| tensors.iter().map(|t| names.tensor(t)).collect();
    Ok(match work {
        WorkSpec::Model {
            member,
            signature,
            inputs,
            outputs,
        } => WorkSpec::Model {
            member: members[member.get()],
            signature: Signature {
                inputs: row(&signature.inputs)?,
                outputs: row(&signature.outputs)?,
                lengths: signature.lengths.clone(),
            },
            inputs: mapped(inputs),
            outputs: mapped(outputs),
        },
        WorkSpec::Host {
            step,
            inputs,
            outputs,
        } => WorkSpec::Host {
            step: step.clone(),
            inputs: listed(inputs),
            outputs: listed(outputs),
        },
    })
}
