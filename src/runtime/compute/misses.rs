//! Marks the samples of a batch that looked up entries that do not exist.

use std::sync::atomic::{AtomicBool, Ordering};

/// A mark for each sample that runs together with others. An index outside of its table makes a row
/// NaN, but a later operation that replaces NaN would hide it.
#[derive(Debug)]
pub(super) struct LookupMisses(Vec<AtomicBool>);

impl LookupMisses {
    /// Returns marks for `samples` samples, none of them set.
    pub(super) fn new(samples: usize) -> Self {
        LookupMisses((0..samples).map(|_| AtomicBool::new(false)).collect())
    }

    /// Makes room for `samples` samples.
    pub(super) fn fit(&mut self, samples: usize) {
        if self.0.len() < samples {
            *self = LookupMisses::new(samples);
        }
    }

    /// Returns the marks of the samples from `first` on.
    pub(super) fn from(&self, first: usize) -> &[AtomicBool] {
        &self.0[first..]
    }

    /// Unsets all marks, also those of a batch that ended in a panic.
    pub(super) fn clear(&mut self) {
        self.0.iter_mut().for_each(|mark| *mark.get_mut() = false);
    }

    /// Returns whether a sample looked up an entry that does not exist.
    pub(super) fn has(&self, sample: usize) -> bool {
        self.0[sample].load(Ordering::Relaxed)
    }
}
