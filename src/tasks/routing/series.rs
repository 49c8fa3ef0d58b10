//! The counts of all queries by goals, for metrics.

use divisi_modelless::goals::QueryGoals;
use divisi_modelless::variants::TaskIndex;

/// The maximum number of goals with counts of their own, and the number up to which goals get them
/// at their first query.
const MOST: usize = 64;
const AT_ONCE: usize = 32;
/// The number of queries after which frequent goals get counts of their own.
const FREQUENT: u64 = 100;

/// The finished queries of a task with some goals. The counts never fall.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AskedTally {
    /// The task.
    pub task: TaskIndex,
    /// The goals, or `None` for all goals without counts of their own.
    pub goals: Option<QueryGoals>,
    /// Queries that met their goals.
    pub met: u64,
    /// Queries that missed a goal, were refused or failed.
    pub missed: u64,
}

/// The counts of all tasks. Goals keep their counts, so that clients with ever new goals neither
/// grow the counts without bound nor reset those of others.
#[derive(Clone, Debug, Default)]
pub(super) struct AskedCounts {
    own: Vec<AskedTally>,
    others: Vec<AskedTally>,
}

impl AskedCounts {
    /// Counts a finished query with goals that `queries` queries had until now.
    pub(super) fn end(&mut self, task: TaskIndex, goals: &QueryGoals, queries: u64, met: bool) {
        let tally = self.tally(task, goals, queries);
        tally.met += u64::from(met);
        tally.missed += u64::from(!met);
    }

    fn tally(&mut self, task: TaskIndex, goals: &QueryGoals, queries: u64) -> &mut AskedTally {
        let goals = Some(*goals);
        let own = self.own.iter();
        let known = own
            .enumerate()
            .find(|(_, t)| t.task == task && t.goals == goals);
        let place = known.map(|(at, _)| at);
        let has_room = match self.own.len() {
            ..AT_ONCE => true,
            AT_ONCE..MOST => queries >= FREQUENT,
            _ => false,
        };
        let (list, goals) = match place.is_some() || has_room {
            true => (&mut self.own, goals),
            false => (&mut self.others, None),
        };
        let mut known = list.iter();
        let place = place.or_else(|| known.position(|t| t.task == task && t.goals == goals));
        let at = place.unwrap_or(list.len());
        if at == list.len() {
            list.push(AskedTally {
                task,
                goals,
                met: 0,
                missed: 0,
            });
        }
        &mut list[at]
    }

    /// Returns all counts.
    pub(super) fn all(&self) -> Vec<AskedTally> {
        self.own.iter().chain(&self.others).copied().collect()
    }
}

#[cfg(test)]
#[path = "../../../tests/tasks/units/routing/series.rs"]
mod tests;
