//! Offline jobs: rows that nobody waits for.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use divisi_engine::serving::ServiceObjective;
use divisi_model::ensemble::{Ensemble, Samples};
use divisi_modelless::goals::QueryGoals;
use divisi_modelless::jobs::JobProgress;
use divisi_modelless::policies::PolicyChoice;
use divisi_modelless::quantities::Accuracy;
use divisi_registry::records::{JobEnd, JobRecord, JobVariant};
use divisi_session::TaskScaling;
use divisi_tasks::jobs::{JobBoard, JobOutput, JobOutputError, LiveJobs, PostedJob};
use divisi_tasks::scaling::LiveScaling;

use crate::common::{SMALL, WHOLE, digits, serving};
use crate::wait::wait_until;

/// The rows of a job that is cancelled before it ends.
const ENDLESS: usize = 300_000;

/// Jobs in memory.
#[derive(Clone, Default)]
struct KeptJobs {
    jobs: Arc<Mutex<Vec<PostedJob>>>,
    told: Arc<Mutex<Vec<u64>>>,
}

impl KeptJobs {
    fn of(records: Vec<JobRecord>) -> Self {
        let jobs = (1..)
            .zip(records)
            .map(|(number, record)| PostedJob { number, record });
        let board = KeptJobs::default();
        *board.jobs.lock().expect("lock") = jobs.collect();
        board
    }

    fn end(&self, number: u64) -> Option<JobEnd> {
        let jobs = self.jobs.lock().expect("lock");
        jobs.iter()
            .find(|job| job.number == number)?
            .record
            .end
            .clone()
    }
}

impl JobBoard for KeptJobs {
    fn keep_every(&self) -> Duration {
        Duration::from_millis(5)
    }

    fn jobs(&self) -> Result<Vec<PostedJob>, String> {
        Ok(self.jobs.lock().expect("lock").clone())
    }

    fn samples(&self, record: &JobRecord, ensemble: &Ensemble) -> Result<Arc<Samples>, String> {
        match record.input.as_str() {
            "endless" => Ok(Arc::new(Samples::synthetic(ENDLESS, 64).expect("samples"))),
            "samples" => Ok(ensemble.calibration.clone().expect("samples")),
            other => Err(format!("{other}: no such file")),
        }
    }

    fn keep(&self, job: &PostedJob) -> Result<(), String> {
        let mut jobs = self.jobs.lock().expect("lock");
        let known = jobs.iter_mut().find(|known| known.number == job.number);
        let known = known.expect("posted");
        let is_cancelled = known.record.end == Some(JobEnd::Cancelled);
        known.record = job.record.clone();
        if is_cancelled {
            known.record.end = Some(JobEnd::Cancelled);
        }
        Ok(())
    }

    fn tell(&self, job: &PostedJob, _: Box<dyn FnOnce(String) + Send>) {
        self.told.lock().expect("lock").push(job.number);
    }
}

/// Returns how many samples there are.
fn rows() -> u64 {
    digits().calibration.expect("samples").len() as u64
}

fn job(output: &Path, percent: f64) -> JobRecord {
    JobRecord {
        task: "numbers".to_owned(),
        input: "samples".to_owned(),
        output: output.display().to_string(),
        goals: QueryGoals {
            accuracy: Some(Accuracy::percent(percent).expect("percent")),
            ..QueryGoals::default()
        },
        progress: JobProgress {
            rows: rows(),
            written: 0,
        },
        submitted_at: 0,
        notify: None,
        names_variants: false,
        variants: Vec::new(),
        end: None,
        ended_at: None,
    }
}

fn started(board: &KeptJobs) -> Arc<LiveJobs> {
    let live = serving(&[SMALL, WHOLE]);
    let scaling = LiveScaling::start(live, PolicyChoice::Static).expect("starts");
    LiveJobs::start(scaling, Arc::new(board.clone())).expect("starts")
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("answers.csv");
    (folder, path)
}

#[test]
fn every_row_is_answered_once_and_in_order() {
    let (_folder, path) = folder();
    let board = KeptJobs::of(vec![job(&path, 80.0)]);
    let jobs = started(&board);
    wait_until("the job is over", || board.end(1).is_some());
    assert_eq!(board.end(1), Some(JobEnd::Done));
    let text = fs::read_to_string(&path).expect("written");
    let mut lines = text.lines();
    assert!(
        lines
            .next()
            .expect("a head")
            .starts_with("sample,class,score_")
    );
    let numbers: Vec<usize> = lines
        .map(|line| {
            line.split(',')
                .next()
                .and_then(|n| n.parse().ok())
                .expect("a number")
        })
        .collect();
    assert_eq!(numbers, (0..numbers.len()).collect::<Vec<_>>());
    assert!(numbers.len() > 100);
    assert_eq!(*board.told.lock().expect("lock"), [1]);
    wait_until("it is shown", || !jobs.view().jobs.is_empty());
}

