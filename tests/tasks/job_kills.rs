//! A program that runs a job of a store and is killed, again and again.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use divisi_model::ensemble::{Ensemble, Samples};
use divisi_modelless::goals::QueryGoals;
use divisi_modelless::jobs::JobProgress;
use divisi_modelless::policies::PolicyChoice;
use divisi_registry::records::{JobEnd, JobRecord};
use divisi_registry::store::{PATIENCE, Store};
use divisi_tasks::jobs::{JobBoard, LiveJobs, PostedJob};
use divisi_tasks::scaling::LiveScaling;

use crate::common::{SMALL, serving};
use crate::wait::wait_until;

/// Where the program that is killed finds its store.
const PATH: &str = "DIVISI_TEST_JOBS";
/// How often it is killed; more by hand.
const KILLS: &str = "DIVISI_TEST_KILLS";
const USUAL: u64 = 8;
/// The rows of the job.
const ROWS: usize = 100_000;
/// Those of the last run, which ends.
const LAST: u64 = 2_000;

/// The jobs of a store, whose rows are made up.
struct StoreBoard(PathBuf);

impl StoreBoard {
    fn open(&self) -> Result<Store, String> {
        Store::open(&self.0, PATIENCE).map_err(|why| why.to_string())
    }
}

impl JobBoard for StoreBoard {
    fn keep_every(&self) -> Duration {
        Duration::from_millis(5)
    }

    fn jobs(&self) -> Result<Vec<PostedJob>, String> {
        let contents = self.open()?.contents().map_err(|why| why.to_string())?;
        let jobs = contents.jobs.into_iter();
        Ok(jobs
            .map(|(number, record)| PostedJob { number, record })
            .collect())
    }

    fn samples(&self, record: &JobRecord, ensemble: &Ensemble) -> Result<Arc<Samples>, String> {
        let rows = match record.input.as_str() {
            "endless" => ROWS,
            _ => (record.progress.written + LAST) as usize,
        };
        let samples = ensemble.calibration.as_ref().expect("samples");
        let width = samples.rows(0, 1).len();
        let made_up = Samples::synthetic(rows, width).map_err(|why| why.to_string())?;
        Ok(Arc::new(made_up))
    }

    fn keep(&self, job: &PostedJob) -> Result<(), String> {
        let kept = self.open()?.keep_job(job.number, &job.record);
        kept.map_err(|why| why.to_string())
    }

    fn tell(&self, _: &PostedJob, _: Box<dyn FnOnce(String) + Send>) {}
}

fn runs(path: &Path) -> Arc<LiveJobs> {
    let scaling = LiveScaling::start(serving(&[SMALL]), PolicyChoice::Static).expect("starts");
    LiveJobs::start(scaling, Arc::new(StoreBoard(path.to_owned()))).expect("starts")
}

#[test]
#[ignore = "it runs until the test below kills it"]
fn it_runs_a_job_until_it_is_killed() {
    let Some(path) = env::var_os(PATH) else {
        return;
    };
    let _jobs = runs(path.as_ref());
    loop {
        thread::sleep(Duration::from_secs(1));
    }
}

/// Runs the program until `is_ready`, and for a time more, and kills it.
fn killed(path: &Path, is_ready: impl FnMut() -> bool, time: Duration) {
    let program = env::current_exe().expect("a path");
    let name = "job_kills::it_runs_a_job_until_it_is_killed";
    let mut child = Command::new(program)
        .args(["--ignored", "--exact", name, "--test-threads", "1"])
        .env(PATH, path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    wait_until("the program is killed", is_ready);
    thread::sleep(time);
    child.kill().expect("runs until then");
    child.wait().expect("ends");
}

/// Returns the numbers of the whole rows of a file of answers.
fn rows(output: &Path) -> Vec<u64> {
    let text = fs::read_to_string(output).unwrap_or_default();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let numbers = whole.lines().skip(1);
    let numbers = numbers.map(|line| line.split(',').next().expect("a field"));
    numbers
        .map(|number| number.parse().expect("a number"))
        .collect()
}

#[test]
fn rows_that_were_confirmed_are_there_after_every_kill() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, output) = (
        folder.path().join("tasks.redb"),
        folder.path().join("answers.csv"),
    );
    let record = JobRecord {
        task: "numbers".to_owned(),
        input: "endless".to_owned(),
        output: output.display().to_string(),
        goals: QueryGoals::default(),
        progress: JobProgress {
            rows: ROWS as u64,
            written: 0,
        },
        submitted_at: 0,
        notify: None,
        names_variants: false,
        variants: Vec::new(),
        end: None,
        ended_at: None,
    };
    let number = Store::open(&path, PATIENCE).and_then(|store| store.submit(&record));
    let number = number.expect("a store");
    let read = || {
        let contents = Store::read(&path, PATIENCE).expect("opens after a kill");
        contents.jobs[&number].clone()
    };
    let keep = |job: &JobRecord| {
        let store = Store::open(&path, PATIENCE).expect("opens");
        store.keep_job(number, job).expect("keeps");
    };
    let kills = env::var(KILLS).ok().and_then(|kills| kills.parse().ok());
    let (mut written, mut moved) = (0, 0);
    for kill in 0..kills.unwrap_or(USUAL) {
        // Now while it begins, now while rows are written.
        let is_ready = || {
            thread::sleep(Duration::from_millis(5));
            // It has the store open now and then.
            let now = Store::read(&path, PATIENCE).ok();
            let now = now.and_then(|contents| contents.jobs.get(&number).cloned());
            let moved = now.is_some_and(|now| now.progress.written > written || now.end.is_some());
            kill % 2 == 0 || moved
        };
        killed(&path, is_ready, Duration::from_millis(kill * 7_919 % 50));
        let JobRecord {
            progress,
            end,
            variants,
            ..
        } = read();
        assert!(progress.written >= written, "{progress:?} after {written}");
        let counted: u64 = variants.iter().map(|variant| variant.rows).sum();
        assert_eq!(counted, progress.written, "{variants:?}");
        let there = rows(&output);
        let in_order = there.iter().copied().eq(0..there.len() as u64);
        assert!(in_order, "none is missing, and none is there twice");
        let enough = there.len() as u64 >= progress.written;
        assert!(enough, "{} of {progress:?}", there.len());
        moved += u32::from(progress.written > written);
        written = progress.written;
        if let Some(end) = end {
            assert_eq!((end, there.len()), (JobEnd::Done, ROWS));
            fs::remove_file(&output).expect("it was there");
            keep(&record);
            written = 0;
        }
    }
    assert!(moved > 0, "no kill came while rows were confirmed");
    // It ends once it is let.
    let before = read();
    let rest = JobRecord {
        input: "rest".to_owned(),
        progress: JobProgress {
            rows: before.progress.written + LAST,
            ..before.progress
        },
        ..before
    };
    keep(&rest);
    let _jobs = runs(&path);
    // It has the store open now and then.
    let is_over = || {
        thread::sleep(Duration::from_millis(5));
        let now = Store::read(&path, PATIENCE).ok();
        now.is_some_and(|contents| contents.jobs[&number].end.is_some())
    };
    wait_until("the job is over", is_over);
    let over = read();
    assert_eq!(over.end, Some(JobEnd::Done));
    assert_eq!(rows(&output).len() as u64, over.progress.rows);
}
