//! Offline jobs: every row once, in order, and never where a query would be late.

use std::time::Duration;

use divisi_modelless::jobs::{
    DeviceOutlook, JobError, JobProgress, JobRules, JobStep, JobWait, OfflineJob, latest_start,
};
use proptest::prelude::*;

use crate::common::{Sketch, millis};

const FREE: DeviceOutlook = DeviceOutlook {
    utilisation: 0.0,
    interfered: false,
    needed_at: None,
    spare: None,
};

fn job(rows: u64) -> OfflineJob {
    OfflineJob::new(JobRules::default(), JobProgress { rows, written: 0 }).expect("a job")
}

fn step(outlook: DeviceOutlook) -> JobStep {
    let variant = Sketch {
        batch: 4,
        latency_ms: 40.0,
        ..Sketch::default()
    }
    .variant();
    job(100).next(Duration::ZERO, &variant, &outlook)
}

#[test]
fn batches_run_together_where_no_query_waits_for_them() {
    let variant = Sketch {
        batch: 4,
        latency_ms: 40.0,
        ..Sketch::default()
    }
    .variant();
    let waited_for = DeviceOutlook {
        spare: Some(millis(1000.0)),
        ..FREE
    };
    // Milliseconds that batches may take together, rows of the job, and those that run first.
    let cases = [
        (0.0, 100, FREE, 4),
        (39.0, 100, FREE, 4),
        (160.0, 100, FREE, 16),
        (160.0, 7, FREE, 7),
        (160.0, 100, waited_for, 4),
        (1e9, 10_000, FREE, 512),
    ];
    for (together, rows, outlook, expected) in cases {
        let rules = JobRules {
            together: millis(together),
            ..JobRules::default()
        };
        let mut job = OfflineJob::new(rules, JobProgress { rows, written: 0 }).expect("a job");
        let JobStep::Run(batch) = job.next(Duration::ZERO, &variant, &outlook) else {
            panic!("nothing is in its way");
        };
        assert_eq!(batch.rows, 0..expected, "{together} ms of {rows} rows");
    }
}

#[test]
fn a_batch_waits_where_queries_need_the_device() {
    let busy = DeviceOutlook {
        utilisation: 0.4,
        ..FREE
    };
    assert_eq!(step(busy), JobStep::Wait(JobWait::Busy));
    let disturbed = DeviceOutlook {
        interfered: true,
        ..FREE
    };
    assert_eq!(step(disturbed), JobStep::Wait(JobWait::Interfered));
    let needed = DeviceOutlook {
        needed_at: Some(millis(39.0)),
        ..FREE
    };
    assert_eq!(step(needed), JobStep::Wait(JobWait::Deadline));
    let tight = DeviceOutlook {
        spare: Some(millis(39.0)),
        ..FREE
    };
    assert_eq!(step(tight), JobStep::Wait(JobWait::Deadline));
    let JobStep::Run(batch) = step(DeviceOutlook {
        needed_at: Some(millis(40.0)),
        ..FREE
    }) else {
        panic!("it ends in time");
    };
    assert_eq!((batch.rows, batch.expected_end), (0..4, millis(40.0)));
}

#[test]
fn what_waits_says_when_the_device_is_needed() {
    let seconds = Duration::from_secs;
    let waiting = [
        (Some(seconds(10)), seconds(2)),
        (None, seconds(3)),
        (Some(seconds(12)), seconds(4)),
    ];
    // The last one needs 9 s until 12.
    assert_eq!(latest_start(waiting), Some(seconds(3)));
    assert_eq!(latest_start([(None, seconds(1))]), None);
    assert_eq!(
        latest_start([(Some(seconds(1)), seconds(2))]),
        Some(Duration::ZERO)
    );
}

#[test]
fn what_cannot_be_is_refused() {
    let progress = JobProgress {
        rows: 1,
        written: 2,
    };
    let refused = OfflineJob::new(JobRules::default(), progress).map(drop);
    assert_eq!(
        refused,
        Err(JobError::Progress {
            rows: 1,
            written: 2
        })
    );
    assert_eq!(job(5).finished(&(0..4)), Err(JobError::NotRunning(0..4)));
}

proptest! {
    #[test]
    fn every_row_is_written_once_and_in_order_whatever_ends_when(
        rows in 0..60_u64,
        choices in prop::collection::vec((any::<prop::sample::Index>(), 0..4_u8), 1..400),
    ) {
        let variant = Sketch { batch: 4, ..Sketch::default() }.variant();
        let mut job = job(rows);
        let (mut running, mut written) = (Vec::new(), 0);
        for (which, deed) in choices {
            if deed == 0 && let JobStep::Run(batch) = job.next(Duration::ZERO, &variant, &FREE) {
                running.push(batch.rows);
            }
            if running.is_empty() {
                continue;
            }
            let at = which.index(running.len());
            match deed {
                1 => job.failed(&running.swap_remove(at)).expect("it runs"),
                2 => {
                    let now = job.finished(&running.swap_remove(at)).expect("it runs");
                    prop_assert_eq!(now.start, written);
                    written = now.end;
                }
                // The process ends; another goes on with what was written.
                3 if which.index(5) == 0 => {
                    job = OfflineJob::new(JobRules::default(), job.progress()).expect("progress");
                    running.clear();
                }
                _ => {}
            }
        }
        running.drain(..).for_each(|rows| {
            let now = job.finished(&rows).expect("it runs");
            written = now.end;
        });
        while let JobStep::Run(batch) = job.next(Duration::ZERO, &variant, &FREE) {
            written = job.finished(&batch.rows).expect("it runs").end;
        }
        prop_assert_eq!(written, rows);
        prop_assert!(job.is_finished());
    }
}
