//! Where everything of a lane lies in its one allocation.

use std::ops::Range;

use super::plan::GpuPlan;
use super::weights::ALIGNMENT;

/// Ranges of bytes, each aligned as the driver's own allocations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::compute) struct LaneLayout {
    /// Addresses of the samples, one a row.
    pub table: Range<usize>,
    pub entry: Range<usize>,
    pub slots: Vec<Range<usize>>,
    pub answers: Range<usize>,
    /// For algorithms that need some, one step after the other.
    pub workspace: Range<usize>,
    pub bytes: usize,
}

impl LaneLayout {
    /// For batches of up to `rows`.
    pub fn new(plan: &GpuPlan, rows: usize) -> Self {
        let mut end = 0;
        let mut take = |bytes: usize| {
            let start = end;
            end = (start + bytes).next_multiple_of(ALIGNMENT);
            start..start + bytes
        };
        let value = plan.precision.bytes();
        LaneLayout {
            table: take(rows * size_of::<u64>()),
            entry: take(rows * plan.entry * value),
            slots: plan.slots.iter().map(|s| take(rows * s * value)).collect(),
            answers: take(rows * plan.outputs * size_of::<f32>()),
            workspace: take(workspace(plan, rows)),
            bytes: end,
        }
    }
}

/// Bytes of workspace for a lane of `rows` rows: what windows take, where some algorithm
/// gathers them, and room for matrix products beside; within reason.
fn workspace(plan: &GpuPlan, rows: usize) -> usize {
    let windows = rows * plan.windows * plan.precision.bytes();
    (windows + (4 << 20)).min(64 << 20)
}
