//! Collects the answers to all samples, for JSON and for a line of text.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use divisi_engine::serving::{Answer, Flaws};
use divisi_model::ensemble::{
    AnswerKind, Ensemble, Measure, MeasureTally, Member, OwnAnswers, Quality, Samples, Targets,
};
use divisi_runtime::device::MemberIndex;
use serde::Serialize;

use super::answer::{AnswerNames, ReportedAnswer, keep};
use super::remote::AnsweredBy;
use crate::cli::open::OpenedEnsemble;
use crate::cli::output::{FlawedMember, cut_line, flawed_lines};

/// All answers received.
pub(crate) struct PredictedAnswers {
    kind: AnswerKind,
    /// The names of the classes, values or labels, if the ensemble has any.
    answer_names: Option<Vec<String>>,
    /// The outputs of values with the number of values of each, if there are several outputs.
    outputs: Vec<(String, usize)>,
    own: OwnAnswers,
    /// The ensemble's answers, `[samples, width]`. Positions are stored as class numbers.
    scores: Vec<f32>,
    /// The comparison with targets, if these are known and meaningful.
    tally: Option<(MeasureTally, Targets)>,
    /// The name and the rows of each member, if requested.
    members: Vec<(String, Vec<f32>)>,
    names: Vec<String>,
    flaws: Vec<Flaws>,
    /// The text of each sample, or empty if samples are not texts.
    texts: Vec<String>,
    /// The number of tokens of each sample if answers are tokens, or empty if all have the same
    /// number.
    tokens: Vec<Option<usize>>,
    /// The text of each token of each sample, if answers are tokens of texts.
    token_texts: Vec<Vec<String>>,
}

impl PredictedAnswers {
    /// Creates an empty collection of answers to `samples`. They are compared with targets if these
    /// are meaningful.
    pub(crate) fn new(
        ensemble: &Ensemble,
        with_members: bool,
        samples: &Samples,
        targets: Option<&Targets>,
    ) -> Self {
        let of_names = ensemble.answer_names.as_deref();
        let tally = || MeasureTally::with_names(ensemble.answers, of_names);
        let texts = samples.texts().iter().map(|text| text.text.clone());
        let names = ensemble.member_names();
        let members = names.iter().filter(|_| with_members);
        PredictedAnswers {
            kind: ensemble.answers,
            answer_names: ensemble.answer_names.clone(),
            outputs: outputs(ensemble),
            own: ensemble.own_answers(),
            scores: Vec::new(),
            tally: targets.map(|targets| (tally(), targets.clone())),
            members: members.map(|name| (name.clone(), Vec::new())).collect(),
            flaws: vec![Flaws::default(); names.len()],
            names,
            texts: texts.collect(),
            tokens: tokens(ensemble, samples),
            token_texts: token_texts(ensemble, samples),
        }
    }

    /// Adds the answer to the next samples.
    pub(crate) fn add(&mut self, answer: &Answer) {
        let first = self.len();
        answer.rows().for_each(|row| self.add_row(row));
        for (member, (_, rows)) in MemberIndex::enumerate(&mut self.members) {
            for (at, row) in answer.member_rows(member).enumerate() {
                let tokens = self.tokens.get(first + at).copied().flatten();
                keep(self.kind, &self.own.answer(member, row), tokens, rows);
            }
        }
        for flaw in answer.flaws() {
            self.flaws[flaw.member].count(flaw.kind);
        }
    }

    /// Adds the ensemble's answer to a sample.
    pub(super) fn add_row(&mut self, row: &[f32]) {
        let at = self.len();
        let tokens = self.tokens.get(at).copied().flatten();
        keep(self.kind, row, tokens, &mut self.scores);
        if let Some((tally, targets)) = &mut self.tally {
            tally.add(row, targets.target(at));
        }
    }

    /// Returns the number of answered samples.
    pub(crate) fn len(&self) -> usize {
        self.scores.len() / self.width()
    }

    /// Returns the text of a sample, if samples are texts.
    pub(super) fn text(&self, sample: usize) -> Option<&str> {
        self.texts.get(sample).map(String::as_str)
    }

    /// Returns whether samples are texts.
    pub(super) fn has_texts(&self) -> bool {
        !self.texts.is_empty()
    }

    /// Returns the text of each token of a sample, if answers are tokens of texts.
    pub(super) fn token_texts(&self, sample: usize) -> Option<&[String]> {
        self.token_texts.get(sample).map(Vec::as_slice)
    }

    /// Returns the kind of the answers.
    pub(super) fn kind(&self) -> AnswerKind {
        self.kind
    }

