//! Members that answer NaN, infinities, or no probabilities: named, never a class 0.

use std::sync::Arc;

use divisi_engine::serving::{
    Detail, Engine, EngineOptions, Failure, Flaw, FlawKind, Flaws, LogLevel, NotFiniteMember,
    Refused, Request,
};
use divisi_model::catalogue::{Catalogue, Interface, NewEntry};
use divisi_model::ensemble::{Combination, Ensemble, OutputKind, RuleKind, label_of};
use divisi_runtime::device::MemberIndex;

use crate::common::{everywhere, networks, set_combination, start, two_devices};
use crate::spoilt::{BAD, GOOD, Spoilt};

/// A member whose only step is called as it is.
pub fn not_finite(name: &str, samples: usize) -> NotFiniteMember {
    NotFiniteMember {
        name: name.into(),
        steps: Vec::new(),
        samples,
    }
}

fn spoilt() -> (Spoilt, Arc<Ensemble>) {
    of(|manifest| manifest)
}

fn of(edit: impl Fn(String) -> String) -> (Spoilt, Arc<Ensemble>) {
    let folder = Spoilt::new(edit);
    let ensemble = folder.read().expect("valid");
    (folder, Arc::new(ensemble))
}

fn engine(ensemble: &Arc<Ensemble>) -> Engine {
    start(ensemble, networks(ensemble))
}

/// The first sample of eleven is good, the second bad, the sixth bad: three parts of four.
fn eleven() -> Vec<f32> {
    let bad = |i: usize| i == 1 || i == 5;
    let sample = |i: usize| if bad(i) { BAD } else { GOOD };
    (0..11).flat_map(sample).collect()
}

fn by(ensemble: &Ensemble, rule: RuleKind) -> Combination {
    Combination {
        rule,
        ..ensemble.combination()
    }
}

#[test]
fn a_request_that_a_member_answers_with_nan_fails_and_names_it_under_every_rule() {
    let (_folder, ensemble) = spoilt();
    let engine = engine(&ensemble);
    for rule in RuleKind::OF_CLASSES {
        set_combination(&engine, by(&ensemble, rule)).expect("suits");
        let outcome = engine.predict(Request::new(&eleven())).expect("let in");
        let expected = Failure::NotFinite(vec![not_finite("spoilt", 2)]);
        assert_eq!(outcome.clone(), Err(expected), "{rule:?}");
        let said = outcome.expect_err("spoilt").to_string();
        assert_eq!(
            said,
            "member `spoilt` answered NaN or infinities for 2 samples"
        );
        let answer = engine.predict(Request::new(&GOOD.repeat(9)));
        let answer = answer.expect("let in").expect("answered");
        assert!(answer.classes().all(|l| l == Some(0)), "{rule:?}");
        assert!(answer.flaws().is_empty());
    }
    let seen = engine.telemetry().observe();
    let rules = RuleKind::OF_CLASSES.len() as u64;
    assert_eq!((seen.failed, seen.answered), (rules, rules));
    assert_eq!(seen.flaws[0], Flaws::default());
    assert_eq!(seen.flaws[1].not_finite, 2 * rules);
    assert_eq!(engine.telemetry().in_flight(), 0);
}

#[test]
fn requests_beside_a_spoilt_one_in_the_same_batch_are_answered() {
    let (_folder, ensemble) = spoilt();
    let engine = engine(&ensemble);
    for _ in 0..50 {
        let good = engine.submit(Request::new(&GOOD)).expect("room");
        let bad = engine.submit(Request::new(&BAD)).expect("room");
        let after = engine.submit(Request::new(&GOOD)).expect("room");
        assert!(good.wait().is_ok() && after.wait().is_ok());
        assert!(matches!(bad.wait(), Err(Failure::NotFinite(_))));
    }
}

#[test]
fn who_asks_is_told_which_rows_were_not_finite_and_has_no_class_for_them() {
    let (_folder, ensemble) = spoilt();
    let engine = engine(&ensemble);
    for rule in RuleKind::OF_CLASSES {
        set_combination(&engine, by(&ensemble, rule)).expect("suits");
        let values = eleven();
        let request = Request::new(&values).detailed(Detail::Marked);
        let answer = engine.predict(request).expect("let in").expect("marked");
        let flaw = |sample| Flaw {
            member: MemberIndex::new(1),
            sample,
            kind: FlawKind::NotFinite,
        };
        assert_eq!(answer.flaws(), [flaw(1), flaw(5)], "{rule:?}");
        for (sample, (row, label)) in answer.rows().zip(answer.classes()).enumerate() {
            let bad = sample == 1 || sample == 5;
            assert_eq!(label, (!bad).then_some(0), "{rule:?}, sample {sample}");
            assert!(row.iter().all(|p| p.is_nan() == bad), "{row:?}");
        }
        assert_eq!(
            answer.member_rows(MemberIndex::new(0)).count(),
            0,
            "not asked for"
        );
    }
}

