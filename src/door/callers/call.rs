//! A call in progress that will be counted.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use divisi_model::metrics::{ErrorSubject, RequestOrigin, RequestSender};
use divisi_runtime::lock::Leaf;

use divisi_inference::error::{ErrorKind, ServiceError};
use divisi_inference::service::ModelDescription;

use super::Callers;
use super::who::CallerName;

/// The end of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CallEnd {
    /// No outcome was recorded: its client cancelled it.
    #[default]
    GivenUp,
    Answered,
    Failed,
}

/// The facts of a call so far.
#[derive(Clone)]
struct CallState {
    who: CallerName,
    subject: ErrorSubject,
    /// The requested model, if known.
    model: Option<Arc<ModelDescription>>,
    end: CallEnd,
}

/// A call that is counted when it is dropped. Its error is recorded at once, so that a client that
/// got the error finds it in the ledger.
pub(crate) struct CountedCall {
    callers: Arc<Callers>,
    /// The beginning of the call.
    began: Instant,
    state: Leaf<CallState>,
}

impl CountedCall {
    /// Begins a call from an address.
    pub(crate) fn begin(callers: &Arc<Callers>, from: IpAddr) -> Self {
        CountedCall::new(callers, CallerName::Address(from), ErrorSubject::Call)
    }

    fn new(callers: &Arc<Callers>, who: CallerName, subject: ErrorSubject) -> Self {
        CountedCall {
            callers: Arc::clone(callers),
            began: Instant::now(),
            state: Leaf::new(CallState {
                who,
                subject,
                model: None,
                end: CallEnd::default(),
            }),
        }
    }

    /// Begins a request for inference within this call, by the same client.
    pub(crate) fn request_within(&self) -> Self {
        let who = self.state.lock().who.clone();
        CountedCall::new(&self.callers, who, ErrorSubject::Request)
    }

    /// Returns the client's part of a request with this id that is read now.
    pub(crate) fn origin(&self, id: &str) -> RequestOrigin {
        let sender = match &self.state.lock().who {
            CallerName::Key(name) => RequestSender::Key(Arc::clone(name)),
            CallerName::Address(ip) => RequestSender::Address(ip.to_canonical()),
        };
        RequestOrigin {
            sender,
            id: id.into(),
            received: self.began.elapsed(),
        }
    }

    /// Records that the call is a request for inference.
    pub(crate) fn is_request(&self) {
        self.state.lock().subject = ErrorSubject::Request;
    }

    /// Records the key of the call.
    pub(crate) fn is_by(&self, key: Arc<str>) {
        self.state.lock().who = CallerName::Key(key);
    }

    /// Records the requested model.
    pub(crate) fn set_model(&self, model: &Arc<ModelDescription>) {
        self.state.lock().model = Some(Arc::clone(model));
    }

    /// Records that it was answered, unless it failed before.
    pub(crate) fn is_answered(&self) {
        let mut state = self.state.lock();
        if state.end == CallEnd::GivenUp {
            state.end = CallEnd::Answered;
        }
    }

    /// Records its error. Only the first error counts, since it is the most specific.
    pub(crate) fn fails(&self, error: &ServiceError) {
        let state = {
            let mut state = self.state.lock();
            if state.end == CallEnd::Failed {
                return;
            }
            state.end = CallEnd::Failed;
            state.clone()
        };
        let model = state.model.as_deref();
        self.callers.record(state.subject, &state.who, model, error);
    }
}

impl Drop for CountedCall {
    fn drop(&mut self) {
        if self.state.lock().end == CallEnd::GivenUp {
            let left = "the client left before the answer";
            self.fails(&ServiceError::new(ErrorKind::Cancelled, left));
        }
        let state = self.state.lock().clone();
        let has_failed = state.end == CallEnd::Failed;
        self.callers
            .count(&state.who, state.model.as_deref(), has_failed);
    }
}
