//! See [`LiveJobs`].

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use divisi::device::{ThreadPriority, set_current_thread_priority};
use divisi::lock::Leaf;
use divisi::session::{JobView, Refusal, ScalingView, TaskScaling};
use divisi_modelless::jobs::JobStep;
use divisi_registry::records::JobEnd;

use super::board::{JobBoard, PostedJob};
use super::chosen;
use super::claim::{JobClaim, claimed};
use super::idle::IdleTime;
use super::keeper::{JobKeeper, KeptJobs};
use super::lane::JobLane;
use super::running::JobUnderWay;
use crate::scaling::{LiveScaling, words};

/// The time between two looks for jobs where there is none.
const IDLE: Duration = Duration::from_secs(1);
/// The jobs that are over and shown.
const OVER: usize = 5;

/// Runs the jobs of a board as long as it is there, one after another.
pub struct LiveJobs {
    scaling: Arc<LiveScaling>,
    board: Arc<dyn JobBoard>,
    views: Leaf<Vec<JobView>>,
}

impl LiveJobs {
    /// Begins to look for jobs, whose rows are answered by the variants that `scaling` loads.
    ///
    /// # Errors
    /// The thread does not start.
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
    /// Returns the board that jobs are handed over by.
    pub(super) fn board(&self) -> &dyn JobBoard {
        &*self.board
    }

    /// Returns that by which variants are loaded.
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

/// The state of the thread of jobs.
struct JobThread {
    keeper: JobKeeper,
    job: Option<JobUnderWay>,
    /// When it was last kept how far the job is, by the router's time.
    kept: Duration,
    state: String,
    /// Jobs that ended here: where that cannot be kept they are not begun again.
    ended: BTreeSet<u64>,
    idle: IdleTime,
}

impl JobThread {
    fn new(keeper: JobKeeper) -> Self {
        JobThread {
            keeper,
            job: None,
            kept: Duration::ZERO,
            state: String::new(),
            ended: BTreeSet::new(),
            idle: IdleTime::default(),
        }
    }

    fn run(&mut self, served: &Weak<LiveJobs>) {
        // Nobody waits for a job. Where the system refuses, it is a thread like others.
        set_current_thread_priority(ThreadPriority::Low);
        loop {
            let Some(jobs) = served.upgrade() else {
                return;
            };
            self.step(&jobs);
            drop(jobs);
            if self.idle.engine().is_some() {
                self.run_in_idle_time(served);
            } else if self.job.is_none() {
                // A job that runs waits for its batches.
                thread::sleep(IDLE);
            }
        }
    }

    /// Goes on as long as the job has idle time, in another thread: one that leaves its core at once
    /// to whoever comes does so for ever. It takes no lock that a query waits for.
    fn run_in_idle_time(&mut self, served: &Weak<LiveJobs>) {
        let mut run = || {
            set_current_thread_priority(ThreadPriority::Idle);
            while self.idle.engine().is_some()
                && let Some(jobs) = served.upgrade()
            {
                self.step(&jobs);
            }
        };
        thread::scope(|scope| {
            let spawned = thread::Builder::new().name("job".into());
            let spawned = spawned.spawn_scoped(scope, &mut run);
            if let Err(why) = spawned {
                tracing::warn!(%why, "a job waits for a thread");
                thread::sleep(IDLE);
            }
        });
    }

    fn step(&mut self, jobs: &LiveJobs) {
        if self.job.is_none() {
            return self.look(jobs);
        }
        let ended = match self.go_on(jobs) {
            Ok(false) => None,
            Ok(true) => Some(JobEnd::Done),
            Err(why) => Some(JobEnd::Failed(why)),
        };
        self.keep(jobs, ended);
    }