#[test]
fn a_job_counts_the_rows_of_its_variants_and_names_them_on_request() {
    let (_folder, path) = folder();
    let named = JobRecord {
        names_variants: true,
        ..job(&path, 80.0)
    };
    let board = KeptJobs::of(vec![named]);
    let _jobs = started(&board);
    wait_until("the job is over", || board.end(1).is_some());
    let record = board.jobs.lock().expect("lock")[0].record.clone();
    let variant = JobVariant {
        name: "numbers.sample.bf16.mlp".to_owned(),
        rows: rows(),
    };
    assert_eq!(record.variants, [variant]);
    assert!(record.ended_at > Some(record.submitted_at));
    let text = fs::read_to_string(&path).expect("written");
    let mut lines = text.lines();
    assert!(lines.next().expect("a head").ends_with(",score_9,variant"));
    assert!(lines.all(|line| line.ends_with(",numbers.sample.bf16.mlp")));
}

#[test]
fn rows_of_a_job_do_not_count_for_the_service_objective() {
    let (_folder, path) = folder();
    let board = KeptJobs::of(vec![job(&path, 80.0)]);
    let live = serving(&[SMALL]);
    let engine = Arc::clone(&live.deployment().running().engine);
    let ledger = Arc::clone(engine.telemetry().ledger());
    ledger.set_objective(Some(ServiceObjective {
        latency: Duration::from_millis(1),
        share: 0.99,
    }));
    let scaling = LiveScaling::start(live, PolicyChoice::Static).expect("starts");
    let _jobs = LiveJobs::start(scaling, Arc::new(board.clone())).expect("starts");
    wait_until("the job is over", || board.end(1).is_some());
    let counts = ledger.objective().expect("an objective");
    assert_eq!((counts.met, counts.missed), (0, 0));
}

#[test]
fn a_job_goes_on_after_the_rows_that_were_written() {
    let (_folder, path) = folder();
    let classes: Vec<String> = (0..10).map(|class| class.to_string()).collect();
    let output = JobOutput::claim(&path).and_then(|output| output.begin(0, &classes, false));
    let mut output = output.expect("begins");
    let lines = JobOutput::lines(0, [0.5; 50].chunks_exact(10), None);
    output.write(&lines).expect("writes");
    fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .map(|mut file| {
            use std::io::Write as _;
            file.write_all(b"5,0,0.").expect("half a row")
        })
        .expect("opens");
    let mut record = job(&path, 80.0);
    record.progress = JobProgress {
        rows: rows(),
        written: 3,
    };
    drop(output);
    let board = KeptJobs::of(vec![record]);
    let _jobs = started(&board);
    wait_until("the job is over", || board.end(1).is_some());
    assert_eq!(board.end(1), Some(JobEnd::Done));
    let text = fs::read_to_string(&path).expect("written");
    let rows: Vec<&str> = text.lines().skip(1).collect();
    assert!(rows[..3].iter().all(|row| row.contains("0.5,0.5")));
    assert!(
        rows[3..].iter().all(|row| !row.contains("0.5,0.5,0.5")),
        "answered anew"
    );
    assert!(
        rows.last()
            .expect("rows")
            .starts_with(&format!("{},", rows.len() - 1))
    );
}

#[test]
fn what_cannot_be_done_is_said_and_the_next_job_runs() {
    let (_folder, path) = folder();
    let unread = JobRecord {
        input: "gone.csv".to_owned(),
        ..job(&path, 80.0)
    };
    let unmet = job(&path, 99.9);
    let board = KeptJobs::of(vec![unread, unmet, job(&path, 80.0)]);
    let _jobs = started(&board);
    wait_until("the last job is over", || board.end(3).is_some());
    let failed = |why: &str| Some(JobEnd::Failed(why.to_owned()));
    assert_eq!(board.end(1), failed("gone.csv: no such file"));
    assert_eq!(board.end(2), failed("no variant meets the goals"));
    assert_eq!(board.end(3), Some(JobEnd::Done));
    assert_eq!(*board.told.lock().expect("lock"), [1, 2, 3]);
}

