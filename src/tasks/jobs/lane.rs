//! Runs the batches of a job: see [`JobLane`].

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use divisi_engine::serving::Engine;
use divisi_modelless::jobs::{DeviceOutlook, JobStep};
use divisi_modelless::variants::VariantIndex;
use divisi_runtime::device::{ThreadPriority, set_current_thread_priority};

use super::chosen;
use super::idle::IdleTime;
use super::running::JobUnderWay;
use crate::routing::TaskRouter;
use crate::scaling::LiveScaling;

/// The batches for each idle partition: one that runs and one that waits.
const BATCHES_AHEAD: usize = 2;

/// The length of a turn in idle time.
const TURN: Duration = Duration::from_millis(250);
/// The time between two checks whether a turn must end early.
const LOOK: Duration = Duration::from_millis(20);

/// An engine that can run batches of a job.
pub(super) struct JobLane {
    pub(super) engine: Arc<Engine>,
    pub(super) variant: VariantIndex,
    /// The maximum number of batches in progress.
    pub(super) batches: usize,
    pub(super) outlook: DeviceOutlook,
    /// Whether it runs in idle time.
    pub(super) is_idle: bool,
}

impl JobLane {
    /// Returns an engine that can run a batch of a job: in idle time, or else between the queries,
    /// with the cheapest loaded variant.
    pub(super) fn now(
        idle: &IdleTime,
        scaling: &LiveScaling,
        router: &Arc<TaskRouter>,
        job: &JobUnderWay,
        wanted: VariantIndex,
    ) -> Option<Self> {
        let gaps = scaling.gaps();
        let outlook = DeviceOutlook {
            utilisation: gaps.utilisation,
            interfered: gaps.interfered,
            needed_at: None,
            spare: gaps.spare,
        };
        if let Some((engine, variant, partitions)) = idle.engine() {
            scaling.host_for_jobs(router, Vec::new());
            return Some(JobLane {
                engine: Arc::clone(engine),
                variant,
                batches: BATCHES_AHEAD * partitions,
                // Queries never wait for its batches.
                outlook: DeviceOutlook {
                    spare: None,
                    ..outlook
                },
                is_idle: true,
            });
        }
        scaling.host_for_jobs(router, vec![wanted]);
        let (catalog, running) = (router.tasks().catalog(), router.running());
        let goals = &job.posted.record.goals;
        let variant = chosen::variant(catalog, job.task, goals, |at| running.contains(&at))?;
        Some(JobLane {
            engine: Arc::clone(&scaling.router().deployment().running().engine),
            variant,
            batches: gaps.lanes,
            outlook,
            is_idle: false,
        })
    }

    /// Writes the answered rows of a job, and requests more rows if there is a gap. Returns whether
    /// all rows are written.
    pub(super) fn go_on(&self, job: &mut JobUnderWay, router: &TaskRouter) -> Result<bool, String> {
        job.take()?;
        if job.decides.is_finished() || job.under_way >= self.batches {
            return Ok(job.decides.is_finished());
        }
        let tasks = router.tasks();
        let variant = tasks.catalog().variant(self.variant);
        match job.decides.next(router.now(), variant, &self.outlook) {
            JobStep::Run(batch) => {
                let group = tasks.group_of(self.variant);
                let entry = &tasks.groups()[group].name;
                let priority = tasks.untimed(group).priority();
                job.state = self.words(entry);
                job.ask(&self.engine, entry, priority, batch.rows);
            }
            JobStep::Wait(why) => job.state = format!("waiting: {why}"),
            JobStep::Nothing => {}
        }
        Ok(false)
    }

    /// Runs a job in another thread until all rows are written or the turn `ends`. A thread that
    /// yields its core to all others does so for good, so each turn has its own. It takes no lock
    /// that queries need, because it may be descheduled for long.
    pub(super) fn take_turn(
        &self,
        job: &mut JobUnderWay,
        router: &TaskRouter,
        ends: impl Fn() -> bool,
    ) -> Result<bool, String> {
        let (until, is_ended) = (router.now() + TURN, AtomicBool::new(false));
        let (over, turn_over) = channel::<()>();
        let ended = &is_ended;
        let turn = move || {
            // Dropping the sender signals the end of the turn.
            let _over = over;
            // Where the system refuses, it is a thread like others.
            set_current_thread_priority(ThreadPriority::Idle);
            loop {
                let is_written = self.go_on(job, router)?;
                if is_written || ended.load(Ordering::Relaxed) || router.now() >= until {
                    return Ok(is_written);
                }
            }
        };
        thread::scope(|scope| {
            let spawned = thread::Builder::new().name("job".into());
            let turn = match spawned.spawn_scoped(scope, turn) {
                Ok(turn) => turn,
                Err(why) => {
                    tracing::warn!(%why, "cannot start a thread for a job");
                    thread::sleep(TURN);
                    return Ok(false);
                }
            };
            while turn_over.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if ends() {
                    ended.store(true, Ordering::Relaxed);
                }
            }
            turn.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    /// Returns the job's state in words.
    fn words(&self, entry: &str) -> String {
        match self.is_idle {
            true => format!("running with {entry} in idle time"),
            false => format!("running with {entry}"),
        }
    }
}
