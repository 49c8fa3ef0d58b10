//! Members of ensembles of values and labels weighed, against what is worked out by hand.

use divisi_model::ensemble::{
    AnswerKind, Combination, Measure, MemberEvaluation, MemberFigures, OutputKind, RuleKind,
    SampleTarget,
};
use divisi_runtime::device::MemberIndex;

use crate::answer_kinds::{directions, is_near, labels, values};

/// The figures of each member after many rounds of one sample.
fn weighed(
    kind: AnswerKind,
    outputs: OutputKind,
    rows: &[&[f32]],
    target: Option<&[f32]>,
) -> Vec<MemberFigures> {
    let combination = Combination::equal_weights(RuleKind::Average, rows.len());
    let outputs = vec![outputs; rows.len()];
    let rule = combination.build_for(kind, &outputs);
    let mut scales = MemberEvaluation::new(&combination, rule, kind, &outputs);
    for _ in 0..100 {
        scales.weigh(rows, target.map(SampleTarget::Row));
    }
    let members = MemberIndex::all(rows.len());
    members
        .map(|m| scales.figures(m).expect("enough"))
        .collect()
}

fn is(found: Option<f64>, expected: f64) -> bool {
    found.is_some_and(|found| is_near(found, expected))
}

#[test]
fn members_of_values_are_told_by_errors_and_never_by_classes() {
    // The mean is 2; without the first it is 3, without the second 1.
    let found = weighed(
        values(1),
        OutputKind::Values,
        &[&[1.0], &[3.0]],
        Some(&[1.0]),
    );
    for member in &found {
        assert_eq!(member.agreement.measure, Measure::Rmse);
        assert!(is_near(member.agreement.value, 1.0));
        assert!(is(member.otherwise, 1.0), "the answer moves by 1");
        assert_eq!(member.flips(), None);
        assert_eq!((member.disagreement, member.entropy), (None, None));
    }
    assert!(is(found[0].quality.map(|q| q.value), 0.0));
    assert!(is(found[1].quality.map(|q| q.value), 2.0));
    assert!(is(found[0].quality_change, 1.0), "an error of 2 after 1");
    assert!(is(found[1].quality_change, -1.0), "no error");
    let found = weighed(values(1), OutputKind::Values, &[&[1.0], &[3.0]], None);
    assert_eq!((found[0].quality, found[0].quality_change), (None, None));
}

#[test]
fn members_of_directions_are_told_by_cosines() {
    let rows: [&[f32]; 2] = [&[4.0, 0.0], &[0.0, 4.0]];
    let found = weighed(directions(2), OutputKind::Values, &rows, Some(&[1.0, 0.0]));
    let half = 0.5f64.sqrt();
    assert_eq!(found[0].agreement.measure, Measure::MeanCosine);
    assert!(is_near(found[0].agreement.value, half));
    assert!(is(found[0].quality.map(|q| q.value), 1.0));
    assert!(
        is(found[0].quality_change, -half),
        "the other is at a right angle"
    );
}

#[test]
fn members_of_labels_are_told_by_the_labels_that_they_would_have_given() {
    // Together they answer the first label alone; the target is both.
    let rows: [&[f32]; 2] = [&[3.0, -4.0], &[3.0, 1.0]];
    let found = weighed(
        labels(2, 0.5),
        OutputKind::LabelLogits,
        &rows,
        Some(&[1.0, 1.0]),
    );
    let agreement = |m: usize| (found[m].agreement.measure, found[m].agreement.value);
    assert_eq!(agreement(0), (Measure::ExactMatch, 1.0));
    assert_eq!(agreement(1), (Measure::ExactMatch, 0.0));
    assert_eq!(found[0].quality.map(|q| q.measure), Some(Measure::MicroF1));
    assert!(is(found[0].quality.map(|q| q.value), 2.0 / 3.0));
    assert!(is(found[1].quality.map(|q| q.value), 1.0));
    assert!(is(found[0].flips(), 1.0), "without it both are given");
    assert!(is(found[0].quality_change, 1.0 / 3.0));
    assert!(is(found[1].flips(), 0.0));
}
