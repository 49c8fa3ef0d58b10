//! An ensemble that an engine serves in this process, as a model.

mod answers;
mod gauges;
mod inputs;

use std::sync::Arc;

use divisi::ensemble::Ensemble;
use divisi::metrics::LatencySplit;
use divisi::serving::{Answer, DoorState, Engine, Outcome, Request};
use divisi::tensor::Signature;
use tokio::sync::oneshot;

use crate::error::{ErrorKind, ServiceError};
use crate::protocol::ModelId;
use crate::service::{
    Gauge, InferenceAnswer, InferenceFuture, InferenceRequest, InferenceTimes, ModelDescription,
    ModelService, ModelState,
};

use answers::AnswerForm;
use inputs::sample_rows;

/// The version of an ensemble.
const VERSION: &str = "1";

/// An ensemble as the one model of a server: its name is the ensemble's, its outputs are the
/// combined answer.
pub struct EnsembleService {
    engine: Arc<Engine>,
    model: Arc<ModelDescription>,
    form: Arc<AnswerForm>,
}

impl EnsembleService {
    /// Serves the ensemble of an engine. Where `network` is true, it is a network's file alone,
    /// whose own tensors are the outputs.
    pub fn new(engine: Arc<Engine>, network: bool) -> Self {
        let ensemble = Arc::clone(engine.ensemble());
        let form = match (network, &ensemble.members[..]) {
            (true, [_]) => AnswerForm::of_network(&ensemble),
            _ => AnswerForm::of_ensemble(&ensemble),
        };
        let model = ModelDescription {
            name: ensemble.name.clone(),
            versions: vec![VERSION.into()],
            version: VERSION.into(),
            signature: Signature {
                inputs: inputs::specs(&ensemble, network),
                outputs: form.specs().to_vec(),
                lengths: ensemble.lengths.clone(),
            },
            batch: Some(engine.telemetry().capacity()),
            labels: labels(&ensemble, &form),
            cached: true,
        };
        EnsembleService {
            engine,
            model: Arc::new(model),
            form: Arc::new(form),
        }
    }

    fn check(&self, asked: &ModelId) -> Result<(), ServiceError> {
        let version = asked.version.as_deref();
        match asked.name == self.model.name && version.is_none_or(|v| v == VERSION) {
            true => Ok(()),
            false => Err(asked.unknown()),
        }
    }

    fn model_state(&self) -> ModelState {
        match self.engine.telemetry().door() {
            DoorState::Open => ModelState::Ready,
            DoorState::Starting => ModelState::Unavailable("workers are starting".into()),
            DoorState::Closed(reason) => ModelState::Unavailable(reason),
        }
    }

    /// Sends a request to the engine; what it returns waits for the answer.
    fn ask(&self, asked: &InferenceRequest) -> Result<InferenceFuture, ServiceError> {
        self.check(&asked.model)?;
        let wanted = self.form.wanted(&asked.outputs, &self.model.name)?;
        let rows = sample_rows(&self.model.signature, &asked.inputs)?;
        let request = Request {
            deadline: asked.deadline,
            ..Request::new(&rows.values).detailed(self.form.detail())
        };
        let (tell, told) = oneshot::channel::<Outcome>();
        // Who has given the request up does not listen.
        let reply = Box::new(move |outcome| drop(tell.send(outcome)));
        let sent = self.engine.submit_cancellable(request, reply);
        let under_way = sent.map_err(|refused| ServiceError::coded(&refused))?;
        let (form, length) = (Arc::clone(&self.form), rows.length);
        Ok(Box::pin(async move {
            let outcome = told.await;
            under_way.is_over();
            let dropped = "the engine dropped the request";
            let outcome = outcome.map_err(|_| ServiceError::new(ErrorKind::Internal, dropped))?;
            let answer = outcome.map_err(|failure| ServiceError::coded(&failure))?;
            Ok(InferenceAnswer {
                outputs: form.outputs(&answer, length, &wanted)?,
                samples: answer.len() as u64,
                times: times(&answer),
            })
        }))
    }
}

/// Returns the names of the values of outputs, where the ensemble has some.
fn labels(ensemble: &Ensemble, form: &AnswerForm) -> Vec<(String, Arc<[String]>)> {
    let names = ensemble.answer_names.as_ref();
    let single = form.named_values(ensemble);
    let labelled = names.zip(single).map(|(names, output)| {
        let names: Arc<[String]> = names.as_slice().into();
        (output.to_owned(), names)
    });
    labelled.into_iter().collect()
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

impl ModelService for EnsembleService {
    fn index(&self) -> Vec<(ModelId, ModelState)> {
        let model = ModelId::new(&*self.model.name, VERSION);
        vec![(model, self.model_state())]
    }

    fn describe(&self, asked: &ModelId) -> Result<Arc<ModelDescription>, ServiceError> {
        self.check(asked)?;
        Ok(Arc::clone(&self.model))
    }

    fn state(&self, asked: &ModelId) -> Result<ModelState, ServiceError> {
        self.check(asked)?;
        Ok(self.model_state())
    }

    fn infer(&self, asked: InferenceRequest) -> InferenceFuture {
        match self.ask(&asked) {
            Ok(answer) => answer,
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn epoch(&self) -> u64 {
        self.engine.settings().rule_changes()
    }

    fn gauges(&self) -> Vec<Gauge> {
        gauges::of(&self.engine)
    }
}
