//! A call in progress that will be counted.

use std::net::IpAddr;
use std::sync::Arc;

use divisi_runtime::lock::Leaf;

use divisi_inference::error::ErrorKind;
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
    Failed(ErrorKind),
}

/// The facts of a call so far.
#[derive(Clone)]
struct CallState {
    who: CallerName,
    /// The requested model, if known.
    model: Option<Arc<ModelDescription>>,
    end: CallEnd,
}

/// A call that is counted when it is dropped.
pub(crate) struct CountedCall {
    callers: Arc<Callers>,
    state: Leaf<CallState>,
}

impl CountedCall {
    /// Begins a call from an address.
    pub(crate) fn begin(callers: &Arc<Callers>, from: IpAddr) -> Self {
        CountedCall::new(callers, CallerName::Address(from))
    }

    fn new(callers: &Arc<Callers>, who: CallerName) -> Self {
        CountedCall {
            callers: Arc::clone(callers),
            state: Leaf::new(CallState {
                who,
                model: None,
                end: CallEnd::default(),
            }),
        }
    }

    /// Begins a call within this one, by the same client.
    pub(crate) fn within(&self) -> Self {
        CountedCall::new(&self.callers, self.state.lock().who.clone())
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

    /// Records the failure. The first record counts, since it is the most specific.
    pub(crate) fn fails(&self, kind: ErrorKind) {
        let mut state = self.state.lock();
        if !matches!(state.end, CallEnd::Failed(_)) {
            state.end = CallEnd::Failed(kind);
        }
    }
}

impl Drop for CountedCall {
    fn drop(&mut self) {
        let state = self.state.lock().clone();
        let failed = match state.end {
            CallEnd::Answered => None,
            CallEnd::Failed(kind) => Some(kind),
            CallEnd::GivenUp => Some(ErrorKind::Cancelled),
        };
        let model = state.model.as_deref();
        self.callers.count(&state.who, model, failed);
    }
}
