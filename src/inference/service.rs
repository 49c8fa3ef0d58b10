//! The one interface by which the door asks for models: [`ModelService`].

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use divisi_engine::deployment::ModelOverride;
use divisi_engine::serving::StepRun;
use divisi_model::catalogue::{ComposingStep, EntryConfig, InstanceGroup};
use divisi_model::dataflow::StepIndex;
use divisi_model::ensemble::Queueing;
use divisi_runtime::tensor::Signature;

use crate::error::ServiceError;
use crate::protocol::{ModelId, NamedTensor, ParameterValue, RequestGoals};

/// The state of a version of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelState {
    /// It answers.
    Ready,
    /// It does not; says why.
    Unavailable(String),
}

impl ModelState {
    /// Returns its name in the protocol.
    pub fn name(&self) -> &'static str {
        match self {
            ModelState::Ready => "READY",
            ModelState::Unavailable(_) => "UNAVAILABLE",
        }
    }
}

/// A version of a model in the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedModel {
    /// Its name and version.
    pub model: ModelId,
    /// Its state.
    pub state: ModelState,
    /// Why the newest files of the model are not those that are served, if so.
    pub failure: Option<String>,
}

impl ListedModel {
    /// Returns why it does not answer, or why it is not the newest; empty otherwise.
    pub fn reason(&self) -> &str {
        match &self.state {
            ModelState::Ready => self.failure.as_deref().unwrap_or_default(),
            ModelState::Unavailable(reason) => reason,
        }
    }
}

/// A version of a model.
#[derive(Clone, Debug)]
pub struct ModelDescription {
    /// The model's name.
    pub name: String,
    /// Its versions, the served ones.
    pub versions: Vec<String>,
    /// The version that is described.
    pub version: String,
    /// Its tensors, without the dimension of the batch.
    pub signature: Signature,
    /// The most samples of a request; `None` where tensors have no dimension of a batch.
    pub batch: Option<usize>,
    /// The samples that each request has, where that is always the same number.
    pub exactly: Option<usize>,
    /// For its clients a request is one sample, whatever its tensors' first dimension is.
    pub one_sample: bool,
    /// The names of the values of an output, by its name.
    pub labels: Vec<(String, Arc<[String]>)>,
    /// Whether its answers may be kept and given again to equal requests.
    pub cached: bool,
    /// The sizes of its batches.
    pub batch_sizes: Vec<usize>,
    /// How long requests wait for others.
    pub delay: Duration,
    /// How its requests wait, if they do not just wait in the order of arrival.
    pub queueing: Option<Arc<Queueing>>,
    /// The models that do its steps, where it is an ensemble of other models.
    pub composing: Vec<ComposingStep>,
    /// Its configuration, as far as its clients are told it as it is written.
    pub config: Arc<EntryConfig>,
    /// Its steps, as the runs of its answers number them.
    pub steps: Vec<DescribedStep>,
    /// The ensembles within it, each as often as it is used.
    pub inner: Vec<InnerEnsemble>,
    /// The names of the devices, likewise.
    pub devices: Vec<String>,
}

/// A step of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedStep {
    /// Its name.
    pub name: String,
    /// The model that does it, where clients can ask that by itself too.
    pub model: Option<ModelId>,
    /// For clients of that model a request is one sample.
    pub one_sample: bool,
}

/// An ensemble that does steps of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InnerEnsemble {
    /// It, as clients ask it by itself.
    pub model: ModelId,
    /// The steps that it does.
    pub steps: Vec<StepIndex>,
    /// For its clients a request is one sample.
    pub one_sample: bool,
}

impl ModelDescription {
    /// Whether it is this one.
    pub fn is(&self, model: &ModelId) -> bool {
        self.name == model.name && model.version.as_ref() == Some(&self.version)
    }

    /// Returns the names of the values of an output, or `None` if they have none.
    pub fn labels_of(&self, output: &str) -> Option<&Arc<[String]>> {
        let found = self.labels.iter().find(|(name, _)| name == output);
        found.map(|(_, labels)| labels)
    }
}

/// Counts runs of steps that no answer tells: of requests that failed, or that were answered before.
pub trait RunCounter: fmt::Debug + Send + Sync {
    /// Counts runs of steps of a version of a model; it must be quick.
    fn count(&self, model: &ModelDescription, runs: &[StepRun]);
}

