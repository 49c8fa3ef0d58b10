//! The choice of the variant that runs a job.

use divisi_modelless::goals::QueryGoals;
use divisi_modelless::variants::{TaskIndex, VariantCatalog, VariantIndex};

/// Returns the cheapest variant of the task that meets the job's goals, among those that `can_run`.
/// Latency goals do not count for jobs.
pub(super) fn variant(
    catalog: &VariantCatalog,
    task: TaskIndex,
    goals: &QueryGoals,
    can_run: impl Fn(VariantIndex) -> bool,
) -> Option<VariantIndex> {
    let mut all = catalog.range(task).map(|at| VariantIndex(at as u32));
    all.find(|at| goals.allows(catalog.variant(*at)) && can_run(*at))
}
