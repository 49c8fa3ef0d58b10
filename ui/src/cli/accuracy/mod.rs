//! `divisi accuracy`: the accuracy of each member and of the ensemble under each rule, or of a
//! pipeline. Other kinds of answers have other measures.
//!
//! One pass is enough: a member runs each sample once, and all rules combine the same answers.

mod likeness;
mod precisions;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, bail};
use divisi_engine::load::{Until, saturate_for};
use divisi_engine::serving::{Answer, Detail, Flaws, Part};
use divisi_model::ensemble::{
    AnswerKind, Combination, CombinationRule, Ensemble, Measure, MeasureTally, MemberPrecision,
    OwnAnswers, Quality, RuleKind, SampleTarget, Samples,
};
use divisi_runtime::device::MemberIndex;
use serde::Serialize;

use self::likeness::each_row;
use self::precisions::PrecisionsReport;
use super::args::{SampleFiles, ServingTarget, parse_precision};
use super::open::{OpenedEnsemble, open};
use super::output::{FlawedMember, ProgressLine, cut_line, flawed_lines, refuse_flawed};
use super::reporting::{Report, ReportOptions};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct AccuracyArgs {
    #[command(flatten)]
    pub(super) target: ServingTarget,
    /// Samples with labels or other targets (default: the manifest's calibration samples)
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    #[command(flatten)]
    files: SampleFiles,
    /// Precisions to compare with f32, comma-separated, such as bf16,int8
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        value_parser = parse_precision(),
        conflicts_with = "precision"
    )]
    precisions: Vec<MemberPrecision>,
    #[command(flatten)]
    report: ReportOptions,
}

#[derive(Serialize)]
struct AccuracyReport {
    ensemble: String,
    samples: usize,
    /// The number of truncated texts in words, if there are any.
    #[serde(skip)]
    cut: Option<String>,
    #[serde(skip)]
    measures: &'static [Measure],
    members: Vec<AccuracyRow>,
    rules: Vec<AccuracyRow>,
    /// The answers of a pipeline. A pipeline has no rows of members and rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pipeline: Option<AccuracyRow>,
    flawed: Vec<FlawedMember>,
}

#[derive(Serialize)]
struct AccuracyRow {
    name: String,
    /// The figures by the keys of their measures.
    #[serde(flatten)]
    figures: BTreeMap<&'static str, f64>,
    /// Samples without an answer (NaN or infinities). They count as wrong, or are left out of the
    /// errors of values.
    #[serde(skip_serializing_if = "is_zero")]
    unanswered: usize,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "required by serde")]
fn is_zero(n: &usize) -> bool {
    *n == 0
}

pub(crate) fn run(args: &AccuracyArgs) -> Result<()> {
    let output = args.report.open()?;
    let opened = open(&args.target)?;
    if opened.ensemble.is_synthetic() {
        bail!(
            "ensemble `{}` has synthetic weights: its accuracy is meaningless",
            opened.ensemble.name
        );
    }
    if opened.devices.is_simulated() {
        bail!("simulated devices return constants: accuracy is meaningless");
    }
    let samples = opened.samples(args.input.as_deref(), &args.files)?;
    if samples.targets().is_none() {
        let without = without_targets(opened.ensemble.answers);
        match args.input {
            Some(_) => bail!(without),
            None => bail!("{without}, or name a file with them by --input"),
        }
    }
    if !args.precisions.is_empty() {
        let report = PrecisionsReport::measure(&opened, &samples, &args.precisions)?;
        output.write(&report)?;
        report.keep(&opened);
        return report.reports().try_for_each(|r| refuse(r, &samples));
    }
    let count = graded(&opened, &samples, &mut |_, _| {})?;
    let report = AccuracyReport {
        cut: cut_line(&samples),
        ..count.report(&opened.ensemble, samples.len())
    };
    output.write(&report)?;
    refuse(&report, &samples)
}

