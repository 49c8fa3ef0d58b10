//! Rules: the answer is the same in any order; ties and weights are as said.

use divisi_engine::serving::{Answer, Part};
use divisi_model::ensemble::{
    Combination, CombinationRule, RuleKind, Temperature, VoteWeight, label_of,
};
use divisi_runtime::device::MemberIndex;
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
        part.fold(rule, MemberIndex::new(member), sample, rows, CLASSES);
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
        for kind in RuleKind::OF_CLASSES {
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

/// The softmax of logits over a temperature, in float64.
fn softmax(logits: &[f64], temperature: f64) -> Vec<f64> {
    let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers = logits.iter().map(|l| ((l - most) / temperature).exp());
    let powers: Vec<f64> = powers.collect();
    let sum: f64 = powers.iter().sum();
    powers.into_iter().map(|p| p / sum).collect()
}

fn narrow(row: &[f64]) -> Vec<f32> {
    row.iter().map(|p| *p as f32).collect()
}

fn is_near(found: &[f32], expected: &[f64]) -> bool {
    let mut pairs = found.iter().zip(expected);
    pairs.all(|(a, b)| (f64::from(*a) - b).abs() <= 1e-5 * b.max(1e-3))
}

/// Returns the combination of one row a member.
fn combined(combination: &Combination, rows: &[Vec<f32>]) -> Vec<f32> {
    let rule = combination.build(CLASSES);
    let part = Part::new(1);
    for (member, row) in rows.iter().enumerate() {
        part.fold(rule.as_ref(), MemberIndex::new(member), 0, row, CLASSES);
    }
    let answer = Answer::finish(rule.as_ref(), &[part], CLASSES);
    answer.rows().next().expect("one row").to_vec()
}

fn temperatures() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(prop_oneof![Just(1.0), 0.25f64..8.0], 4)
}

fn logits() -> impl Strategy<Value = Vec<Vec<f64>>> {
    prop::collection::vec(prop::collection::vec(-12.0f64..12.0, CLASSES), 4)
}

fn at(kind: RuleKind, temperatures: &[f64]) -> Combination {
    let known = temperatures
        .iter()
        .map(|t| Temperature::new(*t).expect("in range"));
    Combination::equal_weights(kind, 4).with_temperatures(known.collect())
}

proptest! {
    #[test]
    fn the_average_of_logits_is_the_softmax_of_their_mean_each_at_its_temperature(
        logits in logits(), temperatures in temperatures(),
    ) {
        let rows: Vec<Vec<f32>> = logits.iter().map(|l| narrow(&softmax(l, 1.0))).collect();
        let found = combined(&at(RuleKind::AverageLogits, &temperatures), &rows);
        let mean = |class: usize| {
            let each = logits.iter().zip(&temperatures);
            each.map(|(l, t)| l[class] / t).sum::<f64>() / 4.0
        };
        let expected = softmax(&(0..CLASSES).map(mean).collect::<Vec<_>>(), 1.0);
        prop_assert!(is_near(&found, &expected), "{found:?} {expected:?}");
    }

    #[test]
    fn an_average_is_of_probabilities_at_each_members_temperature(
        logits in logits(), temperatures in temperatures(),
    ) {
        let rows: Vec<Vec<f32>> = logits.iter().map(|l| narrow(&softmax(l, 1.0))).collect();
        let found = combined(&at(RuleKind::Average, &temperatures), &rows);
        let at: Vec<Vec<f64>> =
            logits.iter().zip(&temperatures).map(|(l, t)| softmax(l, *t)).collect();
        let mean = |class: usize| at.iter().map(|p| p[class]).sum::<f64>() / 4.0;
        let expected: Vec<f64> = (0..CLASSES).map(mean).collect();
        prop_assert!(is_near(&found, &expected), "{found:?} {expected:?}");
    }

    #[test]
    fn a_majority_score_is_a_share_of_votes_and_its_winner_the_only_highest(
        predictions in predictions(), unanimous in any::<bool>(),
    ) {
        let rule = RuleKind::MajorityVote.build(CLASSES, weights([1.0; 4]));
        let alike = vec![predictions[0].clone(); 4];
        let predictions = if unanimous { alike } else { predictions };
        let all = fold_in(&every_piece(), rule.as_ref(), &predictions);
        for row in all.chunks(CLASSES) {
            prop_assert!(row.iter().all(|s| (0.0..=1.0).contains(s)), "{row:?}");
            let most = row.iter().copied().fold(0.0, f32::max);
            prop_assert_eq!(row.iter().filter(|s| **s >= most).count(), 1);
        }
    }
}

#[test]
fn a_class_that_one_member_holds_impossible_is_not_impossible_to_all() {
    let rows = [
        vec![1.0, 0.0, 0.0],
        vec![0.25, 0.5, 0.25],
        vec![0.25, 0.5, 0.25],
    ];
    let combination = Combination::equal_weights(RuleKind::AverageLogits, 3);
    let found = combined(&combination, &rows);
    assert!(found.iter().all(|p| p.is_finite() && *p > 0.0), "{found:?}");
    assert!((found.iter().sum::<f32>() - 1.0).abs() < 1e-6);
}

#[test]
fn temperatures_are_from_a_hundredth_to_a_hundred() {
    for number in [0.0, -1.0, 0.009, 101.0, f64::NAN, f64::INFINITY] {
        let error = Temperature::new(number).expect_err("out of range");
        assert!(
            error
                .to_string()
                .starts_with("expected a temperature from 0.01 to 100"),
            "{error}"
        );
    }
    assert!(Temperature::new(0.01).is_ok() && Temperature::new(100.0).is_ok());
}

#[test]
fn scores_that_are_not_finite_have_no_highest() {
    assert_eq!(label_of(&[0.1, 0.7, 0.2]), Some(1));
    assert_eq!(label_of(&[0.5, 0.5]), Some(0));
    assert_eq!(label_of(&[-3.0, -1.0]), Some(1));
    for row in [
        &[f32::NAN; 3][..],
        &[0.1, f32::NAN, 0.2],
        &[f32::INFINITY, 0.0],
        &[],
    ] {
        assert_eq!(label_of(row), None, "{row:?}");
    }
}

fn vote(rows: &[[f32; CLASSES]]) -> usize {
    let rule = RuleKind::MajorityVote.build(CLASSES, rows.iter().map(|_| VoteWeight::default()));
    let mut state = vec![0.0; rule.state_width()];
    for (member, row) in rows.iter().enumerate() {
        rule.fold(MemberIndex::new(member), row, &mut state);
    }
    label_of(&rule.finish(state.into(), CLASSES)).expect("finite")
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
