//! `divisi predict`: answers for the samples of a file, of the ensemble and its members.

mod report;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use divisi::ensemble::{Ensemble, label_of};
use divisi::load::{Until, saturate_for};
use divisi::serving::{Answer, Detail, Flaws};

use super::args::{OutputFormat, SampleFiles, ServingTarget};
use super::open::open;
use super::output::{FlawedMember, OutputFile, ProgressLine, print, print_json, refuse_flawed};
use super::signals::stop_flag;
use report::{AnswersReport, FileFormat, RunFacts, csv, summary};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PredictArgs {
    #[command(flatten)]
    target: ServingTarget,
    /// Samples: a .csv with a header (a last column `label` is compared with), or .npy
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    #[command(flatten)]
    files: SampleFiles,
    /// Also answer for each member
    #[arg(long)]
    members: bool,
    /// Where answers go, as the name ends: .csv, .json or .npy, there [samples, classes]
    /// or, with members, [members + 1, samples, classes], the ensemble last (default:
    /// CSV on standard output)
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Serve by the matrix in this file
    #[arg(long, value_name = "FILE")]
    matrix: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

pub(crate) fn run(args: &PredictArgs) -> Result<()> {
    let output = args.output.as_deref().map(|path| {
        let output = OutputFile::at(path)?;
        Ok::<_, anyhow::Error>((FileFormat::of(path, &output)?, output))
    });
    let output = output.transpose()?;
    let stopped = stop_flag();
    let opened = open(&args.target)?;
    let samples = opened.read_samples(&args.input, &args.files)?;
    let matrix = opened.matrix(args.matrix.as_deref())?;
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
    let mut answers = PredictedAnswers::new(&opened.ensemble, args.members);
    let all = samples.len();
    let run = saturate_for(&engine, &samples, all, detail, until, |_, answer| {
        answers.add(answer);
        progress.say(|| format!("{} of {all} samples", answers.len()));
    })
    .with_context(|| args.input.display().to_string())?;
    drop(progress);
    engine.shutdown();
    if run.cut_short {
        let done = answers.len();
        bail!("stopped after {done} of {all} samples; nothing was written");
    }
    let facts = RunFacts::of(&opened, &samples, run.elapsed);
    let report = AnswersReport::new(&answers, facts);
    if let Some((format, output)) = &output {
        output.write_bytes(&format.bytes(&answers, &report)?)?;
    }
    tell(args, &answers, report)?;
    refuse_flawed(&answers.flawed(), answers.unanswered(), all)
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

/// All answers so far.
struct PredictedAnswers {
    classes: usize,
    /// The names of the classes, if the ensemble has any.
    labels: Option<Vec<String>>,
    /// The ensemble's scores, `[samples, classes]`.
    scores: Vec<f32>,
    /// The name and the rows of each member, if they were asked for.
    members: Vec<(String, Vec<f32>)>,
    names: Vec<String>,
    flaws: Vec<Flaws>,
}

impl PredictedAnswers {
    /// Starts without answers.
    fn new(ensemble: &Ensemble, with_members: bool) -> Self {
        let names = ensemble.member_names();
        let members = names.iter().filter(|_| with_members);
        PredictedAnswers {
            classes: ensemble.classes,
            labels: ensemble.labels.clone(),
            scores: Vec::new(),
            members: members.map(|name| (name.clone(), Vec::new())).collect(),
            flaws: vec![Flaws::default(); names.len()],
            names,
        }
    }

    /// Adds the answer to the next samples.
    fn add(&mut self, answer: &Answer) {
        answer
            .rows()
            .for_each(|row| self.scores.extend_from_slice(row));
        for (member, (_, rows)) in self.members.iter_mut().enumerate() {
            let answered = answer.member_rows(member);
            answered.for_each(|row| rows.extend_from_slice(row));
        }
        for flaw in answer.flaws() {
            self.flaws[flaw.member].count(flaw.kind);
        }
    }

    /// Returns the number of samples that were answered.
    fn len(&self) -> usize {
        self.scores.len() / self.classes
    }

    /// Returns the scores of the ensemble for each sample.
    fn rows(&self) -> impl Iterator<Item = &[f32]> {
        self.scores.chunks_exact(self.classes)
    }

    /// Returns the class of each sample, or `None` if it has no answer.
    fn found(&self) -> impl Iterator<Item = Option<usize>> {
        self.rows().map(label_of)
    }

    /// Returns the name and the rows of each member, if they were asked for.
    fn members(&self) -> impl Iterator<Item = (&str, &[f32])> {
        self.members
            .iter()
            .map(|(name, rows)| (name.as_str(), &rows[..]))
    }

    /// Returns the row of a member for a sample.
    fn member_row(&self, member: usize, sample: usize) -> &[f32] {
        &self.members[member].1[sample * self.classes..][..self.classes]
    }

    /// Returns the number of samples without an answer of the ensemble.
    fn unanswered(&self) -> usize {
        self.found().filter(Option::is_none).count()
    }

    /// Returns the members with flawed rows.
    fn flawed(&self) -> Vec<FlawedMember> {
        FlawedMember::of(&self.names, &self.flaws)
    }

    /// Returns the scores of the members, if they were asked for, then those of the ensemble.
    fn values(&self) -> impl Iterator<Item = &f32> {
        let members = self.members.iter().flat_map(|(_, rows)| rows);
        members.chain(&self.scores)
    }
}
