//! Who asks: the calls of each client over the last minute, to all models and to each, and what was
//! refused or failed by its reason, for an operator who watches.

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
    /// Counts a call that is over, and the model that it asked; `failed` says how, where it did.
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

    /// Counts something that was refused before it was a call of anybody, such as a connection or a head.
    pub(crate) fn refuse(&self, kind: ErrorKind) {
        let now = self.began.elapsed();
        self.ledger.lock().refuse(now, kind);
    }

    /// Returns what was counted by now.
    pub(crate) fn seen(self: &Arc<Self>) -> CallersSeen {
        let now = self.began.elapsed();
        self.ledger.lock().seen(now)
    }

    /// Returns how often each kind of refusal and failure was, for `/metrics`.
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

    /// Returns what was counted by now of each version of a model that was asked lately.
    pub(crate) fn models_seen(&self) -> Vec<ModelSeen> {
        let now = self.began.elapsed();
        self.ledger.lock().models_seen(now)
    }
}
