//! Who votes: answers are those of the voters alone, and a request has one rule.

use std::sync::Arc;

use divisi::ensemble::{Combination, RuleKind, Temperature};
use divisi::serving::{Answer, Engine, Part, Request};
use divisi::session::{Command, LiveSession, MarkKind, Session};
use proptest::prelude::*;

use crate::common::{digits, fakes, start};

const CLASSES: usize = 4;
const MEMBERS: usize = 5;

fn predictions() -> impl Strategy<Value = Vec<Vec<f32>>> {
    let row = prop::collection::vec(0.01f32..1.0, CLASSES);
    let row = row.prop_map(|v| {
        let sum: f32 = v.iter().sum();
        v.into_iter().map(|p| p / sum).collect::<Vec<_>>()
    });
    prop::collection::vec(row, MEMBERS)
}

fn fold(combination: &Combination, order: &[usize], rows: &[Vec<f32>]) -> Vec<f32> {
    let rule = combination.build(CLASSES);
    let part = Part::new(1);
    for &member in order {
        part.fold(rule.as_ref(), member, 0, &rows[member], CLASSES);
    }
    let answer = Answer::finish(rule.as_ref(), &[part], CLASSES);
    answer.rows().next().expect("one row").to_vec()
}

fn temperature() -> impl Strategy<Value = Temperature> {
    prop_oneof![Just(1.0), 0.2f64..5.0].prop_map(|t| Temperature::new(t).expect("in range"))
}

proptest! {
    #[test]
    fn answers_are_those_of_the_voters_alone_in_any_order(
        rows in predictions(),
        weights in prop::collection::vec(0.1f64..5.0, MEMBERS),
        voting in prop::collection::vec(any::<bool>(), MEMBERS),
        temperatures in prop::collection::vec(temperature(), MEMBERS),
        order in Just((0..MEMBERS).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        prop_assume!(voting.contains(&true));
        let voters: Vec<usize> = (0..MEMBERS).filter(|&m| voting[m]).collect();
        for rule in RuleKind::ALL {
            let masked = Combination { voting: voting.clone(), ..Combination::new(rule, weights.clone()) }
                .at(temperatures.clone());
            let alone = Combination::new(rule, voters.iter().map(|&m| weights[m]).collect())
                .at(voters.iter().map(|&m| temperatures[m]).collect());
            let of_voters: Vec<Vec<f32>> = voters.iter().map(|&m| rows[m].clone()).collect();
            let found = fold(&masked, &order, &rows);
            let expected = fold(&alone, &(0..voters.len()).collect::<Vec<_>>(), &of_voters);
            for (a, b) in found.iter().zip(&expected) {
                prop_assert!((a - b).abs() <= 1e-5, "{found:?} {expected:?}");
            }
        }
    }
}

#[test]
fn a_member_that_does_not_vote_cannot_spoil_an_answer() {
    let rows = vec![vec![f32::NAN; CLASSES], vec![0.25; CLASSES]];
    for rule in RuleKind::ALL {
        let combination = Combination::new(rule, vec![1.0; 2]);
        let combination = combination.with_vote(0, false).expect("one is left");
        let answer = fold(&combination, &[0, 1], &rows);
        assert!(answer.iter().all(|p| p.is_finite()), "{rule:?}");
        assert!(combination.with_vote(1, false).is_err(), "the last one");
        assert!(combination.with_vote(2, false).is_err(), "nobody");
    }
}

/// What the fakes come to when only some of them vote.
fn expected(voting: &[bool]) -> Vec<f32> {
    let voters = voting.iter().enumerate().filter(|(_, v)| **v);
    let rows: Vec<_> = voters
        .map(|(m, _)| divisi::compute::constant_row(m, 10))
        .collect();
    (0..10)
        .map(|c| rows.iter().map(|r| r[c]).sum::<f32>() / rows.len() as f32)
        .collect()
}

fn is_near(row: &[f32], expected: &[f32]) -> bool {
    row.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5)
}

#[test]
fn a_change_under_way_never_mixes_rules_in_one_request() {
    let ensemble = digits();
    let engine = Arc::new(start(&ensemble, fakes(&ensemble)));
    let all = ensemble.combination();
    let some = all.with_vote(0, false).and_then(|c| c.with_vote(3, false));
    let some = some.expect("four are left");
    let possible = [expected(&all.voting), expected(&some.voting)];
    let changer = {
        let engine = Arc::clone(&engine);
        std::thread::spawn(move || {
            for round in 0..200 {
                let next = if round % 2 == 0 { &some } else { &all };
                engine.set_combination(next.clone()).expect("it suits");
                std::thread::yield_now();
            }
        })
    };
    while !changer.is_finished() {
        one_rule(&engine, &possible);
    }
    changer.join().expect("it ends");
    one_rule(&engine, &possible);
}

fn one_rule(engine: &Engine, possible: &[Vec<f32>; 2]) {
    let pending: Vec<_> = (0..4)
        .map(|_| engine.submit(Request::new(&[0.0; 64 * 90])).expect("room"))
        .collect();
    for pending in pending {
        let answer = pending.wait().expect("answered");
        let first = answer.rows().next().expect("rows").to_vec();
        assert!(possible.iter().any(|p| is_near(&first, p)), "{first:?}");
        assert!(answer.rows().all(|row| is_near(row, &first)), "mixed");
    }
}

#[test]
fn a_vote_is_taken_and_given_back_live_and_is_a_step_of_history() {
    let ensemble = digits();
    let engine = Arc::new(start(&ensemble, fakes(&ensemble)));
    let mut session = LiveSession::new(Arc::clone(&engine), fakes(&ensemble), None);
    session
        .command(Command::SetVote(0, false))
        .expect("five are left");
    let seen = session.snapshot();
    assert!(!seen.combination.voting[0] && seen.can_undo);
    let mark = seen.marks.last().expect("a mark");
    assert_eq!(mark.kind, MarkKind::Combination);
    assert!(mark.text.contains("no longer votes"), "{}", mark.text);
    assert!(seen.log.iter().any(|l| l.text.contains("no longer votes")));
    assert_eq!(seen.history.len(), 2);
    let answer = engine.predict(Request::new(&[0.0; 64]));
    let answer = answer.expect("admitted").expect("answered");
    let row = answer.rows().next().expect("a row");
    assert!(is_near(row, &expected(&seen.combination.voting)));
    for member in 1..5 {
        session
            .command(Command::SetVote(member, false))
            .expect("one is left");
    }
    let refused = session.command(Command::SetVote(5, false));
    assert!(refused.is_err(), "the last voter");
    assert!(
        session.command(Command::SetVote(9, true)).is_err(),
        "nobody"
    );
    assert!(session.snapshot().combination.voting[5]);
}
