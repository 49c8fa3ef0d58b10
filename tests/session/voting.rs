//! Who votes: answers are those of the voters alone, and a request has one rule.

use std::sync::Arc;

use divisi_engine::serving::{Answer, Engine, Part, Request};
use divisi_model::ensemble::{Combination, Ensemble, Files, RuleKind, Temperature, VoteWeight};
use divisi_runtime::device::MemberIndex;
use divisi_session::wire::{decode, encode};
use divisi_session::{Command, LiveSession, MarkKind, Session, Setup};
use proptest::prelude::*;

use crate::common::{digits, fakes, set_combination, start};

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
        part.fold(
            rule.as_ref(),
            MemberIndex::new(member),
            0,
            &rows[member],
            CLASSES,
        );
    }
    let answer = Answer::finish(rule.as_ref(), &[part], CLASSES);
    answer.rows().next().expect("one row").to_vec()
}

fn temperature() -> impl Strategy<Value = Temperature> {
    prop_oneof![Just(1.0), 0.2f64..5.0].prop_map(|t| Temperature::new(t).expect("in range"))
}

fn weight(of: f64) -> VoteWeight {
    VoteWeight::new(of).expect("a weight")
}

/// Any number at all, those at the edges more often.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        1e-6..1e6,
        prop::sample::select(vec![
            0.0,
            -0.0,
            1e-6,
            1e6,
            9e-7,
            1.1e6,
            1e308,
            5e-324,
            -1.0,
            f64::NAN,
            f64::INFINITY,
        ]),
    ]
}

