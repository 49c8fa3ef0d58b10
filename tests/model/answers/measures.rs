//! Figures of answers against targets, worked out by hand.

use divisi_model::ensemble::{AnswerKind, AnswerWidth, Measure, MeasureTally, SampleTarget};

use crate::answer_kinds::{directions, is_near, labels, values};

fn tally(kind: AnswerKind, pairs: &[(&[f32], &[f32])]) -> MeasureTally {
    let mut tally = MeasureTally::new(kind);
    for (row, target) in pairs {
        tally.add(row, SampleTarget::Row(target));
    }
    tally
}

fn check(tally: &MeasureTally, expected: &[(Measure, f64)]) {
    let found = tally.qualities();
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, (measure, value)) in found.iter().zip(expected) {
        assert_eq!(found.measure, *measure);
        assert!(is_near(found.value, *value), "{found:?}: {value}");
    }
}

#[test]
fn values_have_errors_in_their_unit() {
    let pairs: &[(&[f32], &[f32])] = &[(&[1.0, 2.0], &[1.0, 5.0]), (&[0.0, 0.0], &[4.0, 0.0])];
    let expected = [
        (Measure::Rmse, 2.5),
        (Measure::MeanAbsoluteError, 7.0 / 4.0),
    ];
    check(&tally(values(2), pairs), &expected);
}

#[test]
fn directions_have_a_cosine() {
    let pairs: &[(&[f32], &[f32])] = &[
        (&[1.0, 0.0], &[8.0, 0.0]),
        (&[0.0, 1.0], &[1.0, 1.0]),
        (&[0.0, 0.0], &[1.0, 1.0]),
    ];
    let mean = (1.0 + 0.5f64.sqrt()) / 3.0;
    check(&tally(directions(2), pairs), &[(Measure::MeanCosine, mean)]);
}

#[test]
fn labels_have_f1_over_all_and_of_each_and_exact_matches() {
    // The third label is neither given nor expected.
    let pairs: &[(&[f32], &[f32])] = &[
        (&[0.9, 0.1, 0.0], &[1.0, 0.0, 0.0]),
        (&[0.5, 0.6, 0.1], &[1.0, 0.0, 0.0]),
        (&[0.4, 0.7, 0.2], &[1.0, 1.0, 0.0]),
    ];
    let (first, second) = (2.0 * 2.0 / 5.0, 2.0 / 3.0);
    let expected = [
        (Measure::MicroF1, 6.0 / 8.0),
        (Measure::MacroF1, (first + second) / 2.0),
        (Measure::ExactMatch, 1.0 / 3.0),
    ];
    check(&tally(labels(3, 0.5), pairs), &expected);
    let nothing: &[(&[f32], &[f32])] = &[(&[0.0; 3], &[0.0; 3])];
    check(
        &tally(labels(3, 0.5), nothing),
        &[(Measure::ExactMatch, 1.0)],
    );
}

#[test]
fn an_answer_of_nan_is_wrong_or_left_out() {
    let row: &[f32] = &[f32::NAN, 0.9];
    let pairs: &[(&[f32], &[f32])] = &[(&[3.0, 4.0], &[3.0, 3.0]), (row, &[1.0, 1.0])];
    let found = tally(values(2), pairs);
    assert_eq!(found.weight(), 1.0);
    assert_eq!(found.value(Measure::MeanAbsoluteError), Some(0.5));
    let found = tally(labels(2, 0.5), &[(row, &[0.0, 1.0])]);
    assert_eq!(found.value(Measure::MicroF1), Some(0.0));
    let count = AnswerWidth::nearest(2);
    let mut classes = MeasureTally::new(AnswerKind::Classes { count });
    classes.add(row, SampleTarget::Class(0));
    assert_eq!(classes.value(Measure::Accuracy), Some(0.0));
    assert_eq!(MeasureTally::new(values(2)).qualities(), []);
}

#[test]
fn figures_are_told_with_their_unit() {
    for (measure, value, said) in [
        (Measure::Accuracy, 0.98661, "98.66 %"),
        (Measure::MicroF1, 1.0, "100.00 %"),
        (Measure::Rmse, 0.012_346, "0.01235"),
        (Measure::Rmse, 1234.56, "1235"),
        (Measure::Rmse, 0.0, "0"),
        (Measure::MeanAbsoluteError, 1.5e-7, "1.500e-7"),
        (Measure::MeanCosine, 0.97312, "0.9731"),
    ] {
        assert_eq!(measure.format_value(value), said, "{measure:?}");
    }
}
