//! The choice of the variant that runs a job.

use divisi_modelless::goals::QueryGoals;
use divisi_modelless::variants::{TaskIndex, VariantCatalog, VariantIndex};

use crate::scaling::words;

/// Returns the goals of a job in words.
pub(super) fn words(stated: &QueryGoals) -> String {
    match *stated == QueryGoals::default() {
        true => words::WHOLE.to_owned(),
        false => words::goals(stated),
    }
}

/// Returns the goals of a job: those that it was submitted with, or else the whole ensemble.
fn goals(catalog: &VariantCatalog, task: TaskIndex, stated: &QueryGoals) -> QueryGoals {
    match *stated == QueryGoals::default() {
        true => QueryGoals::unstated(catalog, task, None),
        false => *stated,
    }
}

/// Returns the cheapest variant of the task that meets the job's goals, among those that `can_run`.
/// Latency goals do not count for jobs.
pub(super) fn variant(
    catalog: &VariantCatalog,
    task: TaskIndex,
    goals: &QueryGoals,
    can_run: impl Fn(VariantIndex) -> bool,
) -> Option<VariantIndex> {
    let goals = self::goals(catalog, task, goals);
    let mut all = catalog.range(task).map(|at| VariantIndex(at as u32));
    all.find(|at| goals.allows(catalog.variant(*at)) && can_run(*at))
}
