//! Who reads the records of calls: the access log and the exporter of traces; and who counts them.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::callers::{Callers, CountedCall};
use divisi_inference::error::ServiceError;
use divisi_inference::service::Gauge;

use super::access::AccessLog;
use super::finished::FinishedCall;
use super::record::CallRecord;
use super::trace_context::{SpanContext, TraceParent};
use super::traces::TraceExporter;

/// See the module's text.
#[derive(Default)]
pub(crate) struct CallRecorder {
    /// The access log, if one is kept.
    pub access: Option<AccessLog>,
    /// The exporter of traces, if they are told.
    pub traces: Option<TraceExporter>,
    /// Who counts calls.
    pub callers: Arc<Callers>,
}

impl CallRecorder {
    /// Begins the record of a call; one that nobody reads is counted alone.
    pub(crate) fn begin(
        self: &Arc<Self>,
        protocol: &'static str,
        peer: SocketAddr,
        parent: Option<&[u8]>,
        call: impl FnOnce() -> String,
    ) -> CallRecord {
        let record = CallRecord::counted(CountedCall::begin(&self.callers, peer.ip()));
        if self.access.is_none() && self.traces.is_none() {
            return record;
        }
        let parent = parent.and_then(TraceParent::parse);
        let ratio = self.traces.as_ref().map(TraceExporter::ratio);
        let is_traced = parent.is_some() || ratio.is_some();
        let trace = is_traced.then(|| SpanContext::begin(parent, ratio.unwrap_or(0.0)));
        record.written(Arc::clone(self), protocol, call(), peer, trace)
    }

    /// Counts and records what was refused before it was a call of anybody: a connection, or a head.
    pub(crate) fn refuse(
        self: &Arc<Self>,
        (protocol, peer): (&'static str, SocketAddr),
        what: &str,
        status: u16,
        error: &ServiceError,
    ) {
        self.callers.refuse(error.kind());
        if self.access.is_some() {
            let record = CallRecord::default();
            let record = record.written(Arc::clone(self), protocol, what.into(), peer, None);
            record.ends(status, || error.to_string());
        }
    }

    /// Takes the record of a call that is over.
    pub(super) fn finish(&self, call: FinishedCall) {
        let call = Arc::new(call);
        if let Some(traces) = &self.traces {
            traces.take(&call);
        }
        if let Some(access) = &self.access {
            access.take(call);
        }
    }

    /// Returns what was refused and what was lost, for `/metrics`.
    pub(crate) fn gauges(&self) -> Vec<Gauge> {
        let of_access = self.access.as_ref().map(AccessLog::gauges);
        let of_traces = self.traces.as_ref().map(TraceExporter::gauges);
        let all = of_access.into_iter().chain(of_traces);
        let refused = self.callers.gauges().into_iter();
        refused.chain(all.flatten()).collect()
    }

    /// Waits a little for what is on its way to the log.
    pub(crate) fn flush(&self) {
        if let Some(access) = &self.access {
            access.flush();
        }
    }
}
