//! Collects answers: scores for each class of each sample, of the ensemble and its members.

use divisi::ensemble::{Ensemble, label_of};
use divisi::serving::{Answer, Flaws};

use crate::cli::report::FlawedMember;

/// All answers so far.
pub(crate) struct PredictedAnswers {
    pub classes: usize,
    /// The names of the classes, if the ensemble has any.
    pub labels: Option<Vec<String>>,
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
        for (member, (_, rows)) in self.members.iter_mut().enumerate() {
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
    pub(crate) fn rows(&self) -> impl Iterator<Item = &[f32]> {
        self.scores.chunks_exact(self.classes)
    }

    /// Returns the class of each sample, or `None` if it has no answer.
    pub(crate) fn found(&self) -> impl Iterator<Item = Option<usize>> {
        self.rows().map(label_of)
    }

    /// Returns the name and the rows of each member, if they were asked for.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, &[f32])> {
        self.members
            .iter()
            .map(|(name, rows)| (name.as_str(), &rows[..]))
    }

    /// Returns the row of a member for a sample.
    pub(crate) fn member_row(&self, member: usize, sample: usize) -> &[f32] {
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
    pub(crate) fn values(&self) -> impl Iterator<Item = &f32> {
        let members = self.members.iter().flat_map(|(_, rows)| rows);
        members.chain(&self.scores)
    }
}
