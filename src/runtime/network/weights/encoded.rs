//! Parameters that stay as the bytes of a file until they are read: in the order of the file, at any
//! address.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use prost::bytes::Bytes;

use super::coding::{IntegerScales, ValueCoding};

/// The place of values in an open file, and their coding.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EncodedPlace {
    address: usize,
    len: usize,
    columns: Option<usize>,
    coding: ValueCoding,
}

/// The values of a parameter as a file holds them.
#[derive(Clone, Debug)]
pub(crate) struct EncodedValues {
    bytes: Bytes,
    coding: ValueCoding,
    /// The values of a line, if the parameter is the transpose of the file's matrix.
    columns: Option<usize>,
    decoded: OnceLock<Vec<f32>>,
    /// Whether all values are finite; computed at the first call.
    finite: OnceLock<bool>,
}

impl EncodedValues {
    /// Takes the bytes of float32 that lie in the order of the parameter.
    pub(crate) fn new(bytes: Bytes) -> Self {
        Self::coded(bytes, ValueCoding::Floats)
    }

    /// Takes integers of one byte that lie in the order of the parameter.
    pub(crate) fn of_integers(bytes: Bytes, scales: IntegerScales) -> Self {
        Self::coded(bytes, ValueCoding::Integers(Arc::new(scales)))
    }

    fn coded(bytes: Bytes, coding: ValueCoding) -> Self {
        EncodedValues {
            bytes,
            coding,
            columns: None,
            decoded: OnceLock::new(),
            finite: OnceLock::new(),
        }
    }

    /// Returns the transpose, of a matrix with lines of `columns` values.
    pub(crate) fn transposed(self, columns: usize) -> Self {
        EncodedValues {
            columns: Some(columns),
            ..self
        }
    }

    /// Returns whether these are the same values of one file.
    pub(super) fn is_at_place_of(&self, other: &EncodedValues) -> bool {
        self.place() == other.place()
    }

    /// Returns the place of the values, and whether they are transposed: equal for the same values
    /// of one file.
    pub(crate) fn place(&self) -> EncodedPlace {
        EncodedPlace {
            address: self.bytes.as_ptr().addr(),
            len: self.bytes.len(),
            columns: self.columns,
            coding: self.coding.clone(),
        }
    }

    /// Returns the number of values.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() / self.coding.size()
    }

    /// Decodes as many values as `to` has, from number `first` of the file on.
    fn decode_run(&self, first: usize, to: &mut [f32]) {
        self.coding.decode(&self.bytes, first, to);
    }

    fn decode(&self) -> Vec<f32> {
        let mut values = vec![0.0; self.len()];
        match self.columns {
            Some(columns) => self.decode_turned(columns, &mut values),
            None => self.decode_run(0, &mut values),
        }
        values
    }

    /// Decodes the transpose of a matrix with lines of `columns` values, some lines at a time.
    fn decode_turned(&self, columns: usize, to: &mut [f32]) {
        let lines = self.len() / columns.max(1);
        let mut some = vec![0.0; columns * BLOCK.min(lines)];
        for line in (0..lines).step_by(BLOCK) {
            let block = line..lines.min(line + BLOCK);
            let some = &mut some[..columns * block.len()];
            self.decode_run(line * columns, some);
            turn_block(some, columns, to, lines, block.start);
        }
    }

    /// Decodes the values to `to`, without another copy of them unless they are transposed. `read`
    /// is called after each piece of the file.
    pub(super) fn decode_to(&self, to: &mut [f32], read: impl Fn()) {
        if self.columns.is_some() || self.decoded.get().is_some() {
            return copy(&self.read(), to);
        }
        for (piece, to) in to.chunks_mut(PIECE).enumerate() {
            self.decode_run(piece * PIECE, to);
            read();
        }
    }

    /// Decodes some rows of the parameter, `each` values of every one.
    pub(super) fn decode_rows(&self, rows: Range<usize>, each: usize) -> Vec<f32> {
        let mut to = vec![0.0; rows.len() * each];
        let Some(columns) = self.columns else {
            self.decode_run(rows.start * each, &mut to);
            return to;
        };
        let mut line = vec![0.0; rows.len()];
        for at in 0..each {
            self.decode_run(at * columns + rows.start, &mut line);
            for (to, value) in to[at..].iter_mut().step_by(each).zip(&line) {
                *to = *value;
            }
        }
        to
    }

    /// Returns whether rows of `each` values are certain, without decoding, to be whole multiples
    /// of one step each, at most 127.
    pub(super) fn are_stepped(&self, each: usize) -> bool {
        self.coding.are_stepped(&self.bytes, each, self.columns)
    }

    /// Returns whether all values are finite.
    pub(crate) fn are_finite(&self) -> bool {
        *self.finite.get_or_init(|| self.looks_finite())
    }

    fn looks_finite(&self) -> bool {
        let mut some = [0.0; CHECKED];
        let mut runs = (0..self.len()).step_by(CHECKED);
        self.coding.are_finite()
            || runs.all(|first| {
                let some = &mut some[..CHECKED.min(self.len() - first)];
                self.decode_run(first, some);
                some.iter().fold(true, |all, v| all & v.is_finite())
            })
    }

    /// Returns the values, which are kept from now on.
    pub(crate) fn kept(&self) -> &[f32] {
        self.decoded.get_or_init(|| self.decode())
    }

    /// Returns the values. They are read again each time unless they are kept.
    pub(super) fn read(&self) -> Cow<'_, [f32]> {
        match self.decoded.get() {
            Some(values) => Cow::Borrowed(values),
            None => Cow::Owned(self.decode()),
        }
    }
}

/// Values that are checked without a branch between them.
const CHECKED: usize = 1024;

/// Values of a piece of a file: 16 MiB.
const PIECE: usize = 4 << 20;

/// Copies as many values as both have.
pub(super) fn copy(from: &[f32], to: &mut [f32]) {
    let count = from.len().min(to.len());
    to[..count].copy_from_slice(&from[..count]);
}

/// Lines and columns of a block of a transpose: a cache line of floats.
const BLOCK: usize = 16;

/// Returns the transpose of a matrix with lines of `columns` values, block by block.
pub(crate) fn transposed(matrix: &[f32], columns: usize) -> Vec<f32> {
    let lines = matrix.len() / columns.max(1);
    let mut to = vec![0.0; matrix.len()];
    let blocks = matrix.chunks((BLOCK * columns).max(1));
    for (block, some) in blocks.enumerate() {
        turn_block(some, columns, &mut to, lines, block * BLOCK);
    }
    to
}

/// Writes lines of a matrix, beginning with line `first` of `lines`, to their places in the
/// transpose.
fn turn_block(some: &[f32], columns: usize, to: &mut [f32], lines: usize, first: usize) {
    let count = some.len() / columns.max(1);
    for start in (0..columns).step_by(BLOCK) {
        for column in start..columns.min(start + BLOCK) {
            let row = &mut to[column * lines + first..][..count];
            for (to, value) in row.iter_mut().zip(some[column..].iter().step_by(columns)) {
                *to = *value;
            }
        }
    }
}

#[cfg(test)]
#[path = "../../../../tests/runtime/units/network/weights/encoded.rs"]
mod tests;
