//! `divisi accuracy`: the accuracy of each member, and of the ensemble under each rule.
//!
//! One pass is enough: a member runs each sample once, and all rules combine the same
//! answers.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, bail};
use divisi::device::MemberIndex;
use divisi::ensemble::{Combination, CombinationRule, Ensemble, RuleKind, Samples, label_of};
use divisi::load::{Until, saturate_for};
use divisi::serving::{Answer, Detail, Flaws, Part};
use serde::Serialize;

use super::args::{OutputFormat, SampleFiles, ServingTarget};
use super::open::{OpenedEnsemble, open};
use super::output::{FlawedMember, ProgressLine, flawed_lines, print, print_json, refuse_flawed};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct AccuracyArgs {
    #[command(flatten)]
    target: ServingTarget,
    /// Labelled samples (default: the manifest's calibration samples)
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    #[command(flatten)]
    files: SampleFiles,
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

#[derive(Serialize)]
struct AccuracyReport {
    ensemble: String,
    samples: usize,
    members: Vec<AccuracyRow>,
    rules: Vec<AccuracyRow>,
    flawed: Vec<FlawedMember>,
}

#[derive(Serialize)]
struct AccuracyRow {
    name: String,
    accuracy: f64,
    /// Samples without an answer (NaN or infinities), which count as wrong.
    #[serde(skip_serializing_if = "is_zero")]
    unanswered: usize,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde asks for it")]
fn is_zero(n: &usize) -> bool {
    *n == 0
}

pub(crate) fn run(args: &AccuracyArgs) -> Result<()> {
    let opened = open(&args.target)?;
    if opened.ensemble.is_synthetic() {
        bail!(
            "ensemble `{}` has synthetic weights: accuracy would mean nothing",
            opened.ensemble.name
        );
    }
    if opened.devices.is_simulated() {
        bail!("simulated devices give constants: accuracy would mean nothing");
    }
    let samples = match &args.input {
        Some(path) => Arc::new(opened.read_samples(path, &args.files)?),
        None => opened.calibration()?,
    };
    if samples.labels().is_none() {
        bail!(
            "the samples have no labels: a CSV has them in a last column named `label`, other \
             files in one beside them (`labels` in the manifest's [calibration], or --labels)"
        );
    }
    let grades = graded(&opened, &samples)?;
    let report = grades.report(&opened.ensemble, samples.len());
    match args.format {
        OutputFormat::Json => print_json(&report)?,
        OutputFormat::Text => print(&text(&report))?,
    }
    let unanswered = report.rules.first().map_or(0, |rule| rule.unanswered);
    refuse_flawed(&report.flawed, unanswered, samples.len())
}

/// Runs every sample once.
fn graded(opened: &OpenedEnsemble, samples: &Samples) -> Result<AccuracyCount> {
    let engine = opened.start(&opened.matrix(None)?, opened.networks())?;
    let mut grades = AccuracyCount::new(&opened.ensemble);
    let mut progress = ProgressLine::new();
    let (all, until) = (samples.len(), Until::default());
    saturate_for(
        &engine,
        samples,
        all,
        Detail::Members,
        until,
        |first, answer| {
            progress.say(|| format!("{first} of {all} samples"));
            grades.add(samples, first, answer);
        },
    )?;
    Ok(grades)
}

/// Counts right and missing answers.
#[derive(Clone, Copy, Default)]
struct GradeCount {
    right: usize,
    unanswered: usize,
}

impl GradeCount {
    fn count(&mut self, found: Option<usize>, label: Option<usize>) {
        self.right += usize::from(found.is_some() && found == label);
        self.unanswered += usize::from(found.is_none());
    }

    fn row(self, name: &str, samples: usize) -> AccuracyRow {
        AccuracyRow {
            name: name.to_owned(),
            accuracy: self.right as f64 / samples as f64,
            unanswered: self.unanswered,
        }
    }
}

/// A combination rule with its counts.
struct GradedRule {
    kind: RuleKind,
    rule: Arc<dyn CombinationRule>,
    grade: GradeCount,
}

/// The counts of all members and rules so far.
struct AccuracyCount {
    classes: usize,
    members: Vec<GradeCount>,
    rules: Vec<GradedRule>,
    flaws: Vec<Flaws>,
}

impl AccuracyCount {
    /// Starts counting for all members, and for the rules that suit their outputs.
    fn new(ensemble: &Ensemble) -> Self {
        let members = ensemble.members.len();
        let by = |kind| Combination {
            rule: kind,
            ..ensemble.combination()
        };
        let suited = RuleKind::ALL.into_iter();
        let suited = suited.filter(|kind| ensemble.check_combination(&by(*kind)).is_ok());
        AccuracyCount {
            classes: ensemble.classes,
            members: vec![GradeCount::default(); members],
            rules: suited
                .map(|kind| GradedRule {
                    kind,
                    rule: by(kind).build(ensemble.classes),
                    grade: GradeCount::default(),
                })
                .collect(),
            flaws: vec![Flaws::default(); members],
        }
    }

    /// Counts the answers to the samples from `first` on.
    fn add(&mut self, samples: &Samples, first: usize, answer: &Answer) {
        let label = |i: usize| samples.label(first + i);
        for (member, grade) in MemberIndex::enumerate(&mut self.members) {
            let rows = answer.member_rows(member).enumerate();
            rows.for_each(|(i, row)| grade.count(label_of(row), label(i)));
        }
        for graded in &mut self.rules {
            let combined = combine(
                graded.rule.as_ref(),
                answer,
                self.members.len(),
                self.classes,
            );
            let found = combined.labels().enumerate();
            found.for_each(|(i, found)| graded.grade.count(found, label(i)));
        }
        for flaw in answer.flaws() {
            self.flaws[flaw.member].count(flaw.kind);
        }
    }

    fn report(&self, ensemble: &Ensemble, samples: usize) -> AccuracyReport {
        let names = ensemble.member_names();
        let members = names.iter().zip(&self.members);
        let rules = self.rules.iter();
        AccuracyReport {
            ensemble: ensemble.name.clone(),
            samples,
            members: members.map(|(name, g)| g.row(name, samples)).collect(),
            rules: rules.map(|g| g.grade.row(g.kind.name(), samples)).collect(),
            flawed: FlawedMember::of(&names, &self.flaws),
        }
    }
}

/// Combines the rows of the members by a rule, as serving does.
fn combine(rule: &dyn CombinationRule, answer: &Answer, members: usize, classes: usize) -> Answer {
    let part = Part::new(answer.len());
    for member in MemberIndex::all(members) {
        for (sample, row) in answer.member_rows(member).enumerate() {
            part.fold(rule, member, sample, row, classes);
        }
    }
    Answer::finish(rule, &[part], classes)
}

fn text(report: &AccuracyReport) -> String {
    let mut text = format!("{} on {} samples\n", report.ensemble, report.samples);
    report.members.iter().for_each(|row| text += &line(row));
    text += "ensemble\n";
    report.rules.iter().for_each(|row| text += &line(row));
    text.trim_end().to_owned() + &flawed_lines(&report.flawed)
}

fn line(row: &AccuracyRow) -> String {
    let missing = match row.unanswered {
        0 => String::new(),
        n => format!("  {n} without an answer"),
    };
    format!(
        "  {:18} {:6.2} %{missing}\n",
        row.name,
        100.0 * row.accuracy
    )
}
