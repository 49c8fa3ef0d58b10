//! Unit tests of `src/tasks/routing/streams.rs`.

use divisi_modelless::quantities::Accuracy;

use super::*;

const TASK: TaskIndex = TaskIndex(0);

fn within(millis: u64) -> QueryGoals {
    QueryGoals {
        latency: LatencyGoal::new(Duration::from_millis(millis)).ok(),
        ..QueryGoals::default()
    }
}

/// Returns a query of one sample.
fn query(goals: &QueryGoals) -> TaskQuery<'_> {
    TaskQuery {
        task: TASK,
        goals,
        samples: 1,
        priority: 0,
    }
}

/// Returns the maximum number of streams, with queries that arrived at second 0.
fn full() -> QueryStreams {
    let mut streams = QueryStreams::default();
    for millis in 1..=MOST_STREAMS as u64 {
        streams.arrive(query(&within(millis)), Duration::ZERO);
    }
    streams
}

#[test]
fn goals_beyond_those_that_are_told_apart_count_to_the_nearest_that_are_as_strict() {
    let mut streams = full();
    let accurate = |percent, goals| QueryGoals {
        accuracy: Accuracy::percent(percent).ok(),
        ..goals
    };
    streams.streams[5].stream.goals = accurate(99.0, within(6));
    streams.streams[6].stream.goals = accurate(95.0, within(7));
    for (goals, expected) in [
        (within(1000), MOST_STREAMS - 1),
        (accurate(90.0, within(1000)), 6),
        (accurate(97.0, within(1000)), 5),
    ] {
        let at = streams.arrive(query(&goals), Duration::from_secs(1));
        assert_eq!(at.0, expected, "{goals:?}");
    }
    assert!(streams.all().all(|stream| stream.goals != within(1000)));
}

#[test]
fn stricter_goals_than_all_others_have_the_place_of_those_that_came_longest_ago() {
    let mut streams = full();
    let second = Duration::from_secs(1);
    streams.arrive(query(&within(1)), second);
    let strict = QueryGoals {
        accuracy: Accuracy::percent(99.0).ok(),
        ..within(500)
    };
    let at = streams.arrive(query(&strict), second);
    assert_eq!((at.0, streams.streams.len()), (1, MOST_STREAMS));
    assert_eq!(streams.streams[1].stream.goals, strict);
    let again = streams.arrive(query(&strict), 2 * second);
    assert_eq!(again, at);
}

#[test]
fn goals_have_the_place_of_those_that_nobody_has_asked_for_for_minutes() {
    let mut streams = full();
    let later = KEPT + Duration::from_secs(1);
    streams.arrive(query(&within(1)), later);
    let new = streams.arrive(query(&within(1000)), later);
    streams.end(new, &within(1000), 1, true);
    let goals: Vec<QueryGoals> = streams.all().map(|stream| stream.goals).collect();
    assert_eq!(goals.len(), MOST_STREAMS);
    assert_eq!(goals[0], within(1), "it was asked for");
    assert_eq!(goals[new.get()], within(1000));
}

#[test]
fn nobody_asks_any_more_once_the_last_query_is_long_ago() {
    let mut streams = QueryStreams::default();
    streams.arrive(query(&within(1)), Duration::ZERO);
    let second = Duration::from_secs(1);
    let rates = (0..60).map(|_| streams.interval(second)[0].demand.rate.get());
    let rates: Vec<f64> = rates.collect();
    assert!(rates[0] > 0.0 && rates[59] == 0.0, "{rates:?}");
}
