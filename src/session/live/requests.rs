//! The recent requests of successive engines, numbered as the spans are.

use std::cmp::Reverse;
use std::time::Duration;

use divisi_model::metrics::{KEPT_REQUESTS, REQUEST_WINDOW, RequestRecord, RequestsView};

use super::spans::SpansOfEngines;

/// The requests of the engines before the running one.
#[derive(Default)]
pub(super) struct RequestsBefore(RequestsView);

impl RequestsBefore {
    /// Keeps the requests of an engine that is being replaced, by its last view.
    pub(super) fn leave(&mut self, last: RequestsView) {
        self.0 = last;
        let all = self.0.slowest.iter_mut().chain(&mut self.0.failed);
        // Columns are only valid within their engine.
        for run in all.filter_map(|record| record.last.as_mut()) {
            run.place = None;
        }
    }

    /// Returns the requests as of `now`, with those of the running engine in `view`.
    pub(super) fn with(
        &self,
        now: Duration,
        mut view: RequestsView,
        spans: &SpansOfEngines,
    ) -> RequestsView {
        for record in view.slowest.iter_mut().chain(&mut view.failed) {
            renumber(record, spans);
        }
        let since = now.saturating_sub(REQUEST_WINDOW);
        let before = self.0.slowest.iter().filter(|r| r.ended >= since);
        view.slowest.extend(before.cloned());
        view.slowest.sort_by_key(|record| Reverse(record.latency));
        view.slowest.truncate(KEPT_REQUESTS);
        view.failed.extend(self.0.failed.iter().cloned());
        view.failed.truncate(KEPT_REQUESTS);
        view
    }
}

fn renumber(record: &mut RequestRecord, spans: &SpansOfEngines) {
    record.number = spans.numbered(record.number);
    let batches = record.batches.iter_mut();
    batches.for_each(|batch| *batch = spans.numbered(*batch));
    if let Some(run) = &mut record.last {
        run.batch = run.batch.map(|batch| spans.numbered(batch));
    }
}
