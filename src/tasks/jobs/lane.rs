//! See [`JobLane`].

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

/// Batches for each partition whose idle time a job has: one that runs, and one that waits for it.
const BATCHES_AHEAD: usize = 2;

/// How long a turn in idle time is.
const TURN: Duration = Duration::from_millis(250);
/// The time between two looks at whether a turn has to end before.
const LOOK: Duration = Duration::from_millis(20);

/// Where a batch of a job can run.
pub(super) struct JobLane {
    pub(super) engine: Arc<Engine>,
    pub(super) variant: VariantIndex,
    /// How many batches may be under way.
    pub(super) batches: usize,
    pub(super) outlook: DeviceOutlook,
    /// In the time of cores that nobody else wants.
    pub(super) is_idle: bool,
}

impl JobLane {
    /// Returns where a batch of a job can run now: in idle time, or else among the queries, by the cheapest
    /// variant that is loaded for them.
    pub(super) fn now(
        idle: &IdleTime,
        scaling: &LiveScaling,
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
            scaling.host_for_jobs(Vec::new());
            return Some(JobLane {
                engine: Arc::clone(engine),
                variant,
                batches: BATCHES_AHEAD * partitions,
                // No query waits for its batches.
                outlook: DeviceOutlook {
                    spare: None,
                    ..outlook
                },
                is_idle: true,
            });
        }
        scaling.host_for_jobs(vec![wanted]);
        let router = scaling.router();
        let (catalog, running) = (router.router().tasks().catalog(), router.router().running());
        let goals = &job.posted.record.goals;
        let variant = chosen::variant(catalog, job.task, goals, |at| running.contains(&at))?;
        Some(JobLane {
            engine: Arc::clone(&router.deployment().running().engine),
            variant,
            batches: gaps.lanes,
            outlook,
            is_idle: false,
        })
    }

    /// Takes what is answered of a job, and asks for more where there is a gap. Returns whether all is
    /// written.
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
                job.ask(&self.engine, (entry, priority), batch.rows);
            }
            JobStep::Wait(why) => job.state = format!("waits: {why}"),
            JobStep::Nothing => {}
        }
        Ok(false)
    }

    /// Goes on with a job for a while, until all is written or the turn `ends`, in another thread: one
    /// that leaves its core at once to whoever comes does so for ever. It takes no lock that a query waits
    /// for, since it may not run for long. Returns whether all is written.
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
            // It is told by being dropped.
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
                    tracing::warn!(%why, "a job waits for a thread");
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

    /// Returns what runs there, in words.
    fn words(&self, entry: &str) -> String {
        match self.is_idle {
            true => format!("runs by {entry} in idle time"),
            false => format!("runs by {entry}"),
        }
    }
}
