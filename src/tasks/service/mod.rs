//! Tasks as models for clients: see [`TaskService`].

mod descriptions;
mod gauges;
mod names;

use std::sync::Arc;
use std::time::Instant;

use divisi_engine::deployment::ModelOverride;
use divisi_engine::serving::RequestLedger;
use divisi_inference::ensemble::EnsembleService;
use divisi_inference::error::{ErrorKind, ServiceError};
use divisi_inference::protocol::{ModelId, ParameterValue, RequestGoals};
use divisi_inference::service::{
    Gauge, InferenceAnswer, InferenceFuture, InferenceRequest, ListedModel, ModelDescription,
    ModelService, ModelState,
};
use divisi_model::catalogue::InstanceGroup;
use divisi_modelless::goals::QueryGoals;
use divisi_modelless::quantities::COST_QUERIES;

use crate::routing::{Expected, LiveRouter, LoadWait, RoutedQuery, RoutingError, TaskRouter};
use crate::scaling::words;
use crate::served::{ServedTasks, TaskQuery};
use descriptions::Descriptions;
use names::AskedTask;

/// The models of a deployment and its tasks. A variant of a task answers requests that name the
/// task or have goals; variants are models too.
pub struct TaskService {
    models: EnsembleService,
    router: Arc<LiveRouter>,
    descriptions: Descriptions,
}

/// The model name of the answering variant.
const VARIANT: &str = "divisi_variant";
/// The accuracy that the variant promises on other rows, in percent.
const ACCURACY: &str = "divisi_accuracy";
/// The cost of a million samples.
const COST: &str = "divisi_cost";
/// The requested goals, in words. Parameters with other names are ignored.
const GOALS: &str = "divisi_goals";
/// The goals that the answer missed, in words.
const MISSED: &str = "divisi_missed";

impl TaskService {
    /// Serves the tasks of a router with the models of its deployment.
    pub fn new(router: Arc<LiveRouter>) -> Self {
        let service = TaskService {
            models: EnsembleService::of_changes(Arc::clone(router.changes())),
            router,
            descriptions: Descriptions::default(),
        };
        // Descriptions stay available after variants are unloaded.
        let tasks = service.tasks();
        for asked in names::all_names(&tasks) {
            let _ = service.describe_task(&tasks, asked);
        }
        service
    }

    fn tasks(&self) -> Arc<ServedTasks> {
        Arc::clone(self.router.router().tasks())
    }

    /// Describes a task or one of its ensembles as its most accurate served model.
    fn describe_task(
        &self,
        tasks: &Arc<ServedTasks>,
        asked: AskedTask,
    ) -> Result<Arc<ModelDescription>, ServiceError> {
        let name = names::name_of(tasks, asked);
        let groups = tasks.groups().iter();
        let mut groups: Vec<_> = groups.filter(|group| asked.has(group)).collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.members.len()));
        let described = groups.into_iter().find_map(|group| {
            let entry = ModelId::new(&*group.name, "");
            self.models.describe(&entry).ok()
        });
        let described =
            described.ok_or_else(|| refusal(&RoutingError::NotLoaded { task: name.clone() }))?;
        Ok(self.descriptions.named(tasks, asked, &name, &described))
    }

    fn state_of(&self, tasks: &Arc<ServedTasks>, asked: AskedTask) -> ModelState {
        match self.describe_task(tasks, asked) {
            Ok(_) => ModelState::Ready,
            Err(why) => ModelState::Unavailable(why.to_string()),
        }
    }

    /// Describes a task as [`TaskService::describe_task`], or as it was last served.
    fn described(
        &self,
        tasks: &Arc<ServedTasks>,
        asked: AskedTask,
    ) -> Result<Arc<ModelDescription>, ServiceError> {
        self.describe_task(tasks, asked).or_else(|refused| {
            let last = self.descriptions.last(&names::name_of(tasks, asked));
            last.ok_or(refused)
        })
    }

    /// Answers a request with the variant chosen by the router, after a wait for a better one if
    /// the request may wait.
    fn ask(
        &self,
        router: &Arc<TaskRouter>,
        (asked, model): FoundTask,
        mut request: InferenceRequest,
    ) -> Result<InferenceFuture, ServiceError> {
        request.goals.check_names()?;
        let task = TaskRequest {
            name: request.model.clone(),
            samples: samples(&request, &model),
            priority: request.priority,
            goals: std::mem::take(&mut request.goals),
        };
        let began = Instant::now();
        let routed = task.route(router, asked)?;
        let Some(wait) = self.wait_for_better(router, &routed) else {
            let sent = send(&self.models, &self.router, &task, routed, request)?;
            return Ok(Box::pin(answered(sent, model, began)));
        };
        routed.withdraw();
        let (models, live) = (self.models.clone(), Arc::clone(&self.router));
        Ok(Box::pin(async move {
            wait.await;
            let routed = task.route_again(&live)?;
            let sent = send(&models, &live, &task, routed, request)?;
            // The wait for a variant to load is no delay of the variant.
            answered(sent, model, Instant::now()).await
        }))
    }

    /// Returns the task of a request with its description, or `None` for other models. The name is
    /// not looked up again if the request has the description of its task.
    fn find(
        &self,
        tasks: &Arc<ServedTasks>,
        request: &InferenceRequest,
    ) -> Result<Option<FoundTask>, ServiceError> {
        let described = request.described.as_ref();
        let described = described.filter(|_| request.goals.task.is_none());
        if let Some(model) = described
            && let Some(asked) = descriptions::resolved(model, tasks)
        {
            return Ok(Some((asked, Arc::clone(model))));
        }
        match names::requested_task(tasks, &request.model, &request.goals)? {
            Some(asked) => Ok(Some((asked, self.described(tasks, asked)?))),
            None => Ok(None),
        }
    }

    /// Returns the wait for a variant that would meet the goals of a query, if it can be loaded on
    /// the present devices.
    fn wait_for_better(&self, router: &TaskRouter, routed: &RoutedQuery) -> Option<LoadWait> {
        let (wanted, tasks) = (routed.wanted()?, router.tasks());
        let running = self.router.deployment().running();
        if !tasks.runs_on(wanted, running.engine.devices()) {
            return None;
        }
        let loading = tasks.catalog().variant(wanted).profile.loading;
        self.router.loads().wait(wanted, loading, router.now())
    }
}

