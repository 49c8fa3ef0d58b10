//! Runs jobs: see [`LiveJobs`].

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use divisi_model::wall_clock::unix_seconds;
use divisi_modelless::variants::VariantIndex;
use divisi_registry::records::JobEnd;
use divisi_runtime::device::{ThreadPriority, set_current_thread_priority};
use divisi_runtime::lock::Leaf;
use divisi_session::{JobView, Refusal, ScalingView, TaskScaling};

use super::board::{JobBoard, PostedJob};
use super::chosen;
use super::claim::{JobClaim, claimed};
use super::idle::IdleTime;
use super::keeper::{JobKeeper, KeptJobs, NotKept};
use super::lane::JobLane;
use super::running::JobUnderWay;
use crate::scaling::LiveScaling;

/// The time between two checks for new jobs.
const IDLE: Duration = Duration::from_secs(1);
/// The time between two checks whether the task of a job is served again.
const LOOK: Duration = Duration::from_millis(250);
/// The number of finished jobs to show.
const OVER: usize = 5;

/// Runs the jobs of a board one after another until it is dropped.
pub struct LiveJobs {
    scaling: Arc<LiveScaling>,
    board: Arc<dyn JobBoard>,
    views: Leaf<Vec<JobView>>,
}

impl LiveJobs {
    /// Starts a thread that runs jobs with the variants that `scaling` loads.
    ///
    /// # Errors
    /// Returns an error if the thread cannot be started.
    pub fn start(scaling: Arc<LiveScaling>, board: Arc<dyn JobBoard>) -> io::Result<Arc<Self>> {
        let keeper = JobKeeper::start(Arc::clone(&board))?;
        let jobs = Arc::new(LiveJobs {
            scaling,
            board,
            views: Leaf::new(Vec::new()),
        });
        let served = Arc::downgrade(&jobs);
        let mut thread = JobThread::new(keeper);
        let spawned = thread::Builder::new().name("jobs".into());
        spawned.spawn(move || thread.run(&served))?;
        Ok(jobs)
    }
}

impl LiveJobs {
    /// Returns the board of submitted jobs.
    pub(super) fn board(&self) -> &dyn JobBoard {
        &*self.board
    }

    /// Adds a remark for the operator.
    fn remark(&self, text: String) {
        self.scaling.router().deployment().note(text);
    }

    /// Returns whether this server serves the task of a job.
    fn serves(&self, job: &PostedJob) -> bool {
        let router = self.scaling.router().router();
        router.tasks().catalog().task(&job.record.task).is_some()
    }

    /// Returns the scaling that loads variants.
    pub(super) fn scaling(&self) -> &LiveScaling {
        &self.scaling
    }
}

impl TaskScaling for LiveJobs {
    fn view(&self) -> ScalingView {
        let jobs = self.views.lock().clone();
        ScalingView {
            jobs,
            ..self.scaling.view()
        }
    }

    fn set_policy(&self, name: &str) -> Result<(), Refusal> {
        self.scaling.set_policy(name)
    }

    fn compare(&self) -> Result<(), Refusal> {
        self.scaling.compare()
    }
}

/// The state of the thread that runs jobs.
struct JobThread {
    keeper: JobKeeper,
    job: Option<JobUnderWay>,
    /// The time of the last save, by the router's clock.
    kept: Duration,
    /// The reason why saving fails, once it was reported.
    not_kept: Option<String>,
    /// Jobs that ended here. If their end cannot be saved, they are not started again.
    ended: BTreeSet<u64>,
    idle: IdleTime,
}

impl JobThread {
    fn new(keeper: JobKeeper) -> Self {
        JobThread {
            keeper,
            job: None,
            kept: Duration::ZERO,
            not_kept: None,
            ended: BTreeSet::new(),
            idle: IdleTime::default(),
        }
    }

    fn run(&mut self, served: &Weak<LiveJobs>) {
        // Jobs have no deadline. If the system refuses, the thread keeps its priority.
        set_current_thread_priority(ThreadPriority::Low);
        while let Some(jobs) = served.upgrade() {
            self.step(&jobs);
            drop(jobs);
            // A running job waits for its batches instead.
            if self.job.is_none() {
                thread::sleep(IDLE);
            }
        }
    }