/// Fails if a member is flawed.
fn refuse(report: &AccuracyReport, samples: &Samples) -> Result<()> {
    let mut answers = report.rules.iter().chain(&report.pipeline);
    let unanswered = answers.next().map_or(0, |row| row.unanswered);
    refuse_flawed(&report.flawed, unanswered, samples.len())
}

pub(super) fn without_targets(answers: AnswerKind) -> &'static str {
    match answers {
        AnswerKind::Classes { .. } => {
            "the samples have no labels: add a last CSV column named `label`, or a file of labels \
             (`labels` in the manifest's [calibration], or --labels)"
        }
        AnswerKind::Masks { .. } => {
            "the samples have no masks: add a folder of PNGs of class numbers, or an array \
             [samples, height, width] (`targets` in the manifest's [calibration], or --targets)"
        }
        AnswerKind::Tokens { .. } => {
            "the samples have no targets: add an array [samples, length] of class numbers, -100 at \
             ignored positions (`targets` in the manifest's [calibration], or --targets)"
        }
        AnswerKind::Boxes { .. } => {
            "the samples have no boxes: add COCO annotations or a .jsonl file of lists of \
             [class, x, y, width, height] (`targets` in the manifest's [calibration], or --targets)"
        }
        AnswerKind::Values { .. } | AnswerKind::Labels { .. } => {
            "the samples have no targets: add last CSV columns named after the values or labels, \
             or with names from `target`, or a file of targets (`targets` in the manifest's \
             [calibration], or --targets)"
        }
    }
}

/// Runs every sample once. `seen` gets the number of the first sample of each answer.
fn graded(
    opened: &OpenedEnsemble,
    samples: &Samples,
    seen: &mut dyn FnMut(usize, &Answer),
) -> Result<AccuracyCount> {
    let engine = opened.start(&opened.worst_fit()?, opened.networks())?;
    let mut count = AccuracyCount::new(&opened.ensemble);
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
            count.add(samples, first, answer);
            seen(first, answer);
        },
    )?;
    Ok(count)
}

/// Counts of answers compared with targets, and of missing answers.
#[derive(Clone)]
struct GradeCount {
    tally: MeasureTally,
    unanswered: usize,
}

impl GradeCount {
    fn new(ensemble: &Ensemble) -> Self {
        GradeCount {
            tally: MeasureTally::with_names(ensemble.answers, ensemble.answer_names.as_deref()),
            unanswered: 0,
        }
    }

    fn count(&mut self, row: &[f32], target: SampleTarget<'_>) {
        self.tally.add(row, target);
        self.unanswered += usize::from(row.iter().any(|v| !v.is_finite()));
    }

