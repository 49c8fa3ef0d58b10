//! Answers, collected for each sample, and as JSON, CSV, `.npy` and a line of text.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use divisi::device::MemberIndex;
use divisi::ensemble::samples::to_npy;
use divisi::ensemble::{Ensemble, Samples, label_of};
use divisi::serving::{Answer, Flaws};
use serde::Serialize;

use crate::cli::open::OpenedEnsemble;
use crate::cli::output::{FlawedMember, OutputFile, flawed_lines};

/// All answers so far.
pub(crate) struct PredictedAnswers {
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
    pub(crate) fn new(ensemble: &Ensemble, with_members: bool) -> Self {
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
    pub(crate) fn add(&mut self, answer: &Answer) {
        answer
            .rows()
            .for_each(|row| self.scores.extend_from_slice(row));
        for (member, (_, rows)) in MemberIndex::enumerate(&mut self.members) {
            let answered = answer.member_rows(member);
            answered.for_each(|row| rows.extend_from_slice(row));
        }
        for flaw in answer.flaws() {
            self.flaws[flaw.member].count(flaw.kind);
        }
    }

    /// Returns the number of samples that were answered.
    pub(crate) fn len(&self) -> usize {
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
    fn member_row(&self, member: MemberIndex, sample: usize) -> &[f32] {
        &self.members[member].1[sample * self.classes..][..self.classes]
    }

    /// Returns the number of samples without an answer of the ensemble.
    pub(crate) fn unanswered(&self) -> usize {
        self.found().filter(Option::is_none).count()
    }

    /// Returns the members with flawed rows.
    pub(crate) fn flawed(&self) -> Vec<FlawedMember> {
        FlawedMember::of(&self.names, &self.flaws)
    }

    /// Returns the scores of the members, if they were asked for, then those of the ensemble.
    fn values(&self) -> impl Iterator<Item = &f32> {
        let members = self.members.iter().flat_map(|(_, rows)| rows);
        members.chain(&self.scores)
    }
}

/// The answers in JSON.
#[derive(Serialize)]
pub(crate) struct AnswersReport<'a> {
    ensemble: String,
    samples: usize,
    elapsed_s: f64,
    /// The accuracy, if labels are known and no weights are synthetic.
    accuracy: Option<f64>,
    synthetic: bool,
    /// Whether a device is simulated: its answers are constants.
    pub simulated: bool,
    pub output: Option<String>,
    /// Samples without an answer: a member answered NaN or infinities.
    unanswered: usize,
    flawed: Vec<FlawedMember>,
    pub answers: Vec<AnswerRow<'a>>,
}

/// The answer to a sample; NaN and infinities are `null`.
#[derive(Serialize)]
pub(crate) struct AnswerRow<'a> {
    class: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'a str>,
    scores: &'a [f32],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    members: Vec<MemberAnswer<'a>>,
}

/// The answer of a member to a sample.
#[derive(Serialize)]
struct MemberAnswer<'a> {
    name: &'a str,
    class: Option<usize>,
    scores: &'a [f32],
}

/// The facts about a run that a report contains beside the answers.
pub(crate) struct RunFacts {
    ensemble: String,
    elapsed: Duration,
    synthetic: bool,
    simulated: bool,
    labels: Option<Vec<usize>>,
}

impl RunFacts {
    /// Collects the facts about a run that took `elapsed`.
    pub(crate) fn of(opened: &OpenedEnsemble, samples: &Samples, elapsed: Duration) -> Self {
        RunFacts {
            ensemble: opened.ensemble.name.clone(),
            elapsed,
            synthetic: opened.ensemble.is_synthetic(),
            simulated: opened.devices.is_simulated(),
            labels: samples.labels().map(<[usize]>::to_vec),
        }
    }
}

impl<'a> AnswersReport<'a> {
    /// Makes the report.
    pub(crate) fn new(answers: &'a PredictedAnswers, facts: RunFacts) -> Self {
        let means_something = !facts.synthetic && !facts.simulated;
        let labels = facts.labels.as_ref().filter(|_| means_something);
        AnswersReport {
            accuracy: labels.map(|labels| accuracy(answers, labels)),
            samples: answers.len(),
            elapsed_s: facts.elapsed.as_secs_f64(),
            ensemble: facts.ensemble,
            synthetic: facts.synthetic,
            simulated: facts.simulated,
            output: None,
            unanswered: answers.unanswered(),
            flawed: answers.flawed(),
            answers: rows(answers),
        }
    }
}

