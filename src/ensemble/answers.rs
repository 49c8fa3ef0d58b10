//! The kind of answers that an ensemble returns for a sample: class scores, values or labels.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ranged::ranged;

ranged! {
    /// The number of numbers in an answer: classes, values or labels.
    AnswerWidth(u32) = 1, 1 << 24, "a whole number from {} to {}"
}

ranged! {
    /// The probability from which a label is given.
    Threshold(f64) = 1e-6, 0.999_999, "a threshold from {} to {}"
}

impl Default for Threshold {
    fn default() -> Self {
        Threshold(0.5)
    }
}

impl Threshold {
    /// Whether a label of that probability is given.
    pub fn is_met(self, probability: f32) -> bool {
        probability >= self.0 as f32
    }

    /// Returns the numbers of the labels that are given, or `None` if any probability is NaN
    /// or infinite.
    pub fn labels(self, probabilities: &[f32]) -> Option<Vec<usize>> {
        if probabilities.iter().any(|p| !p.is_finite()) {
            return None;
        }
        let numbered = probabilities.iter().enumerate();
        let given = numbered.filter(|(_, p)| self.is_met(**p));
        Some(given.map(|(label, _)| label).collect())
    }
}

/// The kind of answers of an ensemble. An answer is a row of numbers for a sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerKind {
    /// One class of several: a score for each, of which the highest wins.
    Classes {
        /// The number of classes.
        count: AnswerWidth,
    },
    /// Numbers as they are: a regression, or an embedding.
    Values {
        /// The number of values.
        count: AnswerWidth,
        /// Whether answers are scaled to unit length.
        normalise: bool,
    },
    /// Several labels, each given or not by itself: a probability for each.
    Labels {
        /// The number of labels.
        count: AnswerWidth,
        /// The probability from which a label is given.
        threshold: Threshold,
    },
}

impl AnswerKind {
    /// Returns the number of numbers in an answer.
    pub fn width(self) -> usize {
        let (AnswerKind::Classes { count }
        | AnswerKind::Values { count, .. }
        | AnswerKind::Labels { count, .. }) = self;
        count.get() as usize
    }

    /// Returns its name in manifests: `classes`, `values` or `labels`.
    pub fn name(self) -> &'static str {
        match self {
            AnswerKind::Classes { .. } => "classes",
            AnswerKind::Values { .. } => "values",
            AnswerKind::Labels { .. } => "labels",
        }
    }

    /// Whether an answer is one class.
    pub fn is_of_classes(self) -> bool {
        matches!(self, AnswerKind::Classes { .. })
    }
}

/// In words: `10 classes`, `1 value`, `384 values of unit length`.
impl fmt::Display for AnswerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.width();
        match (self, width) {
            (AnswerKind::Classes { .. }, _) => write!(f, "{width} classes"),
            (AnswerKind::Values { .. }, 1) => write!(f, "1 value"),
            (AnswerKind::Values { .. }, _) => write!(f, "{width} values"),
            (AnswerKind::Labels { .. }, 1) => write!(f, "1 label"),
            (AnswerKind::Labels { .. }, _) => write!(f, "{width} labels"),
        }?;
        match self {
            AnswerKind::Values {
                normalise: true, ..
            } => write!(f, " of unit length"),
            AnswerKind::Labels { threshold, .. } => {
                write!(f, ", each given from {}", threshold.get())
            }
            _ => Ok(()),
        }
    }
}
