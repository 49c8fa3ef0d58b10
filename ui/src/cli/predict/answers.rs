//! Answers as they come in: scores a class for each sample, and each member's.

use divisi::ensemble::{Ensemble, label_of};
use divisi::serving::{Answer, Flaws};

use crate::cli::report::FlawedMember;

/// All answers so far.
pub struct PredictedAnswers {
    pub classes: usize,
    /// One name a class where there are any.
    pub labels: Option<Vec<String>>,
    /// The ensemble's scores, `[samples, classes]`.
    scores: Vec<f32>,
    /// Each member's rows, where they were asked for, as the scores.
    members: Vec<(String, Vec<f32>)>,
    names: Vec<String>,
    flaws: Vec<Flaws>,
}

impl PredictedAnswers {
    /// None yet.
    pub fn new(ensemble: &Ensemble, with_members: bool) -> Self {
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

    /// Takes the answer to the samples that follow.
    pub fn add(&mut self, answer: &Answer) {
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

    /// Samples answered.
    pub fn len(&self) -> usize {
        self.scores.len() / self.classes
    }

    /// The ensemble's scores of each sample.
    pub fn rows(&self) -> impl Iterator<Item = &[f32]> {
        self.scores.chunks_exact(self.classes)
    }

    /// Its class of each sample, where there is one.
    pub fn found(&self) -> impl Iterator<Item = Option<usize>> {
        self.rows().map(label_of)
    }

    /// What each member answered, by name, where that was asked for.
    pub fn members(&self) -> impl Iterator<Item = (&str, &[f32])> {
        self.members
            .iter()
            .map(|(name, rows)| (name.as_str(), &rows[..]))
    }

    /// What member number `member` answered to a sample.
    pub fn member_row(&self, member: usize, sample: usize) -> &[f32] {
        &self.members[member].1[sample * self.classes..][..self.classes]
    }

    /// Samples for which the ensemble has no answer.
    pub fn unanswered(&self) -> usize {
        self.found().filter(Option::is_none).count()
    }

    /// Members whose rows were not what they should be.
    pub fn flawed(&self) -> Vec<FlawedMember> {
        FlawedMember::of(&self.names, &self.flaws)
    }

    /// The scores of members, where they were asked for, and then the ensemble's.
    pub fn values(&self) -> impl Iterator<Item = &f32> {
        let members = self.members.iter().flat_map(|(_, rows)| rows);
        members.chain(&self.scores)
    }
}
