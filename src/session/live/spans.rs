//! The spans of successive engines. Numbers of batches and requests continue; columns are those of
//! the running engine.

use divisi_engine::deployment::Generation;
use divisi_model::trace::Span;
use divisi_runtime::device::MemberIndex;

use super::engine_session::EngineSession;

/// The distance between the batch and request numbers of successive engines, larger than any
/// engine's count.
const APART: u64 = 1 << 40;

/// The spans of successive engines.
#[derive(Default)]
pub(super) struct SpansOfEngines {
    /// The number of ended engines.
    ended: u64,
    /// The spans lost by ended engines.
    lost: u64,
    /// The remaining spans of the last ended engine.
    left: Vec<Span>,
    /// The number of ended engines whose end a snapshot has shown.
    told: u64,
}

impl SpansOfEngines {
    /// Records that a snapshot of the running engine was taken.
    pub(super) fn tell(&mut self) {
        self.told = self.ended;
    }

    /// Moves the spans since the last call to `into`. Returns the total number of lost spans. Spans
    /// of an engine wait until a snapshot has shown its columns.
    pub(super) fn drain(&mut self, session: &mut EngineSession, into: &mut Vec<Span>) -> u64 {
        match self.told == self.ended {
            true => self.take(session, into),
            false => self.lost,
        }
    }

    fn take(&mut self, session: &mut EngineSession, into: &mut Vec<Span>) -> u64 {
        into.append(&mut self.left);
        let first = into.len();
        let lost = session.engine.telemetry().drain_spans(into);
        self.renumber(&mut into[first..]);
        self.lost + lost
    }

    /// Continues the numbers of earlier engines in spans of the running engine.
    pub(super) fn renumber(&self, spans: &mut [Span]) {
        for span in spans {
            span.batch = span.batch.map(|batch| self.numbered(batch));
            span.request = self.numbered(span.request);
        }
    }

    /// Returns the number of a batch or a request of the running engine, after those of earlier
    /// engines.
    pub(super) fn numbered(&self, number: u64) -> u64 {
        number.saturating_add(self.ended * APART)
    }

    /// Takes the remaining spans of an engine that is being replaced.
    pub(super) fn leave(
        &mut self,
        session: &mut EngineSession,
        before: &Generation,
        next: &Generation,
    ) {
        let mut left = Vec::new();
        self.lost = self.take(session, &mut left);
        let predecessors = next.catalogue.predecessors(&before.catalogue);
        let moved = left.into_iter().filter_map(|span| {
            let mut columns = predecessors.iter();
            let at = columns.position(|before| *before == Some(span.member))?;
            Some(Span {
                member: MemberIndex::new(at),
                // Step numbers are only valid within their engine.
                of_step: None,
                ..span
            })
        });
        self.left = moved.collect();
        self.ended += 1;
    }
}
