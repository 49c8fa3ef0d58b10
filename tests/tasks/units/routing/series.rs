//! Unit tests of `src/tasks/routing/series.rs`.

use std::time::Duration;

use divisi_modelless::goals::LatencyGoal;

use super::*;

const TASK: TaskIndex = TaskIndex(0);

fn within(micros: u64) -> QueryGoals {
    QueryGoals {
        latency: LatencyGoal::new(Duration::from_micros(micros)).ok(),
        ..QueryGoals::default()
    }
}

fn count_of(counts: &AskedCounts, goals: Option<QueryGoals>) -> Option<u64> {
    let all = counts.all();
    let found = all.iter().find(|tally| tally.goals == goals);
    found.map(|tally| tally.met + tally.missed)
}

#[test]
fn counts_never_fall_while_clients_send_ever_new_goals() {
    let mut counts = AskedCounts::default();
    let mut before: Vec<AskedTally> = Vec::new();
    for query in 1..5000_u64 {
        counts.end(TASK, &within(query), 1, query % 2 == 0);
        counts.end(TASK, &within(1), query, true);
        let now = counts.all();
        let falls = before.iter().any(|old| {
            let new = now.iter().find(|new| new.goals == old.goals);
            new.is_none_or(|new| new.met < old.met || new.missed < old.missed)
        });
        assert!(!falls, "at query {query}");
        before = now;
    }
    assert!(before.len() <= MOST + 1, "{}", before.len());
    let total: u64 = before.iter().map(|tally| tally.met + tally.missed).sum();
    assert_eq!(total, 2 * 4999);
}

#[test]
fn rare_goals_are_counted_together_and_frequent_ones_by_themselves() {
    let mut counts = AskedCounts::default();
    (1..=AT_ONCE as u64).for_each(|at| counts.end(TASK, &within(at), 1, true));
    let late = within(1000);
    (1..=FREQUENT).for_each(|query| counts.end(TASK, &late, query, true));
    assert_eq!(count_of(&counts, None), Some(FREQUENT - 1));
    assert_eq!(count_of(&counts, Some(late)), Some(1));
}
