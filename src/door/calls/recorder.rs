//! Passes ended calls to the access log, the exporter of traces and the counts of clients.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::callers::{CallerName, Callers, CountedCall};
use crate::metrics::error_gauges;
use divisi_inference::error::ServiceError;
use divisi_inference::service::Gauge;
use divisi_model::metrics::ErrorSubject;

use super::access::AccessLog;
use super::finished::FinishedCall;
use super::record::CallRecord;
use super::trace_context::{SpanContext, TraceParent};
use super::traces::TraceExporter;

/// The consumers of ended calls.
pub(crate) struct CallRecorder {
    /// The access log, if enabled.
    pub access: Option<AccessLog>,
    /// The exporter of traces, if enabled.
    pub traces: Option<TraceExporter>,
    /// The counts of clients.
    pub callers: Arc<Callers>,
}

impl CallRecorder {
    /// Creates the record of a call, which is only counted without an access log and traces.
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

    /// Counts and records a refusal before there was a call: of a connection or a head.
    pub(crate) fn refuse(
        self: &Arc<Self>,
        protocol: &'static str,
        peer: SocketAddr,
        what: &str,
        status: u16,
        error: &ServiceError,
    ) {
        let who = CallerName::Address(peer.ip());
        self.callers.record(ErrorSubject::Call, &who, None, error);
        if self.access.is_some() {
            let record = CallRecord::default();
            let record = record.written(Arc::clone(self), protocol, what.into(), peer, None);
            record.ends(status, || error.to_string());
        }
    }

    /// Records an ended call.
    pub(super) fn finish(&self, call: FinishedCall) {
        let call = Arc::new(call);
        if let Some(traces) = &self.traces {
            traces.take(&call);
        }
        if let Some(access) = &self.access {
            access.take(call);
        }
    }

    /// Returns the errors and the lost lines, for `/metrics`.
    pub(crate) fn gauges(&self) -> Vec<Gauge> {
        let of_access = self.access.as_ref().map(AccessLog::gauges);
        let of_traces = self.traces.as_ref().map(TraceExporter::gauges);
        let all = of_access.into_iter().chain(of_traces);
        let errors = error_gauges(self.callers.errors()).into_iter();
        errors.chain(all.flatten()).collect()
    }

    /// Waits a limited time for queued log lines.
    pub(crate) fn flush(&self) {
        if let Some(access) = &self.access {
            access.flush();
        }
    }
}
