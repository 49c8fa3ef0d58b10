//! The clients: the calls of each over the last minute, in total and by model, and refusals and
//! failures by reason.

mod call;
mod counts;
mod ledger;
mod models;
mod moments;
mod refusals;
mod table;
mod who;

pub(crate) use call::CountedCall;
pub use counts::CallFigures;
pub use ledger::{CallerLedger, CallersSeen};
pub use models::ModelSeen;
pub use moments::{MOMENT, MOMENTS};
pub use who::{CallerName, RATE_MOMENTS};

use std::sync::Arc;
use std::time::Instant;

use divisi_runtime::lock::Leaf;

use divisi_inference::error::ErrorKind;
use divisi_inference::service::{Gauge, ModelDescription};

/// Counts the calls of a server, from all its threads.
pub(crate) struct Callers {
    began: Instant,
    ledger: Leaf<CallerLedger>,
}

impl Default for Callers {
    fn default() -> Self {
        Callers {
            began: Instant::now(),
            ledger: Leaf::default(),
        }
    }
}

impl Callers {
    /// Counts an ended call and its model; `failed` is its error, if any.
    fn count(&self, who: &CallerName, model: Option<&ModelDescription>, failed: Option<ErrorKind>) {
        let now = self.began.elapsed();
        let mut ledger = self.ledger.lock();
        match model {
            None => ledger.count(now, who, failed),
            Some(model) => {
                let model = (&*model.name, &*model.version);
                ledger.count_of_model(now, model, who, failed);
            }
        }
    }

    /// Counts a refusal before there was a call, such as that of a connection or a head.
    pub(crate) fn refuse(&self, kind: ErrorKind) {
        let now = self.began.elapsed();
        self.ledger.lock().refuse(now, kind);
    }

    /// Returns the current counts.
    pub(crate) fn snapshot(self: &Arc<Self>) -> CallersSeen {
        let now = self.began.elapsed();
        self.ledger.lock().snapshot(now)
    }

    /// Returns the totals of refusals and failures, for `/metrics`.
    pub(crate) fn gauges(&self) -> Vec<Gauge> {
        let ledger = self.ledger.lock();
        let gauges = ledger.refused().map(|(kind, total)| Gauge {
            name: "divisi_refusals_total",
            help: "Refused calls, request heads and connections, and failed calls, by reason",
            counts: true,
            labels: vec![("reason", kind.name().to_owned())],
            value: total as f64,
        });
        gauges.collect()
    }

    /// Returns the current counts of each recently requested version of a model.
    pub(crate) fn models_seen(&self) -> Vec<ModelSeen> {
        let now = self.began.elapsed();
        self.ledger.lock().models_seen(now)
    }
}
