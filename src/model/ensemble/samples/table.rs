//! Rows of numbers in their file's type.

use std::ops::Range;

use half::f16;

/// The type of a number in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    Bool,
    F16,
    F32,
    F64,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
}

impl Number {
    /// Every type with its `.npy` code without the byte order, and its name.
    pub(crate) const ALL: [(Number, &'static str, &'static str); 12] = [
        (Number::F16, "f2", "float16"),
        (Number::F32, "f4", "float32"),
        (Number::F64, "f8", "float64"),
        (Number::I8, "i1", "int8"),
        (Number::U8, "u1", "uint8"),
        (Number::I16, "i2", "int16"),
        (Number::U16, "u2", "uint16"),
        (Number::I32, "i4", "int32"),
        (Number::U32, "u4", "uint32"),
        (Number::I64, "i8", "int64"),
        (Number::U64, "u8", "uint64"),
        (Number::Bool, "b1", "bool"),
    ];

    /// Returns the type for a `.npy` code (`<f4`), and whether the most significant byte comes
    /// first.
    pub(crate) fn written(code: &str) -> Option<(Self, bool)> {
        let big = code.starts_with('>');
        let plain = code.strip_prefix(['<', '>', '|'])?;
        let (number, ..) = Self::ALL.iter().find(|(_, known, _)| *known == plain)?;
        // Only types of several bytes have an order.
        let ordered = !code.starts_with('|') || number.bytes() == 1;
        ordered.then_some((*number, big))
    }

    /// Returns the number of bytes of one number.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Number::Bool | Number::I8 | Number::U8 => 1,
            Number::F16 | Number::I16 | Number::U16 => 2,
            Number::F32 | Number::I32 | Number::U32 => 4,
            Number::F64 | Number::I64 | Number::U64 => 8,
        }
    }

    /// Returns whether all of its numbers are whole.
    pub(crate) fn is_whole(self) -> bool {
        !matches!(self, Number::F16 | Number::F32 | Number::F64)
    }
}

/// A file's numbers in their original bytes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NumberTable {
    bytes: Vec<u8>,
    /// The offset of the first number.
    start: usize,
    values: usize,
    number: Number,
    /// Whether the most significant byte comes first.
    big: bool,
}

macro_rules! each {
    ($table:ident, $bytes:ident, $type:ty, $convert:expr, $take:expr) => {
        for value in $bytes.chunks_exact(size_of::<$type>()) {
            let mut raw = [0; size_of::<$type>()];
            raw.copy_from_slice(value);
            if $table.big {
                raw.reverse();
            }
            $take($convert(<$type>::from_le_bytes(raw)));
        }
    };
}

/// The limit above which float64 has no fractions.
const MOST_WHOLE: f64 = 9_007_199_254_740_992.0;

fn whole(number: impl Into<i128>) -> Result<i128, f64> {
    Ok(number.into())
}

/// Returns a number without a fraction as a whole number.
fn rounded(number: impl Into<f64>) -> Result<i128, f64> {
    let number = number.into();
    let is_whole = number.fract() == 0.0 && number.abs() <= MOST_WHOLE;
    is_whole.then_some(number as i128).ok_or(number)
}

impl NumberTable {
    /// Creates a table of `values` numbers in `bytes` from `start`, or returns `None` if there are
    /// fewer.
    pub(crate) fn new(
        bytes: Vec<u8>,
        start: usize,
        values: usize,
        number: Number,
        big: bool,
    ) -> Option<Self> {
        let room = bytes.len().checked_sub(start)?;
        let there = values.checked_mul(number.bytes())? <= room;
        there.then_some(NumberTable {
            bytes,
            start,
            values,
            number,
            big,
        })
    }

    /// Returns the number of numbers.
    pub(crate) fn len(&self) -> usize {
        self.values
    }

    /// Returns the bytes of memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    fn of(&self, range: Range<usize>) -> &[u8] {
        let size = self.number.bytes();
        &self.bytes[self.start + range.start * size..self.start + range.end * size]
    }

    /// Appends numbers to `to`, as float32.
    pub(crate) fn read(&self, range: Range<usize>, to: &mut Vec<f32>) {
        let bytes = self.of(range);
        let mut take = |v: f32| to.push(v);
        match self.number {
            Number::Bool => to.extend(bytes.iter().map(|b| f32::from(u8::from(*b != 0)))),
            Number::U8 => to.extend(bytes.iter().map(|b| f32::from(*b))),
            Number::I8 => each!(self, bytes, i8, f32::from, take),
            Number::F16 => each!(self, bytes, u16, |v| f16::from_bits(v).to_f32(), take),
            Number::F32 => each!(self, bytes, f32, |v| v, take),
            Number::F64 => each!(self, bytes, f64, |v| v as f32, take),
            Number::I16 => each!(self, bytes, i16, f32::from, take),
            Number::U16 => each!(self, bytes, u16, f32::from, take),
            Number::I32 => each!(self, bytes, i32, |v| v as f32, take),
            Number::U32 => each!(self, bytes, u32, |v| v as f32, take),
            Number::I64 => each!(self, bytes, i64, |v| v as f32, take),
            Number::U64 => each!(self, bytes, u64, |v| v as f32, take),
        }
    }

    /// Returns all numbers as whole numbers, or unchanged if they have a fraction.
    pub(crate) fn whole(&self) -> Vec<Result<i128, f64>> {
        let mut to = Vec::with_capacity(self.values);
        let bytes = self.of(0..self.values);
        let mut take = |v: Result<i128, f64>| to.push(v);
        match self.number {
            Number::Bool => bytes.iter().for_each(|b| take(whole(u8::from(*b != 0)))),
            Number::I8 => each!(self, bytes, i8, whole, take),
            Number::U8 => each!(self, bytes, u8, whole, take),
            Number::I16 => each!(self, bytes, i16, whole, take),
            Number::U16 => each!(self, bytes, u16, whole, take),
            Number::I32 => each!(self, bytes, i32, whole, take),
            Number::U32 => each!(self, bytes, u32, whole, take),
            Number::I64 => each!(self, bytes, i64, whole, take),
            Number::U64 => each!(self, bytes, u64, whole, take),
            Number::F16 => each!(self, bytes, u16, |v| rounded(f16::from_bits(v)), take),
            Number::F32 => each!(self, bytes, f32, rounded, take),
            Number::F64 => each!(self, bytes, f64, rounded, take),
        }
        to
    }

    /// Returns numbers in place, if they are float32 in this machine's byte order.
    pub(crate) fn borrow(&self, range: Range<usize>) -> Option<&[f32]> {
        let ours = self.number == Number::F32 && self.big == cfg!(target_endian = "big");
        // Numbers that are not aligned to four bytes are copied.
        ours.then(|| bytemuck::try_cast_slice(self.of(range)).ok())?
    }

    /// Returns the index of the first number that is not finite as float32, or `None` if all are
    /// finite.
    pub(crate) fn not_finite(&self) -> Option<usize> {
        /// The number of numbers converted together.
        const PIECE: usize = 1 << 14;
        if self.number.is_whole() {
            return None;
        }
        let mut piece = Vec::with_capacity(PIECE);
        (0..self.values).step_by(PIECE).find_map(|first| {
            piece.clear();
            self.read(first..(first + PIECE).min(self.values), &mut piece);
            let found = piece.iter().position(|v| !v.is_finite());
            found.map(|at| first + at)
        })
    }
}