    /// Returns the number of stored values per answer.
    pub(super) fn width(&self) -> usize {
        let positions = self.kind.positions();
        positions.map_or(self.kind.width(), |positions| positions.count())
    }

    /// Returns the names of the classes, values or labels, if the ensemble has any.
    pub(super) fn answer_names(&self) -> Option<&[String]> {
        self.answer_names.as_deref()
    }

    /// Returns the names of the parts of an answer.
    pub(super) fn names(&self) -> AnswerNames<'_> {
        AnswerNames {
            own: self.answer_names(),
            outputs: &self.outputs,
        }
    }

    /// Returns the ensemble's answer to each sample.
    pub(super) fn rows(&self) -> impl Iterator<Item = &[f32]> {
        self.scores.chunks_exact(self.width())
    }

    /// Returns the name and the rows of each member, if requested.
    pub(super) fn members(&self) -> impl Iterator<Item = (&str, &[f32])> {
        self.members
            .iter()
            .map(|(name, rows)| (name.as_str(), &rows[..]))
    }

    /// Returns the row of a member for a sample.
    pub(super) fn member_row(&self, member: MemberIndex, sample: usize) -> &[f32] {
        &self.members[member].1[sample * self.width()..][..self.width()]
    }

    /// Returns the number of samples without an answer of the ensemble.
    pub(crate) fn unanswered(&self) -> usize {
        let missing = |row: &&[f32]| row.iter().any(|v| !v.is_finite());
        self.rows().filter(missing).count()
    }

    /// Returns the members with flawed rows.
    pub(crate) fn flawed(&self) -> Vec<FlawedMember> {
        FlawedMember::from_flaws(&self.names, &self.flaws)
    }

    /// Returns the rows of the members, if requested, then those of the ensemble.
    pub(super) fn values(&self) -> impl Iterator<Item = &f32> {
        let members = self.members.iter().flat_map(|(_, rows)| rows);
        members.chain(&self.scores)
    }
}

/// Returns the outputs of values, if all members have the same outputs and there are several.
fn outputs(ensemble: &Ensemble) -> Vec<(String, usize)> {
    let of = |member: &Arc<Member>| -> Vec<(String, usize)> {
        let signature = member.graph.signature();
        let outputs = signature.outputs.iter();
        let sized = outputs.map(|spec| {
            (
                spec.name.clone(),
                spec.elements_at(signature.largest_length()),
            )
        });
        sized
            .map(|(name, size)| (name, size.unwrap_or(0)))
            .collect()
    };
    let mut all = ensemble.members.iter().map(of);
    let first = all.next().unwrap_or_default();
    let are_values = matches!(ensemble.answers, AnswerKind::Values { .. });
    match are_values && first.len() > 1 && all.all(|other| other == first) {
        true => first,
        false => Vec::new(),
    }
}

/// Returns the number of tokens of each sample, if answers are tokens.
fn tokens(ensemble: &Ensemble, samples: &Samples) -> Vec<Option<usize>> {
    let are_tokens = matches!(ensemble.answers, AnswerKind::Tokens { .. });
    let all = (0..samples.len()).filter(|_| are_tokens);
    all.map(|sample| ensemble.token_count(samples.row(sample)))
        .collect()
}

/// Returns the text of each token of each sample, if answers are tokens of texts.
fn token_texts(ensemble: &Ensemble, samples: &Samples) -> Vec<Vec<String>> {
    let (AnswerKind::Tokens { .. }, Some(input)) = (ensemble.answers, &ensemble.text) else {
        return Vec::new();
    };
    let pieces = samples.texts().iter().map(|sample| {
        let pieces = input
            .tokenizer()
            .pieces(&sample.text, sample.pair.as_deref());
        // The same text was tokenised before, so this cannot fail.
        pieces.unwrap_or_default()
    });
    pieces.collect()
}

/// The answers in JSON.
#[derive(Serialize)]
pub(crate) struct AnswersReport<'a> {
    ensemble: String,
    /// The variants of a task that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    answered_by: Option<AnsweredBy>,
    samples: usize,
    elapsed_s: f64,
    /// The figures by the keys of their measures, if targets are known and no weights are
    /// synthetic.
    #[serde(flatten)]
    figures: BTreeMap<&'static str, Option<f64>>,
    #[serde(skip)]
    qualities: Vec<Quality>,
    synthetic: bool,
    /// Whether a device is simulated, so that answers are constants.
    pub simulated: bool,
    pub output: Option<String>,
    /// Samples without an answer: a member answered NaN or infinities.
    unanswered: usize,
    /// The number of truncated texts in words, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    cut: Option<String>,
    flawed: Vec<FlawedMember>,
    pub answers: Vec<AnswerRow<'a>>,
}

