//! The task that a request is for.

use divisi_inference::error::{ErrorKind, ServiceError};
use divisi_inference::protocol::{ModelId, RequestGoals};
use divisi_modelless::variants::{ModelIndex, TaskIndex};

pub(super) use crate::served::VERSION;
use crate::served::{ServedTasks, VariantGroup};

/// The requested task and, if the request names one, its ensemble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AskedTask {
    pub(super) task: TaskIndex,
    pub(super) model: Option<ModelIndex>,
}

impl AskedTask {
    /// Returns whether the variants of a group may answer.
    pub(super) fn has(self, group: &VariantGroup) -> bool {
        group.task == self.task && self.model.is_none_or(|model| model == group.model)
    }
}

/// Returns the task of a request: the task it names, or the task whose name or ensemble's name is
/// the request's model. Returns `None` for other models.
///
/// # Errors
/// Returns an error if there is no such task, version or ensemble, or if the task is no longer served.
pub(super) fn requested_task(
    tasks: &ServedTasks,
    model: &ModelId,
    goals: &RequestGoals,
) -> Result<Option<AskedTask>, ServiceError> {
    let asked = goals.task.as_deref().unwrap_or(&model.name);
    if let Some(dropped) = tasks.dropped().iter().find(|task| task.task == asked) {
        return Err(ServiceError::new(ErrorKind::Unavailable, &dropped.why));
    }
    let found = match &goals.task {
        Some(task) => Some(of_task(tasks, task, &model.name)?),
        None => named(tasks, &model.name),
    };
    let is_other = model
        .version
        .as_deref()
        .is_some_and(|version| version != VERSION);
    match (found, is_other) {
        (Some(_), true) => Err(model.unknown_version(&[VERSION.to_owned()])),
        (found, _) => Ok(found),
    }
}

/// Returns each task and each of its ensembles.
pub(super) fn all_names(tasks: &ServedTasks) -> impl Iterator<Item = AskedTask> {
    let catalog = tasks.catalog();
    catalog.tasks().flat_map(|task| {
        let models = (0..catalog.models(task).len()).map(|at| Some(ModelIndex(at as u16)));
        let all = std::iter::once(None).chain(models);
        all.map(move |model| AskedTask { task, model })
    })
}

/// Returns the name of a task or ensemble.
pub(super) fn name_of(tasks: &ServedTasks, asked: AskedTask) -> String {
    let catalog = tasks.catalog();
    match asked.model {
        None => catalog.name(asked.task).to_owned(),
        Some(model) => catalog.models(asked.task)[usize::from(model.0)].clone(),
    }
}

/// Returns the reasons why ensembles of a task are not served, or `None` if all of them are.
pub(super) fn left_out(tasks: &ServedTasks, task: &str) -> Option<String> {
    let left_out = tasks.left_out().filter(|left| left.task == task);
    let reasons: Vec<String> = left_out.map(|left| left.why.to_string()).collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

fn named(tasks: &ServedTasks, name: &str) -> Option<AskedTask> {
    let catalog = tasks.catalog();
    if let Some(task) = catalog.task(name) {
        return Some(AskedTask { task, model: None });
    }
    let mut all = catalog.tasks();
    all.find_map(|task| {
        let model = Some(model_of(tasks, task, name)?);
        Some(AskedTask { task, model })
    })
}

fn model_of(tasks: &ServedTasks, task: TaskIndex, name: &str) -> Option<ModelIndex> {
    let mut models = (0_u16..).zip(tasks.catalog().models(task));
    let found = models.find(|(_, known)| *known == name);
    found.map(|(at, _)| ModelIndex(at))
}

/// Returns the task with this name; `model` is the name of the request's model.
fn of_task(tasks: &ServedTasks, name: &str, model: &str) -> Result<AskedTask, ServiceError> {
    let catalog = tasks.catalog();
    let Some(task) = catalog.task(name) else {
        let known: Vec<&str> = tasks.names().map(|(_, name)| name).collect();
        return Err(ServiceError::bad(format!(
            "the request: parameter `task`: expected one of {}, found `{name}`",
            known.join(", ")
        )));
    };
    if model == name {
        return Ok(AskedTask { task, model: None });
    }
    let found = model_of(tasks, task, model);
    let ensembles = catalog.models(task).join(", ");
    found
        .map(|model| AskedTask {
            task,
            model: Some(model),
        })
        .ok_or_else(|| {
            ServiceError::bad(format!(
                "the request: parameter `task`: expected the task `{name}` or one of its ensembles \
                 ({ensembles}) as the model, found `{model}`"
            ))
        })
}
