//! Rows of targets that are read cell by cell, also from columns of a CSV.

use divisi_runtime::reading::ReadError;

use super::error::no_memory;
use super::form::MOST_BYTES;
use super::targets::{TargetColumns, Targets};
use super::token_targets::MISSING;

/// The rows read.
pub(super) struct TargetRows<'a> {
    pub columns: TargetColumns<'a>,
    values: Vec<f32>,
}

impl<'a> TargetRows<'a> {
    pub(super) fn new(columns: TargetColumns<'a>) -> Self {
        TargetRows {
            columns,
            values: Vec::new(),
        }
    }

    /// Adds a number to the current row. Returns false if rows cannot hold the number.
    pub(super) fn add(&mut self, value: f32) -> bool {
        let cell = self.columns.cell(value);
        self.values.extend(cell);
        cell.is_some()
    }

    /// Adds a number, or the class that a text names. Returns false if the text is neither.
    pub(super) fn add_text(&mut self, text: &str) -> bool {
        let text = text.trim();
        let class = || self.columns.class(text);
        let number = text.parse::<f32>().ok();
        let cell = number
            .and_then(|value| self.columns.cell(value))
            .or_else(class);
        self.values.extend(cell);
        cell.is_some()
    }

    /// Ends a row of `found` token classes. It may have fewer than the longest sample.
    ///
    /// # Errors
    /// There is not enough memory.
    pub(super) fn end_tokens(&mut self, found: usize) -> Result<(), ReadError> {
        let more = self.columns.count - found;
        let bytes = usize::try_from(MOST_BYTES).unwrap_or(usize::MAX);
        let (most, rows) = (bytes / size_of::<f32>(), self.values.len() + more);
        let taken = self.values.try_reserve(more);
        if rows > most || taken.is_err() {
            let samples = rows / self.columns.count.max(1);
            return Err(no_memory(samples));
        }
        self.values.resize(rows, MISSING);
        Ok(())
    }

    /// Begins a row from a list of the labels that are 1.
    ///
    /// # Errors
    /// There is not enough memory for another row. A short list becomes a long row.
    pub(super) fn begin_list(&mut self) -> Result<(), ReadError> {
        let count = self.columns.count.max(1);
        let bytes = usize::try_from(MOST_BYTES).unwrap_or(usize::MAX);
        let (most, rows) = (bytes / size_of::<f32>() / count, self.values.len() / count);
        if rows >= most {
            let wrong = format_args!("expected at most {most} lists with this number of labels");
            return Err(ReadError::new(wrong));
        }
        let taken = self.values.try_reserve(count);
        taken.map_err(|_| no_memory(rows + 1))?;
        self.values.resize(self.values.len() + count, 0.0);
        Ok(())
    }

    /// Adds a label to the current list. Returns false if there is no label with this name.
    pub(super) fn name(&mut self, name: &str) -> bool {
        let Ok(label) = self.columns.labels().named(name) else {
            return false;
        };
        let first = self.values.len().saturating_sub(self.columns.count);
        self.values[first + label] = 1.0;
        true
    }

    /// Returns all rows.
    pub(super) fn finish(self) -> Targets {
        Targets::Rows {
            width: self.columns.count,
            values: self.values,
        }
    }
}

/// The header of the one column that lists labels, separated by `;`.
const LIST: &str = "labels";

/// Rows of targets in columns of a CSV.
pub(super) struct CsvTargets<'a> {
    rows: TargetRows<'a>,
    header: Vec<String>,
}

impl<'a> CsvTargets<'a> {
    /// Returns a reader for columns with these names, or `None` if they are not targets.
    pub(super) fn named(columns: TargetColumns<'a>, header: &[&str]) -> Option<Self> {
        let fits = match header {
            [one] if columns.are_labels() && *one == LIST => true,
            _ => header.len() == columns.count && is_each(columns, header),
        };
        fits.then(|| CsvTargets {
            rows: TargetRows::new(columns),
            header: header.iter().map(|name| (*name).to_owned()).collect(),
        })
    }

    /// Returns the number of target columns at the end of `header`: the columns of the values or
    /// labels, one column that lists labels, or none.
    pub(super) fn at_end(columns: TargetColumns<'a>, header: &[&str]) -> usize {
        let is = |count: &usize| {
            let first = header.len().checked_sub(*count);
            first.is_some_and(|first| CsvTargets::named(columns, &header[first..]).is_some())
        };
        [columns.count, 1].into_iter().find(is).unwrap_or(0)
    }

    /// Reads the row of one sample. All of its `found` columns are targets.
    pub(super) fn take_whole<'t>(
        &mut self,
        found: usize,
        cells: impl Iterator<Item = &'t str>,
    ) -> Result<(), ReadError> {
        let expected = self.header.len();
        match expected == found {
            true => self.take(cells),
            false => Err(ReadError::expected(
                format_args!("{expected} columns"),
                found,
            )),
        }
    }

    /// Reads the row of one sample.
    pub(super) fn take<'t>(
        &mut self,
        mut cells: impl Iterator<Item = &'t str>,
    ) -> Result<(), ReadError> {
        let columns = self.rows.columns;
        if columns.are_labels() && self.header == [LIST] {
            return self.take_list(cells.next().unwrap_or_default());
        }
        for (column, text) in self.header.iter().zip(cells) {
            if !self.rows.add_text(text) {
                let found = format_args!("`{}`", text.escape_debug());
                let wrong = ReadError::expected(columns.expected(), found);
                return Err(wrong.at(format_args!("column {column}")));
            }
        }
        Ok(())
    }

    fn take_list(&mut self, list: &str) -> Result<(), ReadError> {
        let begun = self.rows.begin_list();
        begun.map_err(|e| e.at("column labels"))?;
        let names = list.split(';').map(str::trim).filter(|n| !n.is_empty());
        for name in names {
            if !self.rows.name(name) {
                let count = self.rows.columns.count;
                let wrong = ReadError::expected(
                    format_args!("names of labels or numbers below {count}, separated by `;`"),
                    format_args!("`{}`", name.escape_debug()),
                );
                return Err(wrong.at("column labels"));
            }
        }
        Ok(())
    }

    /// Returns all rows.
    pub(super) fn finish(self) -> Targets {
        self.rows.finish()
    }
}

/// Returns whether columns have the names of the values or labels, or names that begin with
/// `target`.
fn is_each(columns: TargetColumns<'_>, header: &[&str]) -> bool {
    let named = |names: &[String]| {
        names.len() == header.len() && names.iter().zip(header).all(|(a, b)| a.trim() == *b)
    };
    header.iter().all(|name| name.starts_with("target")) || columns.names.is_some_and(named)
}
