//! The targets of samples: classes, or rows of values, labels or classes of positions. Answers are
//! compared with them.

use crate::ensemble::boxes::TargetBox;

use super::form::Classes;

/// The targets of samples. Answers are compared with them.
#[derive(Clone, Debug, PartialEq)]
pub enum Targets {
    /// A class for each sample.
    Classes(Vec<usize>),
    /// A row for each sample: values, 0 and 1 for labels, or class numbers of pixels and tokens,
    /// with [`IGNORED`] for unknown ones.
    Rows {
        /// The number of values in a row, at least 1.
        width: usize,
        /// The rows, concatenated.
        values: Vec<f32>,
    },
    /// The boxes in each sample.
    Boxes(Vec<Vec<TargetBox>>),
}

/// The target of one sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SampleTarget<'a> {
    /// Its class.
    Class(usize),
    /// Its row of values, of 0 and 1, or of class numbers.
    Row(&'a [f32]),
    /// Its boxes.
    Boxes(&'a [TargetBox]),
}

impl Targets {
    /// Returns the number of samples.
    pub fn len(&self) -> usize {
        match self {
            Targets::Classes(classes) => classes.len(),
            Targets::Rows { width, values } => values.len() / width.max(&1),
            Targets::Boxes(boxes) => boxes.len(),
        }
    }

    /// Returns whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the target of sample `index` modulo the number of samples.
    ///
    /// # Panics
    /// There are no targets.
    pub fn target(&self, index: usize) -> SampleTarget<'_> {
        let at = index % self.len();
        match self {
            Targets::Classes(classes) => SampleTarget::Class(classes[at]),
            Targets::Rows { width, values } => {
                SampleTarget::Row(&values[at * width..(at + 1) * width])
            }
            Targets::Boxes(boxes) => SampleTarget::Boxes(&boxes[at]),
        }
    }

    /// Returns the targets of `count` samples from `first`, starting over after the last sample.
    #[must_use]
    pub fn range(&self, first: usize, count: usize) -> Self {
        let each = (first..first + count).map(|sample| self.target(sample));
        let mut new = match self {
            Targets::Classes(_) => Targets::Classes(Vec::with_capacity(count)),
            Targets::Rows { width, .. } => Targets::Rows {
                width: *width,
                values: Vec::with_capacity(count * width),
            },
            Targets::Boxes(_) => Targets::Boxes(Vec::with_capacity(count)),
        };
        each.for_each(|target| new.push(target));
        new
    }

    /// Adds a target of the same kind.
    fn push(&mut self, target: SampleTarget<'_>) {
        match (self, target) {
            (Targets::Classes(classes), SampleTarget::Class(class)) => classes.push(class),
            (Targets::Rows { values, .. }, SampleTarget::Row(row)) => values.extend(row),
            (Targets::Boxes(all), SampleTarget::Boxes(boxes)) => all.push(boxes.to_vec()),
            _ => {}
        }
    }

    /// Skips the first `samples`.
    pub(super) fn skip(&mut self, samples: usize) {
        match self {
            Targets::Classes(classes) => drop(classes.drain(..samples)),
            Targets::Rows { width, values } => drop(values.drain(..samples * *width)),
            Targets::Boxes(boxes) => drop(boxes.drain(..samples)),
        }
    }
}

/// The kind of targets that a file may contain.
#[derive(Clone, Copy, Debug)]
pub(super) enum TargetForm<'a> {
    /// A class for each sample.
    Classes(Classes<'a>),
    /// A row of numbers for each sample.
    Rows(TargetColumns<'a>),
    /// Boxes of these classes, only in JSON.
    Boxes(Classes<'a>),
}

/// The columns of target rows.
#[derive(Clone, Copy, Debug)]
pub struct TargetColumns<'a> {
    /// The number of values, labels or positions.
    pub count: usize,
    /// The names of the values, labels or classes, if set.
    pub names: Option<&'a [String]>,
    /// The kind of numbers in the columns.
    pub numbers: TargetNumbers,
}

/// The kind of numbers in target rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetNumbers {
    /// Any finite numbers.
    Values,
    /// 0 or 1, or a list with the names of the labels that are 1.
    Labels,
    /// The number of a class for each position, below `classes`.
    Positions {
        /// One more than the highest class.
        classes: usize,
        /// The number for an unknown class in files.
        ignored: Option<i32>,
        /// The height and width of a mask, or 1 and the number of tokens.
        sides: [usize; 2],
    },
}

/// The class of a position that is unknown and not counted.
pub const IGNORED: f32 = -1.0;

impl<'a> TargetColumns<'a> {
    /// Returns a number of a file in its form for rows, or `None` if rows cannot hold the number.
    pub(super) fn cell(self, value: f32) -> Option<f32> {
        let holds = match self.numbers {
            TargetNumbers::Values => value.is_finite(),
            TargetNumbers::Labels => value == 0.0 || value == 1.0,
            TargetNumbers::Positions {
                classes, ignored, ..
            } => {
                if ignored.is_some_and(|ignored| value == ignored as f32) {
                    return Some(IGNORED);
                }
                value >= 0.0 && value.fract() == 0.0 && value < classes as f32
            }
        };
        holds.then_some(value)
    }

    /// Returns the valid numbers of a row as text.
    pub(super) fn expected(self) -> &'static str {
        match self.numbers {
            TargetNumbers::Values => "a finite number",
            TargetNumbers::Labels => "0 or 1",
            TargetNumbers::Positions { ignored: None, .. } => "the number of a class",
            TargetNumbers::Positions {
                ignored: Some(0..), ..
            } => "the number of a class, or 255 for none",
            TargetNumbers::Positions { .. } => "the number of a class, or -100 for none",
        }
    }

    /// Returns the class number at a position from its name.
    pub(super) fn class(self, name: &str) -> Option<f32> {
        let are_positions = matches!(self.numbers, TargetNumbers::Positions { .. });
        let class = are_positions.then(|| self.labels().named(name).ok())??;
        Some(class as f32)
    }

    /// Returns whether rows hold token classes, and may be shorter than the longest sample.
    pub(super) fn are_tokens(self) -> bool {
        matches!(
            self.numbers,
            TargetNumbers::Positions {
                ignored: Some(..0),
                ..
            }
        )
    }

    /// Returns whether rows may be lists of label names.
    pub(super) fn are_labels(self) -> bool {
        self.numbers == TargetNumbers::Labels
    }

    /// Returns whether an `.npy` array with these dimensions holds such rows.
    pub(super) fn fits(self, dims: &[u64]) -> bool {
        let is = |known: &[usize]| {
            let found = dims.get(1..).unwrap_or_default();
            found.len() == known.len() && found.iter().zip(known).all(|(d, k)| *d == *k as u64)
        };
        match (self.numbers, dims) {
            (_, [_]) => self.count == 1,
            (_, [_, found]) if self.are_tokens() => (1..=self.count as u64).contains(found),
            (TargetNumbers::Positions { sides: [h, w], .. }, _) => {
                is(&[self.count]) || is(&[h, w]) || is(&[1, h, w])
            }
            _ => is(&[self.count]),
        }
    }

    /// Returns the labels that a list may name, or the classes of positions.
    pub(super) fn labels(self) -> Classes<'a> {
        Classes {
            count: match self.numbers {
                TargetNumbers::Positions { classes, .. } => classes,
                TargetNumbers::Values | TargetNumbers::Labels => self.count,
            },
            names: self.names,
        }
    }
}
