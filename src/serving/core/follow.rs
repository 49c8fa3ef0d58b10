//! What follows from an event of a part: steps are queued, handed to the host, or dropped.

use std::time::Duration;

use crate::dataflow::{Dataflow, StepReport, StepWork};
use crate::serving::batch::RequestKey;
use crate::serving::queue::StepFilter;
use crate::serving::scheduler::Scheduler;

use super::entry::{HostWork, RequestEntry};

/// Where steps go that may run now.
pub(super) struct Following<'a, T> {
    pub now: Duration,
    pub flow: &'a Dataflow,
    pub scheduler: &'a mut Scheduler,
    pub host_work: &'a mut Vec<HostWork<T>>,
}

impl<T: Clone> Following<'_, T> {
    /// Does what an event of a part reports.
    pub(super) fn follow(
        &mut self,
        entry: &mut RequestEntry<T>,
        request: RequestKey,
        part: usize,
        report: &StepReport,
    ) {
        let (now, flow) = (self.now, self.flow);
        for &step in &report.ready {
            match flow.step(step).work {
                StepWork::Fold => {}
                StepWork::Host => {
                    let needs = &flow.step(step).needs;
                    self.host_work
                        .extend(entry.host_work(request, part, step, needs));
                }
                StepWork::Model { member, plane } => {
                    let (place, scheduler) = (&mut entry.parts[part], &mut *self.scheduler);
                    let first = place.range(request, part, (step, plane), now);
                    place.queue(first, |range| scheduler.submit(now, member, range));
                }
            }
        }
        if !report.dropped.is_empty() {
            let place = &mut entry.parts[part];
            let (orders, steps) = (place.orders(), StepFilter::Some(&report.dropped));
            let dropped = self.scheduler.remove_samples(&orders, steps);
            place.outstanding -= dropped.iter().map(|range| range.len).sum::<usize>();
        }
    }
}
