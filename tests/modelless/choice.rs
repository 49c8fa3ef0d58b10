//! The fast loop chooses what a plain search over the definition chooses.

use std::time::Duration;

use divisi_modelless::accuracy::MemberSet;
use divisi_modelless::choice::{ChoiceRefusal, ChosenVariant, TaskChoices, VariantLoad};
use divisi_modelless::goals::{ChoicePreference, LatencyGoal, MissedGoals, QueryGoals};
use divisi_modelless::quantities::{Accuracy, QueryCost};
use divisi_modelless::variants::{TaskIndex, Variant, VariantIndex, VariantPrecision};
use proptest::prelude::*;

use crate::common::{Sketch, catalog, millis, task};

const TASK: TaskIndex = TaskIndex(0);

/// A task's variants, each with its load.
type Loaded = Vec<(Sketch, VariantLoad)>;

fn loads() -> impl Strategy<Value = VariantLoad> {
    (0..3_u32, 0..20_u32, 0..30_u64, 1.0..3.0_f64).prop_map(
        |(instances, queued, free_in, slowdown)| VariantLoad {
            instances,
            queued,
            free_in: Duration::from_millis(free_in),
            slowdown,
            ..VariantLoad::INACTIVE
        },
    )
}

fn sketches() -> impl Strategy<Value = Sketch> {
    (0..6_u8, 1..9_u8, 1..6_u8, 1..4_u32, 1..4_u8).prop_map(
        |(accuracy, latency, cost, batch, loading)| Sketch {
            accuracy: 0.5 + 0.1 * f64::from(accuracy),
            latency_ms: 5.0 * f64::from(latency),
            cost: f64::from(cost),
            batch,
            loading_ms: 20.0 * f64::from(loading),
            ..Sketch::default()
        },
    )
}

fn goals() -> impl Strategy<Value = QueryGoals> {
    let accuracy = prop::option::of(0.4..1.0_f64);
    let latency = prop::option::of(1.0..150.0_f64);
    let cost = prop::option::of(0.001..0.2_f64);
    (accuracy, latency, cost, any::<bool>()).prop_map(|(accuracy, latency, cost, most)| {
        QueryGoals {
            accuracy: accuracy.map(|a| Accuracy::new(a).expect("a fraction")),
            latency: latency.map(|d| LatencyGoal::new(millis(d)).expect("a goal")),
            max_cost: cost.map(|c| QueryCost::new(c).expect("a cost")),
            prefer: if most {
                ChoicePreference::MostAccurate
            } else {
                ChoicePreference::Cheapest
            },
            ..QueryGoals::default()
        }
    })
}

fn choices(loaded: &Loaded) -> TaskChoices {
    // A catalogue sorts: loads are given by what a variant is.
    let sketches: Vec<Sketch> = loaded.iter().map(|(s, _)| *s).collect();
    let mut choices = TaskChoices::new(catalog(1, vec![task("task", &sketches)]));
    let mut left: Vec<_> = loaded
        .iter()
        .map(|(s, load)| (s.variant(), *load))
        .collect();
    for at in 0..loaded.len() {
        let variant = choices.catalog().variants()[at].clone();
        let same = left
            .iter()
            .position(|(v, _)| *v == variant)
            .expect("its load");
        choices.set_load(VariantIndex(at as u32), left.swap_remove(same).1);
    }
    choices
}

/// A variant that could answer: its place, time and misses.
struct Candidate {
    at: usize,
    finish: Duration,
    missed: MissedGoals,
}

/// The candidates of the running variants, those to be loaded, and all of them alone.
fn candidates(
    choices: &TaskChoices,
    loads: &[VariantLoad],
    goals: &QueryGoals,
) -> [Vec<Candidate>; 3] {
    let mut all = [vec![], vec![], vec![]];
    for (at, variant) in choices.catalog().variants().iter().enumerate() {
        let alone = variant.profile.latency.p99(1);
        let finish = loads[at].finish(variant);
        let mut push = |list: usize, finish: Duration| {
            let accuracy = variant.accuracy.value();
            let missed = MissedGoals::compare(goals, accuracy, finish, variant.query_cost());
            all[list].push(Candidate { at, finish, missed });
        };
        match finish {
            Some(finish) => push(0, finish),
            None => push(1, variant.profile.loading + alone),
        }
        push(2, alone);
    }
    all
}

