//! Traces for OpenTelemetry: spans of sampled calls are sent to a collector in batches. A slow or
//! missing collector loses spans but delays no call.

mod endpoint;
mod messages;
mod runs;
mod send;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::timeout;

use crate::notices::Notices;
use divisi_inference::service::Gauge;

use super::FinishedCall;

use runs::ToldBatches;
use send::Collector;

pub use endpoint::{EndpointError, TraceEndpoint};
pub use messages::{
    Attribute, AttributeKind, AttributeValue, ExportRequest, Resource, ResourceSpans, ScopeSpans,
    SpanLink, SpanStatus, TraceScope, TraceSpan,
};

/// The number of calls that may wait to be sent.
const QUEUE: usize = 4096;

/// The number of calls in a batch.
const BATCH: usize = 256;

/// The time that a batch may wait for more calls.
const WAIT: Duration = Duration::from_millis(500);

/// The time for a collector to accept a batch.
const PATIENCE: Duration = Duration::from_secs(10);

/// The collector of traces and their share of calls.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceOptions {
    /// The collector.
    pub to: TraceEndpoint,
    /// The share of calls to trace if the client does not decide, between 0 and 1.
    pub ratio: f64,
    /// A file of trusted certificates for the collector; `None` for those that this machine trusts.
    pub trusted: Option<PathBuf>,
}

/// Sends spans to a collector.
pub(crate) struct TraceExporter {
    ratio: f64,
    to: Sender<Arc<FinishedCall>>,
    counts: Arc<TraceCounts>,
}

#[derive(Default)]
struct TraceCounts {
    sent: AtomicU64,
    lost: AtomicU64,
}

impl TraceExporter {
    /// Starts the exporter on a runtime.
    pub(crate) fn begin(options: &TraceOptions, runtime: &Handle, notices: Notices) -> Self {
        let (to, calls) = channel(QUEUE);
        let counts = Arc::default();
        let exporter = Exporter {
            to: Collector::new(options),
            batches: ToldBatches::default(),
            counts: Arc::clone(&counts),
            notices,
            told: false,
        };
        runtime.spawn(exporter.run(calls));
        TraceExporter {
            ratio: options.ratio,
            to,
            counts,
        }
    }

    /// Returns the share of calls to trace if the client does not decide.
    pub(super) fn ratio(&self) -> f64 {
        self.ratio
    }

    /// Queues an ended call without waiting, if its trace is recorded.
    pub(super) fn take(&self, call: &Arc<FinishedCall>) {
        let is_sampled = call.trace.is_some_and(|trace| trace.sampled);
        if is_sampled && self.to.try_send(Arc::clone(call)).is_err() {
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the numbers of sent and lost calls.
    pub(super) fn gauges(&self) -> Vec<Gauge> {
        let gauge = |name, help, value: &AtomicU64| Gauge {
            name,
            help,
            counts: true,
            labels: Vec::new(),
            value: value.load(Ordering::Relaxed) as f64,
        };
        vec![
            gauge(
                "divisi_traces_sent_total",
                "Calls whose spans a collector accepted",
                &self.counts.sent,
            ),
            gauge(
                "divisi_traces_lost_total",
                "Calls whose spans no collector accepted in time",
                &self.counts.lost,
            ),
        ]
    }
}

struct Exporter {
    to: Collector,
    batches: ToldBatches,
    counts: Arc<TraceCounts>,
    notices: Notices,
    /// Whether the failure was reported.
    told: bool,
}

impl Exporter {
    async fn run(mut self, mut calls: Receiver<Arc<FinishedCall>>) {
        while let Some(first) = calls.recv().await {
            let mut batch = vec![first];
            let more = async {
                while batch.len() < BATCH
                    && let Some(call) = calls.recv().await
                {
                    batch.push(call);
                }
            };
            let _ = timeout(WAIT, more).await;
            self.send(&batch).await;
        }
    }

    async fn send(&mut self, batch: &[Arc<FinishedCall>]) {
        let spans = batch
            .iter()
            .filter_map(|call| Some(messages::spans(call, call.trace?)));
        let mut spans: Vec<TraceSpan> = spans.flatten().collect();
        let calls = batch.iter();
        let calls = calls.filter_map(|call| Some((&**call, call.trace?)));
        self.batches.add(calls, &mut spans);
        let request = messages::export(spans);
        let sent = timeout(PATIENCE, self.to.send(&request)).await;
        let why = match sent {
            Ok(Ok(())) => {
                self.counts
                    .sent
                    .fetch_add(batch.len() as u64, Ordering::Relaxed);
                self.told = false;
                return;
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "timed out".to_owned(),
        };
        self.counts
            .lost
            .fetch_add(batch.len() as u64, Ordering::Relaxed);
        if !self.told {
            self.notices
                .say(&format!("traces: {}: {why}", self.to.endpoint()));
        }
        self.told = true;
    }
}
