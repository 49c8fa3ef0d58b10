//! Rules: any order gives the same answer; ties and weights are as said.

use divisi::ensemble::{CombinationRule, RuleKind, VoteWeight, label_of};
use divisi::serving::{Answer, Part};
use proptest::prelude::*;

const CLASSES: usize = 3;

/// Probabilities of four members for five samples.
fn predictions() -> impl Strategy<Value = Vec<Vec<f32>>> {
    let row = prop::collection::vec(0.01f32..1.0, CLASSES).prop_map(|v| {
        let sum: f32 = v.iter().sum();
        v.into_iter().map(|p| p / sum).collect::<Vec<_>>()
    });
    prop::collection::vec(prop::collection::vec(row, 5).prop_map(|r| r.concat()), 4)
}

fn weights<const N: usize>(of: [f64; N]) -> impl ExactSizeIterator<Item = VoteWeight> {
    of.into_iter()
        .map(|w| VoteWeight::new(w).expect("a weight"))
}

fn fold_in(
    order: &[(usize, usize)],
    rule: &dyn CombinationRule,
    predictions: &[Vec<f32>],
) -> Vec<f32> {
    let part = Part::new(5);
    for &(member, sample) in order {
        let rows = &predictions[member][sample * CLASSES..(sample + 1) * CLASSES];
        part.fold(rule, member, sample, rows, CLASSES);
    }
    Answer::finish(rule, &[part], CLASSES)
        .rows()
        .flatten()
        .copied()
        .collect()
}

fn every_piece() -> Vec<(usize, usize)> {
    (0..4).flat_map(|m| (0..5).map(move |s| (m, s))).collect()
}

proptest! {
    #[test]
    fn any_order_gives_the_same_answer(
        predictions in predictions(), order in Just(every_piece()).prop_shuffle(),
    ) {
        for kind in RuleKind::ALL {
            let rule = kind.build(CLASSES, weights([1.0, 2.0, 0.5, 0.25]));
            let a = fold_in(&every_piece(), rule.as_ref(), &predictions);
            let b = fold_in(&order, rule.as_ref(), &predictions);
            prop_assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() <= 1e-5 * a.abs().max(1e-3)));
        }
    }

    #[test]
    fn averages_of_probabilities_are_probabilities(predictions in predictions()) {
        for kind in [RuleKind::Average, RuleKind::WeightedAverage] {
            let rule = kind.build(CLASSES, weights([3.0, 1e-6, 0.5, 1e6]));
            let all = fold_in(&every_piece(), rule.as_ref(), &predictions);
            for row in all.chunks(CLASSES) {
                prop_assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            }
        }
    }
}

fn vote(rows: &[[f32; CLASSES]]) -> usize {
    let rule = RuleKind::MajorityVote.build(CLASSES, rows.iter().map(|_| VoteWeight::default()));
    let mut state = vec![0.0; rule.state_width()];
    for (member, row) in rows.iter().enumerate() {
        rule.fold(member, row, &mut state);
    }
    label_of(&rule.finish(state, CLASSES))
}

#[test]
fn the_majority_wins_whatever_the_probabilities() {
    assert_eq!(
        vote(&[[0.4, 0.35, 0.25], [0.4, 0.3, 0.3], [0.0, 1.0, 0.0]]),
        0
    );
}

#[test]
fn a_tie_goes_to_the_larger_sum_then_to_the_lowest_class() {
    assert_eq!(vote(&[[0.6, 0.3, 0.1], [0.1, 0.8, 0.1]]), 1);
    assert_eq!(vote(&[[0.1, 0.2, 0.7], [0.7, 0.2, 0.1]]), 0);
}
