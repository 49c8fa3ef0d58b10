//! What is known of samples beforehand: their classes, or rows of values or labels.

use super::form::Classes;

/// The targets of samples, which answers are compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum Targets {
    /// A class for each sample.
    Classes(Vec<usize>),
    /// A row of values for each sample, or, for labels, of 0 and 1.
    Rows {
        /// The number of values in a row, at least 1.
        width: usize,
        /// The rows, one after another.
        values: Vec<f32>,
    },
}

/// The target of one sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SampleTarget<'a> {
    /// Its class.
    Class(usize),
    /// Its row of values, or of 0 and 1.
    Row(&'a [f32]),
}

impl Targets {
    /// Returns the number of samples.
    pub fn len(&self) -> usize {
        match self {
            Targets::Classes(classes) => classes.len(),
            Targets::Rows { width, values } => values.len() / width.max(&1),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the target of sample `index` modulo the number of samples.
    ///
    /// # Panics
    /// There are none.
    pub fn of(&self, index: usize) -> SampleTarget<'_> {
        let at = index % self.len();
        match self {
            Targets::Classes(classes) => SampleTarget::Class(classes[at]),
            Targets::Rows { width, values } => {
                SampleTarget::Row(&values[at * width..(at + 1) * width])
            }
        }
    }

    /// Returns the targets of `count` samples from `first` on, beginning again after the
    /// last.
    #[must_use]
    pub fn range(&self, first: usize, count: usize) -> Self {
        let each = (first..first + count).map(|sample| self.of(sample));
        match self {
            Targets::Classes(_) => {
                let class = |target| match target {
                    SampleTarget::Class(class) => Some(class),
                    SampleTarget::Row(_) => None,
                };
                Targets::Classes(each.filter_map(class).collect())
            }
            Targets::Rows { width, .. } => {
                let row = |target| match target {
                    SampleTarget::Row(row) => Some(row),
                    SampleTarget::Class(_) => None,
                };
                let values: Vec<&[f32]> = each.filter_map(row).collect();
                Targets::Rows {
                    width: *width,
                    values: values.concat(),
                }
            }
        }
    }

    /// Leaves out the first `samples`.
    pub(super) fn skip(&mut self, samples: usize) {
        match self {
            Targets::Classes(classes) => drop(classes.drain(..samples)),
            Targets::Rows { width, values } => drop(values.drain(..samples * *width)),
        }
    }
}

/// The targets that a file may hold.
#[derive(Clone, Copy, Debug)]
pub(super) enum TargetForm<'a> {
    /// A class for each sample.
    Classes(Classes<'a>),
    /// A row of numbers for each sample.
    Rows(TargetColumns<'a>),
}

/// The columns of targets that are rows of numbers.
#[derive(Clone, Copy, Debug)]
pub struct TargetColumns<'a> {
    /// The number of values or labels.
    pub count: usize,
    /// Their names, if they have any.
    pub names: Option<&'a [String]>,
    /// Whether they are labels: 0 or 1, or names in a list.
    pub are_labels: bool,
}

impl<'a> TargetColumns<'a> {
    /// Whether a row may hold this number.
    pub(super) fn holds(self, value: f32) -> bool {
        match self.are_labels {
            true => value == 0.0 || value == 1.0,
            false => value.is_finite(),
        }
    }

    /// Returns the numbers that a row may hold, in words.
    pub(super) fn expected(self) -> &'static str {
        match self.are_labels {
            true => "0 or 1",
            false => "a finite number",
        }
    }

    /// Returns the labels that a list may name.
    pub(super) fn labels(self) -> Classes<'a> {
        Classes {
            count: self.count,
            names: self.names,
        }
    }
}