/// A request for inference: tensors by name, in the buffers that they arrived in.
#[derive(Clone, Debug)]
pub struct InferenceRequest {
    /// The model that is asked.
    pub model: ModelId,
    /// Its inputs.
    pub inputs: Vec<NamedTensor>,
    /// The outputs that are wanted; empty for all.
    pub outputs: Vec<String>,
    /// The time until it is given up.
    pub deadline: Option<Duration>,
    /// Its priority; 0 for the model's default.
    pub priority: u64,
    /// The goals that it names in place of a certain model.
    pub goals: RequestGoals,
    /// The time that it may wait for its first batch, where the model lets requests say so.
    pub patience: Option<Duration>,
    /// The time until it is to be answered, by which requests of one priority are ordered.
    pub due: Option<Duration>,
    /// Counts the runs of its steps that no answer tells.
    pub untold: Arc<dyn RunCounter>,
}

/// The parts of the time that a request took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InferenceTimes {
    /// It waited to be run.
    pub queue: Duration,
    /// Its inputs were written and copied.
    pub input: Duration,
    /// It was computed.
    pub compute: Duration,
    /// Its outputs were combined.
    pub output: Duration,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct InferenceAnswer {
    /// The model that answered: another version than was there when it was asked, where models
    /// changed meanwhile.
    pub model: Arc<ModelDescription>,
    /// The outputs that were wanted, in that order.
    pub outputs: Vec<NamedTensor>,
    /// The samples that were answered.
    pub samples: u64,
    /// Where the time went.
    pub times: InferenceTimes,
    /// The parameters that the answer carries, by name.
    pub parameters: Vec<(&'static str, ParameterValue)>,
    /// The runs of its steps.
    pub runs: Vec<StepRun>,
}

/// An answer that is under way. Dropping it cancels the request.
pub type InferenceFuture =
    Pin<Box<dyn Future<Output = Result<InferenceAnswer, ServiceError>> + Send>>;

/// A number for `/metrics` that the door does not know by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Gauge {
    /// Its name, such as `divisi_batches_total`.
    pub name: &'static str,
    /// Its help text.
    pub help: &'static str,
    /// Whether it only ever grows.
    pub counts: bool,
    /// Its labels.
    pub labels: Vec<(&'static str, String)>,
    /// Its value.
    pub value: f64,
}

/// The models behind the door.
pub trait ModelService: Send + Sync + 'static {
    /// Returns the name of the server.
    fn server_name(&self) -> String {
        "divisi".into()
    }

    /// Whether every model answers that should. Those that were unloaded should not.
    fn is_ready(&self) -> bool {
        let all = self.index();
        all.iter().all(|listed| listed.state == ModelState::Ready)
    }

    /// Returns every version of every model with its state.
    fn index(&self) -> Vec<ListedModel>;

    /// Describes a model.
    ///
    /// # Errors
    /// There is none of that name and version.
    fn describe(&self, model: &ModelId) -> Result<Arc<ModelDescription>, ServiceError>;

    /// Returns whether a model answers.
    ///
    /// # Errors
    /// There is none of that name and version.
    fn state(&self, model: &ModelId) -> Result<ModelState, ServiceError>;

    /// Asks a model. What cannot be answered is refused before anything waits.
    fn infer(&self, request: InferenceRequest) -> InferenceFuture;

    /// Returns how many requests to a version of a model wait for their first batch, or `None` if
    /// nobody knows.
    fn waiting(&self, model: &ModelDescription) -> Option<usize> {
        let _ = model;
        None
    }

    /// Returns where instances of a version of a model run now; none where it is made of several
    /// networks, or nobody knows.
    fn instances(&self, model: &ModelDescription) -> Vec<InstanceGroup> {
        let _ = model;
        Vec::new()
    }

    /// Counts a request to a model that was refused before the model was asked. What
    /// [`infer`](Self::infer) refuses it counts by itself.
    fn count_refusal(&self, model: &ModelId) {
        let _ = model;
    }

    /// Loads a model, or its newest version, as `by` wants it. It may take as long as reading and
    /// starting do.
    ///
    /// # Errors
    /// It cannot be loaded, or nothing can.
    fn load(&self, name: &str, by: &ModelOverride) -> Result<(), ServiceError> {
        let _ = by;
        Err(ServiceError::unsupported(format!(
            "model `{name}`: loading models is not supported; the models are fixed at startup"
        )))
    }

    /// Unloads a model; with `dependents` also the pipelines that use it.
    ///
    /// # Errors
    /// It cannot be unloaded, or nothing can.
    fn unload(&self, name: &str, dependents: bool) -> Result<(), ServiceError> {
        let _ = dependents;
        Err(ServiceError::unsupported(format!(
            "model `{name}`: unloading models is not supported; the models are fixed at startup"
        )))
    }

    /// Returns a number that is another one once equal requests may be answered otherwise than
    /// before: another version, another combination. Answers that were kept are then forgotten.
    fn epoch(&self) -> u64 {
        0
    }

    /// Returns numbers for `/metrics`.
    fn gauges(&self) -> Vec<Gauge> {
        Vec::new()
    }
}
