//! Sets of rows, as runs of consecutive rows.

use std::ops::Range;

/// The rows of a part for which something exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowSet(Rows);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rows {
    All,
    /// Sorted, non-empty runs that neither touch nor overlap. Never all rows.
    Runs(Box<[Range<usize>]>),
}

impl RowSet {
    /// All rows, regardless of their number.
    pub const ALL: RowSet = RowSet(Rows::All);

    /// Returns a set without rows.
    pub fn empty() -> Self {
        RowSet(Rows::Runs(Box::default()))
    }

    /// Collects the rows below `rows` for which `holds` returns true.
    pub fn filter(rows: usize, mut holds: impl FnMut(usize) -> bool) -> Self {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for row in (0..rows).filter(|&row| holds(row)) {
            match runs.last_mut() {
                Some(last) if last.end == row => last.end += 1,
                _ => runs.push(row..row + 1),
            }
        }
        match runs.as_slice() {
            [only] if *only == (0..rows) => Self::ALL,
            _ => RowSet(Rows::Runs(runs.into())),
        }
    }

    /// Returns whether it holds no rows.
    pub fn is_empty(&self) -> bool {
        matches!(&self.0, Rows::Runs(runs) if runs.is_empty())
    }

    /// Returns whether it holds all rows.
    pub fn is_all(&self) -> bool {
        self.0 == Rows::All
    }

    /// Returns whether it holds a row.
    pub fn contains(&self, row: usize) -> bool {
        match &self.0 {
            Rows::All => true,
            Rows::Runs(runs) => {
                let after = runs.partition_point(|run| run.end <= row);
                runs.get(after).is_some_and(|run| run.contains(&row))
            }
        }
    }

    /// Returns the number of its rows below `rows`.
    pub fn count(&self, rows: usize) -> usize {
        self.runs(rows).map(|run| run.len()).sum()
    }

    /// Iterates over the runs of consecutive rows below `rows`, in order.
    pub fn runs(&self, rows: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        let (all, runs) = match &self.0 {
            Rows::All => (Some(0..rows).filter(|run| !run.is_empty()), &[][..]),
            Rows::Runs(runs) => (None, &runs[..]),
        };
        all.into_iter().chain(runs.iter().cloned())
    }

    /// Collects the rows below `rows` that it holds and `other` does not.
    pub fn difference(&self, rows: usize, other: &RowSet) -> Self {
        Self::filter(rows, |row| self.contains(row) && !other.contains(row))
    }

    /// Collects the rows below `rows` that either set holds.
    pub fn union(&self, rows: usize, other: &RowSet) -> Self {
        Self::filter(rows, |row| self.contains(row) || other.contains(row))
    }

    /// Collects the rows below `rows` that at least `least` of `sets` hold.
    pub fn held_by<'a>(
        rows: usize,
        least: usize,
        sets: impl Iterator<Item = &'a RowSet> + Clone,
    ) -> Self {
        let full = sets.clone().filter(|set| set.is_all()).count();
        if full >= least {
            return Self::ALL;
        }
        if sets.clone().filter(|set| !set.is_empty()).count() < least {
            return Self::empty();
        }
        Self::filter(rows, |row| {
            sets.clone().filter(|set| set.contains(row)).count() >= least
        })
    }
}