/// A task with its description.
type FoundTask = (AskedTask, Arc<ModelDescription>);

/// The parts of a request that decide which variant answers it.
struct TaskRequest {
    name: ModelId,
    goals: RequestGoals,
    samples: u32,
    priority: u64,
}

impl TaskRequest {
    /// Chooses a variant by the stated goals, or else the whole ensemble.
    fn route(
        &self,
        router: &Arc<TaskRouter>,
        asked: AskedTask,
    ) -> Result<RoutedQuery, ServiceError> {
        let goals = match self.goals.is_stated {
            true => QueryGoals {
                model: asked.model,
                ..self.goals.goals
            },
            false => QueryGoals::unstated(router.tasks().catalog(), asked.task, asked.model),
        };
        let routed = router.route_query(TaskQuery {
            task: asked.task,
            goals: &goals,
            samples: self.samples,
            priority: self.priority,
        });
        routed.map_err(|refused| refusal(&refused))
    }

    /// Chooses again: other variants run, and the task may be registered again.
    fn route_again(&self, live: &LiveRouter) -> Result<RoutedQuery, ServiceError> {
        let router = live.follow();
        let asked = names::requested_task(router.tasks(), &self.name, &self.goals)?;
        let asked = asked.ok_or_else(|| self.name.unknown())?;
        self.route(&router, asked)
    }
}

/// A request that was sent to the engine.
type SentQuery = (RoutedQuery, InferenceFuture);

/// Sends a request to its chosen variant, or to another one if that was unloaded meanwhile.
fn send(
    models: &EnsembleService,
    live: &LiveRouter,
    task: &TaskRequest,
    mut routed: RoutedQuery,
    mut request: InferenceRequest,
) -> Result<SentQuery, ServiceError> {
    let mut left = MOST_LEFT;
    loop {
        request.model = ModelId::new(routed.entry(), "");
        request.priority = match task.priority {
            0 => routed.urgency().priority(),
            named => named,
        };
        request.due = routed.due();
        let sent = match routed.found() {
            Some(found) => models.ask_entry(&request, found),
            None => models.ask(&request),
        };
        match sent {
            Err(why) if why.kind() == ErrorKind::NotFound && left > 0 => routed.withdraw(),
            Err(why) => return Err(ended(routed, why)),
            Ok(answer) => return Ok((routed, answer)),
        }
        left -= 1;
        routed = task.route_again(live)?;
    }
}

/// Returns the answer of a variant under the name of the task, with the goals that it missed.
async fn answered(
    (routed, answer): SentQuery,
    model: Arc<ModelDescription>,
    began: Instant,
) -> Result<InferenceAnswer, ServiceError> {
    let answer = match answer.await {
        Ok(answer) => answer,
        Err(why) => return Err(ended(routed, why)),
    };
    let (variant, goals) = (routed.entry().to_owned(), *routed.goals());
    let (expected, is_whole) = (*routed.expected(), routed.is_of_whole());
    let missed = routed.answered(began.elapsed());
    let mut parameters = answer.parameters;
    parameters.extend(answer_parameters(variant, &expected));
    parameters.push((GOALS, ParameterValue::Text(words::goals(&goals))));
    let missed = match is_whole {
        true => (!missed.is_none()).then(|| missed.to_string()),
        false => Some(NOT_WHOLE.to_owned()),
    };
    parameters.extend(missed.map(|missed| (MISSED, ParameterValue::Text(missed))));
    Ok(InferenceAnswer {
        model,
        parameters,
        // The steps belong to the variant, not to the task.
        runs: Vec::new(),
        ..answer
    })
}

