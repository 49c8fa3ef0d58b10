//! Members weighed: against what is worked out by hand, and live.

use std::sync::Arc;

use divisi_model::ensemble::{
    AnswerKind, AnswerWidth, Combination, MemberEvaluation, MemberFigures, OutputKind, Quality,
    RuleKind, SampleTarget,
};
use divisi_runtime::device::MemberIndex;
use divisi_session::{Command, LiveSession, LoadPattern, Session};

use crate::common::{digits, networks, start, until};

const CLASSES: usize = 3;

fn scales(combination: &Combination) -> MemberEvaluation {
    scales_of(combination, OutputKind::Logits)
}

fn scales_of(combination: &Combination, outputs: OutputKind) -> MemberEvaluation {
    let count = AnswerWidth::nearest(CLASSES as u32);
    let outputs = vec![outputs; combination.voting.len()];
    let rule = combination.build(CLASSES);
    MemberEvaluation::new(combination, rule, AnswerKind::Classes { count }, &outputs)
}

fn value(figure: Option<Quality>) -> f64 {
    figure.expect("targets").value
}

/// The figures of each member after `rounds` of the same samples.
fn weighed(
    combination: &Combination,
    samples: &[(Vec<[f32; 3]>, Option<usize>)],
) -> Vec<MemberFigures> {
    let mut scales = scales(combination);
    for _ in 0..100 {
        for (rows, label) in samples {
            let rows: Vec<&[f32]> = rows.iter().map(|r| &r[..]).collect();
            scales.weigh(&rows, label.map(SampleTarget::Class));
        }
    }
    let members = 0..combination.voting.len();
    members
        .map(|m| scales.figures(MemberIndex::new(m)).expect("enough"))
        .collect()
}

fn is(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 0.02
}

fn is_some(found: Option<f64>, expected: f64) -> bool {
    found.is_some_and(|found| is(found, expected))
}

const A: [f32; 3] = [0.8, 0.1, 0.1];
const B: [f32; 3] = [0.1, 0.8, 0.1];

#[test]
fn who_alone_is_right_is_worth_what_it_changes() {
    // The second is always right; in the first sample the others outvote it.
    let combination = Combination::equal_weights(RuleKind::MajorityVote, 3);
    let samples = [(vec![A, B, A], Some(1)), (vec![A, B, B], Some(1))];
    let found = weighed(&combination, &samples);
    assert!(is(found[0].agreement.value, 0.5) && is(found[1].agreement.value, 0.5));
    assert!(is(found[2].agreement.value, 1.0));
    assert!(is(value(found[0].quality), 0.0));
    assert!(is(value(found[1].quality), 1.0));
    // Without the first: a tie in the first sample, which the lowest class wins.
    assert!(is_some(found[0].flips(), 0.0));
    // Without the second, the second sample is a tie that class 0 wins.
    assert!(is_some(found[1].flips(), 0.5));
    assert!(is_some(found[1].quality_change, -0.5));
}

#[test]
fn who_does_not_vote_is_weighed_by_what_it_would_change() {
    let combination = Combination::equal_weights(RuleKind::Average, 3);
    let combination = combination
        .with_vote(MemberIndex::new(0), false)
        .expect("two are left");
    let samples = [(
        vec![[1.0, 0.0, 0.0], [0.4, 0.6, 0.0], [0.4, 0.6, 0.0]],
        Some(0),
    )];
    let found = weighed(&combination, &samples);
    assert!(is(found[0].agreement.value, 0.0) && is_some(found[0].flips(), 1.0));
    assert!(is_some(found[0].quality_change, 1.0));
    assert!(is_some(found[0].disagreement, 0.6) && is_some(found[0].entropy, 0.0));
    assert!(is_some(found[1].disagreement, 0.0) && found[1].entropy > Some(0.5));
}

#[test]
fn without_labels_nothing_is_said_of_accuracy() {
    let combination = Combination::equal_weights(RuleKind::Average, 2);
    let found = weighed(&combination, &[(vec![A, A], None)]);
    assert_eq!((found[0].quality, found[0].quality_change), (None, None));
    assert!(is(found[0].agreement.value, 1.0));
}

