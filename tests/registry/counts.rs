//! Accuracies of sub-ensembles against the rule that serves them.

use std::sync::Arc;

use divisi_engine::serving::{Answer, Part};
use divisi_model::ensemble::{Combination, Ensemble, Files, RuleKind, VoteWeight, label_of};
use divisi_registry::counts::{CountedMembers, count_sub_ensembles, set_of, voters};
use divisi_runtime::device::MemberIndex;
use proptest::prelude::*;

const CLASSES: usize = 10;

fn digits() -> Ensemble {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sample_ensembles/digits");
    Ensemble::read(&Files::from_path(folder.as_ref())).expect("the sample")
}

/// Rows of probabilities and labels, of which members are often right.
fn answers(members: usize, rows: usize) -> impl Strategy<Value = (Vec<Vec<f32>>, Vec<usize>)> {
    let row = prop::collection::vec(1_u16..1000, CLASSES);
    let rows_of_one = prop::collection::vec(row, rows).prop_map(|rows| {
        let scores = rows.into_iter().flat_map(|row| {
            let sum: f32 = row.iter().map(|v| f32::from(*v)).sum();
            row.into_iter().map(move |v| f32::from(v) / sum)
        });
        scores.collect::<Vec<f32>>()
    });
    let all = prop::collection::vec(rows_of_one, members);
    (all, prop::collection::vec(0..CLASSES, rows))
}

/// Counts as serving answers: the rule with those voting alone.
fn right(
    ensemble: &Ensemble,
    combination: &Combination,
    rows: &[Vec<f32>],
    labels: &[usize],
) -> u32 {
    let rule = ensemble.build_rule(combination);
    let part = Part::new(labels.len());
    for member in MemberIndex::all(rows.len()) {
        if combination.voting[member.get()] {
            part.fold(rule.as_ref(), member, 0, &rows[member.get()], CLASSES);
        }
    }
    let answer = Answer::finish(rule.as_ref(), &[part], CLASSES);
    let classes = answer.rows().map(label_of).zip(labels);
    classes
        .filter(|(class, label)| *class == Some(**label))
        .count() as u32
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_sub_ensemble_is_counted_as_it_would_be_served(
        (rows, labels) in answers(6, 30),
        rule in prop::sample::select(RuleKind::OF_CLASSES.to_vec()),
        weights in prop::collection::vec(1_u32..8, 6),
        silent in prop::option::of(0..6_usize),
        temperature in prop::sample::select(vec![0.5, 1.0, 2.0]),
    ) {
        let mut ensemble = digits();
        ensemble.rule = rule;
        for (at, member) in ensemble.members.iter_mut().enumerate() {
            let member = Arc::make_mut(member);
            let weight = VoteWeight::new(f64::from(weights[at])).expect("a weight");
            member.vote_weight = (Some(at) != silent).then_some(weight);
            member.temperature = divisi_model::ensemble::Temperature::new(temperature).expect("one");
        }
        let whole = ensemble.combination();
        let counts = count_sub_ensembles(&ensemble, &rows, &labels, None).expect("counts");
        let counts = counts.members;
        let voters = voters(&whole);
        prop_assert_eq!(counts.len(), (1 << voters.len()) - 1);
        prop_assert!(counts.iter().any(|(set, _)| *set == set_of(&voters)));
        for (set, accuracy) in counts {
            let alone = Combination {
                voting: (0..6).map(|at| set.contains(at)).collect(),
                ..whole.clone()
            };
            let expected = right(&ensemble, &alone, &rows, &labels);
            let found = accuracy.counted_value().map_or(-1.0, |a| a.get()) * labels.len() as f64;
            // Sums of float32 round: a tie may go either way.
            prop_assert!((found - f64::from(expected)).abs() < 1.5, "{set}: {found}, {expected}");
        }
    }
}

#[test]
fn rows_and_labels_that_are_none_are_refused_with_their_place() {
    let ensemble = digits();
    let rows = vec![vec![0.1; 2 * CLASSES]; 6];
    let mut flawed = rows.clone();
    flawed[2][13] = f32::NAN;
    let cases = [
        (
            flawed,
            vec![0, 1],
            "member 2, row 1, class 3: expected a score",
        ),
        (
            rows.clone(),
            vec![0, 10],
            "row 1: expected a label from 0 to 9, found 10",
        ),
        (rows, vec![0], "expected 60 scores"),
    ];
    for (rows, labels, said) in cases {
        let why = count_sub_ensembles(&ensemble, &rows, &labels, None).expect_err(said);
        assert!(why.to_string().contains(said), "{why}");
        assert_eq!(why.code(), "counts_scores");
    }
}

#[test]
fn the_whole_ensemble_keeps_its_count_and_others_promise_less() {
    let ensemble = digits();
    let labels: Vec<usize> = (0..300).map(|row| row % CLASSES).collect();
    let right = |row: usize, class: usize| f32::from(u8::from(row % CLASSES == class));
    let cells = (0..300 * CLASSES).map(|at| right(at / CLASSES, at % CLASSES));
    let rows = vec![cells.collect::<Vec<f32>>(); 6];
    let first = count_sub_ensembles(&ensemble, &rows, &labels, None).expect("counts");
    let next = count_sub_ensembles(&ensemble, &rows, &labels, Some(&first.whole)).expect("counts");
    let whole = set_of(&voters(&ensemble.combination()));
    let value = |set, counts: &[CountedMembers]| {
        let found = counts.iter().find(|(members, _)| *members == set);
        found.map(|(_, accuracy)| accuracy.value().get())
    };
    assert_eq!(value(whole, &first.members), Some(1.0));
    let promised = value(whole, &next.members).expect("counted");
    assert!(promised < 1.0, "another precision is one of the candidates");
    for (set, accuracy) in first.members.iter().filter(|(set, _)| *set != whole) {
        assert!(accuracy.value().get() < 1.0, "{set}");
    }
}