#[test]
fn jobs_of_other_tasks_and_those_that_are_over_are_left() {
    let (_folder, path) = folder();
    let other = JobRecord {
        task: "letters".to_owned(),
        ..job(&path, 80.0)
    };
    let over = JobRecord {
        end: Some(JobEnd::Cancelled),
        ..job(&path, 80.0)
    };
    let (_own_folder, own) = folder();
    let board = KeptJobs::of(vec![other, over, job(&own, 80.0)]);
    let _jobs = started(&board);
    wait_until("the job behind them is over", || board.end(3).is_some());
    assert!(own.exists() && !path.exists());
    assert_eq!(
        (board.end(1), board.end(2)),
        (None, Some(JobEnd::Cancelled))
    );
}

#[test]
fn a_class_is_the_first_of_the_highest_scores_and_none_where_a_score_is_no_number() {
    let rows = [[0.5, 0.5], [0.0, 1.0], [f32::NAN, 1.0]];
    let lines = JobOutput::lines(7, rows.iter().map(|row| &row[..]), None);
    assert_eq!(lines, "7,0,0.5,0.5\n8,1,0,1\n9,,NaN,1\n");
}

#[test]
fn names_of_classes_are_fields_of_their_own() {
    let (_folder, path) = folder();
    let classes = ["tench, Tinca tinca", "a \"b\"", "c\nd"].map(str::to_owned);
    let output = JobOutput::claim(&path).and_then(|output| output.begin(0, &classes, false));
    drop(output.expect("begins"));
    let head = fs::read_to_string(&path).expect("written");
    let expected = r#"sample,class,"score_tench, Tinca tinca","score_a ""b""",score_c\nd"#;
    assert_eq!(head, format!("{expected}\n"));
}

#[test]
fn an_output_with_fewer_rows_than_were_written_is_not_gone_on_with() {
    let (_folder, path) = folder();
    fs::write(&path, "sample,class,score_0\n0,0,1\n1,0").expect("written");
    let classes = ["0".to_owned()];
    let begun =
        |written| JobOutput::claim(&path).and_then(|output| output.begin(written, &classes, false));
    let refused = begun(2).expect_err("one row alone is whole");
    assert!(
        matches!(
            refused,
            JobOutputError::Rows {
                expected: 2,
                found: 1,
                ..
            }
        ),
        "{refused}"
    );
    assert!(begun(1).is_ok());
}

#[test]
fn a_file_that_holds_something_else_is_left_as_it_is() {
    let (_folder, path) = folder();
    fs::write(&path, "precious").expect("written");
    let board = KeptJobs::of(vec![job(&path, 80.0)]);
    let _jobs = started(&board);
    wait_until("the job is over", || board.end(1).is_some());
    let end = board.end(1).expect("over").words();
    assert!(end.contains("expected a new file"), "{end}");
    assert_eq!(fs::read_to_string(&path).expect("there"), "precious");
}

#[test]
fn a_job_that_another_server_has_is_left_until_that_ends() {
    let (_folder, path) = folder();
    let theirs = JobOutput::claim(&path).expect("nobody has it");
    let (_other, second) = folder();
    let board = KeptJobs::of(vec![job(&path, 80.0), job(&second, 80.0)]);
    let _jobs = started(&board);
    wait_until("the next one is over", || board.end(2).is_some());
    assert_eq!(board.end(1), None);
    drop(theirs);
    wait_until("the first one is over", || board.end(1).is_some());
    assert_eq!(board.end(1), Some(JobEnd::Done));
}

#[test]
fn an_input_of_other_rows_than_were_handed_over_is_refused() {
    let (_folder, path) = folder();
    let mut record = job(&path, 80.0);
    record.progress.rows += 1;
    let board = KeptJobs::of(vec![record]);
    let _jobs = started(&board);
    wait_until("the job is over", || board.end(1).is_some());
    let end = board.end(1).expect("over").words();
    assert!(end.contains("submitted rows, found "), "{end}");
}

#[test]
fn a_job_that_is_cancelled_while_it_runs_is_told_of_with_its_last_rows() {
    let (_folder, path) = folder();
    let board = KeptJobs::of(vec![job(&path, 80.0)]);
    // Nobody has answered a row yet.
    board.jobs.lock().expect("lock")[0].record.input = "endless".to_owned();
    board.jobs.lock().expect("lock")[0].record.progress.rows = ENDLESS as u64;
    let _jobs = started(&board);
    let written = || board.jobs.lock().expect("lock")[0].record.progress.written;
    wait_until("rows are written", || written() > 0);
    board.jobs.lock().expect("lock")[0].record.end = Some(JobEnd::Cancelled);
    wait_until("it is told", || {
        !board.told.lock().expect("lock").is_empty()
    });
    let lines = fs::read_to_string(&path).expect("there").lines().count() as u64;
    assert_eq!(lines, written() + 1);
}
