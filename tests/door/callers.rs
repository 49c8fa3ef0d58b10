//! Who asks: calls by key or address, refusals by reason, over a time that is said.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use divisi_door::callers::{CallerLedger, CallerName, MOMENTS, RATE_MOMENTS};
use divisi_door::keys::Keys;
use divisi_door::limits::ServerLimits;
use divisi_door::notices::Notices;
use divisi_door::{InferenceServer, ServerActivity, ServerOptions};
use divisi_inference::error::ErrorKind;
use divisi_model::metrics::ErrorOutcome;
use serde_json::json;

use crate::client::{ask, ask_with, request};
use crate::service::{Echo, TestServer, options};
use crate::wait::wait_until;

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn caller(last: u8) -> CallerName {
    CallerName::Address(IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)))
}

#[test]
fn calls_are_counted_over_the_last_minute_and_rates_over_ten_seconds() {
    let mut ledger = CallerLedger::default();
    for second in 0..20 {
        for _ in 0..5 {
            ledger.count(at(second), &caller(1), false);
        }
        ledger.count(at(second), &caller(2), true);
    }
    let seen = ledger.snapshot(at(20));
    let (first, figures) = &seen.callers[0];
    assert_eq!(*first, caller(1), "the busiest is first");
    assert_eq!((figures.calls, figures.failed), (100, 0));
    assert_eq!(figures.per_second, 5.0);
    let (_, figures) = &seen.callers[1];
    assert_eq!((figures.calls, figures.failed), (20, 20));

    let quiet = ledger.snapshot(at(20 + RATE_MOMENTS as u64));
    assert_eq!(quiet.callers[0].1.per_second, 0.0);
    assert_eq!(quiet.callers[0].1.calls, 100);

    let gone = ledger.snapshot(at(20 + MOMENTS as u64));
    assert!(gone.callers.is_empty(), "{gone:?}");
}

#[test]
fn callers_beyond_a_bound_are_counted_together() {
    let mut ledger = CallerLedger::default();
    for high in 0..40 {
        for low in 0..=u8::MAX {
            let name = CallerName::Address(IpAddr::V4(Ipv4Addr::new(10, 0, high, low)));
            ledger.count(at(1), &name, false);
        }
    }
    let seen = ledger.snapshot(at(1));
    let shown: u64 = seen.callers.iter().map(|(_, figures)| figures.calls).sum();
    let (known, others) = seen.others.expect("others");
    assert!(seen.callers.len() <= 32 && known <= 256, "{known}");
    assert_eq!(shown + others.calls, 40 * 256, "every call is counted once");
}

#[test]
fn whoever_is_idle_makes_room() {
    let mut ledger = CallerLedger::default();
    for low in 0..=u8::MAX {
        ledger.count(at(0), &caller(low), false);
    }
    let key = CallerName::Key("late".into());
    ledger.count(at(MOMENTS as u64), &key, false);
    let seen = ledger.snapshot(at(MOMENTS as u64));
    assert_eq!(seen.callers.len(), 1);
    assert_eq!(seen.callers[0].0, key);
}

fn body() -> Vec<u8> {
    let input = json!({"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [1, 2, 3]});
    json!({"inputs": [input]}).to_string().into_bytes()
}

/// The calls of the only caller, and those with an error.
fn counted(activity: &ServerActivity) -> (u64, u64) {
    let figures = activity.seen.callers.first().map(|(_, figures)| *figures);
    let figures = figures.unwrap_or_default();
    (figures.calls, figures.failed)
}

/// How often each kind of error was counted.
fn errors(server: &InferenceServer) -> Vec<(ErrorOutcome, ErrorKind, u64)> {
    let counts = server.errors().counts().into_iter();
    let counts = counts.map(|count| (count.key.outcome, count.key.reason, count.total));
    counts.collect()
}

#[test]
fn calls_over_http_are_counted_by_address_and_refusals_by_reason() {
    let server = TestServer::start();
    let address = server.server.addresses().http.expect("an address");
    for (path, body) in [
        ("/v2/models/echo/infer", body()),
        ("/v2/models/echo/infer", b"{".to_vec()),
        ("/v2/models/nobody/infer", body()),
        ("/v2/models/broken/infer", body()),
    ] {
        ask(address, "POST", path, &body);
    }
    wait_until("every call is counted", || {
        counted(&server.server.activity()).0 == 4
    });
    let activity = server.server.activity();
    assert_eq!(activity.seen.callers[0].0.to_string(), "127.0.0.1");
    assert_eq!(counted(&activity).1, 3);
    let mut errors = errors(&server.server);
    errors.sort_by_key(|(_, kind, _)| kind.http());
    let expected = [
        (ErrorOutcome::Refused, ErrorKind::BadInput, 1),
        (ErrorOutcome::Refused, ErrorKind::NotFound, 1),
        (ErrorOutcome::Failed, ErrorKind::Internal, 1),
    ];
    assert_eq!(errors, expected);
}

#[test]
fn a_call_with_a_key_is_its_holders() {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    let hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    writeln!(file, "infer {hash} alice").expect("is written");
    let keys = Keys::read(file.path(), Notices::default()).expect("keys");
    let options = ServerOptions {
        keys: Some(Arc::new(keys)),
        ..options(ServerLimits::default())
    };
    let server = InferenceServer::start(Arc::new(Echo::default()), &options).expect("starts");
    let address = server.addresses().http.expect("an address");
    let header = [("authorization", "Bearer test".to_owned())];
    ask_with(address, "POST", "/v2/models/echo/infer", &header, &body());
    ask(address, "POST", "/v2/models/echo/infer", &body());
    wait_until("both calls are counted", || {
        server.activity().seen.callers.len() == 2
    });
    let callers = server.activity().seen.callers;
    let named: Vec<_> = callers
        .iter()
        .map(|(who, f)| (who.to_string(), f.failed))
        .collect();
    assert!(named.contains(&("alice".into(), 0)), "{named:?}");
    assert!(named.contains(&("127.0.0.1".into(), 1)), "{named:?}");
}

#[test]
fn connections_are_counted_as_long_as_they_are_open_and_refused_ones_by_their_reason() {
    let server = TestServer::within(ServerLimits {
        connections: 2,
        ..ServerLimits::default()
    });
    let (test, server) = (&server, &server.server);
    let address = server.addresses().http.expect("an address");
    // Idle connections would make room for a third.
    let never = request("POST", "/v2/models/never/infer", &[], br#"{"inputs":[]}"#);
    let open = |_| {
        let mut client = TcpStream::connect(address).expect("connects");
        client.write_all(&never).expect("is sent");
        client
    };
    let connections: Vec<TcpStream> = (0..2).map(open).collect();
    wait_until("both requests are under way", || test.waits(2));
    assert_eq!(server.activity().http, 2);
    let third = ask(address, "GET", "/v2", b"");
    assert_eq!(third.status, 503);
    let refused = (ErrorOutcome::Refused, ErrorKind::TooMany, 1);
    assert_eq!(errors(server), [refused]);
    drop(connections);
    wait_until("none is open", || server.activity().http == 0);
    let metrics = String::from_utf8(ask(address, "GET", "/metrics", b"").body).expect("text");
    let refused = "divisi_calls_refused_total{reason=\"too_many\"} 1\n";
    assert!(metrics.contains(refused), "{metrics}");
    assert_eq!(server.activity().grpc, 0);
}