    fn step(&mut self, jobs: &Arc<LiveJobs>) {
        if self.job.is_none() {
            return self.claim_next(jobs);
        }
        let ended = match self.go_on(jobs) {
            Ok(false) => None,
            Ok(true) => Some(JobEnd::Done),
            Err(why) => Some(JobEnd::Failed(why)),
        };
        self.keep(jobs, ended);
    }

    /// Claims the next unfinished job of a served task that no other server runs.
    fn claim_next(&mut self, jobs: &LiveJobs) {
        let Ok(posted) = jobs.board.jobs() else {
            return;
        };
        self.show(jobs, &posted);
        let waiting: Vec<u64> = posted
            .iter()
            .filter(|job| self.waits(jobs, job))
            .map(|job| job.number)
            .collect();
        for number in waiting {
            match claimed(jobs, number) {
                JobClaim::Others => {}
                JobClaim::Begun(job) => {
                    tracing::info!(number, "job started");
                    self.job = Some(*job);
                    return;
                }
                JobClaim::Failed(job, why) => self.end(jobs, *job, JobEnd::Failed(why)),
            }
        }
    }

    fn waits(&self, jobs: &LiveJobs, job: &PostedJob) -> bool {
        let is_over = job.record.end.is_some() || self.ended.contains(&job.number);
        !is_over && jobs.serves(job)
    }

    /// Runs the job if there is a gap. Returns whether all rows are written.
    fn go_on(&mut self, jobs: &Arc<LiveJobs>) -> Result<bool, String> {
        let Some(job) = self.job.as_mut().filter(|job| !job.decides.is_finished()) else {
            return Ok(true);
        };
        let live = jobs.scaling.router();
        // A change of the registrations is followed between two turns.
        let router = live.follow();
        let (tasks, serving) = (router.tasks(), live.deployment().running());
        if !job.follow(tasks)? {
            self.idle.end();
            job.take_back();
            job.take()?;
            thread::sleep(LOOK);
            return Ok(job.decides.is_finished());
        }
        let goals = job.posted.record.goals;
        let cheapest = |can_run: &dyn Fn(VariantIndex) -> bool| {
            chosen::variant(tasks.catalog(), job.task, &goals, can_run)
        };
        let wanted = cheapest(&|_| true).ok_or("no variant meets the goals")?;
        let partitions = serving.engine.devices().partitions();
        let goes_on = match cheapest(&|variant| tasks.runs_on(variant, &partitions)) {
            Some(variant) => self.idle.follow(&serving, tasks, variant),
            None => !self.idle.end(),
        };
        if !goes_on {
            job.take_back();
        }
        match JobLane::now(&self.idle, &jobs.scaling, &router, job, wanted) {
            Some(lane) if lane.is_idle => {
                // With a single reference left, nothing else needs the jobs.
                let ends = || {
                    Arc::strong_count(jobs) == 1
                        || !self.idle.is_beside(&live.deployment().running())
                };
                lane.take_turn(job, &router, ends)
            }
            Some(lane) => lane.go_on(job, &router),
            None => {
                job.state = "waiting for a variant to be loaded".to_owned();
                job.take()?;
                Ok(job.decides.is_finished())
            }
        }
    }

    /// Saves the progress of the job periodically, and its end.
    fn keep(&mut self, jobs: &LiveJobs, ended: Option<JobEnd>) {
        let now = jobs.scaling.router().router().now();
        let Some(job) = &mut self.job else {
            return;
        };
        if let Some(how) = ended {
            // Only rows on the disk are reported.
            let kept = self.keeper.wait();
            if let Some(progress) = kept.as_ref().and_then(|kept| kept.on_disk.clone()) {
                job.was_kept(progress);
            }
            let lost = match kept.map(|kept| kept.outcome) {
                Some(Err(NotKept::Output(why))) => Some(why),
                _ => None,
            };
            return self.end_own(jobs, how, lost);
        }
        if let Some(kept) = self.keeper.saved() {
            return self.follow(jobs, kept);
        }
        if self.keeper.is_busy() || now < self.kept + jobs.board.keep_every() {
            return;
        }
        self.kept = now;
        match job.progress() {
            Ok((posted, output)) => self.keeper.keep(posted, output),
            Err(why) => {
                let number = job.posted.number;
                self.remark_not_kept(jobs, number, why);
            }
        }
    }

