//! A request that stands out in the timeline.

use divisi_model::trace::Span;

/// A request whose spans stand out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LitRequest {
    /// Its number.
    pub number: u64,
    /// Its known batches. Others are known if they begin with its samples.
    pub batches: Vec<u64>,
}

impl LitRequest {
    /// Returns whether a span belongs to the request.
    pub fn has(&self, span: &Span) -> bool {
        let is_known = span
            .batch
            .is_some_and(|batch| self.batches.contains(&batch));
        is_known || span.request == self.number
    }
}
