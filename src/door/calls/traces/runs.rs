//! The spans of a call's steps and of their batches. A batch serves several calls, so it is a trace
//! of its own, and links connect it with its calls.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::calls::FinishedCall;
use crate::calls::finished::CallRun;
use crate::calls::trace_context::SpanContext;

use super::messages::{
    AttributeKind, INTERNAL, SpanLink, TraceSpan, attribute, length, nanos, span,
};

/// The number of batches to remember, so that each is sent once.
const REMEMBERED: usize = 4096;

/// The batches that were sent.
#[derive(Default)]
pub(super) struct ToldBatches {
    known: BTreeMap<u64, SpanContext>,
    order: VecDeque<u64>,
}

impl ToldBatches {
    /// Returns the span of a batch, and whether it was sent before.
    fn context(&mut self, batch: u64) -> (SpanContext, bool) {
        if let Some(known) = self.known.get(&batch) {
            return (*known, true);
        }
        // All linked spans are recorded.
        let context = SpanContext::begin(None, 1.0);
        self.known.insert(batch, context);
        self.order.push_back(batch);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        (context, false)
    }

    /// Adds the spans of calls' steps, and of batches that were not sent yet.
    pub(super) fn add<'c>(
        &mut self,
        calls: impl Iterator<Item = (&'c FinishedCall, SpanContext)>,
        spans: &mut Vec<TraceSpan>,
    ) {
        let mut batches: BTreeMap<u64, TraceSpan> = BTreeMap::new();
        for (call, context) in calls {
            for run in &call.runs {
                let of_call = SpanContext::within(context);
                let mut whole = run_span(call, run, of_call);
                if let Some(batch) = run.run.batch {
                    let (of_batch, was_told) = self.context(batch.number);
                    whole.links.push(link(of_batch));
                    if !was_told {
                        batches.insert(batch.number, batch_span(call, run, of_batch));
                    }
                    if let Some(batch) = batches.get_mut(&batch.number) {
                        batch.links.push(link(of_call));
                    }
                }
                spans.push(whole);
            }
        }
        spans.extend(batches.into_values());
    }
}

fn link(to: SpanContext) -> SpanLink {
    SpanLink {
        trace_id: to.trace.to_be_bytes().into(),
        span_id: to.span.to_be_bytes().into(),
        flags: u32::from(to.sampled),
    }
}

/// Returns the time when a step became ready for a call, in nanoseconds of Unix time.
fn arrived(call: &FinishedCall, run: &CallRun) -> u64 {
    nanos(call.began) + length(call.asked) + length(run.run.arrived)
}

fn run_span(call: &FinishedCall, run: &CallRun, context: SpanContext) -> TraceSpan {
    let facts = &run.run;
    let computing = facts.input + facts.computed + facts.output;
    let number = |key: &str, value: u64| {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        attribute(key, AttributeKind::Number(value))
    };
    let mut attributes = vec![
        number("divisi.rows", facts.rows as u64),
        number("divisi.queue_ns", length(facts.queued)),
        number("divisi.compute_ns", length(facts.computed)),
    ];
    if let Some(model) = &run.model {
        attributes.push(attribute(
            "divisi.model",
            AttributeKind::Text(model.clone()),
        ));
    }
    let (start, took) = (arrived(call, run), facts.queued + computing);
    let name = format!("step {}", run.step);
    TraceSpan {
        parent_span_id: context
            .parent
            .map_or_else(Vec::new, |p| p.to_be_bytes().into()),
        attributes,
        ..span(context, context.span, &name, INTERNAL, start, took)
    }
}

fn batch_span(call: &FinishedCall, run: &CallRun, context: SpanContext) -> TraceSpan {
    let facts = &run.run;
    let samples = facts.batch.map_or(0, |batch| batch.samples);
    let samples = i64::try_from(samples).unwrap_or(i64::MAX);
    let mut attributes = vec![
        attribute("divisi.step", AttributeKind::Text(run.step.clone())),
        attribute("divisi.rows", AttributeKind::Number(samples)),
    ];
    if let Some(device) = &run.device {
        attributes.push(attribute(
            "divisi.device",
            AttributeKind::Text(device.clone()),
        ));
    }
    let start = arrived(call, run) + length(facts.queued);
    let took: Duration = facts.input + facts.computed + facts.output;
    TraceSpan {
        attributes,
        ..span(context, context.span, "batch", INTERNAL, start, took)
    }
}