/// Returns the share of right answers; a sample without an answer counts as wrong.
fn accuracy(answers: &PredictedAnswers, labels: &[usize]) -> f64 {
    let pairs = answers.found().zip(labels);
    let right = pairs.filter(|(found, label)| *found == Some(**label));
    right.count() as f64 / labels.len() as f64
}

fn rows(answers: &PredictedAnswers) -> Vec<AnswerRow<'_>> {
    let rows = answers.rows().enumerate().map(|(sample, scores)| {
        let class = label_of(scores);
        let names = answers.labels.as_ref();
        let members = MemberIndex::enumerate(answers.members());
        let members = members.map(|(member, (name, _))| {
            let scores = answers.member_row(member, sample);
            let class = label_of(scores);
            MemberAnswer {
                name,
                class,
                scores,
            }
        });
        AnswerRow {
            class,
            label: class.and_then(|c| Some(names?[c].as_str())),
            scores,
            members: members.collect(),
        }
    });
    rows.collect()
}

/// Returns a summary on one line, then a line for each flawed member.
pub(crate) fn summary(report: &AnswersReport<'_>) -> String {
    let mut text = format!("{} samples in {:.2} s", report.samples, report.elapsed_s);
    if let Some(accuracy) = report.accuracy {
        let _ = write!(text, ", accuracy {:.2} %", 100.0 * accuracy);
    }
    if report.synthetic {
        text += "; synthetic weights: answers mean nothing";
    }
    if report.simulated {
        text += "; simulated devices: answers mean nothing";
    }
    text + &flawed_lines(&report.flawed)
}

/// Returns a CSV row for each sample: its class (empty if there is none) and its scores, then
/// the same of each member that was asked for.
pub(crate) fn csv(answers: &PredictedAnswers, simulated: bool) -> String {
    let mut text = String::from("sample,class");
    for class in 0..answers.classes {
        let _ = write!(text, ",score_{class}");
    }
    for (name, _) in answers.members() {
        let _ = write!(text, ",{}", quoted(&format!("{name}.class")));
        for class in 0..answers.classes {
            let _ = write!(text, ",{}", quoted(&format!("{name}.score_{class}")));
        }
    }
    if simulated {
        text.push_str(",simulated");
    }
    for (sample, scores) in answers.rows().enumerate() {
        let _ = write!(text, "\n{sample}");
        write_row(&mut text, scores);
        for member in MemberIndex::all(answers.members().count()) {
            write_row(&mut text, answers.member_row(member, sample));
        }
        if simulated {
            text.push_str(",yes");
        }
    }
    text.push('\n');
    text
}

fn write_row(text: &mut String, scores: &[f32]) {
    let class = label_of(scores).map_or(String::new(), |c| c.to_string());
    let _ = write!(text, ",{class}");
    for score in scores {
        let _ = write!(text, ",{score}");
    }
}

/// Quotes a name as a field of CSV, if needed.
fn quoted(name: &str) -> String {
    match name.contains([',', '"', '\n']) {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => name.to_owned(),
    }
}

/// The format of a file of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileFormat {
    Csv,
    Json,
    Npy,
}

impl FileFormat {
    /// Returns the format by the extension of `path`; a device or a pipe gets CSV.
    pub(crate) fn of(path: &Path, output: &OutputFile) -> Result<Self> {
        let end = path.extension().map(|e| e.to_string_lossy().to_lowercase());
        Ok(match end.as_deref() {
            Some("csv") => FileFormat::Csv,
            Some("json") => FileFormat::Json,
            Some("npy") => FileFormat::Npy,
            _ if !output.is_file() => FileFormat::Csv,
            _ => bail!(
                "--output {}: expected a name that ends in .csv, .json or .npy",
                path.display()
            ),
        })
    }

    /// Returns the contents of the file.
    pub(crate) fn bytes(
        self,
        answers: &PredictedAnswers,
        report: &AnswersReport<'_>,
    ) -> Result<Vec<u8>> {
        Ok(match self {
            FileFormat::Csv => csv(answers, report.simulated).into_bytes(),
            FileFormat::Json => {
                let mut bytes = serde_json::to_vec_pretty(report)?;
                bytes.push(b'\n');
                bytes
            }
            FileFormat::Npy => scores(answers),
        })
    }
}

/// Returns scores as `.npy` of shape `[samples, classes]`; with members
/// `[members + 1, samples, classes]`, the ensemble last.
fn scores(answers: &PredictedAnswers) -> Vec<u8> {
    let (samples, classes) = (answers.len(), answers.classes);
    let values = answers.values().copied();
    match answers.members().count() {
        0 => to_npy(values, &[samples, classes]),
        members => to_npy(values, &[members + 1, samples, classes]),
    }
}
