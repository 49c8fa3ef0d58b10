//! The record of a call, completed when the call ends.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use divisi_model::metrics::RequestOrigin;
use divisi_runtime::lock::Leaf;

use crate::callers::CountedCall;
use divisi_inference::error::{ServiceError, shortened};
use divisi_inference::service::{InferenceTimes, ModelDescription};

use super::finished::{FinishedCall, HTTP};
use super::recorder::CallRecorder;
use super::trace_context::{SpanContext, TraceParent};

/// Returns the status of a call whose client hung up, for HTTP and gRPC.
fn given_up(protocol: &str) -> u16 {
    if protocol == HTTP { 499 } else { 1 }
}

/// A call in progress. It is counted, and its record is written, when the last clone is dropped.
/// Without an access log or traces there is no record.
#[derive(Clone, Default)]
pub(crate) struct CallRecord {
    counted: Option<Arc<CountedCall>>,
    open: Option<Arc<OpenCall>>,
}

struct OpenCall {
    began: Instant,
    facts: Leaf<FinishedCall>,
    recorder: Arc<CallRecorder>,
}

impl OpenCall {
    fn begin(
        recorder: Arc<CallRecorder>,
        protocol: &'static str,
        call: String,
        peer: SocketAddr,
        trace: Option<SpanContext>,
    ) -> Arc<Self> {
        let facts = FinishedCall {
            protocol,
            call: shortened(call),
            peer,
            key: None,
            model: String::new(),
            version: String::new(),
            id: String::new(),
            samples: 0,
            cached: false,
            status: given_up(protocol),
            reason: "cancelled by the client".into(),
            began: SystemTime::now(),
            took: Duration::ZERO,
            asked: Duration::ZERO,
            times: InferenceTimes::default(),
            trace,
            runs: Vec::new(),
        };
        Arc::new(OpenCall {
            began: Instant::now(),
            facts: Leaf::new(facts),
            recorder,
        })
    }

    fn within(&self, call: &str) -> Arc<Self> {
        let outer = self.facts.lock().clone();
        let parent = outer.trace.map(|trace| TraceParent {
            trace: trace.trace,
            span: trace.span,
            sampled: trace.sampled,
        });
        let trace = parent.map(|parent| SpanContext::begin(Some(parent), 0.0));
        let recorder = Arc::clone(&self.recorder);
        let inner = OpenCall::begin(recorder, outer.protocol, call.into(), outer.peer, trace);
        inner.facts.lock().key = outer.key;
        inner
    }
}

impl CallRecord {
    /// Creates a call that is only counted.
    pub(super) fn counted(counted: CountedCall) -> Self {
        CallRecord {
            counted: Some(Arc::new(counted)),
            open: None,
        }
    }

    /// Creates a call that is counted and recorded.
    pub(super) fn written(
        self,
        recorder: Arc<CallRecorder>,
        protocol: &'static str,
        call: String,
        peer: SocketAddr,
        trace: Option<SpanContext>,
    ) -> Self {
        CallRecord {
            open: Some(OpenCall::begin(recorder, protocol, call, peer, trace)),
            ..self
        }
    }

    /// Records that the call is a request for inference.
    pub(crate) fn is_request(&self) {
        if let Some(counted) = &self.counted {
            counted.is_request();
        }
    }

    /// Returns the record of a request for inference within this call, which is a stream.
    pub(crate) fn within(&self, call: &str) -> Self {
        let counted = self.counted.as_ref();
        let open = self.open.as_ref();
        CallRecord {
            counted: counted.map(|counted| Arc::new(counted.request_within())),
            open: open.map(|open| open.within(call)),
        }
    }

    /// Sets the key of the call.
    pub(crate) fn is_by(&self, key: Arc<str>) {
        if let Some(counted) = &self.counted {
            counted.is_by(Arc::clone(&key));
        }
        self.note(|facts| facts.key = Some(key));
    }

    /// Changes the record of the call, if it has one.
    pub(crate) fn note(&self, note: impl FnOnce(&mut FinishedCall)) {
        if let Some(open) = &self.open {
            note(&mut open.facts.lock());
        }
    }

    /// Returns the client's part of a request that is read now.
    pub(crate) fn origin(&self, id: &str) -> Option<RequestOrigin> {
        let counted = self.counted.as_ref();
        counted.map(|counted| counted.origin(id))
    }

    /// Records that the model is requested now.
    pub(crate) fn set_model(&self, model: &Arc<ModelDescription>, id: &str) {
        if let Some(counted) = &self.counted {
            counted.set_model(model);
        }
        if let Some(open) = &self.open {
            let mut facts = open.facts.lock();
            facts.asked = open.began.elapsed();
            facts.model = model.name.clone();
            facts.version = model.version.clone();
            facts.id = shortened(id.to_owned());
        }
    }

    /// Records that another version of the model answers, which was loaded while the call waited.
    pub(crate) fn asks_again(&self, model: &Arc<ModelDescription>) {
        if let Some(counted) = &self.counted {
            counted.set_model(model);
        }
        self.note(|facts| facts.version = model.version.clone());
    }

    /// Records that the call was answered.
    pub(crate) fn is_answered(&self, status: u16) {
        if let Some(counted) = &self.counted {
            counted.is_answered();
        }
        self.ends(status, String::new);
    }

    /// Records the failure of the call.
    pub(crate) fn fails(&self, status: u16, error: &ServiceError) {
        self.fails_by(error);
        self.ends(status, || error.to_string());
    }

    /// Records the error of the call. The first one counts.
    pub(crate) fn fails_by(&self, error: &ServiceError) {
        if let Some(counted) = &self.counted {
            counted.fails(error);
        }
    }

    /// Sets the status of the call and its error message.
    pub(crate) fn ends(&self, status: u16, reason: impl FnOnce() -> String) {
        self.note(|facts| {
            facts.status = status;
            facts.reason = shortened(reason());
        });
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        let mut facts = self.facts.lock().clone();
        facts.took = self.began.elapsed();
        self.recorder.finish(facts);
    }
}