    fn row(&self, name: &str) -> AccuracyRow {
        let figures = self.tally.qualities().into_iter();
        AccuracyRow {
            name: name.to_owned(),
            figures: figures.map(|q| (q.measure.key(), q.value)).collect(),
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

/// The counts of all members and rules.
struct AccuracyCount {
    width: usize,
    own: OwnAnswers,
    members: Vec<GradeCount>,
    rules: Vec<GradedRule>,
    /// The answers of a pipeline.
    pipeline: Option<GradeCount>,
    flaws: Vec<Flaws>,
}

impl AccuracyCount {
    /// Starts counting for all members and for the rules that suit their outputs. A pipeline is
    /// counted as a whole, since its members answer steps, not samples.
    fn new(ensemble: &Ensemble) -> Self {
        let none = GradeCount::new(ensemble);
        let members = ensemble.members.len();
        let is_pipeline = ensemble.pipeline.is_some();
        AccuracyCount {
            width: ensemble.answer_width(),
            own: ensemble.own_answers(),
            members: match is_pipeline {
                true => Vec::new(),
                false => vec![none.clone(); members],
            },
            rules: match is_pipeline {
                true => Vec::new(),
                false => rules(ensemble, &none),
            },
            pipeline: is_pipeline.then_some(none),
            flaws: vec![Flaws::default(); members],
        }
    }

    /// Counts the answers to the samples from `first` on.
    fn add(&mut self, samples: &Samples, first: usize, answer: &Answer) {
        let Some(targets) = samples.targets() else {
            return;
        };
        each_row(&self.own, self.members.len(), answer, |part, at, row| {
            let grade = match part {
                None => self.pipeline.as_mut(),
                Some(member) => self.members.get_mut(member.get()),
            };
            if let Some(grade) = grade {
                grade.count(row, targets.target(first + at));
            }
        });
        for graded in &mut self.rules {
            let rule = graded.rule.as_ref();
            let combined = combine(rule, answer, self.members.len(), self.width);
            for (i, row) in combined.rows().enumerate() {
                graded.grade.count(row, targets.target(first + i));
            }
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
            cut: None,
            measures: Measure::suited(ensemble.answers),
            members: members.map(|(name, g)| g.row(name)).collect(),
            rules: rules.map(|g| g.grade.row(g.kind.name())).collect(),
            pipeline: self.pipeline.as_ref().map(|grade| grade.row(PIPELINE)),
            flawed: FlawedMember::from_flaws(&names, &self.flaws),
        }
    }
}

/// Starts counting for the rules that suit the members' outputs.
fn rules(ensemble: &Ensemble, none: &GradeCount) -> Vec<GradedRule> {
    let by = |kind| Combination {
        rule: kind,
        ..ensemble.combination()
    };
    let suited = RuleKind::suited(ensemble.answers).iter().copied();
    let suited = suited.filter(|kind| ensemble.check_combination(&by(*kind)).is_ok());
    let rules = suited.map(|kind| GradedRule {
        kind,
        rule: ensemble.build_rule(&by(kind)),
        grade: none.clone(),
    });
    rules.collect()
}

/// Combines the rows of the members by a rule, as serving does.
fn combine(rule: &dyn CombinationRule, answer: &Answer, members: usize, width: usize) -> Answer {
    let part = Part::new(answer.len());
    for member in MemberIndex::all(members) {
        for (sample, row) in answer.member_rows(member).enumerate() {
            part.fold(rule, member, sample, row, row.len());
        }
    }
    Answer::finish(rule, &[part], width)
}

impl Report for AccuracyReport {
    fn text(&self) -> String {
        let mut text = format!("{} on {} samples\n", self.ensemble, self.samples);
        text.extend(self.cut.iter().map(|cut| format!("{cut}\n")));
        let rows = self.members.iter().chain(&self.rules).chain(&self.pipeline);
        let lengths = rows.map(|row| row.name.chars().count());
        let first = lengths.fold(FIRST, usize::max);
        // Accuracy alone needs no heading.
        if self.measures != [Measure::Accuracy] {
            let heads = self.measures.iter().map(|m| cell(*m, m.name()));
            text += &format!("  {:first$}{}\n", "", heads.collect::<String>());
        }
        let line = |row| line(row, first, self.measures);
        text.extend(self.members.iter().chain(&self.pipeline).map(line));
        text.extend(self.pipeline.is_none().then_some("ensemble\n"));
        text.extend(self.rules.iter().map(line));
        text.trim_end().to_owned() + &flawed_lines(&self.flawed)
    }
}

/// The name of a pipeline's row.
const PIPELINE: &str = "pipeline";

/// The minimum width of the column of names.
const FIRST: usize = 18;

/// Returns a text, right-aligned in the column of a measure.
fn cell(measure: Measure, text: &str) -> String {
    let width = match measure {
        Measure::Accuracy => 8,
        other => other.name().len().max(9),
    };
    format!(" {text:>width$}")
}

fn line(row: &AccuracyRow, first: usize, measures: &[Measure]) -> String {
    let missing = match row.unanswered {
        0 => String::new(),
        n => format!("  {n} without an answer"),
    };
    let figures = measures.iter().map(|measure| {
        let value = row.figures.get(measure.key()).copied();
        let figure = value.map(|value| Quality {
            measure: *measure,
            value,
        });
        cell(*measure, &figure.map_or("–".to_owned(), |f| f.text()))
    });
    let figures: String = figures.collect();
    format!("  {:first$}{figures}{missing}\n", row.name)
}