/// Ends a query without an answer. An invalid request is a miss of no variant.
fn ended(routed: RoutedQuery, why: ServiceError) -> ServiceError {
    if why.kind() == ErrorKind::BadInput {
        routed.withdraw();
    }
    why
}

/// The missed goal of a query without goals while its whole ensemble is not loaded.
const NOT_WHOLE: &str = "the whole ensemble is not loaded";
/// The number of times a query is sent to another variant because the chosen one was unloaded.
const MOST_LEFT: usize = 3;

/// Returns the number of samples of a request, at least 1.
fn samples(request: &InferenceRequest, model: &ModelDescription) -> u32 {
    let batch = request
        .inputs
        .first()
        .and_then(|input| input.tensor.dims().first());
    match (model.batch, batch) {
        (Some(_), Some(batch)) => u32::try_from(*batch).unwrap_or(u32::MAX).max(1),
        _ => 1,
    }
}

/// Returns the parameters of an answer that describe its variant.
fn answer_parameters(variant: String, expected: &Expected) -> [(&'static str, ParameterValue); 3] {
    let percent = 100.0 * expected.accuracy.get();
    let cost = COST_QUERIES * expected.cost.get();
    [
        (VARIANT, ParameterValue::Text(variant)),
        (ACCURACY, ParameterValue::Float(percent)),
        (COST, ParameterValue::Float(cost)),
    ]
}

fn refusal(refused: &RoutingError) -> ServiceError {
    ServiceError::new(refused.kind(), refused)
}

impl ModelService for TaskService {
    fn index(&self) -> Vec<ListedModel> {
        let tasks = self.tasks();
        let served = tasks.names().map(|(task, name)| ListedModel {
            model: ModelId::new(name, names::VERSION),
            state: self.state_of(&tasks, AskedTask { task, model: None }),
            failure: names::left_out(&tasks, name),
        });
        let dropped = tasks.dropped().iter().map(|dropped| ListedModel {
            model: ModelId::new(&*dropped.task, names::VERSION),
            state: ModelState::Unavailable(dropped.why.to_string()),
            failure: None,
        });
        served.chain(dropped).chain(self.models.index()).collect()
    }

    fn is_ready(&self) -> bool {
        self.models.is_ready()
    }

    fn describe(&self, model: &ModelId) -> Result<Arc<ModelDescription>, ServiceError> {
        let tasks = self.tasks();
        match names::requested_task(&tasks, model, &RequestGoals::default())? {
            Some(asked) => self.described(&tasks, asked),
            None => self.models.describe(model),
        }
    }

    fn state(&self, model: &ModelId) -> Result<ModelState, ServiceError> {
        let tasks = self.tasks();
        match names::requested_task(&tasks, model, &RequestGoals::default()) {
            Ok(Some(asked)) => Ok(self.state_of(&tasks, asked)),
            Ok(None) => self.models.state(model),
            Err(dropped) if dropped.kind() == ErrorKind::Unavailable => {
                Ok(ModelState::Unavailable(dropped.to_string()))
            }
            Err(why) => Err(why),
        }
    }

    fn infer(&self, request: InferenceRequest) -> InferenceFuture {
        let router = self.router.follow();
        let found = self.find(router.tasks(), &request);
        let answer = found.and_then(|found| match found {
            Some(found) => self.ask(&router, found, request),
            None => Ok(self.models.infer(request)),
        });
        answer.unwrap_or_else(|error| Box::pin(std::future::ready(Err(error))))
    }

    fn waiting(&self, model: &ModelDescription) -> Option<usize> {
        self.models.waiting(model)
    }

    fn instances(&self, model: &ModelDescription) -> Vec<InstanceGroup> {
        self.models.instances(model)
    }

    fn ledger(&self) -> Option<Arc<RequestLedger>> {
        self.models.ledger()
    }

    fn load(&self, name: &str, by: &ModelOverride) -> Result<(), ServiceError> {
        self.models.load(name, by)
    }

    fn unload(&self, name: &str, dependents: bool) -> Result<(), ServiceError> {
        self.models.unload(name, dependents)
    }

    fn epoch(&self) -> u64 {
        self.models.epoch()
    }

    fn gauges(&self) -> Vec<Gauge> {
        let mut gauges = self.models.gauges();
        gauges.extend(gauges::task_gauges(&self.router));
        gauges
    }
}