#[test]
fn values_that_are_no_probabilities_have_no_entropy() {
    let combination = Combination::equal_weights(RuleKind::Average, 2);
    let mut scales = scales_of(&combination, OutputKind::Values);
    for _ in 0..60 {
        scales.weigh(
            &[&[3.0, -1.0, 0.5], &[2.0, 7.0, 0.0]],
            Some(SampleTarget::Class(0)),
        );
    }
    let found = scales.figures(MemberIndex::new(0)).expect("enough");
    assert_eq!((found.disagreement, found.entropy), (None, None));
    assert!(is(value(found.quality), 1.0));
}

#[test]
fn a_sample_that_a_member_answers_with_nan_is_not_weighed() {
    let combination = Combination::equal_weights(RuleKind::Average, 2);
    let mut scales = scales(&combination);
    for _ in 0..60 {
        scales.weigh(&[&A, &A], Some(SampleTarget::Class(0)));
        scales.weigh(&[&A, &[f32::NAN; 3]], Some(SampleTarget::Class(0)));
    }
    let found = scales.figures(MemberIndex::new(1)).expect("enough");
    assert_eq!(found.weighed, 60);
    assert!(is(found.agreement.value, 1.0) && is(value(found.quality), 1.0));
    assert!(is_some(found.disagreement, 0.0));
}

#[test]
fn the_only_voter_is_all_there_is_and_few_samples_say_nothing() {
    let combination = Combination::equal_weights(RuleKind::Average, 2);
    let combination = combination
        .with_vote(MemberIndex::new(1), false)
        .expect("one is left");
    let found = weighed(&combination, &[(vec![A, B], Some(0))]);
    assert_eq!(found[0].flips(), None);
    assert_eq!(found[0].quality_change, None);
    let mut few = scales(&combination);
    few.weigh(&[&A, &B], Some(SampleTarget::Class(0)));
    assert_eq!(few.figures(MemberIndex::new(0)), None);
}

#[test]
fn what_came_long_ago_counts_less() {
    let combination = Combination::equal_weights(RuleKind::Average, 2);
    let mut scales = scales(&combination);
    for sample in 0..20_000 {
        let row = if sample < 10_000 { &A } else { &B };
        scales.weigh(&[row, row], Some(SampleTarget::Class(0)));
    }
    let found = scales.figures(MemberIndex::new(0)).expect("enough");
    assert_eq!(found.weighed, 20_000);
    assert!(value(found.quality) < 0.01);
}

#[test]
fn members_that_serve_are_weighed_by_what_they_answer() {
    let ensemble = digits();
    let factory = networks(&ensemble);
    let engine = Arc::new(start(&ensemble, Arc::clone(&factory)));
    let mut session = LiveSession::new(engine, factory, None);
    let seen = session.snapshot();
    assert!(seen.members.iter().all(|m| m.contribution.is_none()));
    let pattern = LoadPattern::closed(4, 8);
    session
        .command(Command::StartLoad(pattern))
        .expect("starts");
    let seen = until(&mut session, |s| {
        s.members.iter().all(|m| m.contribution.is_some())
    });
    let contributions: Vec<_> = seen.members.iter().filter_map(|m| m.contribution).collect();
    let cost: f64 = contributions.iter().map(|s| s.cost).sum();
    assert!((cost - 1.0).abs() < 1e-6);
    for contribution in contributions {
        assert!(
            contribution.agreement.value > 0.7
                && contribution.disagreement.is_some_and(|d| d < 0.4)
        );
        assert!(contribution.quality.is_some_and(|q| q.value > 0.6));
        assert!(
            contribution.flips.is_some_and(|f| f < 0.3)
                && contribution
                    .entropy
                    .is_some_and(|e| (0.0..=1.0).contains(&e))
        );
        assert!(contribution.quality_change.is_some());
    }
}
