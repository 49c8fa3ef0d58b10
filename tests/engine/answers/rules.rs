//! Rules for values and labels: the same in any order, and what is worked out by hand.

use divisi_engine::serving::{Answer, Part};
use divisi_model::ensemble::{
    AnswerKind, Combination, OutputKind, RuleKind, TagScheme, Temperature, VoteWeight,
};
use divisi_runtime::device::MemberIndex;
use proptest::prelude::*;

use crate::answer_kinds::{directions, is_near, labels, masks, tokens, values};

const WIDTH: usize = 3;
const MEMBERS: usize = 4;
const SAMPLES: usize = 5;

/// Rows of four members for five samples, large and small ones that may cancel.
fn rows() -> impl Strategy<Value = Vec<Vec<f32>>> {
    let number = prop_oneof![-1.0f32..1.0, -1e4f32..1e4];
    let of_member = prop::collection::vec(number, SAMPLES * WIDTH);
    prop::collection::vec(of_member, MEMBERS)
}

fn pieces() -> Vec<(usize, usize)> {
    let members = 0..MEMBERS;
    members
        .flat_map(|m| (0..SAMPLES).map(move |s| (m, s)))
        .collect()
}

/// A combination, the answers that it is for, and members' outputs.
#[derive(Clone, Debug)]
struct Case(Combination, AnswerKind, Vec<OutputKind>);

fn cases() -> Vec<Case> {
    let weights = [1.0, 2.0, 0.5, 0.25].map(|w| VoteWeight::new(w).expect("a weight"));
    let kinds = [
        (values(3), OutputKind::Values),
        (directions(3), OutputKind::Values),
        (labels(3, 0.5), OutputKind::LabelLogits),
        (labels(3, 0.3), OutputKind::LabelLogits),
        (tokens(3, 1, TagScheme::Plain), OutputKind::PositionLogits),
        (masks(1, [1, 3]), OutputKind::LabelLogits),
    ];
    let each = kinds.into_iter().flat_map(|(answers, outputs)| {
        RuleKind::suited(answers).iter().map(move |rule| {
            let combination = Combination::new(*rule, weights.to_vec());
            Case(combination, answers, vec![outputs; MEMBERS])
        })
    });
    each.collect()
}

impl Case {
    fn fold(&self, order: &[(usize, usize)], rows: &[Vec<f32>]) -> Vec<f32> {
        let Case(combination, answers, outputs) = self;
        let rule = combination.build_for(*answers, outputs);
        let part = Part::new(SAMPLES);
        for &(member, sample) in order {
            let row = &rows[member][sample * WIDTH..(sample + 1) * WIDTH];
            part.fold(rule.as_ref(), MemberIndex::new(member), sample, row, WIDTH);
        }
        let answer = Answer::finish(rule.as_ref(), &[part], WIDTH);
        answer.rows().flatten().copied().collect()
    }
}

proptest! {
    #[test]
    fn any_order_returns_the_same_answer(
        rows in rows(), order in Just(pieces()).prop_shuffle(),
    ) {
        for case in cases() {
            let (a, b) = (case.fold(&pieces(), &rows), case.fold(&order, &rows));
            let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5 * a.abs().max(1e-3);
            prop_assert!(a.iter().zip(&b).all(near), "{case:?}: {a:?} {b:?}");
        }
    }

    #[test]
    fn answers_are_those_of_the_voters_alone(
        rows in rows(), voting in prop::collection::vec(any::<bool>(), MEMBERS),
    ) {
        prop_assume!(voting.contains(&true));
        let voters: Vec<usize> = (0..MEMBERS).filter(|m| voting[*m]).collect();
        for case in cases() {
            let Case(combination, answers, outputs) = case.clone();
            let masked = Combination { voting: voting.clone(), ..combination.clone() };
            let weights = voters.iter().map(|m| combination.weights[*m]).collect();
            let alone = Combination::new(combination.rule, weights);
            let of_voters: Vec<Vec<f32>> = voters.iter().map(|m| rows[*m].clone()).collect();
            let order: Vec<_> = pieces().into_iter().filter(|(m, _)| *m < voters.len()).collect();
            let found = Case(masked, answers, outputs.clone()).fold(&pieces(), &rows);
            let outputs = outputs[..voters.len()].to_vec();
            let expected = Case(alone, answers, outputs).fold(&order, &of_voters);
            let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5 * a.abs().max(1.0);
            prop_assert!(found.iter().zip(&expected).all(near), "{case:?}");
        }
    }

    #[test]
    fn normalised_answers_have_length_one(rows in rows()) {
        for case in cases().into_iter().filter(|case| case.1 == directions(3)) {
            for row in case.fold(&pieces(), &rows).chunks_exact(WIDTH) {
                let length = row.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
                prop_assert!(is_near(length, 1.0), "{row:?}");
            }
        }
    }

    #[test]
    fn a_median_is_never_outside_of_what_most_members_answer(rows in rows()) {
        let median = Combination::equal_weights(RuleKind::Median, MEMBERS);
        let case = Case(median, values(3), vec![OutputKind::Values; MEMBERS]);
        for (at, found) in case.fold(&pieces(), &rows).iter().enumerate() {
            let mut all: Vec<f32> = rows.iter().map(|row| row[at]).collect();
            all.sort_by(f32::total_cmp);
            prop_assert!((all[1]..=all[2]).contains(found), "{found} of {all:?}");
        }
    }
}

