//! Parameters that stay in their file until they are read: as float32, in the order of the file,
//! at any address.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use prost::bytes::Bytes;

/// The bytes of a float32.
type FloatBytes = [u8; 4];

/// Where values lie in a file that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EncodedPlace {
    address: usize,
    len: usize,
    columns: Option<usize>,
}

/// The values of a parameter as a file holds them.
#[derive(Clone, Debug)]
pub(crate) struct EncodedValues {
    /// In little-endian order.
    bytes: Bytes,
    /// The values of a line, if the parameter is the transpose of the file's matrix.
    columns: Option<usize>,
    decoded: OnceLock<Vec<f32>>,
}

impl EncodedValues {
    /// Takes the bytes of values that lie in the order of the parameter.
    pub(crate) fn new(bytes: Bytes) -> Self {
        EncodedValues {
            bytes,
            columns: None,
            decoded: OnceLock::new(),
        }
    }

    /// Returns the transpose, of a matrix with lines of `columns` values.
    pub(crate) fn transposed(self, columns: usize) -> Self {
        EncodedValues {
            columns: Some(columns),
            ..self
        }
    }

    /// Whether these are the same values of one file.
    pub(super) fn is_at_place_of(&self, other: &EncodedValues) -> bool {
        self.place() == other.place()
    }

    /// Returns where the values lie, and whether they are turned: equal for the same values of one
    /// file.
    pub(crate) fn place(&self) -> EncodedPlace {
        EncodedPlace {
            address: self.bytes.as_ptr().addr(),
            len: self.bytes.len(),
            columns: self.columns,
        }
    }

    /// Returns the number of values.
    pub(crate) fn len(&self) -> usize {
        self.floats().len()
    }

    fn floats(&self) -> &[FloatBytes] {
        self.bytes.as_chunks().0
    }

    fn decode(&self) -> Vec<f32> {
        let value = |bytes: &FloatBytes| f32::from_le_bytes(*bytes);
        match self.columns {
            Some(columns) => transposed(self.floats(), columns, value),
            None => self.floats().iter().map(value).collect(),
        }
    }

    /// Decodes the values to `to`, without another copy of them where they are not turned. `read` is
    /// told after each piece of the file.
    pub(super) fn decode_to(&self, to: &mut [f32], read: impl Fn()) {
        if self.columns.is_some() || self.decoded.get().is_some() {
            return copy(&self.read(), to);
        }
        for (to, from) in to.chunks_mut(PIECE).zip(self.floats().chunks(PIECE)) {
            for (to, bytes) in to.iter_mut().zip(from) {
                *to = f32::from_le_bytes(*bytes);
            }
            read();
        }
    }

    /// Decodes some rows of the parameter, `each` values of every one.
    pub(super) fn decode_rows(&self, rows: Range<usize>, each: usize) -> Vec<f32> {
        let value = |bytes: &FloatBytes| f32::from_le_bytes(*bytes);
        let floats = self.floats();
        let Some(columns) = self.columns else {
            let rows = &floats[rows.start * each..rows.end * each];
            return rows.iter().map(value).collect();
        };
        let mut to = vec![0.0; rows.len() * each];
        for (at, line) in floats.chunks_exact(columns.max(1)).take(each).enumerate() {
            let column = to[at..].iter_mut().step_by(each);
            for (to, from) in column.zip(&line[rows.clone()]) {
                *to = value(from);
            }
        }
        to
    }

    /// Whether all values are finite.
    pub(crate) fn are_finite(&self) -> bool {
        let is_finite = |bytes: &FloatBytes| f32::from_le_bytes(*bytes).is_finite();
        let mut runs = self.floats().chunks(CHECKED);
        runs.all(|run| run.iter().fold(true, |all, v| all & is_finite(v)))
    }

    /// Returns the values, which are kept from now on.
    pub(crate) fn kept(&self) -> &[f32] {
        self.decoded.get_or_init(|| self.decode())
    }

    /// Returns the values, which are read anew unless they are kept.
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
pub(crate) fn transposed<T>(
    matrix: &[T],
    columns: usize,
    value: impl Fn(&T) -> f32 + Copy,
) -> Vec<f32> {
    let lines = matrix.len() / columns.max(1);
    let mut to = vec![0.0; matrix.len()];
    for line in (0..lines).step_by(BLOCK) {
        let block = line..lines.min(line + BLOCK);
        for first in (0..columns).step_by(BLOCK) {
            for column in first..columns.min(first + BLOCK) {
                let values = matrix[block.start * columns + column..].iter();
                let row = &mut to[column * lines..][block.clone()];
                for (to, from) in row.iter_mut().zip(values.step_by(columns)) {
                    *to = value(from);
                }
            }
        }
    }
    to
}

#[cfg(test)]
mod tests {
    use prost::bytes::Bytes;

    use super::EncodedValues;

    fn copied(values: &EncodedValues) -> Vec<f32> {
        let mut to = vec![0.0; values.len()];
        values.decode_to(&mut to, || {});
        to
    }

    #[test]
    fn a_transpose_is_read_from_the_bytes_of_a_matrix() {
        for (lines, columns) in [(1, 1), (2, 3), (16, 16), (17, 33), (40, 5)] {
            let matrix: Vec<f32> = (0..lines * columns).map(|v| v as f32).collect();
            let bytes: Vec<u8> = matrix.iter().flat_map(|v| v.to_le_bytes()).collect();
            let as_it_is = EncodedValues::new(Bytes::from(bytes));
            assert_eq!(as_it_is.read(), matrix);
            assert_eq!(copied(&as_it_is), matrix);
            assert_eq!(as_it_is.decode_rows(0..lines, columns), matrix);
            let turned = as_it_is.transposed(columns);
            let at = |i: usize| matrix[i % lines * columns + i / lines];
            let expected: Vec<f32> = (0..lines * columns).map(at).collect();
            assert_eq!(turned.read(), expected, "{lines} lines of {columns}");
            assert_eq!(copied(&turned), expected);
            let some = columns / 2..columns;
            let rows = turned.decode_rows(some.clone(), lines);
            assert_eq!(rows, expected[some.start * lines..some.end * lines]);
            assert_eq!(turned.kept(), expected);
            assert_eq!(
                (turned.read(), turned.len()),
                (expected.into(), matrix.len())
            );
        }
    }
}
