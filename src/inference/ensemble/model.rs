//! An entry of a catalogue as a model for clients.

use std::sync::Arc;

use divisi_engine::serving::{
    Accounting, Answer, Engine, MissingSteps, Outcome, PipelineIndex, Refused, Request, RunListener,
};
use divisi_model::catalogue::{BatchDimension, CatalogueEntry};
use divisi_model::ensemble::Ensemble;
use divisi_model::metrics::LatencySplit;
use divisi_runtime::tensor::Signature;
use tokio::sync::oneshot;

use crate::error::{ErrorKind, ServiceError};
use crate::protocol::{NamedTensor, ParameterValue, WireTensor};
use crate::service::{
    InferenceAnswer, InferenceFuture, InferenceRequest, InferenceTimes, ModelDescription,
    ResolvedModel,
};

use super::answers::AnswerForm;
use super::inputs::{self, SampleRows, sample_rows};
use super::steps;

/// An entry of a catalogue as a model.
pub(super) struct ServedModel {
    /// Its index within its engine.
    pub pipeline: PipelineIndex,
    pub description: Arc<ModelDescription>,
    form: Arc<AnswerForm>,
    /// Whether its tensors have no batch dimension: a request is one sample.
    single: bool,
}

/// A request that the engine did not accept.
pub(super) enum NotTaken {
    /// The engine no longer accepts requests.
    Closed(ServiceError),
    /// The request is invalid.
    Refused(ServiceError),
}

impl From<ServiceError> for NotTaken {
    fn from(error: ServiceError) -> Self {
        NotTaken::Refused(error)
    }
}

impl ServedModel {
    /// Creates the model of an entry of an engine's catalogue; with `network`, its own tensors are
    /// its outputs.
    pub(super) fn new(
        engine: &Engine,
        number: usize,
        entry: &CatalogueEntry,
        network: bool,
    ) -> Self {
        let (pipeline, ensemble) = (PipelineIndex(number), entry.ensemble());
        let form = form(ensemble, network);
        let capacity = engine.telemetry().capacity_of(pipeline);
        let interface = entry.interface();
        let mut labels = interface.labels.clone();
        labels.extend(class_labels(ensemble, &form));
        let version = entry.version().to_string();
        let description = ModelDescription {
            name: entry.name().to_owned(),
            versions: versions(engine, entry.name()),
            version,
            signature: signature(ensemble, network),
            batch: match interface.batch {
                BatchDimension::Any => Some(capacity),
                BatchDimension::AtMost(most) | BatchDimension::Exactly(most) => {
                    Some(most.min(capacity))
                }
                BatchDimension::None => None,
            },
            exactly: match interface.batch {
                BatchDimension::Exactly(size) => Some(size),
                BatchDimension::Any | BatchDimension::AtMost(_) | BatchDimension::None => None,
            },
            one_sample: interface.one_sample,
            labels,
            cached: !interface.uncached && !has_quorum(ensemble),
            batch_sizes: ensemble.batch_sizes.iter().map(|size| size.get()).collect(),
            delay: ensemble.policy.wait(),
            queueing: ensemble.queueing.clone(),
            composing: interface.composing.clone(),
            config: Arc::clone(&interface.config),
            inner: steps::inner(engine.catalogue(), entry),
            steps: steps::described(engine.catalogue(), entry),
            devices: engine.devices().iter().map(|d| d.name.clone()).collect(),
            resolved: ResolvedModel::default(),
        };
        ServedModel {
            single: description.batch.is_none(),
            description: Arc::new(description),
            form: Arc::new(form),
            pipeline,
        }
    }

    /// Refuses another number of samples if a model has a fixed number.
    fn check_batch(&self, tensors: &[NamedTensor]) -> Result<(), ServiceError> {
        let Some(size) = self.description.exactly else {
            return Ok(());
        };
        let is_other = |input: &&NamedTensor| input.tensor.dims().first() != Some(&size);
        match tensors.iter().find(is_other) {
            None => Ok(()),
            Some(input) => {
                let (name, dims) = (&input.name, input.tensor.dims());
                Err(ServiceError::bad(format!(
                    "input `{name}`: expected {size} as the first dimension, found {dims:?}"
                )))
            }
        }
    }

    /// Returns the requested outputs and the samples of a request.
    fn read(&self, asked: &InferenceRequest) -> Result<(Vec<usize>, SampleRows), ServiceError> {
        let wanted = self.form.wanted(&asked.outputs, &self.description.name)?;
        let batched: Vec<NamedTensor>;
        let tensors = match self.single {
            true => {
                batched = asked.inputs.iter().map(as_batch).collect();
                &batched
            }
            false => &asked.inputs,
        };
        self.check_batch(tensors)?;
        let rows = sample_rows(&self.description.signature, tensors, self.single)?;
        Ok((wanted, rows))
    }

    /// Returns the listener for runs of a request's steps that are not part of an answer.
    fn untold(&self, asked: &InferenceRequest) -> RunListener {
        let (counter, model) = (Arc::clone(&asked.untold), Arc::clone(&self.description));
        RunListener::new(move |runs| counter.count(&model, runs))
    }