fn preferred(list: &[Candidate], choices: &TaskChoices, goals: &QueryGoals) -> Option<usize> {
    let met = list.iter().filter(|c| c.missed.is_none()).map(|c| c.at);
    let accuracy = |at: &usize| choices.catalog().variants()[*at].accuracy.value().get();
    match goals.prefer {
        ChoicePreference::Cheapest => met.min(),
        ChoicePreference::MostAccurate => {
            met.rev_max_by(|a, b| accuracy(a).total_cmp(&accuracy(b)))
        }
    }
}

trait FirstOfTheGreatest: Iterator<Item = usize> + Sized {
    fn rev_max_by(self, by: impl Fn(&usize, &usize) -> std::cmp::Ordering) -> Option<usize> {
        let all: Vec<usize> = self.collect();
        all.into_iter().rev().max_by(by)
    }
}

impl<I: Iterator<Item = usize>> FirstOfTheGreatest for I {}

/// The outcome, checked against the definition.
fn check(
    choices: &TaskChoices,
    loads: &[VariantLoad],
    goals: &QueryGoals,
) -> Result<(), TestCaseError> {
    let [running, loadable, alone] = candidates(choices, loads, goals);
    let found = choices.choose(TASK, goals);
    let reachable = alone.iter().any(|c| c.missed.is_none());
    if let Some(at) = preferred(&running, choices, goals) {
        let found = found.expect("one meets the goals");
        prop_assert_eq!(found.variant.get(), at);
        prop_assert!(found.missed.is_none());
        return Ok(());
    }
    if !reachable {
        let refused = matches!(found, Err(ChoiceRefusal::Unreachable { .. }));
        prop_assert!(refused, "{:?}", found);
        return Ok(());
    }
    let in_time = preferred(&loadable, choices, goals);
    let some_in_time = running.iter().any(|c| c.missed.latency.is_none());
    match found {
        Ok(ChosenVariant { variant, start, .. }) if running.is_empty() => {
            prop_assert_eq!(Some(variant.get()), in_time);
            prop_assert_eq!(start, Some(variant));
        }
        Ok(found) => {
            prop_assert!(some_in_time || in_time.is_some());
            let is_late = found.missed.latency.is_some();
            prop_assert!(!(is_late && some_in_time), "a variant in time is nearer");
            let as_late = running
                .iter()
                .filter(|c| c.missed.latency.is_some() == is_late);
            let least = as_late.map(|c| distance(&c.missed, goals));
            let least = least.fold(f64::INFINITY, f64::min);
            let away = distance(&found.missed, goals);
            prop_assert!(away <= least + 1e-6, "{} {}", away, least);
            let chosen = running.iter().find(|c| c.at == found.variant.get());
            prop_assert_eq!(chosen.expect("it runs").finish, found.finish);
        }
        Err(refusal) => {
            let late = matches!(refusal, ChoiceRefusal::TooLate { .. });
            prop_assert!(late && !some_in_time && in_time.is_none(), "{}", refusal);
        }
    }
    Ok(())
}

/// The sum of the misses relative to the goals.
fn distance(missed: &MissedGoals, goals: &QueryGoals) -> f64 {
    let part = |miss: Option<f64>, goal: Option<f64>| match (miss, goal) {
        (Some(miss), Some(goal)) => miss / goal.max(f64::MIN_POSITIVE),
        _ => 0.0,
    };
    let latency = missed.latency.map(|by| by.as_secs_f64());
    part(missed.accuracy, goals.accuracy.map(Accuracy::get))
        + part(latency, goals.latency.map(|d| d.get().as_secs_f64()))
        + part(missed.cost, goals.max_cost.map(QueryCost::get))
}

proptest! {
    #[test]
    fn the_choice_is_that_of_the_definition(
        loaded in prop::collection::vec((sketches(), loads()), 1..150),
        goals in prop::collection::vec(goals(), 8),
    ) {
        let choices = choices(&loaded);
        let mut left: Vec<_> = loaded.iter().map(|(s, load)| (s.variant(), *load)).collect();
        let loads = choices.catalog().variants().iter().map(|variant| {
            let same = left.iter().position(|(v, _)| v == variant).expect("its load");
            left.swap_remove(same).1
        });
        let loads: Vec<VariantLoad> = loads.collect();
        for goals in goals {
            check(&choices, &loads, &goals)?;
        }
    }
}