proptest! {
    #[test]
    fn weights_are_refused_or_give_every_voter_a_share_of_one(
        numbers in prop::collection::vec(number(), 1..40),
    ) {
        let voting = vec![true; numbers.len()];
        let written = Combination::from_written(RuleKind::WeightedAverage, &numbers, voting);
        let good = |n: &f64| *n == 0.0 || (1e-6..=1e6).contains(n);
        prop_assert_eq!(written.is_ok(), numbers.iter().all(good));
        let Ok(combination) = written else { return Ok(()) };
        let voters = numbers.iter().filter(|n| **n != 0.0).count();
        prop_assert_eq!(combination.check(numbers.len()).is_ok(), voters > 0);
        prop_assume!(voters > 0);
        let shares: Vec<f32> = (0..numbers.len())
            .filter(|m| combination.voting[*m])
            .map(|m| share(&combination, MemberIndex::new(m)))
            .collect();
        prop_assert_eq!(shares.len(), voters);
        prop_assert!(shares.iter().all(|s| *s > 0.0 && s.is_finite()), "{shares:?}");
        prop_assert!((shares.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{shares:?}");
    }

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
        let weights: Vec<VoteWeight> = weights.into_iter().map(weight).collect();
        for rule in RuleKind::OF_CLASSES {
            let masked = Combination { voting: voting.clone(), ..Combination::new(rule, weights.clone()) }
                .with_temperatures(temperatures.clone());
            let alone = Combination::new(rule, voters.iter().map(|&m| weights[m]).collect())
                .with_temperatures(voters.iter().map(|&m| temperatures[m]).collect());
            let of_voters: Vec<Vec<f32>> = voters.iter().map(|&m| rows[m].clone()).collect();
            let found = fold(&masked, &order, &rows);
            let expected = fold(&alone, &(0..voters.len()).collect::<Vec<_>>(), &of_voters);
            for (a, b) in found.iter().zip(&expected) {
                prop_assert!((a - b).abs() <= 1e-5, "{found:?} {expected:?}");
            }
        }
    }
}

/// Returns the share that a member's certainty adds to an answer.
fn share(combination: &Combination, member: MemberIndex) -> f32 {
    let rule = combination.build(1);
    let mut state = vec![0.0; rule.state_width()];
    rule.fold(member, &[1.0], &mut state);
    state[0]
}

#[test]
fn a_member_that_does_not_vote_cannot_spoil_an_answer() {
    let rows = vec![vec![f32::NAN; CLASSES], vec![0.25; CLASSES]];
    for rule in RuleKind::OF_CLASSES {
        let combination = Combination::equal_weights(rule, 2);
        let combination = combination
            .with_vote(MemberIndex::new(0), false)
            .expect("one is left");
        let answer = fold(&combination, &[0, 1], &rows);
        assert!(answer.iter().all(|p| p.is_finite()), "{rule:?}");
        assert!(
            combination.with_vote(MemberIndex::new(1), false).is_err(),
            "the last one"
        );
        assert!(
            combination.with_vote(MemberIndex::new(2), false).is_err(),
            "nobody"
        );
    }
}

/// Returns the answer of the fakes when only some of them vote.
fn expected(voting: &[bool]) -> Vec<f32> {
    let voters = voting.iter().enumerate().filter(|(_, v)| **v);
    let rows: Vec<_> = voters
        .map(|(m, _)| divisi_runtime::compute::constant_row(MemberIndex::new(m), 10))
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
    let some = all
        .with_vote(MemberIndex::new(0), false)
        .and_then(|c| c.with_vote(MemberIndex::new(3), false));
    let some = some.expect("four are left");
    let possible = [expected(&all.voting), expected(&some.voting)];
    let changer = {
        let engine = Arc::clone(&engine);
        std::thread::spawn(move || {
            for round in 0..200 {
                let next = if round % 2 == 0 { &some } else { &all };
                set_combination(&engine, next.clone()).expect("it suits");
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
        .command(Command::SetVote(MemberIndex::new(0), false))
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
            .command(Command::SetVote(MemberIndex::new(member), false))
            .expect("one is left");
    }
    let refused = session.command(Command::SetVote(MemberIndex::new(5), false));
    assert!(refused.is_err(), "the last voter");
    assert!(
        session
            .command(Command::SetVote(MemberIndex::new(9), true))
            .is_err(),
        "nobody"
    );
    assert!(session.snapshot().combination.voting[5]);
}

const WEIGHTLESS: &str = r#"name = "weightless"
classes = 10
rule = "weighted-average"
input = { shape = [64] }
members = [
    { name = "silent", network = { builder = "perceptron" }, vote_weight = 0 },
    { name = "loud", network = { builder = "perceptron" }, vote_weight = 1e6 },
    { name = "quiet", network = { builder = "perceptron" }, vote_weight = 1e-6 },
]
"#;

static FILES: &[(&str, &[u8])] = &[("ensemble.toml", WEIGHTLESS.as_bytes())];

#[test]
fn a_member_of_weight_0_does_not_vote_until_it_is_told_to() {
    let name = "weightless";
    let ensemble = Ensemble::read(&Files::Embedded { name, files: FILES }).expect("valid");
    let ensemble = Arc::new(ensemble);
    assert_eq!(ensemble.combination().voting, [false, true, true]);
    assert_eq!(
        ensemble
            .single_member(MemberIndex::new(0))
            .combination()
            .voting,
        [true]
    );
    let engine = Arc::new(start(&ensemble, fakes(&ensemble)));
    let mut session = LiveSession::new(Arc::clone(&engine), fakes(&ensemble), None);
    for (member, votes) in [(1, false), (1, true), (0, true), (0, false), (2, false)] {
        let command = Command::SetVote(MemberIndex::new(member), votes);
        session.command(command).expect("somebody votes");
        assert_eq!(session.snapshot().combination.voting[member], votes);
    }
}

#[test]
fn no_command_brings_a_weight_that_no_manifest_may_have() {
    let ensemble = digits();
    let engine = Arc::new(start(&ensemble, fakes(&ensemble)));
    let mut session = LiveSession::new(engine, fakes(&ensemble), None);
    let mut setup: Setup = session.snapshot().setup();
    setup.combination.weights[3] = weight(0.625);
    let sent = encode(&Command::Apply(Box::new(setup), None)).expect("encodes");
    assert!(decode::<Command>(&sent).is_ok());
    let at = sent.windows(8).position(|w| w == 0.625f64.to_le_bytes());
    let at = at.expect("its bytes");
    for wrong in [0.0, -1.0, 1e300, 1e-300, f64::NAN, f64::INFINITY] {
        let mut other = sent.clone();
        other[at..at + 8].copy_from_slice(&f64::to_le_bytes(wrong));
        assert!(decode::<Command>(&other).is_err(), "{wrong}");
    }
}