/// The answer to one sample, of members that return one number each.
fn combined(combination: &Combination, kind: AnswerKind, outputs: OutputKind, rows: &[f32]) -> f64 {
    let rule = combination.build_for(kind, &vec![outputs; rows.len()]);
    let mut state = vec![0.0; rule.state_width()];
    for (member, value) in rows.iter().enumerate() {
        rule.fold(MemberIndex::new(member), &[*value], &mut state);
    }
    f64::from(rule.finish(state.into(), 1)[0])
}

#[test]
fn each_rule_for_values_is_what_its_name_says() {
    let weights = [1.0, 1.0, 2.0].map(|w| VoteWeight::new(w).expect("a weight"));
    for (rule, expected) in [
        (RuleKind::Average, 35.0),
        (RuleKind::WeightedAverage, 51.25),
        (RuleKind::Median, 5.0),
    ] {
        let combination = Combination::new(rule, weights.to_vec());
        let found = combined(
            &combination,
            values(1),
            OutputKind::Values,
            &[0.0, 5.0, 100.0],
        );
        assert!(is_near(found, expected), "{rule:?}: {found}");
    }
    let even = Combination::equal_weights(RuleKind::Median, 2);
    let found = combined(&even, values(1), OutputKind::Values, &[f32::MAX, f32::MAX]);
    assert_eq!(found, f64::from(f32::MAX), "halves do not overflow");
}

fn sigmoid(logit: f64) -> f64 {
    1.0 / (1.0 + (-logit).exp())
}

#[test]
fn each_rule_for_labels_is_what_its_name_says() {
    let logits = [-1.0f32, 2.0, 40.0];
    let mean = logits.iter().map(|l| sigmoid(f64::from(*l))).sum::<f64>() / 3.0;
    for (rule, expected) in [
        (RuleKind::Average, mean),
        (RuleKind::AverageLogits, sigmoid(41.0 / 3.0)),
        (RuleKind::MajorityVote, 2.0 / 3.0),
    ] {
        let combination = Combination::equal_weights(rule, 3);
        let found = combined(
            &combination,
            labels(1, 0.5),
            OutputKind::LabelLogits,
            &logits,
        );
        assert!(is_near(found, expected), "{rule:?}: {found}");
    }
}

#[test]
fn logits_are_averaged_as_they_are_however_sure_a_member_is() {
    let logits = Combination::equal_weights(RuleKind::AverageLogits, 2);
    // As float32 the probability of the first is 1, whose logit would be 17 at most.
    let found = combined(
        &logits,
        labels(1, 0.5),
        OutputKind::LabelLogits,
        &[30.0, -28.0],
    );
    assert!(is_near(found, sigmoid(1.0)), "{found}");
    // Of probabilities that are 0 and 1 a mean of logits is finite.
    let found = combined(
        &logits,
        labels(1, 0.5),
        OutputKind::LabelProbabilities,
        &[1.0, 0.0],
    );
    assert!((0.0..=1.0).contains(&found), "{found}");
}

#[test]
fn temperatures_even_out_labels_under_every_rule_of_probabilities() {
    let two = Temperature::new(2.0).expect("in range");
    for outputs in [OutputKind::LabelLogits, OutputKind::LabelProbabilities] {
        let rows = match outputs {
            OutputKind::LabelLogits => [3.0],
            _ => [sigmoid(3.0) as f32],
        };
        for rule in [RuleKind::Average, RuleKind::AverageLogits] {
            let combination = Combination::equal_weights(rule, 1).with_temperatures(vec![two]);
            let found = combined(&combination, labels(1, 0.5), outputs, &rows);
            assert!((found - sigmoid(1.5)).abs() < 1e-5, "{rule:?}: {found}");
        }
    }
}

#[test]
fn a_majority_is_more_than_half_and_its_score_lies_on_its_side_of_the_threshold() {
    for (threshold, rows, given) in [
        (0.5, [0.9f32, 0.9, 0.1, 0.1], false),
        (0.5, [0.9, 0.9, 0.9, 0.1], true),
        (0.95, [0.96, 0.97, 0.99, 0.1], true),
        (0.2, [0.3, 0.1, 0.1, 0.1], false),
    ] {
        let majority = Combination::equal_weights(RuleKind::MajorityVote, 4);
        let (kind, outputs) = (labels(1, threshold), OutputKind::LabelProbabilities);
        let found = combined(&majority, kind, outputs, &rows) as f32;
        let AnswerKind::Labels { threshold, .. } = kind else {
            panic!("labels");
        };
        assert_eq!(threshold.is_met(found), given, "{rows:?}: {found}");
    }
}
