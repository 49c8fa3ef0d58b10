//! Labels in JSON: numbers or names of classes.

use std::fmt;

use serde::de::{Error, Visitor};

use divisi_runtime::reading::ReadError;

use crate::ensemble::samples::error::not_whole;
use crate::ensemble::samples::form::Classes;

/// The labels read.
pub(super) struct JsonLabels<'a> {
    classes: Classes<'a>,
    pub found: Vec<usize>,
    /// The error in a label, if it stopped the parser.
    pub wrong: Option<ReadError>,
}

impl<'a> JsonLabels<'a> {
    pub(super) fn new(classes: Classes<'a>) -> Self {
        JsonLabels {
            classes,
            found: Vec::new(),
            wrong: None,
        }
    }

    fn take<E: Error>(&mut self, label: Result<usize, ReadError>) -> Result<(), E> {
        let row = self.found.len();
        match label {
            Ok(class) => self.found.push(class),
            Err(error) => {
                self.wrong = Some(error.at(format_args!("row {row}")));
                return Err(E::custom(""));
            }
        }
        Ok(())
    }
}

/// Reads a label.
pub(super) struct OneLabel<'r, 'a>(pub &'r mut JsonLabels<'a>);

/// The limit above which float64 has no fractions.
const MOST_WHOLE: f64 = 9_007_199_254_740_992.0;

reads_itself!(OneLabel<'_, '_>, deserialize_any);

impl<'de> Visitor<'de> for OneLabel<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the number or name of a class")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        let label = self.0.classes.numbered(number.into());
        self.0.take(label)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        let label = self.0.classes.numbered(number.into());
        self.0.take(label)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        let is_whole = number.fract() == 0.0 && number.abs() <= MOST_WHOLE;
        let label = match is_whole {
            true => self.0.classes.numbered(number as i128),
            false => Err(not_whole(number)),
        };
        self.0.take(label)
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<(), E> {
        let label = self.0.classes.named(name);
        self.0.take(label)
    }
}
