//! See [`JobLane`].

use std::sync::Arc;

use divisi::serving::Engine;
use divisi_modelless::jobs::DeviceOutlook;
use divisi_modelless::variants::VariantIndex;

use super::chosen;
use super::idle::IdleTime;
use super::running::JobUnderWay;
use crate::scaling::LiveScaling;

/// Batches for each partition whose idle time a job has: one that runs, and one that waits for it.
const BATCHES_AHEAD: usize = 2;

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
        if let Some((engine, partitions)) = idle.engine() {
            scaling.host_for_jobs(Vec::new());
            return Some(JobLane {
                engine: Arc::clone(engine),
                variant: wanted,
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

    /// Returns what runs there, in words.
    pub(super) fn words(&self, entry: &str) -> String {
        match self.is_idle {
            true => format!("runs by {entry} in idle time"),
            false => format!("runs by {entry}"),
        }
    }
}
