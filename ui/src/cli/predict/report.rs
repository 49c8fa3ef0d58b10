//! Collects the answers to all samples, for JSON and for a line of text.

use std::collections::BTreeMap;
use std::path::Path;
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
use crate::cli::reporting::Report;

/// All answers received.
pub(super) struct PredictedAnswers {
    /// The name of the ensemble or the task.
    pub(super) name: String,
    pub(super) ensemble: Arc<Ensemble>,
    /// The outputs of values with the number of values of each, if there are several outputs.
    pub(super) outputs: Vec<(String, usize)>,
    own: OwnAnswers,
    /// The ensemble's answers, `[samples, width]`. Positions are stored as class numbers.
    pub(super) scores: Vec<f32>,
    /// The comparison with targets, if these are known and meaningful.
    tally: Option<(MeasureTally, Targets)>,
    /// The name and the rows of each member, if requested.
    pub(super) members: Vec<(String, Vec<f32>)>,
    flaws: Vec<Flaws>,
    /// The text of each sample, or empty if samples are not texts.
    pub(super) texts: Vec<String>,
    /// The number of tokens of each sample if answers are tokens, or empty if all have the same
    /// number.
    tokens: Vec<Option<usize>>,
    /// The text of each token of each sample, if answers are tokens of texts.
    pub(super) token_texts: Vec<Vec<String>>,
    /// Whether a device is simulated, so that answers are constants.
    pub(super) simulated: bool,
    /// The number of truncated texts in words, if there are any.
    cut: Option<String>,
    pub(super) elapsed: Duration,
    /// The variants of a task that answered.
    pub(super) answered_by: Option<AnsweredBy>,
}

impl PredictedAnswers {
    /// Creates an empty collection of answers to `samples`. They are compared with targets if these
    /// are meaningful.
    pub(super) fn new(
        opened: &OpenedEnsemble,
        with_members: bool,
        samples: &Samples,
        targets: Option<&Targets>,
    ) -> Self {
        let ensemble = &opened.ensemble;
        let of_names = ensemble.answer_names.as_deref();
        let tally = || MeasureTally::with_names(ensemble.answers, of_names);
        let texts = samples.texts().iter().map(|text| text.text.clone());
        let names = ensemble.member_names();
        let members = names.iter().filter(|_| with_members);
        PredictedAnswers {
            name: ensemble.name.clone(),
            ensemble: Arc::clone(ensemble),
            outputs: outputs(ensemble),
            own: ensemble.own_answers(),
            scores: Vec::new(),
            tally: targets.map(|targets| (tally(), targets.clone())),
            members: members.map(|name| (name.clone(), Vec::new())).collect(),
            flaws: vec![Flaws::default(); names.len()],
            texts: texts.collect(),
            tokens: tokens(ensemble, samples),
            token_texts: token_texts(ensemble, samples),
            simulated: opened.devices.is_simulated(),
            cut: cut_line(samples),
            elapsed: Duration::ZERO,
            answered_by: None,
        }
    }

