//! The steps after an event of a part: queued, passed to the host, or dropped.

use std::time::Duration;

use crate::serving::batch::RequestKey;
use crate::serving::queue::StepFilter;
use crate::serving::scheduler::Scheduler;
use divisi_model::dataflow::{Dataflow, StepReport, StepWork};

use super::entry::{HostWork, RequestEntry};
use super::steps::StepTally;

/// The destinations of steps that are ready.
pub(super) struct Following<'a, T> {
    pub now: Duration,
    pub flow: &'a Dataflow,
    pub scheduler: &'a mut Scheduler,
    pub host_work: &'a mut Vec<HostWork<T>>,
    /// The tallies of the steps of the request's pipeline.
    pub tallies: &'a mut [StepTally],
}

impl<T: Clone> Following<'_, T> {
    /// Carries out the report of an event of a part.
    pub(super) fn follow(
        &mut self,
        entry: &mut RequestEntry<T>,
        request: RequestKey,
        part: usize,
        report: &StepReport,
    ) {
        let (now, flow) = (self.now, self.flow);
        self.count(report, entry.parts[part].slice.len);
        for &step in &report.ready {
            let tally = &mut self.tallies[step.get()];
            match flow.step(step).work {
                StepWork::Fold => {}
                StepWork::Host => {
                    let needs = &flow.step(step).needs;
                    let work = entry.host_work(now, request, part, step, needs);
                    let rows = work.as_ref().map(|w| w.rows.count(w.samples));
                    tally.is_ready(rows.unwrap_or_default());
                    self.host_work.extend(work);
                }
                StepWork::Model { member, plane } => {
                    let (place, scheduler) = (&mut entry.parts[part], &mut *self.scheduler);
                    let first = place.range(request, part, step, plane, now);
                    let rows = place.queue(first, |range| scheduler.submit(now, member, range));
                    tally.is_ready(rows);
                }
            }
        }
        if !report.dropped.is_empty() {
            let place = &mut entry.parts[part];
            let (orders, steps) = (place.orders(), StepFilter::Some(&report.dropped));
            let dropped = self.scheduler.remove_samples(&orders, steps);
            for range in dropped {
                place.outstanding -= range.len;
                self.tallies[range.step.get()].gave_up(range.len);
            }
        }
    }

    fn count(&mut self, report: &StepReport, rows: usize) {
        for step in &report.folded {
            self.tallies[step.get()].folded(self.now, rows);
        }
        for (step, rows) in &report.skipped {
            self.tallies[step.get()].skipped(*rows);
        }
        for step in &report.late {
            self.tallies[step.get()].was_late();
        }
    }
}
