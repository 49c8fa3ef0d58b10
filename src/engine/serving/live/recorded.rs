//! Records requests of this process without an answer in the ledger of errors.

use std::sync::atomic::Ordering;

use divisi_model::codes::{Code, Coded};
use divisi_model::error_kind::ErrorKind;
use divisi_model::metrics::{ErrorKey, ErrorOutcome, ErrorSubject, NamedVersion};

use crate::serving::door::Refused;
use crate::serving::ledger::THIS_PROCESS;

use super::promise::Failure;
use super::request::{Accounting, RequestData};
use super::served::ServedEnsemble;
use super::state::EngineState;

impl EngineState {
    /// Records a refusal of a request that the engine accounts for, unless its sender sends it to
    /// the next engine.
    pub(super) fn record_refusal(
        &self,
        served: &ServedEnsemble,
        refused: &Refused,
        accounting: Accounting,
    ) {
        let is_followed = self.is_followed.load(Ordering::Acquire);
        let is_sent_again = is_followed && matches!(refused, Refused::Closed(_));
        if accounting == Accounting::Engine && !is_sent_again {
            let key = key(refused.code(), ErrorOutcome::Refused);
            self.record(key, served.model(), refused.to_string());
        }
    }

    /// Records the end of a request without an answer, if the engine accounts for it.
    pub(super) fn record_failure(&self, request: &RequestData, failure: &Failure) {
        if request.accounting != Accounting::Engine {
            return;
        }
        let outcome = match failure {
            Failure::Cancelled => ErrorOutcome::Cancelled,
            _ => ErrorOutcome::Failed,
        };
        let key = key(failure.code(), outcome);
        self.record(key, request.served.model(), failure.to_string());
    }

    fn record(&self, key: ErrorKey, model: NamedVersion, message: String) {
        self.ledger()
            .record(key, THIS_PROCESS, Some(model), message);
    }
}

fn key(code: Code, outcome: ErrorOutcome) -> ErrorKey {
    ErrorKey {
        subject: ErrorSubject::Request,
        outcome,
        reason: ErrorKind::of_code(code),
    }
}
