//! Rows of numbers in the type that their file holds them in.

use std::ops::Range;

use half::f16;

/// The type of a number in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
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
    /// Every type with its name in an `.npy`, without the order of bytes, and in words.
    pub const ALL: [(Number, &'static str, &'static str); 11] = [
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
    ];

    /// The type that an `.npy` calls `code`.
    pub fn named(code: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, known, _)| *known == code);
        found.map(|(number, ..)| *number)
    }

    /// Bytes of one.
    pub fn bytes(self) -> usize {
        match self {
            Number::I8 | Number::U8 => 1,
            Number::F16 | Number::I16 | Number::U16 => 2,
            Number::F32 | Number::I32 | Number::U32 => 4,
            Number::F64 | Number::I64 | Number::U64 => 8,
        }
    }

    /// Whether it counts in whole numbers.
    pub fn is_whole(self) -> bool {
        !matches!(self, Number::F16 | Number::F32 | Number::F64)
    }
}

/// A file's numbers as they lie in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Table {
    bytes: Vec<u8>,
    /// Where the first number is.
    start: usize,
    values: usize,
    number: Number,
    /// The most significant byte comes first.
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

impl Table {
    /// `values` numbers in `bytes` from `start` on; none where there are fewer.
    pub fn new(
        bytes: Vec<u8>,
        start: usize,
        values: usize,
        number: Number,
        big: bool,
    ) -> Option<Self> {
        let room = bytes.len().checked_sub(start)?;
        let there = values.checked_mul(number.bytes())? <= room;
        there.then_some(Table {
            bytes,
            start,
            values,
            number,
            big,
        })
    }

    /// Numbers that there are.
    pub fn len(&self) -> usize {
        self.values
    }

    /// Bytes that it holds.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    fn of(&self, range: Range<usize>) -> &[u8] {
        let size = self.number.bytes();
        &self.bytes[self.start + range.start * size..self.start + range.end * size]
    }

    /// Appends numbers to `to`, as float32.
    pub fn read(&self, range: Range<usize>, to: &mut Vec<f32>) {
        let bytes = self.of(range);
        let mut take = |v: f32| to.push(v);
        match self.number {
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

    /// All numbers as whole ones; none where the file counts in fractions.
    pub fn whole(&self) -> Option<Vec<i128>> {
        let mut to = Vec::with_capacity(self.values);
        let bytes = self.of(0..self.values);
        let mut take = |v: i128| to.push(v);
        match self.number {
            Number::F16 | Number::F32 | Number::F64 => return None,
            Number::I8 => each!(self, bytes, i8, i128::from, take),
            Number::U8 => each!(self, bytes, u8, i128::from, take),
            Number::I16 => each!(self, bytes, i16, i128::from, take),
            Number::U16 => each!(self, bytes, u16, i128::from, take),
            Number::I32 => each!(self, bytes, i32, i128::from, take),
            Number::U32 => each!(self, bytes, u32, i128::from, take),
            Number::I64 => each!(self, bytes, i64, i128::from, take),
            Number::U64 => each!(self, bytes, u64, i128::from, take),
        }
        Some(to)
    }

    /// Numbers as they lie there, where those are float32 of this machine.
    pub fn borrow(&self, range: Range<usize>) -> Option<&[f32]> {
        let ours = self.number == Number::F32 && self.big == cfg!(target_endian = "big");
        // Where the bytes do not begin at a multiple of four they are copied.
        ours.then(|| bytemuck::try_cast_slice(self.of(range)).ok())?
    }

    /// The first number that is not finite as float32.
    pub fn not_finite(&self) -> Option<usize> {
        /// Numbers that are looked at together.
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
