//! The answers of an ensemble as named tensors.

use divisi_engine::serving::{Answer, Detail};
use divisi_model::ensemble::{AnswerKind, Ensemble};
use divisi_runtime::device::MemberIndex;
use divisi_runtime::tensor::{DataType, Signature, TensorSpec, TensorValue};

use crate::error::{ErrorKind, ServiceError};
use crate::protocol::{GrowingBytes, NamedTensor, WireTensor};

/// The mapping of an answer's rows to tensors.
#[derive(Debug)]
pub(super) struct AnswerForm {
    signature: Signature,
    /// Whether the tensors are those of a single member, without a combination.
    own: bool,
    /// Whether some of them can be computed without the others.
    parts: bool,
}

impl AnswerForm {
    /// Creates the form of a single network: its own tensors.
    pub(super) fn of_network(ensemble: &Ensemble) -> Self {
        AnswerForm {
            signature: Signature {
                lengths: ensemble.lengths.clone(),
                ..ensemble.members[0].graph.signature()
            },
            own: true,
            parts: false,
        }
    }

    /// Creates the form of an ensemble: its combined answer, named after its kind, or the output
    /// tensors of a pipeline.
    pub(super) fn of_ensemble(ensemble: &Ensemble) -> Self {
        let (outputs, lengths) = match &ensemble.pipeline {
            None => (named(combined(ensemble.answers), ensemble), None),
            Some(pipeline) => (
                pipeline.outputs().iter().map(|o| o.spec.clone()).collect(),
                pipeline.lengths().cloned(),
            ),
        };
        AnswerForm {
            signature: Signature {
                inputs: Vec::new(),
                outputs,
                lengths,
            },
            own: false,
            parts: ensemble.pipeline.is_some(),
        }
    }

    /// Returns the outputs.
    pub(super) fn specs(&self) -> &[TensorSpec] {
        &self.signature.outputs
    }

    /// Returns the output whose values are named by the ensemble's classes, values or labels.
    pub(super) fn named_values(&self, ensemble: &Ensemble) -> Option<&str> {
        let count = ensemble.answers.count();
        let [single] = self.specs() else {
            return None;
        };
        (single.elements() == Some(count)).then_some(&*single.name)
    }

    /// Returns the level of detail that the engine must return.
    pub(super) fn detail(&self) -> Detail {
        match self.own {
            true => Detail::Members,
            false => Detail::Scores,
        }
    }

    /// Returns the positions of outputs by name, or of all outputs for an empty list.
    ///
    /// # Errors
    /// Returns an error if a name is unknown.
    pub(super) fn wanted(&self, names: &[String], model: &str) -> Result<Vec<usize>, ServiceError> {
        let specs = self.specs();
        if names.is_empty() {
            return Ok((0..specs.len()).collect());
        }
        let place = |name: &String| {
            let found = specs.iter().position(|spec| spec.name == *name);
            found.ok_or_else(|| {
                let known: Vec<&str> = specs.iter().map(|spec| &*spec.name).collect();
                let known = known.join(", ");
                ServiceError::bad(format!(
                    "model `{model}` has no output `{name}`, expected {known}"
                ))
            })
        };
        names.iter().map(place).collect()
    }

    /// Returns the positions of the outputs to compute, in order and without repetition; empty for
    /// all.
    pub(super) fn computed(&self, wanted: &[usize]) -> Vec<usize> {
        let mut computed = wanted.to_vec();
        computed.sort_unstable();
        computed.dedup();
        match self.parts && computed.len() < self.specs().len() {
            true => computed,
            false => Vec::new(),
        }
    }

