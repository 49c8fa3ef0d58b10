//! The ledger of errors: what it counts, keeps and cuts.

use std::time::Duration;

use divisi_model::error_kind::ErrorKind;
use divisi_model::metrics::{
    ErrorKey, ErrorLedger, ErrorOutcome, ErrorSubject, NamedVersion, RequestError,
};
use proptest::prelude::*;

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn model(name: &str) -> NamedVersion {
    NamedVersion {
        name: name.into(),
        version: "1".into(),
    }
}

fn error(name: Option<&str>, outcome: ErrorOutcome, message: &str) -> RequestError {
    RequestError {
        at_ms: 0,
        sender: "10.0.0.7".into(),
        model: name.map(model),
        key: ErrorKey {
            subject: ErrorSubject::Request,
            outcome,
            reason: ErrorKind::BadInput,
        },
        message: message.into(),
    }
}

#[test]
fn errors_are_counted_by_model_and_outcome() {
    let mut ledger = ErrorLedger::default();
    for _ in 0..10 {
        ledger.record(at(1), error(Some("a"), ErrorOutcome::Refused, "bad"));
    }
    ledger.record(at(2), error(Some("a"), ErrorOutcome::Failed, "broken"));
    ledger.record(at(2), error(None, ErrorOutcome::Refused, "unknown"));
    assert_eq!(ledger.requests(ErrorOutcome::Refused), 11);
    assert_eq!(ledger.requests(ErrorOutcome::Failed), 1);
    assert_eq!(ledger.requests_to(&model("a"), ErrorOutcome::Refused), 10);
    assert_eq!(ledger.last_message(ErrorOutcome::Refused), Some("unknown"));
    assert_eq!(ledger.last_message(ErrorOutcome::Cancelled), None);
}

#[test]
fn other_calls_are_no_requests() {
    let mut ledger = ErrorLedger::default();
    let mut call = error(None, ErrorOutcome::Refused, "no path");
    call.key.subject = ErrorSubject::Call;
    ledger.record(at(1), call);
    assert_eq!(ledger.requests(ErrorOutcome::Refused), 0);
    assert_eq!(ledger.counts(at(1))[0].total, 1);
    assert_eq!(ledger.last_message(ErrorOutcome::Refused), None);
}

#[test]
fn counts_of_the_last_minute_pass_and_totals_stay() {
    let mut ledger = ErrorLedger::default();
    ledger.record(at(1), error(Some("a"), ErrorOutcome::Refused, "bad"));
    ledger.record(at(1), error(Some("b"), ErrorOutcome::Refused, "bad"));
    let now = &ledger.counts(at(30))[0];
    assert_eq!((now.total, now.lately()), (2, 2));
    let later = &ledger.counts(at(70))[0];
    assert_eq!((later.total, later.lately()), (2, 0));
    assert_eq!(ledger.counts_of(at(70), &model("a"))[0].total, 1);
}

#[test]
fn a_hostile_message_is_one_short_line() {
    let mut ledger = ErrorLedger::default();
    let long = format!("first\nsecond\u{1b}[2J{}", "x".repeat(10_000));
    let mut hostile = error(Some("a"), ErrorOutcome::Refused, &long);
    hostile.sender = "\r\n".repeat(1000);
    ledger.record(at(1), hostile);
    let last = &ledger.last()[0];
    for text in [&last.message, &last.sender] {
        assert!(text.chars().count() <= 240, "{text}");
        assert!(!text.contains(char::is_control), "{text}");
        assert!(text.ends_with('…'), "{text}");
    }
    assert!(last.message.starts_with(r"first\nsecond\u{1b}[2J"));
}

#[test]
fn many_errors_of_one_kind_do_not_displace_those_of_another() {
    let mut ledger = ErrorLedger::default();
    ledger.record(at(1), error(Some("a"), ErrorOutcome::Failed, "broken"));
    for number in 0..1000 {
        let message = format!("bad {number}");
        ledger.record(at(2), error(Some("a"), ErrorOutcome::Refused, &message));
    }
    let last = ledger.last();
    assert_eq!(last.len(), 33);
    assert_eq!(last[0].message, "bad 999", "the newest is first");
    assert_eq!(ledger.last_message(ErrorOutcome::Failed), Some("broken"));
}

proptest! {
    #[test]
    fn no_error_is_lost_among_very_many_models(
        names in proptest::collection::vec(0..2000_u32, 1..1500),
    ) {
        let mut ledger = ErrorLedger::default();
        for (second, name) in names.iter().enumerate() {
            let name = format!("m{name}");
            ledger.record(at(second as u64), error(Some(&name), ErrorOutcome::Refused, "bad"));
        }
        let totals = ledger.totals();
        let models = totals.iter().filter(|(model, ..)| model.is_some()).count();
        prop_assert!(models <= 256, "{}", models);
        let sum: u64 = totals.iter().map(|(.., total)| total).sum();
        prop_assert_eq!(sum, names.len() as u64);
        prop_assert_eq!(ledger.requests(ErrorOutcome::Refused), sum);
        let now = at(names.len() as u64 - 1);
        let lately = ledger.counts(now)[0].lately();
        prop_assert_eq!(lately, names.len().min(60) as u64);
    }
}
