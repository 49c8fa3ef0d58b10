//! Which variant a job's rows run by.

use divisi_modelless::goals::QueryGoals;
use divisi_modelless::variants::{TaskIndex, VariantCatalog, VariantIndex};

/// Returns the variant of a task that a job's rows run by: of those that `can_run`, the cheapest that
/// meets its goals. Nobody waits for a row, so that latencies do not count.
pub(super) fn variant(
    catalog: &VariantCatalog,
    task: TaskIndex,
    goals: &QueryGoals,
    can_run: impl Fn(VariantIndex) -> bool,
) -> Option<VariantIndex> {
    let mut all = catalog.range(task).map(|at| VariantIndex(at as u32));
    all.find(|at| goals.allows(catalog.variant(*at)) && can_run(*at))
}