    /// Reports why saving the progress failed, once for each reason.
    fn remark_not_kept(&mut self, jobs: &LiveJobs, number: u64, why: String) {
        if self.not_kept.as_ref() != Some(&why) {
            jobs.remark(format!("job {number}: saving its progress failed: {why}"));
            self.not_kept = Some(why);
        }
    }

    /// Updates the state from all jobs after a save.
    fn follow(&mut self, jobs: &LiveJobs, kept: KeptJobs) {
        let Some(job) = &mut self.job else {
            return;
        };
        let own = job.posted.number;
        if let Some(progress) = kept.on_disk {
            job.was_kept(progress);
        }
        match kept.outcome {
            Ok(()) => self.not_kept = None,
            Err(NotKept::Store(why)) => self.remark_not_kept(jobs, own, why),
            Err(NotKept::Output(why)) => {
                return self.end_own(jobs, JobEnd::Failed(why.clone()), Some(why));
            }
        }
        let Some(all) = kept.jobs else {
            return;
        };
        // A cancellation is written to the store. The job may then be removed from it.
        let stored = all.iter().find(|other| other.number == own);
        let is_cancelled = |job: &PostedJob| job.record.end == Some(JobEnd::Cancelled);
        match stored.is_none_or(is_cancelled) {
            true => self.end_own(jobs, JobEnd::Cancelled, None),
            false => self.show(jobs, &all),
        }
    }

    /// Ends the current job with the rows on the disk; `lost` is the reason why other rows are
    /// missing.
    fn end_own(&mut self, jobs: &LiveJobs, how: JobEnd, lost: Option<String>) {
        if let Some(mut job) = self.job.take() {
            let confirmed = lost.map_or_else(|| job.confirmed(), Err);
            let (posted, how) = match confirmed {
                Ok(posted) => (posted, how),
                // A cancelled job does not need its remaining rows.
                Err(_) if how == JobEnd::Cancelled => (job.last_kept(), how),
                Err(why) => (job.last_kept(), JobEnd::Failed(why)),
            };
            drop(job);
            self.leave(jobs);
            self.end(jobs, posted, how);
        }
        self.claim_next(jobs);
    }

    /// Releases all resources of the job.
    fn leave(&mut self, jobs: &LiveJobs) {
        self.idle = IdleTime::default();
        let router = jobs.scaling.router().router();
        jobs.scaling.host_for_jobs(&router, Vec::new());
    }

    fn end(&mut self, jobs: &LiveJobs, mut posted: PostedJob, how: JobEnd) {
        let number = posted.number;
        tracing::info!(number, "job finished: {}", how.words());
        posted.record.finish(how, unix_seconds());
        self.ended.insert(number);
        if let Err(why) = jobs.board.keep(&posted) {
            jobs.remark(format!("job {number}: saving its result failed: {why}"));
        }
        let deployment = Arc::clone(jobs.scaling.router().deployment());
        let failed = move |why: String| {
            deployment.note(format!(
                "job {number}: completion notification failed: {why}"
            ));
        };
        jobs.board.tell(&posted, Box::new(failed));
    }

    fn show(&self, jobs: &LiveJobs, all: &[PostedJob]) {
        let over = all.iter().filter(|job| job.record.end.is_some()).count();
        let mut skipped = over.saturating_sub(OVER);
        let shown = all.iter().filter(|job| {
            let skips = job.record.end.is_some() && skipped > 0;
            skipped -= usize::from(skips);
            !skips
        });
        let views = shown.map(|posted| match &self.job {
            Some(job) if job.posted.number == posted.number => view(&job.posted, &job.state),
            _ if jobs.serves(posted) => view(posted, "waiting for earlier jobs"),
            _ => view(posted, "waiting for a server of its task"),
        });
        let views = views.collect();
        *jobs.views.lock() = views;
    }
}

fn view(posted: &PostedJob, state: &str) -> JobView {
    let record = &posted.record;
    JobView {
        number: posted.number,
        task: record.task.clone(),
        goals: chosen::words(&record.goals),
        rows: record.progress.rows,
        written: record.progress.written,
        is_over: record.end.is_some(),
        state: match &record.end {
            Some(end) => end.words(),
            None => state.to_owned(),
        },
    }
}
