//! Models for tests: one that answers its inputs, and one that waits until it is told to answer.

use std::io::ErrorKind as IoErrorKind;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use divisi_door::limits::ServerLimits;
use divisi_door::{ClockHand, ConnectionClock, InferenceServer, ServerOptions};
use divisi_inference::error::{ErrorKind, ServiceError};
use divisi_inference::protocol::{ModelId, NamedTensor, ParameterValue};
use divisi_inference::service::{
    InferenceAnswer, InferenceFuture, InferenceRequest, InferenceTimes, ListedModel,
    ModelDescription, ModelService, ModelState, ResolvedModel,
};
use divisi_runtime::tensor::{DataType, Signature, TensorSpec};
use tokio::sync::Notify;

use crate::wait::wait_until;

/// Answers every tensor that it is sent. The model `never` does not answer until it is released, `broken` fails, `slow`
/// takes a millisecond.
#[derive(Default)]
pub struct Echo {
    /// Requests of `never` that are waiting.
    pub waiting: Arc<AtomicUsize>,
    /// Lets `never` answer those that wait.
    pub release: Arc<Notify>,
    /// Requests that models were asked.
    pub asked: Arc<AtomicUsize>,
    /// The number of what is served.
    pub epoch: Arc<AtomicU64>,
}

/// An input that makes `echo` answer as if it did without others.
pub const SHORT: &str = "short";

const MODELS: [&str; 4] = ["echo", "never", "broken", "slow"];

/// Counts a request of `never` as long as it is there.
struct Waiting(Arc<AtomicUsize>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl ModelService for Echo {
    fn index(&self) -> Vec<ListedModel> {
        let ready = |name| ListedModel {
            model: ModelId::new(name, "1"),
            state: ModelState::Ready,
            failure: None,
        };
        MODELS.into_iter().map(ready).collect()
    }

    fn describe(&self, model: &ModelId) -> Result<Arc<ModelDescription>, ServiceError> {
        let version = model.version.as_deref().unwrap_or("1");
        if !MODELS.contains(&&*model.name) || version != "1" {
            return Err(model.unknown());
        }
        let labels: Arc<[String]> = ["cat".into(), "dog".into(), "cow".into()].into();
        let tensor = TensorSpec::fixed("x", DataType::Fp32, &[3]);
        Ok(Arc::new(ModelDescription {
            resolved: ResolvedModel::default(),
            name: model.name.clone(),
            versions: vec!["1".into()],
            version: "1".into(),
            signature: Signature {
                inputs: vec![tensor.clone()],
                outputs: vec![tensor],
                lengths: None,
            },
            batch: Some(64),
            exactly: None,
            one_sample: false,
            labels: vec![("x".into(), labels)],
            cached: model.name != "slow",
            batch_sizes: vec![1, 4],
            delay: Duration::ZERO,
            queueing: None,
            composing: Vec::new(),
            config: Arc::default(),
            steps: Vec::new(),
            inner: Vec::new(),
            devices: Vec::new(),
        }))
    }

    fn state(&self, model: &ModelId) -> Result<ModelState, ServiceError> {
        self.describe(model).map(|_| ModelState::Ready)
    }

    fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    fn infer(&self, request: InferenceRequest) -> InferenceFuture {
        self.asked.fetch_add(1, Ordering::SeqCst);
        match &*request.model.name {
            "never" => {
                self.waiting.fetch_add(1, Ordering::SeqCst);
                let waiting = Waiting(Arc::clone(&self.waiting));
                let release = Arc::clone(&self.release);
                Box::pin(async move {
                    let _waiting = waiting;
                    release.notified().await;
                    Ok(answer(request))
                })
            }
            "broken" => {
                let error = ServiceError::new(ErrorKind::Internal, "it broke");
                Box::pin(std::future::ready(Err(error)))
            }
            "slow" => Box::pin(async move {
                tokio::time::sleep(Duration::from_millis(1)).await;
                Ok(answer(request))
            }),
            _ => Box::pin(std::future::ready(Ok(answer(request)))),
        }
    }
}

fn answer(request: InferenceRequest) -> InferenceAnswer {
    let model = Echo::default().describe(&request.model);
    let is_wanted =
        |input: &NamedTensor| request.outputs.is_empty() || request.outputs.contains(&input.name);
    InferenceAnswer {
        model: model.expect("it is served"),
        runs: Vec::new(),
        samples: 1,
        times: InferenceTimes {
            queue: Duration::from_micros(2),
            compute: Duration::from_micros(3),
            ..InferenceTimes::default()
        },
        parameters: match request.inputs.iter().any(|input| input.name == SHORT) {
            true => vec![
                ("divisi_missing", ParameterValue::Text("b,c".into())),
                ("divisi_certain", ParameterValue::Bool(true)),
            ],
            false => Vec::new(),
        },
        outputs: request
            .inputs
            .iter()
            .filter(|i| is_wanted(i))
            .cloned()
            .collect(),
    }
}

/// A server with the models, at ports that were free.
pub struct TestServer {
    pub server: InferenceServer,
    /// See [`Echo::waiting`].
    pub waiting: Arc<AtomicUsize>,
    /// See [`Echo::asked`].
    pub asked: Arc<AtomicUsize>,
    /// See [`Echo::release`].
    pub release: Arc<Notify>,
}

impl TestServer {
    pub fn start() -> Self {
        TestServer::within(ServerLimits::default())
    }

    pub fn within(limits: ServerLimits) -> Self {
        TestServer::by(&options(limits))
    }

    /// A server whose time limits pass when the hand moves its clock.
    pub fn timed(limits: ServerLimits) -> (Self, ClockHand) {
        let (clock, hand) = ConnectionClock::still();
        let options = ServerOptions {
            clock,
            ..options(limits)
        };
        (TestServer::by(&options), hand)
    }

    fn by(options: &ServerOptions) -> Self {
        let echo = Echo::default();
        let waiting = Arc::clone(&echo.waiting);
        let release = Arc::clone(&echo.release);
        let asked = Arc::clone(&echo.asked);
        let server = InferenceServer::start(Arc::new(echo), options).expect("starts");
        TestServer {
            server,
            waiting,
            asked,
            release,
        }
    }

    pub fn waits(&self, for_how_many: usize) -> bool {
        self.waiting.load(Ordering::SeqCst) == for_how_many
    }
}

/// A time that is moved at once.
pub const STEP: Duration = Duration::from_secs(10);

/// Moves the clock until the server has written or closed the connection.
pub fn advance_until_told(hand: &ClockHand, client: &TcpStream) {
    client.set_nonblocking(true).expect("an option");
    wait_until("the server gives the client up", || {
        hand.advance(STEP);
        !matches!(client.peek(&mut [0]), Err(e) if e.kind() == IoErrorKind::WouldBlock)
    });
    client.set_nonblocking(false).expect("an option");
}

/// Free ports of this machine.
pub fn options(limits: ServerLimits) -> ServerOptions {
    let free = "127.0.0.1:0".parse().ok();
    ServerOptions {
        http: free,
        grpc: free,
        metrics: free,
        limits,
        ..ServerOptions::default()
    }
}
