//! The kinds of answers of an ensemble: class scores, values, labels, classes of pixels or tokens,
//! or boxes.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ranged::ranged;

use super::boxes::BoxRows;
use super::positions::PositionRows;
use super::tags::TagScheme;

ranged! {
    /// The number of numbers in an answer: classes, values or labels.
    AnswerWidth(u32) = 1, 1 << 24, "a whole number from {} to {}"
}

ranged! {
    /// The minimum probability of a given label.
    Threshold(f64) = 1e-6, 0.999_999, "a threshold from {} to {}"
}

ranged! {
    /// The height or width of a mask in pixels.
    MaskSide(u32) = 1, 1 << 15, "a number of pixels from {} to {}"
}

ranged! {
    /// The number of tokens of a sample.
    TokenCount(u32) = 1, 1 << 20, "a number of tokens from {} to {}"
}

ranged! {
    /// The maximum number of boxes of an answer.
    BoxCount(u32) = 1, 1000, "a number of boxes from {} to {}"
}

impl Default for Threshold {
    fn default() -> Self {
        Threshold(0.5)
    }
}

impl Threshold {
    /// Returns whether a label with this probability is given.
    pub fn is_met(self, probability: f32) -> bool {
        probability >= self.0 as f32
    }

    /// Returns the numbers of the given labels, or `None` if a probability is NaN or infinite.
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
    /// One of several classes: a score for each class. The highest score wins.
    Classes {
        /// The number of classes.
        count: AnswerWidth,
    },
    /// Unchanged numbers: a regression or an embedding.
    Values {
        /// The number of values.
        count: AnswerWidth,
        /// Whether answers are scaled to unit length.
        normalise: bool,
    },
    /// Several independent labels: a probability for each label.
    Labels {
        /// The number of labels.
        count: AnswerWidth,
        /// The minimum probability of a given label.
        threshold: Threshold,
    },
    /// A mask: one of several classes for each pixel. With a single class, whether each pixel
    /// belongs to it. Has a score for each class and pixel: `[classes, height, width]`.
    Masks {
        /// The number of classes.
        count: AnswerWidth,
        /// The height of a mask.
        height: MaskSide,
        /// The width of a mask.
        width: MaskSide,
    },
    /// One of several classes for each token. Has a score for each class: `[length, classes]`.
    Tokens {
        /// The number of classes.
        count: AnswerWidth,
        /// The number of tokens of a sample.
        length: TokenCount,
        /// The scheme by which class names mark spans of tokens.
        scheme: TagScheme,
    },
    /// Boxes around objects, each with a class and a score. See [`BoxRows`].
    Boxes {
        /// The number of classes.
        count: AnswerWidth,
        /// The maximum number of boxes of an answer.
        most: BoxCount,
        /// The overlap from which two boxes count as one object, as a share of their common area.
        overlap: Threshold,
        /// The minimum score of a box.
        least: Threshold,
    },
}

impl AnswerKind {
    /// Returns the number of numbers in an answer.
    pub fn width(self) -> usize {
        match (self, self.positions()) {
            (AnswerKind::Boxes { most, .. }, _) => BoxRows::with_capacity(most).width(),
            (_, Some(positions)) => positions.width(),
            _ => self.count(),
        }
    }

    /// Returns the number of classes, values or labels.
    pub fn count(self) -> usize {
        let (AnswerKind::Classes { count }
        | AnswerKind::Values { count, .. }
        | AnswerKind::Labels { count, .. }
        | AnswerKind::Masks { count, .. }
        | AnswerKind::Tokens { count, .. }
        | AnswerKind::Boxes { count, .. }) = self;
        count.get() as usize
    }

    /// Returns the positions of a sample, each with a class, or `None` for other kinds of answers.
    pub fn positions(self) -> Option<PositionRows> {
        let classes = self.count();
        match self {
            AnswerKind::Masks { height, width, .. } => {
                let sides = [height, width].map(|side| side.get() as usize);
                Some(PositionRows::pixels(classes, sides))
            }
            AnswerKind::Tokens { length, .. } => {
                Some(PositionRows::tokens(classes, length.get() as usize))
            }
            AnswerKind::Classes { .. }
            | AnswerKind::Values { .. }
            | AnswerKind::Labels { .. }
            | AnswerKind::Boxes { .. } => None,
        }
    }

    /// Returns the part of an answer that belongs to a sample's `tokens`. Returns the whole answer
    /// for other kinds, or if the sample has all tokens.
    pub fn token_part(self, row: &[f32], tokens: Option<usize>) -> &[f32] {
        let AnswerKind::Tokens { count, .. } = self else {
            return row;
        };
        let own = tokens.map(|tokens| tokens.saturating_mul(count.get() as usize));
        own.and_then(|own| row.get(..own)).unwrap_or(row)
    }

    /// Returns the layout of boxes in an answer, or `None` for other kinds of answers.
    pub fn boxes(self) -> Option<BoxRows> {
        match self {
            AnswerKind::Boxes { most, .. } => Some(BoxRows::with_capacity(most)),
            _ => None,
        }
    }

    /// Returns its name in manifests: `classes`, `values`, `labels`, `masks`, `tokens` or `boxes`.
    pub fn name(self) -> &'static str {
        match self {
            AnswerKind::Classes { .. } => "classes",
            AnswerKind::Values { .. } => "values",
            AnswerKind::Labels { .. } => "labels",
            AnswerKind::Masks { .. } => "masks",
            AnswerKind::Tokens { .. } => "tokens",
            AnswerKind::Boxes { .. } => "boxes",
        }
    }

    /// Returns whether an answer is right or wrong as a whole. Values are nearer or farther, and of
    /// many positions or boxes some may be right.
    pub fn can_be_right(self) -> bool {
        matches!(self, AnswerKind::Classes { .. } | AnswerKind::Labels { .. })
    }

    /// Returns whether an answer is one class.
    pub fn is_of_classes(self) -> bool {
        matches!(self, AnswerKind::Classes { .. })
    }
}

/// Formats as `10 classes`, `1 value`, `384 values of unit length` or `masks of 21 classes, 64×48`.
impl fmt::Display for AnswerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, s) = match self.count() {
            1 => ("1".to_owned(), ["", ""]),
            several => (several.to_string(), ["es", "s"]),
        };
        match self {
            AnswerKind::Classes { .. } => write!(f, "{count} classes"),
            AnswerKind::Values { normalise, .. } => {
                let of = if *normalise { " of unit length" } else { "" };
                write!(f, "{count} value{}{of}", s[1])
            }
            AnswerKind::Labels { threshold, .. } => {
                let threshold = threshold.get();
                write!(f, "{count} label{}, threshold {threshold}", s[1])
            }
            AnswerKind::Masks { height, width, .. } => {
                let (height, width) = (height.get(), width.get());
                write!(f, "masks of {count} class{}, {height}×{width}", s[0])
            }
            AnswerKind::Tokens { length, .. } => {
                let length = length.get();
                write!(f, "{count} class{} for each of {length} tokens", s[0])
            }
            AnswerKind::Boxes { most, .. } => {
                let most = most.get();
                write!(f, "up to {most} boxes of {count} class{}", s[0])
            }
        }
    }
}