    /// Takes the next job that is not over, of a task that is served here, and by no other server.
    fn look(&mut self, jobs: &LiveJobs) {
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
                    tracing::info!(number, "a job begins");
                    self.job = Some(*job);
                    return;
                }
                JobClaim::Failed(job, why) => self.end(jobs, *job, JobEnd::Failed(why)),
            }
        }
    }

    fn waits(&self, jobs: &LiveJobs, job: &PostedJob) -> bool {
        let tasks = jobs.scaling.router().router().tasks();
        let is_over = job.record.end.is_some() || self.ended.contains(&job.number);
        !is_over && tasks.catalog().task(&job.record.task).is_some()
    }

    /// Takes what is answered, and asks for more where there is a gap. Returns whether all is written.
    fn go_on(&mut self, jobs: &LiveJobs) -> Result<bool, String> {
        let Some(job) = &mut self.job else {
            return Ok(true);
        };
        job.take()?;
        if job.decides.is_finished() {
            return Ok(true);
        }
        let router = jobs.scaling.router().router();
        let (tasks, now) = (Arc::clone(router.tasks()), router.now());
        let goals = job.posted.record.goals;
        let wanted = chosen::variant(tasks.catalog(), job.task, &goals, |_| true);
        let wanted = wanted.ok_or("no variant meets the goals")?;
        let serving = jobs.scaling.router().deployment().running();
        if !self.idle.follow(&serving, &tasks, wanted) {
            job.take_back();
        }
        let lane = JobLane::now(&self.idle, &jobs.scaling, job, wanted);
        let Some(lane) = lane else {
            self.state = "waits until a variant is loaded".to_owned();
            return Ok(false);
        };
        if job.under_way >= lane.batches {
            return Ok(false);
        }
        let variant = tasks.catalog().variant(lane.variant);
        match job.decides.next(now, variant, &lane.outlook) {
            JobStep::Run(batch) => {
                let group = tasks.group_of(lane.variant);
                let entry = &tasks.groups()[group].name;
                let priority = tasks.untimed(group).priority();
                self.state = lane.words(entry);
                job.ask(&lane.engine, (entry, priority), batch.rows);
            }
            JobStep::Wait(why) => self.state = format!("waits: {why}"),
            JobStep::Nothing => {}
        }
        Ok(false)
    }

    /// Keeps how far the job is, now and then, and that it is over.
    fn keep(&mut self, jobs: &LiveJobs, ended: Option<JobEnd>) {
        let now = jobs.scaling.router().router().now();
        let Some(job) = &mut self.job else {
            return;
        };
        if let Some(how) = ended {
            self.keeper.wait();
            // What is not on the disk is not told of.
            let (posted, how) = match job.confirmed() {
                Ok(posted) => (posted, how),
                Err(why) => (job.posted.clone(), JobEnd::Failed(why)),
            };
            self.leave(jobs);
            self.end(jobs, posted, how);
            return self.look(jobs);
        }
        if let Some(kept) = self.keeper.kept() {
            return self.follow(jobs, &kept);
        }
        if self.keeper.is_busy() || now < self.kept + jobs.board.keep_every() {
            return;
        }
        self.kept = now;
        match job.progress() {
            Ok((posted, output)) => self.keeper.keep(posted, output),
            Err(why) => self.state = format!("its progress is not kept: {why}"),
        }
    }

    /// Takes all jobs as they are after the own one was kept.
    fn follow(&mut self, jobs: &LiveJobs, kept: &KeptJobs) {
        let Some(own) = self.job.as_ref().map(|job| job.posted.number) else {
            return;
        };
        // Whoever cancelled it wrote that there.
        let is_cancelled =
            |other: &PostedJob| other.number == own && other.record.end == Some(JobEnd::Cancelled);
        if kept.jobs.iter().any(is_cancelled) {
            return self.cancelled(jobs);
        }
        if let Err(why) = &kept.outcome {
            self.state = format!("its progress is not kept: {why}");
        }
        self.show(jobs, &kept.jobs);
    }

    /// Ends a job that was taken back, with the rows that were written until now.
    fn cancelled(&mut self, jobs: &LiveJobs) {
        let ended = self
            .job
            .as_mut()
            .map(|job| job.confirmed().unwrap_or_else(|_| job.posted.clone()));
        self.leave(jobs);
        if let Some(posted) = ended {
            self.end(jobs, posted, JobEnd::Cancelled);
        }
        self.look(jobs);
    }

    /// Lets go of the job and of all that it has.
    fn leave(&mut self, jobs: &LiveJobs) {
        self.job = None;
        self.idle = IdleTime::default();
        jobs.scaling.host_for_jobs(Vec::new());
    }

    fn end(&mut self, jobs: &LiveJobs, mut posted: PostedJob, how: JobEnd) {
        let number = posted.number;
        tracing::info!(number, "a job is over: {}", how.words());
        posted.record.end = Some(how);
        self.ended.insert(number);
        if let Err(why) = jobs.board.keep(&posted) {
            tracing::warn!(number, why, "the end of a job is not kept");
        }
        jobs.board.tell(&posted);
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
            Some(job) if job.posted.number == posted.number => view(&job.posted, &self.state),
            _ => view(posted, "waits for those before it"),
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
        goals: words::goals(&record.goals),
        rows: record.progress.rows,
        written: record.progress.written,
        is_over: record.end.is_some(),
        state: match &record.end {
            Some(end) => end.words(),
            None => state.to_owned(),
        },
    }
}
