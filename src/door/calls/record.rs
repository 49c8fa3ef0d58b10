//! The record of a call: what is known of it once it is over.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use divisi::lock::Leaf;

use crate::service::InferenceTimes;

use super::finished::{FinishedCall, HTTP};
use super::recorder::CallRecorder;
use super::trace_context::{SpanContext, TraceParent};

/// The status of a call whose client hung up, of HTTP and of gRPC.
fn given_up(protocol: &str) -> u16 {
    if protocol == HTTP { 499 } else { 1 }
}

/// A call that is under way. Its record is written once nobody holds it any more. Where nobody
/// reads records there is none, and nothing is done.
#[derive(Clone, Default)]
pub(crate) struct CallRecord(Option<Arc<OpenCall>>);

struct OpenCall {
    began: Instant,
    facts: Leaf<FinishedCall>,
    recorder: Arc<CallRecorder>,
}

impl CallRecord {
    /// Begins the record of a call.
    pub(super) fn begin(
        recorder: Arc<CallRecorder>,
        protocol: &'static str,
        call: String,
        peer: SocketAddr,
        trace: Option<SpanContext>,
    ) -> Self {
        let facts = FinishedCall {
            protocol,
            call,
            peer,
            key: None,
            model: String::new(),
            version: String::new(),
            id: String::new(),
            samples: 0,
            cached: false,
            status: given_up(protocol),
            reason: "the client gave it up".into(),
            began: SystemTime::now(),
            took: Duration::ZERO,
            asked: Duration::ZERO,
            times: InferenceTimes::default(),
            trace,
            runs: Vec::new(),
        };
        CallRecord(Some(Arc::new(OpenCall {
            began: Instant::now(),
            facts: Leaf::new(facts),
            recorder,
        })))
    }

    /// Returns whether anybody reads it.
    pub(crate) fn is_kept(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the record of a call within this one, such as a request of a stream.
    pub(crate) fn within(&self, call: &str) -> Self {
        let Some(open) = &self.0 else {
            return CallRecord::default();
        };
        let outer = open.facts.lock().clone();
        let parent = outer.trace.map(|trace| TraceParent {
            trace: trace.trace,
            span: trace.span,
            sampled: trace.sampled,
        });
        let trace = parent.map(|parent| SpanContext::begin(Some(parent), 0.0));
        let recorder = Arc::clone(&open.recorder);
        let inner = CallRecord::begin(recorder, outer.protocol, call.into(), outer.peer, trace);
        inner.note(|facts| facts.key = outer.key);
        inner
    }

    /// Notes what is known of the call.
    pub(crate) fn note(&self, note: impl FnOnce(&mut FinishedCall)) {
        if let Some(open) = &self.0 {
            note(&mut open.facts.lock());
        }
    }

    /// Notes that a model is asked now.
    pub(crate) fn asks(&self, model: &str, version: &str, id: &str) {
        if let Some(open) = &self.0 {
            let mut facts = open.facts.lock();
            facts.asked = open.began.elapsed();
            facts.model = model.to_owned();
            facts.version = version.to_owned();
            facts.id = id.to_owned();
        }
    }

    /// Notes how the call ended.
    pub(crate) fn ends(&self, status: u16, reason: impl FnOnce() -> String) {
        self.note(|facts| {
            facts.status = status;
            facts.reason = reason();
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
