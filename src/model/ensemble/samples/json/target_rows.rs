//! Rows of targets in JSON: arrays of numbers or label names, or a single number.

use std::fmt::{self, Display};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use divisi_runtime::reading::ReadError;
use divisi_runtime::words;

use crate::ensemble::samples::error::wrong_cell;
use crate::ensemble::samples::target_rows::TargetRows;
use crate::ensemble::samples::targets::{TargetColumns, TargetNumbers, Targets};

use super::{other_shape, shown, too_long};

/// The rows read.
pub(super) struct JsonTargetRows<'a> {
    rows: TargetRows<'a>,
    count: usize,
    /// The next column of the current row.
    column: usize,
    /// Whether the row names labels.
    is_list: bool,
    /// The error in the current row, if it stopped the parser.
    pub wrong: Option<ReadError>,
}

impl<'a> JsonTargetRows<'a> {
    pub(super) fn new(columns: TargetColumns<'a>) -> Self {
        JsonTargetRows {
            rows: TargetRows::new(columns),
            count: 0,
            column: 0,
            is_list: false,
            wrong: None,
        }
    }

    /// Returns the targets.
    pub(super) fn finish(self) -> Targets {
        self.rows.finish()
    }

    fn number(&mut self, number: f64) -> Result<(), ReadError> {
        let count = self.rows.columns.count;
        if self.column == count {
            return Err(self.row(too_long(count)));
        }
        if self.is_list || !self.rows.add(number as f32) {
            return Err(self.cell(words::number(number)));
        }
        self.column += 1;
        Ok(())
    }

    fn name(&mut self, name: &str) -> Result<(), ReadError> {
        let begins = self.column == 0;
        if let Some(class) = self.rows.columns.class(name) {
            return self.number(class.into());
        }
        if !self.rows.columns.are_labels() || !(begins || self.is_list) {
            return Err(self.cell(format_args!("`{}`", shown(name))));
        }
        if begins {
            self.begin_list()?;
        }
        if !self.rows.name(name) {
            return Err(self.cell(format_args!("`{}`", shown(name))));
        }
        self.column += 1;
        Ok(())
    }

    fn begin_list(&mut self) -> Result<(), ReadError> {
        self.is_list = true;
        self.rows.begin_list()
    }

    /// Ends a row.
    fn end(&mut self) -> Result<(), ReadError> {
        let TargetColumns { count, .. } = self.rows.columns;
        if self.column == 0 && self.rows.columns.are_labels() {
            self.begin_list()?;
        }
        if self.rows.columns.are_tokens() && self.column > 0 {
            self.rows.end_tokens(self.column)?;
        } else if !self.is_list && self.column < count {
            let shape = other_shape(&format!("[{count}]"), &[self.column as u64]);
            return Err(self.row(shape));
        }
        (self.column, self.is_list) = (0, false);
        self.count += 1;
        Ok(())
    }

    /// Returns an error of the row.
    fn row(&self, error: ReadError) -> ReadError {
        error.at(format_args!("row {}", self.count))
    }

    /// Returns the error of a cell with another content.
    fn cell(&self, found: impl Display) -> ReadError {
        let expected = match self.is_list {
            true => "the name of a label",
            false => self.rows.columns.expected(),
        };
        wrong_cell(self.count, self.column, expected, found)
    }

    /// Stores an error. The parser's own error has no details.
    fn keep<E: Error>(&mut self, result: Result<(), ReadError>) -> Result<(), E> {
        result.map_err(|error| {
            self.wrong = Some(error.at("targets"));
            E::custom("")
        })
    }
}

/// Reads a row.
pub(super) struct OneTargetRow<'r, 'a>(pub &'r mut JsonTargetRows<'a>);

impl<'de> DeserializeSeed<'de> for OneTargetRow<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let rows = self.0;
        let cells = TargetCells {
            rows,
            is_row: false,
        };
        cells.deserialize(deserializer)?;
        let ended = rows.end();
        rows.keep(ended)
    }
}

/// Reads a cell, or a row of cells.
struct TargetCells<'r, 'a> {
    rows: &'r mut JsonTargetRows<'a>,
    /// Whether the cell lies in a row.
    is_row: bool,
}

impl TargetCells<'_, '_> {
    fn number<E: Error>(self, number: f64) -> Result<(), E> {
        let read = self.rows.number(number);
        self.rows.keep(read)
    }

    fn other<E: Error>(self, found: &str) -> Result<(), E> {
        let wrong = self.rows.cell(found);
        self.rows.keep(Err(wrong))
    }
}

reads_itself!(TargetCells<'_, '_>, deserialize_any);

impl<'de> Visitor<'de> for TargetCells<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a row of targets")
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        self.number(number)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        self.number(number as f64)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.number(number as f64)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        match self.rows.rows.columns.are_labels() {
            true => self.number(f64::from(u8::from(value))),
            false => self.other(&value.to_string()),
        }
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.other("null")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<(), E> {
        let read = self.rows.name(name);
        self.rows.keep(read)
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<(), A::Error> {
        self.other("an object")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let are_positions = matches!(
            self.rows.rows.columns.numbers,
            TargetNumbers::Positions { .. }
        );
        // A mask is an array of rows of pixels.
        if self.is_row && !are_positions {
            return self.other("an array");
        }
        let rows = self.rows;
        loop {
            let rows = &mut *rows;
            let cell = TargetCells { rows, is_row: true };
            if seq.next_element_seed(cell)?.is_none() {
                return Ok(());
            }
        }
    }
}
