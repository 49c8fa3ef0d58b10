//! Rows of numbers in JSON: arrays of a sample's shape, or one array of all its values.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::error::{JsonError, JsonRowError};
use crate::ensemble::samples::error::SamplesError;
use crate::ensemble::samples::form::SampleForm;
use crate::ensemble::samples::rows::Samples;
use divisi_runtime::words;

use super::shown;

/// The rows read.
pub(super) struct JsonRows<'a> {
    form: &'a SampleForm<'a>,
    width: usize,
    values: Vec<f32>,
    count: usize,
    /// The shape of the current row.
    shape: NestedShape,
    /// The error in the current row, if it stopped the parser.
    pub wrong: Option<SamplesError>,
}

impl<'a> JsonRows<'a> {
    pub(super) fn new(form: &'a SampleForm<'a>) -> Self {
        JsonRows {
            form,
            width: form.shape.elements(),
            values: Vec::new(),
            count: 0,
            shape: NestedShape::default(),
            wrong: None,
        }
    }

    /// Returns the samples.
    ///
    /// # Errors
    /// There are no samples.
    pub(super) fn finish(mut self) -> Result<Samples, SamplesError> {
        self.values.shrink_to_fit();
        self.form
            .layout
            .to_planes(self.form.shape, &mut self.values);
        Samples::new(self.values, self.width, None)
    }

    fn number(&mut self, value: f64, depth: usize) -> Result<(), JsonRowError> {
        self.shape.number(depth)?;
        let float = value as f32;
        if !float.is_finite() {
            return Err(JsonRowError::NotFinite(words::number(value)));
        }
        // A row that is too long ends here, regardless of its length.
        if self.values.len() == (self.count + 1) * self.width {
            return Err(JsonRowError::Long(self.width));
        }
        self.values.push(float);
        Ok(())
    }

    /// Ends a row.
    fn end(&mut self) -> Result<(), JsonRowError> {
        let found = std::mem::take(&mut self.shape).dims();
        if !self.form.fits(&found) {
            let expected = self.form.expected_dimensions("");
            return Err(JsonRowError::Shape { expected, found });
        }
        self.count += 1;
        Ok(())
    }

    /// Stores an error in the row. The parser's own error has no details.
    fn keep<T, E: Error>(&mut self, result: Result<T, JsonRowError>) -> Result<T, E> {
        let row = self.count;
        result.map_err(|error| {
            self.wrong = Some(JsonError::Row { row, error }.into());
            E::custom("")
        })
    }
}

/// The lengths of nested arrays.
#[derive(Default)]
struct NestedShape {
    /// The length of the arrays at each depth, once an array has ended.
    lengths: Vec<Option<u64>>,
    /// The depth of numbers, once a number was read.
    numbers: Option<usize>,
}

impl NestedShape {
    fn open(&mut self, depth: usize) -> Result<(), JsonRowError> {
        if self.numbers.is_some_and(|numbers| depth >= numbers) {
            return Err(JsonRowError::Ragged);
        }
        if self.lengths.len() == depth {
            self.lengths.push(None);
        }
        Ok(())
    }

    fn number(&mut self, depth: usize) -> Result<(), JsonRowError> {
        let known = self.numbers.unwrap_or(self.lengths.len());
        self.numbers = Some(known);
        (known == depth).then_some(()).ok_or(JsonRowError::Ragged)
    }

    fn close(&mut self, depth: usize, length: u64) -> Result<(), JsonRowError> {
        let known = *self.lengths[depth].get_or_insert(length);
        (known == length).then_some(()).ok_or(JsonRowError::Ragged)
    }

    fn dims(self) -> Vec<u64> {
        self.lengths.into_iter().flatten().collect()
    }
}

/// Reads an array of rows.
pub(super) struct AllRows<'r, 'a>(pub &'r mut JsonRows<'a>);

impl<'de> DeserializeSeed<'de> for AllRows<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for AllRows<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an array of samples")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(OneRow(self.0))?.is_some() {}
        Ok(())
    }
}

/// Reads a row.
pub(super) struct OneRow<'r, 'a>(pub &'r mut JsonRows<'a>);

impl<'de> DeserializeSeed<'de> for OneRow<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let rows = self.0;
        NestedNumbers { rows, depth: 0 }.deserialize(deserializer)?;
        let ended = rows.end();
        rows.keep(ended)
    }
}

/// Reads a number, or an array of the next depth.
struct NestedNumbers<'r, 'a> {
    rows: &'r mut JsonRows<'a>,
    depth: usize,
}

impl NestedNumbers<'_, '_> {
    fn number<E: Error>(self, value: f64) -> Result<(), E> {
        let read = self.rows.number(value, self.depth);
        self.rows.keep(read)
    }

    fn other<E: Error>(self, found: &str) -> Result<(), E> {
        self.rows
            .keep(Err(JsonRowError::NoNumber(found.to_owned())))
    }
}

impl<'de> DeserializeSeed<'de> for NestedNumbers<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NestedNumbers<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a number, or an array of them")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.number(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.number(value as f64)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.number(value as f64)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.other(&value.to_string())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.other("null")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.other(&format!("`{}`", shown(text)))
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<(), A::Error> {
        self.other("an object")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let NestedNumbers { rows, depth } = self;
        let opened = rows.shape.open(depth);
        rows.keep::<_, A::Error>(opened)?;
        let mut length = 0;
        loop {
            let (rows, depth) = (&mut *rows, depth + 1);
            if seq
                .next_element_seed(NestedNumbers { rows, depth })?
                .is_none()
            {
                break;
            }
            length += 1;
        }
        let closed = rows.shape.close(depth, length);
        rows.keep(closed)
    }
}