/// The answer to a sample, and the members' answers if requested.
#[derive(Serialize)]
pub(crate) struct AnswerRow<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    /// The part of the text behind each token.
    #[serde(skip_serializing_if = "Option::is_none")]
    token_texts: Option<&'a [String]>,
    #[serde(flatten)]
    answer: ReportedAnswer<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    members: Vec<MemberAnswer<'a>>,
}

/// The answer of a member to a sample.
#[derive(Serialize)]
struct MemberAnswer<'a> {
    name: &'a str,
    #[serde(flatten)]
    answer: ReportedAnswer<'a>,
}

/// The facts about a run in a report.
pub(crate) struct RunFacts {
    /// The name of the ensemble or the task.
    name: String,
    answered_by: Option<AnsweredBy>,
    elapsed: Duration,
    synthetic: bool,
    simulated: bool,
    cut: Option<String>,
}

impl RunFacts {
    /// Collects the facts about a run that took `elapsed`.
    pub(crate) fn from_run(opened: &OpenedEnsemble, samples: &Samples, elapsed: Duration) -> Self {
        RunFacts {
            name: opened.ensemble.name.clone(),
            answered_by: None,
            elapsed,
            synthetic: opened.ensemble.is_synthetic(),
            simulated: opened.devices.is_simulated(),
            cut: cut_line(samples),
        }
    }

    /// Returns the facts for answers from a server, under a name.
    pub(super) fn of_server(self, name: String, answered_by: AnsweredBy) -> Self {
        RunFacts {
            name,
            answered_by: Some(answered_by),
            ..self
        }
    }
}

impl<'a> AnswersReport<'a> {
    /// Returns the report.
    pub(crate) fn new(answers: &'a PredictedAnswers, facts: RunFacts) -> Self {
        let tally = answers.tally.as_ref();
        let qualities = tally.map_or_else(Vec::new, |(tally, _)| tally.qualities());
        AnswersReport {
            figures: figures(answers.kind(), &qualities),
            qualities,
            samples: answers.len(),
            elapsed_s: facts.elapsed.as_secs_f64(),
            ensemble: facts.name,
            answered_by: facts.answered_by.filter(|by| !by.is_empty()),
            synthetic: facts.synthetic,
            simulated: facts.simulated,
            output: None,
            unanswered: answers.unanswered(),
            cut: facts.cut,
            flawed: answers.flawed(),
            answers: rows(answers),
        }
    }
}

/// Returns every figure that suits the answers, known or not.
fn figures(kind: AnswerKind, known: &[Quality]) -> BTreeMap<&'static str, Option<f64>> {
    let value = |measure: &Measure| {
        let found = known.iter().find(|quality| quality.measure == *measure);
        (measure.key(), found.map(|quality| quality.value))
    };
    Measure::suited(kind).iter().map(value).collect()
}

fn rows(answers: &PredictedAnswers) -> Vec<AnswerRow<'_>> {
    let (kind, names) = (answers.kind(), answers.names());
    // A member's class is reported by its number only.
    let of_member = match kind.is_of_classes() {
        true => AnswerNames::default(),
        false => names,
    };
    let rows = answers.rows().enumerate().map(|(sample, row)| {
        let members = MemberIndex::enumerate(answers.members());
        let members = members.map(|(member, (name, _))| {
            let row = answers.member_row(member, sample);
            MemberAnswer {
                name,
                answer: ReportedAnswer::new(kind, of_member, row),
            }
        });
        AnswerRow {
            text: answers.text(sample),
            token_texts: answers.token_texts(sample),
            answer: ReportedAnswer::new(kind, names, row),
            members: members.collect(),
        }
    });
    rows.collect()
}

/// Returns a summary on one line, then a line for each flawed member.
pub(crate) fn summary(report: &AnswersReport<'_>) -> String {
    let mut text = format!("{} samples in {:.2} s", report.samples, report.elapsed_s);
    for quality in &report.qualities {
        let _ = write!(text, ", {} {}", quality.measure.name(), quality.text());
    }
    if let Some(cut) = &report.cut {
        let _ = write!(text, "; {cut}");
    }
    if report.synthetic {
        text += "; synthetic weights: answers mean nothing";
    }
    if report.simulated {
        text += "; simulated devices: answers mean nothing";
    }
    text + &flawed_lines(&report.flawed)
}
