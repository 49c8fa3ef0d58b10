//! Refusals and failures by reason.

use std::collections::HashMap;
use std::time::Duration;

use divisi_inference::error::ErrorKind;

use super::moments::MomentCounts;

/// A reason with its total since the start and its count in each interval of the window.
pub(super) type RefusalSeries = (ErrorKind, u64, Vec<u32>);

/// The refusals by reason.
#[derive(Clone, Debug, Default)]
pub(super) struct RefusalCounts(HashMap<ErrorKind, (u64, MomentCounts)>);

impl RefusalCounts {
    /// Counts a refusal at `now`.
    pub(super) fn add(&mut self, now: Duration, kind: ErrorKind) {
        let (total, moments) = self.0.entry(kind).or_default();
        *total += 1;
        moments.add(now);
    }

    /// Returns the total of each reason.
    pub(super) fn totals(&self) -> impl Iterator<Item = (ErrorKind, u64)> {
        let kinds = ErrorKind::ALL.into_iter();
        kinds.map(|kind| (kind, self.0.get(&kind).map_or(0, |(total, _)| *total)))
    }

    /// Returns the counts at `now`, the most frequent within the window first.
    pub(super) fn listed(&mut self, now: Duration) -> Vec<RefusalSeries> {
        let kinds = ErrorKind::ALL.into_iter();
        let mut refusals: Vec<RefusalSeries> = kinds
            .filter_map(|kind| {
                let (total, moments) = self.0.get_mut(&kind)?;
                moments.advance(now);
                Some((kind, *total, moments.series()))
            })
            .collect();
        refusals.sort_by_key(|(_, total, series)| std::cmp::Reverse((sum(series), *total)));
        refusals
    }

    /// Returns the nonzero counts of each reason within the window before `now`, the most frequent
    /// first.
    pub(super) fn lately(&mut self, now: Duration) -> Vec<(ErrorKind, u64)> {
        let listed = self.listed(now).into_iter();
        let sums = listed.map(|(kind, _, series)| (kind, sum(&series)));
        sums.filter(|(_, count)| *count > 0).collect()
    }
}

fn sum(series: &[u32]) -> u64 {
    series.iter().map(|count| u64::from(*count)).sum()
}
