//! What the console remembers between its dialogs of change.

use std::path::PathBuf;

use divisi::session::{Setup, Terms};

use crate::config::Config;

/// Values that were entered last, to be offered again.
#[derive(Clone, Debug, PartialEq)]
pub struct Remembered {
    /// Of a probation.
    pub terms: Terms,
    /// Where files were last chosen.
    pub folder: PathBuf,
    /// Hidden files are listed too.
    pub hidden: bool,
}

impl Default for Remembered {
    fn default() -> Self {
        Remembered {
            terms: Config::default().terms,
            folder: PathBuf::from("."),
            hidden: false,
        }
    }
}

/// The settings of a setup that are no matrix.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// How workers form batches.
    Policy(divisi::ensemble::PolicyKind),
    /// How members are combined.
    Combination(divisi::ensemble::Combination),
    /// Samples in a segment at most.
    SegmentSize(usize),
}

impl Setting {
    /// The setup with it.
    pub fn of(self, setup: &Setup) -> Setup {
        let mut setup = setup.clone();
        match self {
            Setting::Policy(policy) => setup.policy = policy,
            Setting::Combination(combination) => setup.combination = combination,
            Setting::SegmentSize(size) => setup.segment_size = size,
        }
        setup
    }
}
