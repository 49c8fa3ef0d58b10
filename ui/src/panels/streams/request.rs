//! The request of the selected span: its time, the steps without spans, its last step, and its
//! longest wait.

use std::time::Duration;

use divisi_engine::serving::{GraphStep, GraphWork, StepGraph};
use divisi_model::trace::{Span, SpanKind};

use super::axis;
use super::spans::work_name;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;
use crate::view::{LitRequest, SpanReading};

/// The time before and after the selected span in which the request's spans are searched.
const AROUND: Duration = Duration::from_secs(10);

/// The way of a request, from its spans.
#[derive(Debug)]
struct RequestWay {
    spans: usize,
    took: Duration,
    last: Span,
    /// The waits on the chain of steps that waited most. Parallel waits are not added.
    waited: Duration,
    longest: Option<Span>,
}

impl RequestWay {
    fn from_spans(spans: &[Span], graphs: &[StepGraph]) -> Option<Self> {
        let last = *spans.iter().max_by_key(|span| span.end)?;
        let first = spans.iter().map(|span| span.start).min()?;
        let waits = spans.iter().filter(|span| span.kind == SpanKind::Wait);
        let longest = waits.clone().max_by_key(|span| took(span)).copied();
        Some(RequestWay {
            spans: spans.len(),
            took: last.end.saturating_sub(first),
            waited: chained(waits, graphs).max(longest.as_ref().map_or(Duration::ZERO, took)),
            longest,
            last,
        })
    }
}

fn took(span: &Span) -> Duration {
    span.end.saturating_sub(span.start)
}

/// Returns the waits of a request along the chain of its graph's steps that waited most, or none if
/// its graph is unknown. Of several waits for a step, the longest counts.
fn chained<'a>(waits: impl Iterator<Item = &'a Span> + Clone, graphs: &[StepGraph]) -> Duration {
    let entry = waits.clone().find_map(|span| span.of_step);
    let graph = entry.and_then(|of| graphs.get(usize::from(of.entry)));
    let steps = graph.map_or(&[][..], |graph| &graph.steps);
    let mut chains: Vec<Duration> = Vec::with_capacity(steps.len());
    for step in steps {
        let is_for = |span: &&Span| span.of_step.is_some_and(|of| of.step == step.number);
        let own = waits.clone().filter(is_for).map(took).max();
        let needs = step.needs.iter().filter_map(|need| chains.get(*need));
        let before = needs.max().copied();
        chains.push(own.unwrap_or_default() + before.unwrap_or_default());
    }
    chains.into_iter().max().unwrap_or_default()
}

/// The steps of a request that run networks, grouped by their spans.
#[derive(Debug, Default)]
struct KnownSteps<'a> {
    /// The number of steps with spans.
    known: usize,
    /// The steps that a running batch computes.
    running: Vec<&'a str>,
    /// The steps without spans: not finished, or computed in a batch of an earlier request.
    missing: Vec<&'a str>,
}

impl<'a> KnownSteps<'a> {
    fn new(model: &'a Model, spans: &[Span], request: &LitRequest) -> Self {
        let entry = spans.iter().find_map(|span| span.of_step);
        let graph = entry.and_then(|of| model.snapshot.graphs.get(usize::from(of.entry)));
        let steps = graph.map_or(&[][..], |graph| &graph.steps).iter();
        let mut known = KnownSteps::default();
        for step in steps.filter(|step| matches!(step.work, GraphWork::Model(_))) {
            known.add(model, step, spans, request);
        }
        known
    }

    fn add(&mut self, model: &Model, step: &'a GraphStep, spans: &[Span], request: &LitRequest) {
        let member = |span: &Span| model.snapshot.member(span.member);
        // Spans of earlier engines have no step.
        let is_for = |span: &Span| match span.of_step {
            Some(of) => of.step == step.number,
            None => member(span).is_some_and(|member| member.name == step.name),
        };
        let under_way = model.snapshot.under_way.iter();
        let mut running = under_way.filter(|span| request.has(span));
        if spans.iter().any(is_for) {
            self.known += 1;
        } else if running.any(is_for) {
            self.running.push(&step.name);
        } else {
            self.missing.push(&step.name);
        }
    }

    fn all(&self) -> usize {
        self.known + self.running.len() + self.missing.len()
    }

    /// Returns `, 2 of 6 steps recorded, running mlp, no spans yet from res-m`, or nothing if all
    /// steps are recorded.
    fn words(&self) -> String {
        if self.known == self.all() {
            return String::new();
        }
        let mut text = format!(", {} of {} steps recorded", self.known, self.all());
        for (what, steps) in [
            ("running", &self.running),
            ("no spans yet from", &self.missing),
        ] {
            if !steps.is_empty() {
                text += &format!(", {what} {}", steps.join(", "));
            }
        }
        text
    }
}

/// Draws it on a line.
pub(super) fn draw(painter: &mut Painter<'_>, y: u16, model: &Model, reading: &SpanReading) {
    let span = &reading.span;
    let (from, until) = (span.start.saturating_sub(AROUND), span.end + AROUND);
    let spans: Vec<Span> = model
        .timeline
        .of_request(reading.request(), from, until)
        .collect();
    let Some(way) = RequestWay::from_spans(&spans, &model.snapshot.graphs) else {
        return;
    };
    let known = KnownSteps::new(model, &spans, &reading.request());
    let text = words(model, &way, &known, reading.request().number);
    let x = painter.text(0, y, "  its request:", Role::Dim);
    let room = painter.width().saturating_sub(x);
    painter.text(x, y, &format::fit(&text, room), Role::Text);
}

fn words(model: &Model, way: &RequestWay, known: &KnownSteps<'_>, request: u64) -> String {
    let mut text = format!(
        " {request} in {}{}, last {} of {}",
        axis::taken_words(way.took),
        known.words(),
        way.last.kind.name(),
        work_name(model, &way.last)
    );
    match &way.longest {
        Some(longest) => {
            let most = took(longest);
            text += &format!(
                " · waited {}, most for {} ({})",
                axis::taken_words(way.waited),
                work_name(model, longest),
                axis::taken_words(most)
            );
        }
        None => text += " · waits not recorded",
    }
    // Batches record the request of their first sample only.
    text + &format!(" · {} known spans", way.spans)
}
