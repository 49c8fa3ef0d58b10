//! Sends requests to the engine that serves, or to the next one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::error::{ErrorKind, ServiceError};
use crate::service::{InferenceFuture, InferenceRequest};

use super::FollowedModels;
use super::model::NotTaken;

/// An entry of the catalogue of a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundEntry {
    /// The number of the generation.
    pub generation: u64,
    /// The number of the entry in its catalogue.
    pub entry: usize,
}

impl FollowedModels {
    pub(super) fn ask(
        self: &Arc<Self>,
        asked: &InferenceRequest,
        found: Option<FoundEntry>,
    ) -> Result<InferenceFuture, ServiceError> {
        loop {
            let served = self.served();
            let known = found.filter(|found| found.generation == served.generation);
            let model = match known.and_then(|found| served.models.get(found.entry)) {
                Some(model) => model,
                None => served.find(&asked.model)?,
            };
            let refused = match model.ask(&served.engine, asked) {
                Ok(answer) => return Ok(answer),
                Err(NotTaken::Refused(error)) => return Err(error),
                Err(NotTaken::Closed(error)) => error,
            };
            if let Some(answer) = self.ask_next(asked) {
                return Ok(answer);
            }
            // An ending engine accepts nothing; the next engine is set before it ends.
            if self.served().generation == served.generation {
                return Err(refused);
            }
        }
    }

    /// Sends the request to the next engine if the old one ends first: the request waits within its
    /// deadline.
    fn ask_next(self: &Arc<Self>, asked: &InferenceRequest) -> Option<InferenceFuture> {
        let (tell, told) = oneshot::channel::<()>();
        let waiter = Box::new(move || {
            // A cancelled request has no receiver.
            let _ = tell.send(());
        });
        let deployment = self.changes.as_ref()?.deployment();
        if !deployment.wait_for_engine(waiter) {
            return None;
        }
        let (models, asked, began) = (Arc::clone(self), asked.clone(), Instant::now());
        let waits = self.between.enter(&asked.model);
        Some(Box::pin(async move {
            // A dropped sender also ends the gap.
            let is_told = async { drop(told.await) };
            let deadline = asked.deadline;
            let in_time = tokio::time::timeout(deadline.unwrap_or(Duration::MAX), is_told).await;
            in_time.map_err(|_| {
                let message = "the request's deadline passed while the models were being changed";
                ServiceError::new(ErrorKind::TimedOut, message)
            })?;
            drop(waits);
            let left = InferenceRequest {
                deadline: deadline.map(|limit| limit.saturating_sub(began.elapsed())),
                ..asked
            };
            models.ask(&left, None)?.await
        }))
    }
}

/// Refuses goals: a single model has a fixed accuracy and cost.
pub(super) fn check_goals(asked: &InferenceRequest) -> Result<(), ServiceError> {
    match asked.goals.is_none() {
        true => Ok(()),
        false => Err(ServiceError::bad(format!(
            "model `{}`: not a task; the parameters `accuracy`, `latency_ms`, `max_cost`, `prefer` \
             and `task` are not supported",
            asked.model.name
        ))),
    }
}