#[test]
fn goals_that_nothing_meets_are_refused_with_the_nearest_and_by_how_much() {
    let sketches = [0.7, 0.8].map(|accuracy| Sketch {
        accuracy,
        ..Sketch::default()
    });
    let choices = TaskChoices::new(catalog(1, vec![task("digits", &sketches)]));
    let goals = QueryGoals {
        accuracy: Some(Accuracy::new(0.9).expect("a fraction")),
        ..QueryGoals::default()
    };
    let refused = choices.choose_by_name("digits", &goals).expect_err("none");
    assert_eq!(refused.code(), "goals_unreachable");
    let ChoiceRefusal::Unreachable { nearest, missed } = refused else {
        panic!("{refused}");
    };
    assert_eq!(
        choices.catalog().variant(nearest).accuracy.value().get(),
        0.8
    );
    assert!((missed.accuracy.expect("missed") - 0.1).abs() < 1e-12);
}

#[test]
fn a_task_that_nobody_registered_is_refused_with_those_that_there_are() {
    let tasks = vec![
        task("digits", &[Sketch::default()]),
        task("faces", &[Sketch::default()]),
    ];
    let choices = TaskChoices::new(catalog(1, tasks));
    let refused = choices.choose_by_name("digit", &QueryGoals::default());
    assert_eq!(
        refused.expect_err("unknown").to_string(),
        "task `digit` is not registered; registered tasks: digits, faces"
    );
}

#[test]
fn a_query_that_waits_too_long_is_refused_before_it_waits() {
    let choices = choices(&vec![(
        Sketch::default(),
        VariantLoad {
            instances: 1,
            queued: 100,
            free_in: millis(10.0),
            ..VariantLoad::INACTIVE
        },
    )]);
    let goals = |ms: f64| QueryGoals {
        latency: Some(LatencyGoal::new(millis(ms)).expect("a goal")),
        ..QueryGoals::default()
    };
    // 100 queued and one running of 10 ms each, and its own 10 ms.
    let refused = choices.choose(TASK, &goals(500.0)).expect_err("too late");
    assert_eq!(refused.code(), "too_late");
    let chosen = choices.choose(TASK, &goals(1020.0)).expect("in time");
    assert_eq!(chosen.finish, millis(1020.0));
}

#[test]
fn a_variant_in_time_is_nearer_than_a_more_accurate_one_that_is_late() {
    let sketch = |accuracy, latency_ms| Sketch {
        accuracy,
        latency_ms,
        ..Sketch::default()
    };
    let running = VariantLoad {
        instances: 1,
        ..VariantLoad::INACTIVE
    };
    let late = VariantLoad {
        free_in: millis(1.0),
        ..running
    };
    let choices = choices(&vec![
        (sketch(0.944, 10.0), running),
        (sketch(0.994, 20.0), late),
    ]);
    let goals = QueryGoals {
        accuracy: Some(Accuracy::new(0.994).expect("a fraction")),
        latency: Some(LatencyGoal::new(millis(20.0)).expect("a goal")),
        ..QueryGoals::default()
    };
    // A millisecond of 20 is as much as five points of accuracy.
    let chosen = choices.choose(TASK, &goals).expect("chosen");
    assert_eq!(chosen.finish, millis(10.0));
    let missed = chosen.missed;
    assert!(missed.latency.is_none() && missed.accuracy.is_some());
}

#[test]
fn a_query_without_goals_is_answered_by_all_members_in_the_highest_precision() {
    let variant = |members, precision, accuracy| Variant {
        members: MemberSet::first(members),
        precision,
        ..Sketch {
            accuracy,
            cost: accuracy,
            ..Sketch::default()
        }
        .variant()
    };
    let mut registered = task("digits", &[]);
    registered.variants = vec![
        variant(1, VariantPrecision::Float32, 0.95),
        variant(3, VariantPrecision::Int8, 0.97),
        variant(3, VariantPrecision::Float32, 0.96),
    ];
    let mut choices = TaskChoices::new(catalog(1, vec![registered]));
    for at in 0..3 {
        choices.set_finish(VariantIndex(at), Some(millis(1.0)));
    }
    let goals = QueryGoals::unstated(choices.catalog(), TASK, None);
    let chosen = choices.choose(TASK, &goals).expect("chosen");
    let variant = choices.catalog().variant(chosen.variant).clone();
    assert_eq!(variant.members.len(), 3);
    assert_eq!(variant.precision, VariantPrecision::Float32);
    choices.set_finish(chosen.variant, None);
    let instead = choices.choose(TASK, &goals).expect("chosen");
    assert_eq!(instead.start, Some(chosen.variant));
    let most = choices.catalog().variant(instead.variant).accuracy;
    assert_eq!(most.value().get(), 0.97, "the most accurate that runs");
}
