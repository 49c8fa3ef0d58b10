//! The integers that an input may hold if a network looks them up in a table.

use std::fmt;
use std::sync::Arc;

/// The ids that name a row of a table. Negative ones count from the table's end, as in ONNX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdRange {
    least: i64,
    most: i64,
}

impl IdRange {
    /// Returns the ids of a table of `rows` rows.
    pub fn for_table(rows: usize) -> Self {
        let rows = i64::try_from(rows).unwrap_or(i64::MAX);
        IdRange {
            least: -rows,
            most: rows - 1,
        }
    }

    /// Returns the ids that name a row after `by` is added to them.
    #[must_use]
    pub fn before_adding(self, by: i64) -> Self {
        IdRange {
            least: self.least.saturating_sub(by),
            most: self.most.saturating_sub(by),
        }
    }

    /// Returns the ids that both take.
    #[must_use]
    pub fn meet(self, other: IdRange) -> Self {
        IdRange {
            least: self.least.max(other.least),
            most: self.most.min(other.most),
        }
    }

    /// Returns the largest id.
    pub fn most(self) -> i64 {
        self.most
    }

    /// Returns whether an integer is one of the ids.
    pub(super) fn contains_integer(self, value: i128) -> bool {
        (i128::from(self.least)..=self.most.into()).contains(&value)
    }

    /// Returns whether a value is one of the ids.
    pub fn contains(self, value: f32) -> bool {
        (self.least as f32..=self.most as f32).contains(&value) && value.fract() == 0.0
    }
}

/// `rows 0 to 30521`, or `rows for -2 to 511` if the ids are not row numbers.
impl fmt::Display for IdRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let IdRange { least, most } = self;
        match least + most {
            -1 => write!(f, "rows 0 to {most}"),
            _ => write!(f, "rows for {least} to {most}"),
        }
    }
}

/// The ids that an input may hold at each of its positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdRanges {
    /// The same ones everywhere.
    Same(IdRange),
    /// Different ranges at some positions; `None` allows any number.
    Each(Arc<[Option<IdRange>]>),
}

impl IdRanges {
    /// Returns the ids of each position, or `None` if every position allows any number.
    pub(crate) fn from_positions(each: Vec<Option<IdRange>>) -> Option<Self> {
        let first = *each.first()?;
        match (first, each.iter().all(|other| *other == first)) {
            (first, true) => first.map(IdRanges::Same),
            (_, false) => Some(IdRanges::Each(each.into())),
        }
    }

    /// Returns the ids at a position, or `None` if any number is allowed.
    pub fn at(&self, position: usize) -> Option<IdRange> {
        match self {
            IdRanges::Same(range) => Some(*range),
            IdRanges::Each(each) => each.get(position).copied().flatten(),
        }
    }

    /// Returns the largest id that every position takes.
    pub fn most(&self) -> i64 {
        match self {
            IdRanges::Same(range) => range.most,
            IdRanges::Each(each) => {
                let most = each.iter().flatten().map(|range| range.most);
                most.min().unwrap_or(i64::MAX)
            }
        }
    }

    /// Returns the ids that both take.
    #[must_use]
    pub fn meet(&self, other: &IdRanges) -> Self {
        match (self, other) {
            (IdRanges::Same(one), IdRanges::Same(other)) => IdRanges::Same(one.meet(*other)),
            (IdRanges::Each(each), other) | (other, IdRanges::Each(each)) => {
                let both = each.iter().enumerate().map(|(at, one)| {
                    let other = other.at(at);
                    one.zip(other).map(|(a, b)| a.meet(b)).or(*one).or(other)
                });
                IdRanges::Each(both.collect())
            }
        }
    }

    /// Returns the first position whose value is not an allowed id.
    pub(super) fn first_outside(
        &self,
        values: &[f32],
        counts: impl Fn(usize) -> bool,
    ) -> Option<(usize, IdRange)> {
        let outside = |at: usize, range: IdRange| !range.contains(values[at]) && counts(at);
        match self {
            // Nearly always the whole tensor, so that this is one pass without a look-up.
            IdRanges::Same(range) => {
                let at = (0..values.len()).find(|at| outside(*at, *range))?;
                Some((at, *range))
            }
            IdRanges::Each(each) => {
                let mut known = each.iter().take(values.len()).enumerate();
                known.find_map(|(at, range)| range.filter(|r| outside(at, *r)).map(|r| (at, r)))
            }
        }
    }
}
