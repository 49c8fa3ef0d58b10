//! The clients: the calls of each over the last minute, in total and by model. Errors go to the
//! ledger that all clients of the models share.

mod call;
mod counts;
mod ledger;
mod models;
mod table;
mod who;

pub(crate) use call::CountedCall;
pub use counts::CallFigures;
pub use divisi_model::metrics::{MOMENT, MOMENTS};
pub use ledger::{CallerLedger, CallersSeen};
pub use models::ModelSeen;
pub use who::{CallerName, RATE_MOMENTS};

use std::sync::Arc;
use std::time::Instant;

use divisi_engine::serving::RequestLedger;
use divisi_inference::error::ServiceError;
use divisi_inference::service::ModelDescription;
use divisi_model::metrics::{ErrorKey, ErrorSubject, NamedVersion};
use divisi_runtime::lock::Leaf;

/// Counts the calls of a server, from all its threads.
pub(crate) struct Callers {
    began: Instant,
    ledger: Leaf<CallerLedger>,
    errors: Arc<RequestLedger>,
}

impl Callers {
    /// Creates counts without calls. Errors are recorded in `errors`.
    pub(crate) fn new(errors: Arc<RequestLedger>) -> Self {
        Callers {
            began: Instant::now(),
            ledger: Leaf::default(),
            errors,
        }
    }

    /// Returns the ledger of errors.
    pub(crate) fn errors(&self) -> &Arc<RequestLedger> {
        &self.errors
    }

    /// Counts an ended call and its model.
    fn count(&self, who: &CallerName, model: Option<&ModelDescription>, has_failed: bool) {
        let now = self.began.elapsed();
        let mut ledger = self.ledger.lock();
        match model {
            None => ledger.count(now, who, has_failed),
            Some(model) => {
                ledger.count_of_model(now, &model.name, &model.version, who, has_failed);
            }
        }
    }

    /// Records an error in the ledger.
    pub(crate) fn record(
        &self,
        subject: ErrorSubject,
        who: &CallerName,
        model: Option<&ModelDescription>,
        error: &ServiceError,
    ) {
        let key = ErrorKey {
            subject,
            outcome: error.outcome(),
            reason: error.kind(),
        };
        let model = model.map(|model| NamedVersion {
            name: (&*model.name).into(),
            version: (&*model.version).into(),
        });
        self.errors
            .record(key, who.to_string(), model, error.to_string());
    }

    /// Returns the current counts.
    pub(crate) fn snapshot(self: &Arc<Self>) -> CallersSeen {
        let now = self.began.elapsed();
        self.ledger.lock().snapshot(now)
    }

    /// Returns the current counts of each recently requested version of a model.
    pub(crate) fn models_seen(&self) -> Vec<ModelSeen> {
        let now = self.began.elapsed();
        self.ledger.lock().models_seen(now)
    }
}
