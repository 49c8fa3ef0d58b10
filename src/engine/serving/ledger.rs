//! The outcomes of requests, shared by successive engines and by all their clients: errors by model,
//! outcome and reason, and the answers within the service objective.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use divisi_model::metrics::{
    ErrorCount, ErrorKey, ErrorLedger, ErrorOutcome, ErrorSubject, NamedVersion, RequestError,
};
use divisi_model::ranged::{FieldOutOfRange, checked_when_read, within};
use divisi_model::wall_clock::unix_millis;
use divisi_runtime::lock::Leaf;

/// The sender of requests that come from this process, such as those of the built-in load.
pub const THIS_PROCESS: &str = "this process";

/// The ledger of a server.
#[derive(Debug)]
pub struct RequestLedger {
    began: Instant,
    errors: Leaf<ErrorLedger>,
    /// The service objective, if one is set.
    objective: Leaf<Option<ServiceObjective>>,
    /// The maximum latency of the objective in microseconds, or 0 without one.
    limit: AtomicU64,
    met: AtomicU64,
    missed: AtomicU64,
}

/// A service objective: the latency that a share of requests must meet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct ServiceObjective {
    /// The maximum latency.
    pub latency: Duration,
    /// The share of requests that must meet it, 0 to 1.
    pub share: f64,
}

checked_when_read!(ServiceObjective);

impl ServiceObjective {
    /// The range of latencies: up to an hour.
    pub const LATENCY: (Duration, Duration) = (Duration::from_nanos(1), Duration::from_secs(3600));

    /// Checks that the objective is possible.
    ///
    /// # Errors
    /// Returns the field that is out of range and its expected range.
    pub fn check(&self) -> Result<(), FieldOutOfRange> {
        let (least, most) = Self::LATENCY;
        within("latency", self.latency, least, most)?;
        within("share", self.share, 0.0, 1.0)
    }
}

/// The requests that count for a service objective, since the ledger was created.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObjectiveCounts {
    /// The objective.
    pub objective: ServiceObjective,
    /// Requests that were answered in time.
    pub met: u64,
    /// Requests that were answered late, or not at all because of the server.
    pub missed: u64,
}

impl Default for RequestLedger {
    fn default() -> Self {
        RequestLedger {
            began: Instant::now(),
            errors: Leaf::default(),
            objective: Leaf::default(),
            limit: AtomicU64::new(0),
            met: AtomicU64::new(0),
            missed: AtomicU64::new(0),
        }
    }
}

impl RequestLedger {
    /// Records an error that its client sees. No lock of rank *leaf* may be held.
    pub fn record(
        &self,
        key: ErrorKey,
        sender: impl Into<String>,
        model: Option<NamedVersion>,
        message: impl Into<String>,
    ) {
        let is_request = key.subject == ErrorSubject::Request;
        let is_loss = is_request && key.outcome != ErrorOutcome::Cancelled;
        if is_loss && key.reason.is_servers() && self.limit.load(Ordering::Relaxed) > 0 {
            self.missed.fetch_add(1, Ordering::Relaxed);
        }
        let error = RequestError {
            at_ms: unix_millis(),
            sender: sender.into(),
            model,
            key,
            message: message.into(),
        };
        self.errors.lock().record(self.began.elapsed(), error);
    }

    /// Counts an answered request for the service objective, if one is set.
    pub fn answered(&self, latency: Duration) {
        let limit = self.limit.load(Ordering::Relaxed);
        if limit == 0 {
            return;
        }
        let is_met = latency.as_micros() <= u128::from(limit);
        let counter = if is_met { &self.met } else { &self.missed };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Sets the service objective, or removes it. The counts go on.
    pub fn set_objective(&self, objective: Option<ServiceObjective>) {
        let limit = objective.map_or(0, |objective| objective.latency.as_micros().max(1));
        let limit = u64::try_from(limit).unwrap_or(u64::MAX);
        *self.objective.lock() = objective;
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// Returns the requests that count for the service objective, or `None` without one.
    pub fn objective(&self) -> Option<ObjectiveCounts> {
        let objective = (*self.objective.lock())?;
        Some(ObjectiveCounts {
            objective,
            met: self.met.load(Ordering::Relaxed),
            missed: self.missed.load(Ordering::Relaxed),
        })
    }

    /// Returns the number of requests with an outcome since the start.
    pub fn requests(&self, outcome: ErrorOutcome) -> u64 {
        self.errors.lock().requests(outcome)
    }

    /// Returns the number of requests to a version of a model with an outcome since the start.
    pub fn requests_to(&self, model: &NamedVersion, outcome: ErrorOutcome) -> u64 {
        self.errors.lock().requests_to(model, outcome)
    }

    /// Returns the message of the last request with an outcome.
    pub fn last_message(&self, outcome: ErrorOutcome) -> Option<String> {
        self.errors.lock().last_message(outcome).map(str::to_owned)
    }

    /// Returns the last errors, the newest first.
    pub fn last(&self) -> Vec<RequestError> {
        self.errors.lock().last()
    }

    /// Returns the current counts over all models, the most frequent within the last minute first.
    pub fn counts(&self) -> Vec<ErrorCount> {
        self.errors.lock().counts(self.began.elapsed())
    }

    /// Returns the current counts of a version of a model.
    pub fn counts_of(&self, model: &NamedVersion) -> Vec<ErrorCount> {
        self.errors.lock().counts_of(self.began.elapsed(), model)
    }

    /// Returns the total of each kind by model; `None` stands for all requests without a served
    /// model.
    pub fn totals(&self) -> Vec<(Option<NamedVersion>, ErrorKey, u64)> {
        self.errors.lock().totals()
    }
}