    /// Adds the answer to the next samples.
    pub(super) fn add(&mut self, answer: &Answer) {
        let (first, kind) = (self.len(), self.kind());
        answer.rows().for_each(|row| self.add_row(row));
        for (member, (_, rows)) in MemberIndex::enumerate(&mut self.members) {
            for (at, row) in answer.member_rows(member).enumerate() {
                let tokens = self.tokens.get(first + at).copied().flatten();
                keep(kind, &self.own.answer(member, row), tokens, rows);
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
        keep(self.kind(), row, tokens, &mut self.scores);
        if let Some((tally, targets)) = &mut self.tally {
            tally.add(row, targets.target(at));
        }
    }

    /// Returns the kind of the answers.
    pub(super) fn kind(&self) -> AnswerKind {
        self.ensemble.answers
    }

    /// Returns the number of answered samples.
    pub(super) fn len(&self) -> usize {
        self.scores.len() / self.width()
    }

    /// Returns the number of stored values per answer.
    pub(super) fn width(&self) -> usize {
        let positions = self.kind().positions();
        positions.map_or(self.kind().width(), |positions| positions.count())
    }

    /// Returns the names of the parts of an answer.
    fn names(&self) -> AnswerNames<'_> {
        AnswerNames {
            own: self.ensemble.answer_names.as_deref(),
            outputs: &self.outputs,
        }
    }

    /// Returns the name of a class or label, or its number if it has none.
    pub(super) fn label(&self, number: usize) -> String {
        let names = self.ensemble.answer_names.as_ref();
        let name = names.and_then(|names| names.get(number).cloned());
        name.unwrap_or_else(|| number.to_string())
    }

    /// Returns the ensemble's answer to each sample.
    pub(super) fn rows(&self) -> impl Iterator<Item = &[f32]> {
        self.scores.chunks_exact(self.width())
    }

    /// Returns the ensemble's answer to a sample, without a name, then those of the members, if
    /// requested.
    pub(super) fn answers(&self, sample: usize) -> impl Iterator<Item = (&str, &[f32])> {
        let range = sample * self.width()..(sample + 1) * self.width();
        let members = self.members.iter();
        let members = members.map(|(name, rows)| (name.as_str(), rows));
        let all = std::iter::once(("", &self.scores)).chain(members);
        all.map(move |(name, rows)| (name, &rows[range.clone()]))
    }

    /// Returns the number of samples without an answer of the ensemble.
    pub(super) fn unanswered(&self) -> usize {
        let missing = |row: &&[f32]| row.iter().any(|v| !v.is_finite());
        self.rows().filter(missing).count()
    }

    /// Returns the members with flawed rows.
    pub(super) fn flawed(&self) -> Vec<FlawedMember> {
        FlawedMember::from_flaws(&self.ensemble.member_names(), &self.flaws)
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
pub(super) struct AnswersReport<'a> {
    ensemble: &'a str,
    /// The variants of a task that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    answered_by: Option<&'a AnsweredBy>,
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
    simulated: bool,
    output: Option<String>,
    /// Samples without an answer: a member answered NaN or infinities.
    unanswered: usize,
    /// The number of truncated texts in words, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    cut: Option<&'a str>,
    flawed: Vec<FlawedMember>,
    answers: Vec<AnswerRow<'a>>,
}

/// The answer to a sample, and the members' answers if requested.
#[derive(Serialize)]
struct AnswerRow<'a> {
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

impl<'a> AnswersReport<'a> {
    /// Returns the report, which lists the answers unless they are in the file `output`.
    pub(super) fn new(answers: &'a PredictedAnswers, output: Option<&Path>) -> Self {
        let tally = answers.tally.as_ref();
        let qualities = tally.map_or_else(Vec::new, |(tally, _)| tally.qualities());
        AnswersReport {
            figures: figures(answers.kind(), &qualities),
            qualities,
            samples: answers.len(),
            elapsed_s: answers.elapsed.as_secs_f64(),
            ensemble: &answers.name,
            answered_by: answers.answered_by.as_ref().filter(|by| !by.is_empty()),
            synthetic: answers.ensemble.is_synthetic(),
            simulated: answers.simulated,
            output: output.map(|path| path.display().to_string()),
            unanswered: answers.unanswered(),
            cut: answers.cut.as_deref(),
            flawed: answers.flawed(),
            answers: match output {
                Some(_) => Vec::new(),
                None => rows(answers),
            },
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
        let members = answers.answers(sample).skip(1);
        let members = members.map(|(name, row)| MemberAnswer {
            name,
            answer: ReportedAnswer::new(kind, of_member, row),
        });
        AnswerRow {
            text: answers.texts.get(sample).map(String::as_str),
            token_texts: answers.token_texts.get(sample).map(Vec::as_slice),
            answer: ReportedAnswer::new(kind, names, row),
            members: members.collect(),
        }
    });
    rows.collect()
}

impl Report for AnswersReport<'_> {
    /// Returns a summary on one line, then a line for each flawed member.
    fn text(&self) -> String {
        let mut text = format!("{} samples in {:.2} s", self.samples, self.elapsed_s);
        let qualities = self.qualities.iter();
        text.extend(qualities.map(|q| format!(", {} {}", q.measure.name(), q.text())));
        text.extend(self.cut.map(|cut| format!("; {cut}")));
        let nothing = "answers mean nothing";
        text.extend(
            self.synthetic
                .then(|| format!("; synthetic weights: {nothing}")),
        );
        text.extend(
            self.simulated
                .then(|| format!("; simulated devices: {nothing}")),
        );
        text + &flawed_lines(&self.flawed)
    }
}
