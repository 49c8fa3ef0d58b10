//! The interface through which a server accesses models: [`ModelService`].

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use divisi_engine::deployment::ModelOverride;
use divisi_engine::serving::{RequestLedger, StepRun};
use divisi_model::catalogue::{ComposingStep, EntryConfig, InstanceGroup};
use divisi_model::dataflow::StepIndex;
use divisi_model::ensemble::Queueing;
use divisi_model::metrics::RequestOrigin;
use divisi_runtime::tensor::Signature;

use crate::error::ServiceError;
use crate::protocol::{ModelId, NamedTensor, ParameterValue, RequestGoals};

/// The state of a version of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelState {
    /// It answers requests.
    Ready,
    /// It does not answer, with the reason.
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
    /// The reason why the newest files of the model are not served, if they are not.
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
    /// Its served versions.
    pub versions: Vec<String>,
    /// The described version.
    pub version: String,
    /// Its tensors, without the batch dimension.
    pub signature: Signature,
    /// The maximum number of samples of a request; `None` if tensors have no batch dimension.
    pub batch: Option<usize>,
    /// The number of samples of each request, if it is fixed.
    pub exactly: Option<usize>,
    /// Whether a request is one sample for clients, whatever the first dimension of its tensors.
    pub one_sample: bool,
    /// The names of the values of outputs, by output.
    pub labels: Vec<(String, Arc<[String]>)>,
    /// Whether its answers may be cached for equal requests.
    pub cached: bool,
    /// The sizes of its batches.
    pub batch_sizes: Vec<usize>,
    /// The time that requests wait to form a batch.
    pub delay: Duration,
    /// The queue levels of its requests, if they are not served in the order of arrival.
    pub queueing: Option<Arc<Queueing>>,
    /// The models of its steps, if it is an ensemble of other models.
    pub composing: Vec<ComposingStep>,
    /// The parts of its configuration that are returned to clients.
    pub config: Arc<EntryConfig>,
    /// Its steps, by the numbers in the runs of its answers.
    pub steps: Vec<DescribedStep>,
    /// The ensembles nested in it, once for each use.
    pub inner: Vec<InnerEnsemble>,
    /// The names of the devices, by the numbers in the runs of its answers.
    pub devices: Vec<String>,
    /// The service's own knowledge of the model.
    pub resolved: ResolvedModel,
}

/// A service's own knowledge of a described model, so that it does not look the name up again when
/// a request follows.
#[derive(Clone, Default)]
pub struct ResolvedModel(Option<Arc<dyn Any + Send + Sync>>);

impl ResolvedModel {
    /// Wraps the knowledge of a service.
    pub fn new<K: Any + Send + Sync>(known: K) -> Self {
        ResolvedModel(Some(Arc::new(known)))
    }

    /// Returns the knowledge of the service, or `None` if another service, or no service, set
    /// it.
    pub fn get<K: Any + Send + Sync>(&self) -> Option<&K> {
        self.0.as_ref()?.downcast_ref()
    }
}

impl fmt::Debug for ResolvedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.0.as_ref().map(|_| "known");
        f.debug_tuple("ResolvedModel").field(&known).finish()
    }
}

/// A step of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedStep {
    /// Its name.
    pub name: String,
    /// The model of the step, if clients can also request it directly.
    pub model: Option<ModelId>,
    /// Whether a request to that model is one sample for clients.
    pub one_sample: bool,
}

/// An ensemble that runs steps of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InnerEnsemble {
    /// Its identity for direct requests.
    pub model: ModelId,
    /// The steps that it runs.
    pub steps: Vec<StepIndex>,
    /// Whether a request to it is one sample for clients.
    pub one_sample: bool,
}

impl ModelDescription {
    /// Returns whether it is this model.
    pub fn is(&self, model: &ModelId) -> bool {
        self.name == model.name && model.version.as_ref() == Some(&self.version)
    }

    /// Returns the names of the values of an output, or `None` if it has none.
    pub fn labels_of(&self, output: &str) -> Option<&Arc<[String]>> {
        let found = self.labels.iter().find(|(name, _)| name == output);
        found.map(|(_, labels)| labels)
    }
}

/// Counts runs of steps outside of answers: those of failed requests, or after the answer.
pub trait RunCounter: fmt::Debug + Send + Sync {
    /// Counts runs of steps of a version of a model. It must be fast.
    fn count(&self, model: &ModelDescription, runs: &[StepRun]);
}

