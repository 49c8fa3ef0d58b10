//! The targets of samples, which answers are compared with: classes, or rows of values or labels.

use thiserror::Error;

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

/// Why a sample has no targets that can be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(super) enum TargetError {
    /// A value is no number.
    #[error("column {column}: expected a finite number, found `{found}`")]
    NotFinite {
        /// The column's name.
        column: String,
        /// The text.
        found: String,
    },
    /// A label is neither given nor not.
    #[error("column {column}: expected 0 or 1, found `{found}`")]
    NotGiven {
        /// The column's name.
        column: String,
        /// The text.
        found: String,
    },
    /// A list names no label.
    #[error(
        "column labels: expected names of labels or numbers below {count}, separated by `;`, \
         found `{found}`"
    )]
    NoLabel {
        /// The number of labels.
        count: usize,
        /// The name.
        found: String,
    },
    /// There are not as many columns as the header names.
    #[error("expected {expected} columns, found {found}")]
    Columns {
        /// Columns of the header.
        expected: usize,
        /// Columns of the row.
        found: usize,
    },
}

/// The header of the one column that lists labels, separated by `;`.
const LIST: &str = "labels";

/// Rows of targets, read from columns of texts.
pub(super) struct TargetRows<'a> {
    columns: TargetColumns<'a>,
    header: Vec<String>,
    values: Vec<f32>,
}

impl<'a> TargetColumns<'a> {
    /// Returns rows to read from columns of these names, or `None` if they are no targets.
    pub(super) fn named(self, header: &[&str]) -> Option<TargetRows<'a>> {
        let fits = match header {
            [one] if self.are_labels && *one == LIST => true,
            _ => header.len() == self.count && self.is_each(header),
        };
        fits.then(|| TargetRows {
            columns: self,
            header: header.iter().map(|name| (*name).to_owned()).collect(),
            values: Vec::new(),
        })
    }

    /// Whether columns have the names of the values or labels, or names that begin with
    /// `target`.
    fn is_each(self, header: &[&str]) -> bool {
        let named = |names: &[String]| names.iter().zip(header).all(|(a, b)| a.trim() == *b);
        header.iter().all(|name| name.starts_with("target")) || self.names.is_some_and(named)
    }

    /// Returns how many columns at the end of `header` are targets: those of the values or
    /// labels, one that lists labels, or none.
    pub(super) fn at_end(self, header: &[&str]) -> usize {
        let is = |columns: &usize| {
            let first = header.len().checked_sub(*columns);
            first.is_some_and(|first| self.named(&header[first..]).is_some())
        };
        [self.count, 1].into_iter().find(is).unwrap_or(0)
    }
}

impl TargetRows<'_> {
    /// Reads the row of one sample, of `found` columns that are all targets.
    pub(super) fn take_whole<'t>(
        &mut self,
        found: usize,
        cells: impl Iterator<Item = &'t str>,
    ) -> Result<(), TargetError> {
        let expected = self.header.len();
        match expected == found {
            true => self.take(cells),
            false => Err(TargetError::Columns { expected, found }),
        }
    }

    /// Reads the row of one sample.
    pub(super) fn take<'t>(
        &mut self,
        cells: impl Iterator<Item = &'t str>,
    ) -> Result<(), TargetError> {
        if self.columns.are_labels && self.header == [LIST] {
            return cells.take(1).try_for_each(|list| self.take_list(list));
        }
        for (column, text) in self.header.iter().zip(cells) {
            let value = text.trim().parse::<f32>().ok().filter(|v| v.is_finite());
            let wrong = || (column.clone(), text.escape_debug().to_string());
            let value = value.ok_or_else(|| {
                let (column, found) = wrong();
                TargetError::NotFinite { column, found }
            })?;
            if self.columns.are_labels && value != 0.0 && value != 1.0 {
                let (column, found) = wrong();
                return Err(TargetError::NotGiven { column, found });
            }
            self.values.push(value);
        }
        Ok(())
    }

    fn take_list(&mut self, list: &str) -> Result<(), TargetError> {
        let labels = Classes {
            count: self.columns.count,
            names: self.columns.names,
        };
        let first = self.values.len();
        self.values.resize(first + self.columns.count, 0.0);
        let names = list.split(';').map(str::trim).filter(|n| !n.is_empty());
        for name in names {
            let label = labels.named(name).map_err(|_| TargetError::NoLabel {
                count: labels.count,
                found: name.escape_debug().to_string(),
            })?;
            self.values[first + label] = 1.0;
        }
        Ok(())
    }

    /// Returns all rows.
    pub(super) fn finish(self) -> Targets {
        Targets::Rows {
            width: self.columns.count,
            values: self.values,
        }
    }
}
