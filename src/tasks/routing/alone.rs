//! The choice for queries without other load.

use divisi_modelless::choice::TaskChoices;
use divisi_modelless::goals::QueryGoals;
use divisi_modelless::variants::{TaskIndex, VariantIndex};

use super::error::{RoutingError, refused};
use crate::served::ServedTasks;

/// Returns the variant that answers queries of a task if all variants are loaded and idle.
///
/// # Errors
/// Returns an error if no variant meets the goals.
pub fn alone(
    tasks: &ServedTasks,
    task: TaskIndex,
    goals: &QueryGoals,
) -> Result<VariantIndex, RoutingError> {
    let catalog = tasks.catalog();
    let mut choices = TaskChoices::new(catalog.clone());
    for (at, variant) in (0_u32..).map(VariantIndex).zip(catalog.variants()) {
        choices.set_finish(at, Some(variant.profile.latency.p99(1)));
    }
    let chosen = choices.choose(task, goals);
    let chosen = chosen.map_err(|refusal| refused(tasks, task, refusal))?;
    Ok(chosen.variant)
}
