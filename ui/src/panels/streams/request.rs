//! The way of the request of the span that is read out: how long it took, which step was last, and for
//! which it waited most.

use std::time::Duration;

use divisi::trace::{Span, SpanKind};

use super::axis;
use super::spans::work_name;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;
use crate::view::SpanReading;

/// A request's spans are looked for so long before and after the one that is read out.
const AROUND: Duration = Duration::from_secs(10);

/// The way of a request as its spans tell it.
#[derive(Debug)]
struct RequestWay {
    spans: usize,
    took: Duration,
    last: Span,
    /// All waiting, which may have been for several steps at once.
    waited: Duration,
    longest: Option<Span>,
}

impl RequestWay {
    fn of(spans: &[Span]) -> Option<Self> {
        let last = *spans.iter().max_by_key(|span| span.end)?;
        let first = spans.iter().map(|span| span.start).min()?;
        let took = |span: &&Span| span.end.saturating_sub(span.start);
        let waits = || spans.iter().filter(|span| span.kind == SpanKind::Wait);
        Some(RequestWay {
            spans: spans.len(),
            took: last.end.saturating_sub(first),
            waited: waits().map(|span| took(&span)).sum(),
            longest: waits().max_by_key(took).copied(),
            last,
        })
    }
}

/// Draws it on a line.
pub(super) fn draw(painter: &mut Painter<'_>, y: u16, model: &Model, reading: &SpanReading) {
    let span = &reading.span;
    let (from, until) = (span.start.saturating_sub(AROUND), span.end + AROUND);
    let spans: Vec<Span> = model
        .timeline
        .of_request(span.request, from, until)
        .collect();
    let Some(way) = RequestWay::of(&spans) else {
        return;
    };
    let text = words(model, &way, span.request);
    let x = painter.text(0, y, "  its request:", Role::Dim);
    let room = painter.width().saturating_sub(x);
    painter.text(x, y, &format::fit(&text, room), Role::Text);
}

fn words(model: &Model, way: &RequestWay, request: u64) -> String {
    let mut text = format!(
        " {request} in {}, last {} of {}",
        axis::taken_words(way.took),
        way.last.kind.name(),
        work_name(model, &way.last)
    );
    match &way.longest {
        Some(longest) => {
            let most = longest.end.saturating_sub(longest.start);
            text += &format!(
                " · waited {} in all, most for {} ({})",
                axis::taken_words(way.waited),
                work_name(model, longest),
                axis::taken_words(most)
            );
        }
        None => text += " · no wait is told",
    }
    // Batches tell the request of their first sample alone.
    text + &format!(" · {} spans are known", way.spans)
}