    /// Returns the wanted outputs of samples of a length. `computed` lists the computed outputs,
    /// and is empty for all.
    ///
    /// # Errors
    /// Returns an error if the rows do not match the outputs.
    pub(super) fn outputs(
        &self,
        answer: &Answer,
        length: usize,
        computed: &[usize],
        wanted: &[usize],
    ) -> Result<Vec<NamedTensor>, ServiceError> {
        if !computed.is_empty() {
            let form = self.only(computed);
            let place = |at: &usize| computed.iter().position(|of| of == at);
            let wanted: Vec<usize> = wanted.iter().filter_map(place).collect();
            return form.outputs(answer, length, &[], &wanted);
        }
        if let [spec] = self.specs()
            && spec.data_type == DataType::Fp32
            && !spec.varies()
        {
            return Ok(vec![single(spec, answer.len(), self.rows(answer))]);
        }
        let rows = self.rows(answer).flatten().copied().collect::<Vec<f32>>();
        let named = self.signature.answers_at(&rows, answer.len(), length);
        let named = named.map_err(|e| ServiceError::new(ErrorKind::Internal, e))?;
        let outputs = wanted.iter().filter_map(|at| named.get(*at));
        Ok(outputs.map(|(name, value)| wire(name, value)).collect())
    }

    /// Returns the form of an answer with some of the outputs.
    fn only(&self, outputs: &[usize]) -> Self {
        let specs = outputs.iter().map(|at| self.specs()[*at].clone());
        AnswerForm {
            signature: Signature {
                outputs: specs.collect(),
                ..self.signature.clone()
            },
            own: self.own,
            parts: false,
        }
    }

    fn rows<'a>(&self, answer: &'a Answer) -> Box<dyn Iterator<Item = &'a [f32]> + 'a> {
        match self.own {
            true => Box::new(answer.member_rows(MemberIndex::new(0))),
            false => Box::new(answer.rows()),
        }
    }
}

fn single<'a>(
    spec: &TensorSpec,
    samples: usize,
    rows: impl Iterator<Item = &'a [f32]>,
) -> NamedTensor {
    let sizes = spec.dims.iter().filter_map(|dim| dim.size());
    let dims = std::iter::once(samples).chain(sizes).collect();
    let values = samples.saturating_mul(spec.elements().unwrap_or(0));
    let mut bytes = GrowingBytes::with_capacity(values.saturating_mul(size_of::<f32>()));
    rows.for_each(|row| bytes.extend_floats(row));
    NamedTensor {
        name: spec.name.clone(),
        tensor: WireTensor::of_values(DataType::Fp32, dims, bytes.freeze()),
    }
}

fn wire(name: &str, value: &TensorValue) -> NamedTensor {
    let mut bytes = GrowingBytes::with_capacity(value.bytes().len());
    bytes.extend_from_slice(value.bytes());
    let dims = value.dims().to_vec();
    NamedTensor {
        name: name.to_owned(),
        tensor: WireTensor::of_values(value.data_type(), dims, bytes.freeze()),
    }
}

/// Returns a single tensor under the ensemble's own name of its output, if there is one.
fn named(mut outputs: Vec<TensorSpec>, ensemble: &Ensemble) -> Vec<TensorSpec> {
    if let ([single], Some(name)) = (&mut outputs[..], &ensemble.tensor_names.output) {
        single.name.clone_from(name);
    }
    outputs
}

/// Returns the tensors of a combined answer.
fn combined(answers: AnswerKind) -> Vec<TensorSpec> {
    let count = answers.count();
    let floats = |name: &str, dims: &[usize]| TensorSpec::fixed(name, DataType::Fp32, dims);
    let positions = answers.positions().map(|positions| positions.dims());
    match answers {
        AnswerKind::Classes { .. } => vec![floats("scores", &[count])],
        AnswerKind::Values { .. } => vec![floats("values", &[count])],
        AnswerKind::Labels { .. } => vec![floats("probabilities", &[count])],
        AnswerKind::Masks { .. } | AnswerKind::Tokens { .. } => {
            vec![floats("scores", &positions.unwrap_or_default())]
        }
        AnswerKind::Boxes { most, .. } => vec![
            TensorSpec::fixed("count", DataType::Int32, &[1]),
            floats("boxes", &[most.get() as usize, 6]),
        ],
    }
}
