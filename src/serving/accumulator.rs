//! The accumulator: the only place where predictions are combined.
//!
//! Each part of a request (its samples in one extent) has its own lock and is
//! folded by whichever thread predicted, in any order.

use std::sync::Mutex;

use crate::ensemble::{CombinationRule, label_of};
use crate::lock::lock;

/// The combined state of a part's samples.
#[derive(Debug)]
pub struct Part {
    state: Mutex<Vec<f32>>,
    samples: usize,
}

impl Part {
    /// Nothing folded yet.
    pub fn new(samples: usize) -> Self {
        Part {
            state: Mutex::new(Vec::new()),
            samples,
        }
    }

    /// Folds `member`'s `rows` for the samples from `first` on.
    pub fn fold(
        &self,
        rule: &dyn CombinationRule,
        member: usize,
        first: usize,
        rows: &[f32],
        classes: usize,
    ) {
        if !rule.counts(member) {
            return;
        }
        let width = rule.state_width();
        let samples = rows.len() / classes.max(1);
        let mut state = lock(&self.state);
        if state.is_empty() {
            state.resize(self.samples * width, 0.0);
        }
        rule.fold(
            member,
            rows,
            &mut state[first * width..(first + samples) * width],
        );
    }

    fn take(&self) -> Vec<f32> {
        std::mem::take(&mut *lock(&self.state))
    }
}

/// What an ensemble answers to a request: scores a class for each sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    parts: Vec<Vec<f32>>,
    classes: usize,
}

impl Answer {
    /// Finishes the parts of a request, in order.
    pub fn finish(rule: &dyn CombinationRule, parts: &[Part], classes: usize) -> Self {
        let finished = parts.iter().map(|p| rule.finish(p.take(), classes));
        Answer {
            parts: finished.collect(),
            classes,
        }
    }

    /// Scores (`[classes]`) of each sample, in the order they were sent.
    pub fn rows(&self) -> impl Iterator<Item = &[f32]> {
        self.parts.iter().flat_map(|p| p.chunks_exact(self.classes))
    }

    /// The class with the highest score, of each sample.
    pub fn labels(&self) -> impl Iterator<Item = usize> {
        self.rows().map(label_of)
    }

    /// Samples answered.
    pub fn len(&self) -> usize {
        self.parts.iter().map(Vec::len).sum::<usize>() / self.classes.max(1)
    }

    /// Never for an answer to an admitted request: those have samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
