//! The spans of one engine after another: numbers of batches and requests go on, and columns are those of
//! the engine that runs.

use crate::Session;
use divisi_engine::deployment::Generation;
use divisi_model::trace::Span;
use divisi_runtime::device::MemberIndex;

use super::engine_session::EngineSession;

/// Between the numbers of an engine's batches and requests and those of the next one's: no engine has so
/// many.
const APART: u64 = 1 << 40;

/// See the module's text.
#[derive(Default)]
pub(super) struct SpansOfEngines {
    /// Engines that ended.
    ended: u64,
    /// Spans that they lost.
    lost: u64,
    /// Spans of the last of them that nobody took yet.
    left: Vec<Span>,
    /// Those of them of whose end a snapshot told.
    told: u64,
}

impl SpansOfEngines {
    /// A snapshot of the engine that runs is taken.
    pub(super) fn tell(&mut self) {
        self.told = self.ended;
    }

    /// Moves the spans since the last call to `into`, and returns how many were lost in all. Where a
    /// snapshot has not told of the engine yet, nobody knows its columns, and they wait.
    pub(super) fn drain(&mut self, session: &mut EngineSession, into: &mut Vec<Span>) -> u64 {
        match self.told == self.ended {
            true => self.take(session, into),
            false => self.lost,
        }
    }

    fn take(&mut self, session: &mut EngineSession, into: &mut Vec<Span>) -> u64 {
        into.append(&mut self.left);
        let first = into.len();
        let lost = session.drain_spans(into);
        let apart = self.ended * APART;
        into[first..]
            .iter_mut()
            .for_each(|span| number(span, apart));
        self.lost + lost
    }

    /// Takes what is left of an engine that is followed by another one.
    pub(super) fn leave(
        &mut self,
        session: &mut EngineSession,
        (before, next): (&Generation, &Generation),
    ) {
        let mut left = Vec::new();
        self.lost = self.take(session, &mut left);
        let predecessors = next.catalogue.predecessors(&before.catalogue);
        let moved = left.into_iter().filter_map(|span| {
            let mut columns = predecessors.iter();
            let at = columns.position(|before| *before == Some(span.member))?;
            Some(Span {
                member: MemberIndex::new(at),
                // Steps are numbered by the models of their engine.
                of_step: None,
                ..span
            })
        });
        self.left = moved.collect();
        self.ended += 1;
    }
}

fn number(span: &mut Span, apart: u64) {
    span.batch = span.batch.map(|batch| batch.saturating_add(apart));
    span.request = span.request.saturating_add(apart);
}