/// An inference request: named tensors in their receive buffers.
#[derive(Clone, Debug)]
pub struct InferenceRequest {
    /// The requested model.
    pub model: ModelId,
    /// Its description, if it was looked up before.
    pub described: Option<Arc<ModelDescription>>,
    /// Its inputs.
    pub inputs: Vec<NamedTensor>,
    /// The requested outputs; empty for all.
    pub outputs: Vec<String>,
    /// The time until its deadline.
    pub deadline: Option<Duration>,
    /// Its priority; 0 for the model's default.
    pub priority: u64,
    /// The goals that it names instead of a model.
    pub goals: RequestGoals,
    /// Its limit in the queue, if the model allows requests to set one.
    pub patience: Option<Duration>,
    /// The time until its due time, which orders requests with the same priority.
    pub due: Option<Duration>,
    /// Counts the runs of its steps outside of the answer.
    pub untold: Arc<dyn RunCounter>,
    /// The client's part, for the list of recent requests.
    pub origin: Option<RequestOrigin>,
}

/// The parts of a request's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InferenceTimes {
    /// The time in the queue.
    pub queue: Duration,
    /// The time of writing and copying inputs.
    pub input: Duration,
    /// The time of computing.
    pub compute: Duration,
    /// The time of combining outputs.
    pub output: Duration,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct InferenceAnswer {
    /// The model that answered. It can be a later version than requested, if models changed
    /// meanwhile.
    pub model: Arc<ModelDescription>,
    /// The requested outputs, in that order.
    pub outputs: Vec<NamedTensor>,
    /// The number of answered samples.
    pub samples: u64,
    /// The parts of its time.
    pub times: InferenceTimes,
    /// The parameters of the answer, by name.
    pub parameters: Vec<(&'static str, ParameterValue)>,
    /// The runs of its steps.
    pub runs: Vec<StepRun>,
}

/// A pending answer. Dropping it cancels the request.
pub type InferenceFuture =
    Pin<Box<dyn Future<Output = Result<InferenceAnswer, ServiceError>> + Send>>;

/// A value for `/metrics` in addition to the server's own.
#[derive(Clone, Debug, PartialEq)]
pub struct Gauge {
    /// Its name, such as `divisi_batches_total`.
    pub name: &'static str,
    /// Its help text.
    pub help: &'static str,
    /// Whether it is a counter, which never decreases.
    pub counts: bool,
    /// Its labels.
    pub labels: Vec<(&'static str, String)>,
    /// Its value.
    pub value: f64,
}

/// The models of a server.
pub trait ModelService: Send + Sync + 'static {
    /// Returns the name of the server.
    fn server_name(&self) -> String {
        "divisi".into()
    }

    /// Returns whether all required models answer. Unloaded models are not required.
    fn is_ready(&self) -> bool {
        let all = self.index();
        all.iter().all(|listed| listed.state == ModelState::Ready)
    }

    /// Returns every version of every model with its state.
    fn index(&self) -> Vec<ListedModel>;

    /// Describes a model.
    ///
    /// # Errors
    /// Returns an error if there is no model of this name and version.
    fn describe(&self, model: &ModelId) -> Result<Arc<ModelDescription>, ServiceError>;

    /// Returns whether a model answers.
    ///
    /// # Errors
    /// Returns an error if there is no model of this name and version.
    fn state(&self, model: &ModelId) -> Result<ModelState, ServiceError>;

    /// Sends a request to a model. Invalid requests are refused at once.
    fn infer(&self, request: InferenceRequest) -> InferenceFuture;

    /// Returns the number of requests to a version of a model that wait for their first batch, or
    /// `None` if it is unknown.
    fn waiting(&self, model: &ModelDescription) -> Option<usize> {
        let _ = model;
        None
    }

    /// Returns the running instances of a version of a model; none if it is made of several
    /// networks or they are unknown.
    fn instances(&self, model: &ModelDescription) -> Vec<InstanceGroup> {
        let _ = model;
        Vec::new()
    }

    /// Returns the ledger that the models' clients in this process share, or `None` if there is no
    /// such ledger. The server records the errors of its own clients there.
    fn ledger(&self) -> Option<Arc<RequestLedger>> {
        None
    }

    /// Loads a model or its newest version, with the override `by`. It may take as long as reading
    /// and starting do.
    ///
    /// # Errors
    /// Returns an error if the model cannot be loaded, or loading is not supported.
    fn load(&self, name: &str, by: &ModelOverride) -> Result<(), ServiceError> {
        let _ = by;
        Err(ServiceError::unsupported(format!(
            "model `{name}`: loading models is not supported; the models are fixed at startup"
        )))
    }

    /// Unloads a model; with `dependents`, also the pipelines that use it.
    ///
    /// # Errors
    /// Returns an error if the model cannot be unloaded, or unloading is not supported.
    fn unload(&self, name: &str, dependents: bool) -> Result<(), ServiceError> {
        let _ = dependents;
        Err(ServiceError::unsupported(format!(
            "model `{name}`: unloading models is not supported; the models are fixed at startup"
        )))
    }

    /// Returns a number that changes when equal requests may get other answers, for example with
    /// another version or combination. Cached answers are then dropped.
    fn epoch(&self) -> u64 {
        0
    }

    /// Returns values for `/metrics`.
    fn gauges(&self) -> Vec<Gauge> {
        Vec::new()
    }
}