    /// Sends a request to the engine. The returned future waits for the answer.
    pub(super) fn ask(
        &self,
        engine: &Arc<Engine>,
        asked: &InferenceRequest,
    ) -> Result<InferenceFuture, NotTaken> {
        let (wanted, rows) = self.read(asked)?;
        let computed = self.form.computed(&wanted);
        let untold = self.untold(asked);
        let request = Request {
            deadline: asked.deadline,
            priority: asked.priority,
            patience: asked.patience,
            due: asked.due,
            runs: Some(&untold),
            outputs: &computed,
            // The server records its errors.
            accounting: Accounting::Sender,
            origin: asked.origin.as_ref(),
            ..rows
                .request()
                .detailed(self.form.detail())
                .to(self.pipeline)
        };
        let (tell, told) = oneshot::channel::<Outcome>();
        // A cancelled request has no receiver.
        let reply = Box::new(move |outcome| drop(tell.send(outcome)));
        let under_way = engine
            .submit_cancellable(request, reply)
            .map_err(|refused| {
                let error = inputs::refusal(&self.description.signature, &refused);
                match refused {
                    Refused::Closed(_) | Refused::Starting => NotTaken::Closed(error),
                    _ => NotTaken::Refused(error),
                }
            })?;
        let (form, length, single) = (Arc::clone(&self.form), rows.length, self.single);
        let model = Arc::clone(&self.description);
        // The engine must live until the request is answered.
        let engine = Arc::clone(engine);
        Ok(Box::pin(async move {
            let outcome = told.await;
            under_way.is_over();
            drop(engine);
            let dropped = "the engine dropped the request";
            let outcome = outcome.map_err(|_| ServiceError::new(ErrorKind::Internal, dropped))?;
            let answer =
                outcome.map_err(|failure| ServiceError::coded(&failure).after_acceptance())?;
            let outputs = form.outputs(&answer, length, &computed, &wanted);
            let mut outputs = outputs.map_err(ServiceError::after_acceptance)?;
            if single {
                outputs.iter_mut().for_each(without_batch);
            }
            let samples = match model.one_sample {
                true => 1,
                false => answer.len() as u64,
            };
            Ok(InferenceAnswer {
                model,
                outputs,
                samples,
                times: times(&answer),
                parameters: parameters(answer.missing()),
                runs: answer.runs().to_vec(),
            })
        }))
    }
}

/// Returns the tensors of an ensemble as clients see them, without the batch dimension; with
/// `network`, its own tensors are its outputs.
pub fn signature(ensemble: &Ensemble, network: bool) -> Signature {
    Signature {
        inputs: inputs::specs(ensemble, network),
        outputs: form(ensemble, network).specs().to_vec(),
        lengths: ensemble.lengths.clone(),
    }
}

fn form(ensemble: &Ensemble, network: bool) -> AnswerForm {
    match (network, &ensemble.members[..]) {
        (true, [_]) => AnswerForm::of_network(ensemble),
        _ => AnswerForm::of_ensemble(ensemble),
    }
}

/// Returns whether answers may leave out some steps, so that equal requests may have different
/// answers.
fn has_quorum(ensemble: &Ensemble) -> bool {
    let pipeline = ensemble.pipeline.as_ref();
    pipeline.is_some_and(|pipeline| !pipeline.flow().waits().is_empty())
}

/// Returns the versions of a model that an engine serves, the oldest first.
fn versions(engine: &Engine, name: &str) -> Vec<String> {
    let entries = engine.catalogue().entries().iter();
    let named = entries.filter(|entry| entry.name() == name);
    let mut versions: Vec<_> = named.map(CatalogueEntry::version).collect();
    versions.sort_unstable();
    versions.iter().map(ToString::to_string).collect()
}

/// Returns a tensor as a batch of one.
fn as_batch(input: &NamedTensor) -> NamedTensor {
    let tensor = &input.tensor;
    let dims = std::iter::once(1).chain(tensor.dims().iter().copied());
    NamedTensor {
        name: input.name.clone(),
        tensor: WireTensor::of_values(tensor.data_type(), dims.collect(), tensor.bytes()),
    }
}

/// Removes the dimension of a batch of one.
fn without_batch(output: &mut NamedTensor) {
    let tensor = &output.tensor;
    let dims = tensor.dims().get(1..).unwrap_or_default().to_vec();
    output.tensor = WireTensor::of_values(tensor.data_type(), dims, tensor.bytes());
}

/// Returns the names of the values of outputs, if the ensemble has names.
fn class_labels(ensemble: &Ensemble, form: &AnswerForm) -> Option<(String, Arc<[String]>)> {
    let names = ensemble.answer_names.as_ref()?;
    let output = form.named_values(ensemble)?;
    Some((output.to_owned(), names.as_slice().into()))
}

/// The names of the steps that quorums left out, joined by commas.
const MISSING: &str = "divisi_missing";
/// Whether none of the missing steps could have changed the class.
const CERTAIN: &str = "divisi_certain";

fn parameters(missing: &MissingSteps) -> Vec<(&'static str, ParameterValue)> {
    if missing.names.is_empty() {
        return Vec::new();
    }
    let names = ParameterValue::Text(missing.names.join(","));
    let certain = missing.is_certain.map(ParameterValue::Bool);
    let certain = certain.map(|certain| (CERTAIN, certain));
    std::iter::once((MISSING, names)).chain(certain).collect()
}

fn times(answer: &Answer) -> InferenceTimes {
    let LatencySplit {
        admission,
        queueing,
        batching,
        copying,
        computing,
        combining,
    } = answer.times();
    InferenceTimes {
        queue: queueing + batching,
        input: admission + copying,
        compute: computing,
        output: combining,
    }
}
