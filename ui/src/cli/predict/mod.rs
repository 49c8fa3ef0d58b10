//! `divisi predict`: answers for the samples of a file.

mod answer;
mod files;
mod remote;
mod report;
mod table;
mod task;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use divisi_engine::load::{Until, saturate_for};
use divisi_engine::serving::Detail;
use divisi_model::ensemble::Samples;

use divisi_door::client::ServerAddress;

use super::args::{OutputFormat, SampleFiles, ServingTarget};
use super::goals::GoalArgs;
use super::open::{OpenedEnsemble, open, say};
use super::output::{ProgressLine, print, print_json, refuse_flawed};
use super::signals::stop_flag;
use super::tasks::TaskArgs;
use files::AnswerFiles;
use remote::TargetModel;
use report::{AnswersReport, PredictedAnswers, RunFacts, summary};
use table::csv;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PredictArgs {
    #[command(flatten)]
    target: ServingTarget,
    #[command(flatten)]
    tasks: TaskArgs,
    #[command(flatten)]
    goals: GoalArgs,
    /// Samples: a .csv with a header (a last column `label`, or the last columns for values
    /// and labels, are compared with), .npy, .npz, .json, .jsonl, an image, or a folder of
    /// images (labelled by folders of classes); for ensembles of texts a .txt with a text a
    /// line, or a .csv, .json or .jsonl with fields `text`
    #[arg(long, value_name = "FILE", required_unless_present = "text")]
    input: Option<PathBuf>,
    /// A text to answer, in place of a file; may be there several times
    #[arg(long, value_name = "TEXT", conflicts_with = "input")]
    text: Vec<String>,
    #[command(flatten)]
    files: SampleFiles,
    /// Also answer for each member
    #[arg(long)]
    members: bool,
    /// Where answers go, as the name ends: .csv, .json or .npy, there [samples, width], of masks
    /// and tokens the numbers of classes, or, with members, [members + 1, samples, width], the
    /// ensemble last; for masks also a folder, of a PNG each (default: CSV on standard output)
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Serve by the matrix in this file
    #[arg(long, value_name = "FILE")]
    matrix: Option<PathBuf>,
    /// Ask the server at this address over HTTP (host:port, or https://host) instead of serving
    /// here; it serves the ensemble
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["members", "matrix"])]
    server: Option<ServerAddress>,
    #[command(flatten)]
    access: remote::ServerAccess,
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

pub(crate) fn run(args: &PredictArgs) -> Result<()> {
    let output = args.output.as_deref().map(AnswerFiles::at).transpose()?;
    let stopped = stop_flag();
    args.check_goals()?;
    let opened = match args.tasks.is_set() {
        true => task::open(args)?,
        false => open(&args.target)?,
    };
    if args.members && opened.ensemble.pipeline.is_some() {
        bail!("--members: the models of a pipeline answer its steps, and no samples");
    }
    if let Some(output) = &output {
        output.check(opened.ensemble.answers)?;
    }
    let samples = samples(args, &opened)?;
    if let Some(address) = &args.server {
        return ask(args, address, &opened, &samples, output.as_ref());
    }
    let (opened, matrix) = opened.by(args.matrix.as_deref(), args.target.precision)?;
    let engine = opened.start(&matrix, opened.networks())?;
    let until = Until {
        stop: Some(&stopped),
        ..Until::default()
    };
    let detail = match args.members {
        true => Detail::Members,
        false => Detail::Marked,
    };
    let mut progress = ProgressLine::new();
    let means_something = !opened.ensemble.is_synthetic() && !opened.devices.is_simulated();
    let targets = samples.targets().filter(|_| means_something);
    let mut answers = PredictedAnswers::new(&opened.ensemble, args.members, &samples, targets);
    let all = samples.len();
    let run = saturate_for(&engine, &samples, all, detail, until, |_, answer| {
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
    let facts = RunFacts::of(&opened, &samples, run.elapsed);
    let report = AnswersReport::new(&answers, facts);
    if let Some(output) = &output {
        output.write(&answers, &report, samples.names())?;
    }
    tell(args, &answers, report)?;
    refuse_flawed(&answers.flawed(), answers.unanswered(), all)
}

/// Answers the samples by a server.
fn ask(
    args: &PredictArgs,
    address: &ServerAddress,
    opened: &OpenedEnsemble,
    samples: &Samples,
    output: Option<&AnswerFiles>,
) -> Result<()> {
    let began = Instant::now();
    let targets = samples
        .targets()
        .filter(|_| !opened.ensemble.is_synthetic());
    let mut answers = PredictedAnswers::new(&opened.ensemble, false, samples, targets);
    let add = |row: &[f32]| answers.add_row(row);
    let server = (address, &args.access.options());
    let asked = TargetModel {
        name: args.model(&opened.ensemble),
        parameters: args.goals.parameters(),
    };
    let answered_by = remote::predict(server, &asked, &opened.ensemble, samples, add);
    let answered_by = answered_by.context("--server")?;
    say(&answered_by.lines());
    let facts = RunFacts::of(opened, samples, began.elapsed());
    let facts = facts.of_server(asked.name, answered_by);
    let report = AnswersReport::new(&answers, facts);
    if let Some(output) = output {
        output.write(&answers, &report, samples.names())?;
    }
    tell(args, &answers, report)
}

impl PredictArgs {
    /// Returns the name of what is answered.
    fn named(&self) -> String {
        match &self.input {
            Some(path) => path.display().to_string(),
            None => "--text".into(),
        }
    }
}

/// Reads the samples that are asked for.
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

fn tell(
    args: &PredictArgs,
    answers: &PredictedAnswers,
    mut report: AnswersReport<'_>,
) -> Result<()> {
    report.output = args.output.as_ref().map(|p| p.display().to_string());
    if args.format == OutputFormat::Json {
        if args.output.is_some() {
            report.answers.clear();
        }
        return print_json(&report);
    }
    let text = summary(&report);
    if args.output.is_some() {
        return print(&text);
    }
    print(&csv(answers, report.simulated))?;
    // Standard output carries the answers; the summary goes beside them.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{text}\n").as_bytes());
    Ok(())
}
