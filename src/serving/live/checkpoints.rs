//! What an engine had done at a few moments, to compare later times with earlier ones.

use std::collections::VecDeque;
use std::time::Duration;

use crate::metrics::Reading;
use crate::serving::core::MOMENT;

/// Counters of answers since the start, and how they stood every few seconds.
#[derive(Debug, Default)]
pub(super) struct Checkpoints {
    /// What answers add to; the rest is filled in when it is read.
    answers: Reading,
    /// Number of the last moment in which anything was answered.
    moment: Option<u128>,
    kept: VecDeque<Reading>,
}

/// Kept so often while anything is answered, and so many: ten minutes.
const APART: Duration = Duration::from_secs(5);
const MOST: usize = 120;

impl Checkpoints {
    /// A request of `samples` was answered.
    pub fn answered(&mut self, now: Duration, latency: Duration, samples: usize) {
        let moment = now.as_nanos() / MOMENT.as_nanos();
        if self.moment.replace(moment) != Some(moment) {
            self.answers.active += MOMENT;
        }
        self.answers.answered += 1;
        self.answers.samples += samples as u64;
        self.answers.latency.record(latency.as_micros() as u64, 1);
    }

    /// Answers so far.
    pub fn answers(&self) -> Reading {
        self.answers.clone()
    }

    /// Whether a reading is to be kept now.
    pub fn is_due(&self, now: Duration) -> bool {
        self.kept.back().is_none_or(|last| now >= last.at + APART)
    }

    /// Keeps a reading; the oldest makes room.
    pub fn keep(&mut self, reading: Reading) {
        if self.kept.len() >= MOST {
            self.kept.pop_front();
        }
        self.kept.push_back(reading);
    }

    /// Those taken after `from` and before `until`, oldest first.
    pub fn between(&self, from: Duration, until: Duration) -> Vec<Reading> {
        let within = |reading: &&Reading| from < reading.at && reading.at < until;
        self.kept.iter().filter(within).cloned().collect()
    }

    /// The newest reading that was taken at `at` or before.
    pub fn before(&self, at: Duration) -> Option<&Reading> {
        self.kept.iter().rev().find(|reading| reading.at <= at)
    }
}