#[test]
fn members_rows_come_with_the_answer_where_they_are_asked_for() {
    let (_folder, ensemble) = spoilt();
    let engine = engine(&ensemble);
    let values = eleven();
    let request = Request::new(&values).detailed(Detail::Members);
    let answer = engine.predict(request).expect("let in").expect("marked");
    for member in MemberIndex::all(2) {
        let alone = Arc::new(ensemble.single_member(member));
        let request = Request::new(&values).detailed(Detail::Marked);
        let alone = start(&alone, networks(&alone)).predict(request);
        let alone = alone.expect("let in").expect("marked");
        assert_eq!(answer.member_rows(member).count(), 11);
        for (found, expected) in answer.member_rows(member).zip(alone.rows()) {
            assert_eq!(label_of(found), label_of(expected));
            assert!(
                found
                    .iter()
                    .zip(expected)
                    .all(|(a, b)| a == b || a.is_nan())
            );
        }
    }
    let first = answer.rows().next().expect("a row");
    let mut members = (0..2).map(|m| {
        answer
            .member_rows(MemberIndex::new(m))
            .next()
            .expect("a row")[0]
    });
    let mean = members.by_ref().sum::<f32>() / 2.0;
    assert!((first[0] - mean).abs() < 1e-6);
}

#[test]
fn a_member_that_does_not_vote_spoils_nothing_and_is_counted() {
    let (_folder, ensemble) = spoilt();
    let engine = engine(&ensemble);
    for rule in RuleKind::OF_CLASSES {
        let without = by(&ensemble, rule)
            .with_vote(MemberIndex::new(1), false)
            .expect("one is left");
        set_combination(&engine, without).expect("suits");
        let outcome = engine.predict(Request::new(&BAD)).expect("let in");
        let answer = outcome.expect("answered");
        assert_eq!(answer.classes().next(), Some(Some(0)), "{rule:?}");
    }
    assert_eq!(
        engine.telemetry().observe().flaws[1].not_finite,
        RuleKind::OF_CLASSES.len() as u64
    );
}

#[test]
fn an_entry_that_may_have_them_takes_and_answers_them_and_others_do_neither() {
    let (_folder, ensemble) = spoilt();
    for non_finite in [true, false] {
        let interface = Interface {
            non_finite,
            ..Interface::default()
        };
        let entry = NewEntry::from_ensemble(Arc::clone(&ensemble), interface);
        let devices = two_devices();
        let matrix = everywhere(&ensemble, &devices);
        let engine = Engine::start_catalogue(
            Arc::new(Catalogue::from_entry(entry)),
            devices,
            &matrix,
            networks(&ensemble),
            EngineOptions::default(),
        );
        let engine = engine.expect("starts");
        let sample = [f32::NAN, f32::INFINITY, 0.0, 1.0];
        match (engine.predict(Request::new(&sample)), non_finite) {
            (Ok(Ok(answer)), true) => assert_eq!(answer.classes().next(), Some(None)),
            (Err(refused), false) => {
                let (sample, value) = (0, 0);
                assert_eq!(refused, Refused::NotFinite { sample, value });
            }
            other => panic!("{other:?}"),
        }
        let outcome = engine.predict(Request::new(&BAD)).expect("let in");
        assert_eq!(outcome.is_ok(), non_finite, "{outcome:?}");
        // They are counted all the same.
        assert_ne!(engine.telemetry().observe().flaws[1], Flaws::default());
    }
}

#[test]
fn a_member_declared_to_give_probabilities_is_held_to_it() {
    let declared = "name = \"spoilt\"\noutputs = \"probabilities\"";
    let (_folder, ensemble) = of(|m| {
        let (head, member) = m
            .rsplit_once("name = \"spoilt\"")
            .expect("the second member");
        format!("{head}{declared}{member}")
    });
    let engine = engine(&ensemble);
    let logits = [0.0, 0.3, 0.2, 0.1];
    let values = [GOOD, logits].concat();
    let request = Request::new(&values).detailed(Detail::Marked);
    let answer = engine.predict(request).expect("let in").expect("answered");
    // 5, 0, 0 sums to 5; 1.5, 1 and 0.5 to 3.
    let kinds: Vec<_> = answer.flaws().iter().map(|f| (f.member, f.kind)).collect();
    assert_eq!(
        kinds,
        [(MemberIndex::new(1), FlawKind::NotProbabilities); 2]
    );
    assert!(answer.classes().all(|l| l.is_some()), "they are numbers");
    assert!(engine.predict(Request::new(&GOOD)).expect("let in").is_ok());
    assert_eq!(engine.telemetry().observe().flaws[1].not_probabilities, 3);
    let events = engine.telemetry().take_events();
    let (_, first) = events.first().expect("an event");
    assert_eq!(first.level(), LogLevel::Warn);
    let text = first.text();
    assert!(
        text.starts_with("member `spoilt` answered no probabilities for 2"),
        "{text}"
    );
}

#[test]
fn values_are_taken_as_they_are_and_only_by_rules_that_can() {
    let with = |rule: &'static str| {
        move |m: String| {
            let m = m.replace("name = \"s", "outputs = \"values\"\nname = \"s");
            m.replacen("outputs = \"values\"\n", &format!("rule = \"{rule}\"\n"), 1)
        }
    };
    let (_folder, ensemble) = of(with("average"));
    assert_eq!(ensemble.outputs(), [OutputKind::Values; 2]);
    let engine = engine(&ensemble);
    let answer = engine.predict(Request::new(&[0.0, 3.0, -2.0, 0.0]));
    let answer = answer.expect("let in").expect("answered");
    assert_eq!(answer.rows().next(), Some(&[15.0, -10.0, 0.0][..]));
    let refused = set_combination(&engine, by(&ensemble, RuleKind::AverageLogits));
    assert_eq!(
        refused.expect_err("no logits").to_string(),
        "combination: rule: `average-logits` needs probabilities from every member, but `sound` \
         returns values"
    );
    let error = Spoilt::new(with("average-logits"))
        .read()
        .expect_err("no logits");
    assert!(
        error.contains("ensemble.toml:1: rule: `average-logits` needs"),
        "{error}"
    );
}
