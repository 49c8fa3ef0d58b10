//! Batches: from free devices to finished requests.

use std::time::Duration;

use crate::serving::batch::{Batch, Placed, Range, RequestKey, Slice};
use crate::serving::scheduler::{Pick, WorkerSpec};

use super::{Core, Finished};

/// What a free device does next.
#[derive(Clone, Debug)]
pub enum Next<T> {
    Run(Batch<T>),
    /// Sleep until this time (none: until woken).
    Sleep(Option<Duration>),
}

impl<T: Clone> Core<T> {
    /// Devices asleep that have something to do now, or sooner than they know.
    /// The driver wakes them; they ask [`Core::next`].
    pub fn wake(&mut self, now: Duration) -> Vec<usize> {
        let mut woken = Vec::new();
        for device in 0..self.asleep.len() {
            let Some(until) = self.asleep[device] else {
                continue;
            };
            let sooner = match self.scheduler.peek(now, device) {
                None => true,
                Some(at) => at.is_some_and(|at| until.is_none_or(|u| at < u)),
            };
            if sooner {
                self.asleep[device] = None;
                woken.push(device);
            }
        }
        woken
    }

    /// A device is free.
    pub fn next(&mut self, now: Duration, device: usize) -> Next<T> {
        match self.scheduler.next(now, device) {
            Pick::Wait(until) => {
                self.asleep[device] = Some(until);
                Next::Sleep(until)
            }
            Pick::Run {
                worker,
                ranges,
                rows,
            } => {
                self.asleep[device] = None;
                Next::Run(self.place(worker, &ranges, rows))
            }
        }
    }

    fn place(&mut self, worker: WorkerSpec, ranges: &[Range], rows: usize) -> Batch<T> {
        let placed: Vec<Placed<T>> = ranges
            .iter()
            .filter_map(|&range| {
                let entry = self.requests.get(&range.request)?;
                let part = entry.parts[range.part].slice;
                Some(Placed {
                    range,
                    slice: Slice {
                        extent: part.extent,
                        slot: part.slot + range.first,
                        len: range.len,
                    },
                    payload: entry.payload.clone(),
                })
            })
            .collect();
        let mut requests: Vec<RequestKey> = placed.iter().map(|p| p.range.request).collect();
        requests.dedup();
        self.running.insert(worker.id, requests);
        Batch {
            worker: worker.id,
            device: worker.device,
            member: worker.member,
            size: worker.size,
            samples: placed.iter().map(|p| p.range.len).sum(),
            rows,
            oldest: placed.first().map_or(Duration::ZERO, |p| p.range.arrived),
            ranges: placed,
        }
    }

    /// A batch was run and folded; gives the requests that are complete.
    pub fn finish(&mut self, now: Duration, batch: &Batch<T>, busy: Duration) -> Vec<Finished<T>> {
        self.running.remove(&batch.worker);
        if let Some(tally) = self.tallies.get_mut(&batch.worker) {
            tally.batches += 1;
            tally.samples += batch.samples as u64;
            tally.busy.add(now, busy.as_secs_f64());
        }
        self.member_rates[batch.member].add(now, batch.samples as f64);
        let mut finished = Vec::new();
        for placed in &batch.ranges {
            finished.extend(self.settle(now, &placed.range));
        }
        finished
    }

    /// Counts a range as done for one member; the request, if that was its last.
    pub(super) fn settle(&mut self, now: Duration, range: &Range) -> Option<Finished<T>> {
        let entry = self.requests.get_mut(&range.request)?;
        let part = &mut entry.parts[range.part];
        part.left -= range.len;
        if part.left == 0 {
            self.pool.release(part.slice.extent, part.slice.len);
        }
        entry.left -= range.len;
        if entry.left > 0 {
            return None;
        }
        let entry = self.requests.remove(&range.request)?;
        if entry.failed {
            return None;
        }
        self.live -= 1;
        self.forget_deadline(&entry, range.request);
        Some(Finished {
            payload: entry.payload,
            samples: entry.samples,
            latency: now.saturating_sub(entry.submitted),
        })
    }
}
