//! `divisi predict`: answers for the samples of a file.

mod answer;
mod files;
mod remote;
mod report;
mod table;
mod task;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use divisi_engine::load::{Until, saturate_for};
use divisi_engine::serving::Detail;
use divisi_model::ensemble::Samples;

use divisi_door::client::ServerAddress;

use super::args::{SampleFiles, ServingTarget};
use super::goals::GoalArgs;
use super::open::{OpenedEnsemble, open, say};
use super::output::{ProgressLine, note, print, refuse_flawed};
use super::reporting::{OutputFormat, ProductOptions, Report};
use super::signals::stop_flag;
use super::tasks::TaskArgs;
use files::AnswerFiles;
use remote::TargetModel;
use report::{AnswersReport, PredictedAnswers};
use table::csv;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PredictArgs {
    #[command(flatten)]
    pub(super) target: ServingTarget,
    #[command(flatten)]
    tasks: TaskArgs,
    #[command(flatten)]
    goals: GoalArgs,
    /// Samples: .csv with a header, .npy, .npz, .json, .jsonl, an image, a folder of images, or
    /// .txt with a text per line
    #[arg(long, value_name = "FILE", required_unless_present = "text")]
    input: Option<PathBuf>,
    /// Text to answer instead of a file; repeatable
    #[arg(long, value_name = "TEXT", conflicts_with = "input")]
    text: Vec<String>,
    #[command(flatten)]
    files: SampleFiles,
    /// Also write the answers of each member
    #[arg(long)]
    members: bool,
    /// File for the answers: .csv, .json, .npy, or a folder of PNGs for masks (default: CSV on
    /// standard output)
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Serve with the matrix in this file
    #[arg(long, value_name = "FILE")]
    matrix: Option<PathBuf>,
    /// Request answers from this server (host:port or https://host) instead of serving here
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["members", "matrix"])]
    server: Option<ServerAddress>,
    #[command(flatten)]
    access: remote::ServerAccess,
    #[command(flatten)]
    product: ProductOptions,
}

pub(crate) fn run(args: &PredictArgs) -> Result<()> {
    let output = args.answer_files()?;
    let stopped = stop_flag();
    args.check_goals()?;
    let opened = match args.tasks.is_set() {
        true => task::open(args)?,
        false => open(&args.target.for_matrix(args.matrix.as_deref()))?,
    };
    if args.members && opened.ensemble.pipeline.is_some() {
        bail!("--members: not supported for pipelines; their models answer steps, not samples");
    }
    if let Some(output) = &output {
        output.check(opened.ensemble.answers)?;
    }
    let samples = samples(args, &opened)?;
    let answers = match &args.server {
        Some(address) => ask(args, address, &opened, &samples)?,
        None => serve(args, opened, &samples, &stopped)?,
    };
    if let Some(output) = &output {
        let report = AnswersReport::new(&answers, None);
        output.write(&answers, &report, samples.names())?;
    }
    tell(args, &answers)?;
    refuse_flawed(&answers.flawed(), answers.unanswered(), samples.len())
}

/// Answers the samples in this process.
fn serve(
    args: &PredictArgs,
    opened: OpenedEnsemble,
    samples: &Samples,
    stopped: &AtomicBool,
) -> Result<PredictedAnswers> {
    let (opened, matrix) = opened.with_matrix(args.matrix.as_deref(), args.target.precision)?;
    let engine = opened.start(&matrix, opened.networks())?;
    let until = Until {
        stop: Some(stopped),
        ..Until::default()
    };
    let detail = match args.members {
        true => Detail::Members,
        false => Detail::Marked,
    };
    let mut progress = ProgressLine::new();
    let means_something = !opened.ensemble.is_synthetic() && !opened.devices.is_simulated();
    let targets = samples.targets().filter(|_| means_something);
    let mut answers = PredictedAnswers::new(&opened, args.members, samples, targets);
    let all = samples.len();
    let run = saturate_for(&engine, samples, all, detail, until, |_, answer| {
        answers.add(answer);
        progress.say(|| format!("{} of {all} samples", answers.len()));
    })
    .with_context(|| args.named())?;
    drop(progress);
    engine.shutdown();
    if run.cut_short {
        let done = answers.len();
        bail!("stopped after {done} of {all} samples; nothing was written");
    }
    answers.elapsed = run.elapsed;
    Ok(answers)
}

/// Requests the answers from a server.
fn ask(
    args: &PredictArgs,
    address: &ServerAddress,
    opened: &OpenedEnsemble,
    samples: &Samples,
) -> Result<PredictedAnswers> {
    let began = Instant::now();
    let targets = samples
        .targets()
        .filter(|_| !opened.ensemble.is_synthetic());
    let mut answers = PredictedAnswers::new(opened, false, samples, targets);
    let add = |row: &[f32]| answers.add_row(row);
    let options = args.access.options();
    let asked = TargetModel {
        name: args.model(&opened.ensemble),
        parameters: args.goals.parameters(),
    };
    let answered_by = remote::predict(address, &options, &asked, &opened.ensemble, samples, add);
    let answered_by = answered_by.context("--server")?;
    say(&answered_by.lines());
    answers.elapsed = began.elapsed();
    answers.name = asked.name;
    answers.answered_by = Some(answered_by);
    Ok(answers)
}

impl PredictArgs {
    /// Returns the file of answers, or `None` for standard output.
    fn written(&self) -> Option<&Path> {
        let output = self.output.as_deref();
        output.filter(|path| *path != Path::new("-"))
    }

    fn answer_files(&self) -> Result<Option<AnswerFiles>> {
        let files = self
            .written()
            .map(|path| AnswerFiles::new(path, self.product.force));
        files.transpose()
    }

    /// Returns the name of the answered samples.
    fn named(&self) -> String {
        match &self.input {
            Some(path) => path.display().to_string(),
            None => "--text".into(),
        }
    }
}

/// Reads the samples of the command line.
fn samples(args: &PredictArgs, opened: &OpenedEnsemble) -> Result<Samples> {
    match &args.input {
        Some(path) => opened.read_samples(path, &args.files),
        None => {
            let texts = args.text.iter().map(String::as_str);
            let samples = Samples::of_texts(texts, &opened.ensemble.sample_form());
            samples.with_context(|| args.named())
        }
    }
}

fn tell(args: &PredictArgs, answers: &PredictedAnswers) -> Result<()> {
    let report = AnswersReport::new(answers, args.written());
    if args.written().is_some() || args.product.format == OutputFormat::Json {
        return args.product.format.print(&report);
    }
    print(&csv(answers))?;
    // Standard output carries the answers, standard error the summary.
    note(&report.text());
    Ok(())
}
