//! Rows of numbers in JSON: arrays of a sample's shape, or one array of all its values.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use divisi_runtime::reading::ReadError;
use divisi_runtime::words;

use crate::ensemble::samples::form::SampleForm;
use crate::ensemble::samples::rows::Samples;

use super::{other_shape, shown, too_long};

/// The rows read.
pub(super) struct JsonRows<'a> {
    form: &'a SampleForm<'a>,
    width: usize,
    values: Vec<f32>,
    count: usize,
    /// The shape of the current row.
    shape: NestedShape,
    /// The error in the current row, if it stopped the parser.
    pub wrong: Option<ReadError>,
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
    pub(super) fn finish(mut self) -> Result<Samples, ReadError> {
        self.values.shrink_to_fit();
        self.form
            .layout
            .to_planes(self.form.shape, &mut self.values);
        Samples::new(self.values, self.width, None)
    }

    fn number(&mut self, value: f64, depth: usize) -> Result<(), ReadError> {
        self.shape.number(depth)?;
        let float = value as f32;
        if !float.is_finite() {
            let (expected, found) = ("numbers that float32 can hold", words::number(value));
            return Err(ReadError::expected(expected, found));
        }
        // A row that is too long ends here, regardless of its length.
        if self.values.len() == (self.count + 1) * self.width {
            return Err(too_long(self.width));
        }
        self.values.push(float);
        Ok(())
    }

    /// Ends a row.
    fn end(&mut self) -> Result<(), ReadError> {
        let found = std::mem::take(&mut self.shape).dims();
        if !self.form.fits(&found) {
            let expected = self.form.expected_dimensions("");
            return Err(other_shape(&expected, &found));
        }
        self.count += 1;
        Ok(())
    }

    /// Stores an error in the row. The parser's own error has no details.
    fn keep<T, E: Error>(&mut self, result: Result<T, ReadError>) -> Result<T, E> {
        let row = self.count;
        result.map_err(|error| {
            self.wrong = Some(error.at(format_args!("row {row}")));
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
    fn open(&mut self, depth: usize) -> Result<(), ReadError> {
        if self.numbers.is_some_and(|numbers| depth >= numbers) {
            return Err(ragged());
        }
        if self.lengths.len() == depth {
            self.lengths.push(None);
        }
        Ok(())
    }

    fn number(&mut self, depth: usize) -> Result<(), ReadError> {
        let known = self.numbers.unwrap_or(self.lengths.len());
        self.numbers = Some(known);
        (known == depth).then_some(()).ok_or_else(ragged)
    }

    fn close(&mut self, depth: usize, length: u64) -> Result<(), ReadError> {
        let known = *self.lengths[depth].get_or_insert(length);
        (known == length).then_some(()).ok_or_else(ragged)
    }

    fn dims(self) -> Vec<u64> {
        self.lengths.into_iter().flatten().collect()
    }
}

fn ragged() -> ReadError {
    ReadError::new("expected arrays of equal lengths and depths")
}

/// Reads an array of rows.
pub(super) struct AllRows<'r, 'a>(pub &'r mut JsonRows<'a>);

reads_itself!(AllRows<'_, '_>, deserialize_seq);

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
        self.rows.keep(Err(ReadError::expected("a number", found)))
    }
}

reads_itself!(NestedNumbers<'_, '_>, deserialize_any);

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
