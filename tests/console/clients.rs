//! Clients over the network: where they are listened to, who asks, what was refused.

use std::time::Duration;

use divisi_console::config::Config;
use divisi_console::linear::LineDesk;
use divisi_session::{
    CallerFigures, CallerView, Command, DoorAddress, DoorProtocol, DoorView, ErrorCount, ErrorKey,
    ErrorKind, ErrorOutcome, ErrorSubject, ErrorsView, NamedVersion, RequestError,
};

use crate::fake::{Bench, FakeSession};

fn address(protocol: DoorProtocol, at: &str) -> DoorAddress {
    DoorAddress {
        protocol,
        address: at.parse().expect("an address"),
        tls: false,
        keys: false,
    }
}

fn shut() -> DoorView {
    DoorView {
        connection_limit: 8192,
        window: Duration::from_secs(60),
        rate_window: Duration::from_secs(10),
        moment: Duration::from_secs(1),
        ..DoorView::default()
    }
}

fn caller(name: &str, has_key: bool, per_second: f64, failed: u64) -> CallerView {
    CallerView {
        name: name.into(),
        has_key,
        figures: CallerFigures {
            per_second,
            calls: (per_second * 60.0) as u64,
            failed,
        },
    }
}

fn refused(reason: ErrorKind, total: u64, series: impl Fn(u32) -> u32) -> ErrorCount {
    ErrorCount {
        key: key(ErrorOutcome::Refused, reason),
        total,
        series: (0..60).map(series).collect(),
    }
}

fn key(outcome: ErrorOutcome, reason: ErrorKind) -> ErrorKey {
    ErrorKey {
        subject: ErrorSubject::Request,
        outcome,
        reason,
    }
}

/// Errors of three kinds, and the last two in full.
fn errors() -> ErrorsView {
    let last = |second: u64, sender: &str, kind, message: &str| RequestError {
        at_ms: 1_000 * (14 * 3600 + second),
        sender: sender.into(),
        model: Some(NamedVersion {
            name: "digits".into(),
            version: "1".into(),
        }),
        key: key(ErrorOutcome::Refused, kind),
        message: message.into(),
    };
    ErrorsView {
        counts: vec![
            refused(ErrorKind::TooMany, 412, |at| at.saturating_sub(40)),
            refused(ErrorKind::BadInput, 12, |at| u32::from(at % 20 == 5)),
            refused(ErrorKind::Unauthenticated, 9, |_| 0),
        ],
        last: vec![
            last(
                62,
                "alice",
                ErrorKind::TooMany,
                "the pool is full: 0 slots free, 1 needed",
            ),
            last(
                4,
                "10.0.3.17",
                ErrorKind::BadInput,
                "input `x`: expected 64 values, found 3",
            ),
        ],
    }
}

fn open() -> DoorView {
    DoorView {
        addresses: vec![
            address(DoorProtocol::Http, "127.0.0.1:8000"),
            address(DoorProtocol::Grpc, "127.0.0.1:8001"),
            address(DoorProtocol::Metrics, "127.0.0.1:8002"),
        ],
        http_connections: 12,
        grpc_connections: 3,
        callers: vec![
            caller("alice", true, 812.0, 0),
            caller("10.0.3.17", false, 96.4, 12),
            caller("127.0.0.1", false, 0.1, 0),
        ],
        other_callers: Some((
            4,
            CallerFigures {
                per_second: 0.4,
                calls: 24,
                failed: 2,
            },
        )),
        ..shut()
    }
}

fn bench(width: u16, height: u16, door: DoorView) -> Bench {
    let mut bench = Bench::new(width, height);
    bench.show(|shown| {
        shown.door = Some(door);
        shown.errors = errors();
    });
    bench
}

#[test]
fn who_asks_and_what_was_refused_is_shown_with_its_time() {
    for (width, height) in [(80, 24), (160, 50)] {
        let mut bench = bench(width, height, open());
        bench.keys("0\r");
        screen!(format!("clients_{width}x{height}"), bench);
    }
}

#[test]
fn the_addresses_stand_in_the_header() {
    let narrow = bench(80, 24, open()).text();
    let said = "127.0.0.1 http:8000 grpc:8001 metrics:8002";
    assert!(
        narrow.lines().take(2).any(|line| line.contains(said)),
        "{narrow}"
    );
    let wide = bench(160, 50, open()).text();
    let said = "http 127.0.0.1:8000 · grpc 127.0.0.1:8001 · metrics 127.0.0.1:8002";
    assert!(
        wide.lines().take(2).any(|line| line.contains(said)),
        "{wide}"
    );
}

#[test]
fn an_address_that_others_reach_is_marked_with_what_it_lacks() {
    for (keys, tls, mark) in [
        (false, false, Some("no keys, no TLS")),
        (true, false, Some("no TLS")),
        (false, true, Some("no keys")),
        (true, true, None),
    ] {
        let http = DoorAddress {
            keys,
            tls,
            ..address(DoorProtocol::Http, "0.0.0.0:8000")
        };
        let door = DoorView {
            addresses: vec![http],
            ..open()
        };
        let text = bench(80, 24, door).text();
        let header: Vec<&str> = text.lines().take(2).collect();
        let header = header.join("\n");
        assert!(header.contains("0.0.0.0"), "{header}");
        match mark {
            Some(lack) => assert!(header.contains("! ") && header.contains(lack), "{header}"),
            None => assert!(!header.contains("! 0.0.0.0"), "{header}"),
        }
    }
    let loopback = bench(80, 24, open()).text();
    assert!(!loopback.contains("no keys"), "{loopback}");
}

#[test]
fn a_key_opens_the_door_and_closes_it_after_a_question() {
    let mut bench = bench(80, 24, shut());
    assert!(!bench.text().contains("8000"), "{}", bench.text());
    bench.keys("0o");
    assert_eq!(bench.sent(), [Command::Listen(true)]);
    bench.show(|shown| shown.door = Some(open()));
    bench.keys("o");
    assert!(
        bench.text().contains("15 connections open"),
        "{}",
        bench.text()
    );
    bench.keys("y");
    assert_eq!(
        bench.sent(),
        [Command::Listen(true), Command::Listen(false)]
    );
}

#[test]
fn why_an_address_cannot_be_listened_at_is_said() {
    let mut bench = bench(80, 24, shut());
    let reason =
        "--http 127.0.0.1:8000: another program listens there; end it, choose another address";
    *bench.desk.refusal.lock().expect("no panic") = Some(reason.into());
    bench.keys("0o");
    let text = bench.text();
    assert!(text.contains("another program listens there"), "{text}");
}

#[test]
fn without_a_door_there_is_nothing_to_open() {
    let mut bench = Bench::new(80, 24);
    bench.keys("0o");
    assert_eq!(bench.sent(), []);
    let text = bench.text();
    assert!(
        text.contains("this session cannot listen to clients"),
        "{text}"
    );
}

#[test]
fn lines_open_the_door_and_tell_who_asks() {
    let bench = bench(80, 24, open());
    let mut session = FakeSession::at(bench.desk.clone());
    let mut desk = LineDesk::new(false, Config::default().terms);
    desk.line("listen off", &mut session);
    assert_eq!(bench.sent(), [Command::Listen(false)]);
    let said = desk.line("status", &mut session).lines;
    for words in [
        "clients: http 127.0.0.1:8000, grpc 127.0.0.1:8001",
        "caller alice: 812.0 calls/s in 10 s; 48720 calls and 0 errors in 60 s",
        "errors, refused: no room: 190 in 60 s, 412 since the start",
        "error at 14:00:04Z of 10.0.3.17 to digits version 1: refused: bad input: input `x`",
    ] {
        let found = said.iter().any(|line| line.contains(words));
        assert!(found, "{words} in {said:#?}");
    }
}

/// A door that other machines reach at so many protocols.
fn reached(keys: bool, count: usize) -> DoorView {
    let protocols = [
        (DoorProtocol::Http, "0.0.0.0:9266"),
        (DoorProtocol::Grpc, "0.0.0.0:9267"),
        (DoorProtocol::Metrics, "0.0.0.0:9268"),
    ];
    let addresses = protocols.map(|(protocol, at)| DoorAddress {
        keys,
        ..address(protocol, at)
    });
    DoorView {
        addresses: addresses[..count].to_vec(),
        ..open()
    }
}

#[test]
fn a_door_without_protection_is_marked_in_the_header_at_every_size() {
    for (width, height) in [(40, 12), (60, 20), (76, 20), (80, 24), (120, 40), (160, 50)] {
        for (keys, mark) in [(false, "no keys"), (true, "no TLS")] {
            let mut bench = bench(width, height, reached(keys, 3));
            bench.show(|shown| {
                shown.ensemble = "a-name-that-is-longer-than-half-a-line".into();
                (shown.counters.failed, shown.counters.cancelled) = (99_000, 99_000);
                shown.counters.worker_restarts = 99;
            });
            let text = bench.text();
            let header: Vec<&str> = text.lines().take(2).collect();
            let header = header.join("\n");
            assert!(
                header.contains("! ") && header.contains(mark),
                "{width}x{height}: {text}"
            );
        }
    }
}

#[test]
fn the_addresses_of_a_door_stand_in_its_panel_at_every_size() {
    for (width, height) in [(40, 12), (60, 20), (80, 24), (160, 50)] {
        let mut bench = bench(width, height, reached(false, 3));
        bench.keys("0");
        let text = bench.text();
        for said in [
            "listens at ! http 0.0.0.0:9266",
            "! grpc 0.0.0.0:9267",
            "! metrics 0.0.0.0:9268",
            "connected  12 HTTP  3 gRPC",
        ] {
            assert!(text.contains(said), "{width}x{height}: {text}");
        }
        let lacks = text.contains("http 0.0.0.0:9266 (no keys, no TLS)");
        assert_eq!(lacks, width > 40, "{text}");
    }
}

/// A door at one address, asked by two whose names are as long as they usually are.
fn asked() -> DoorView {
    DoorView {
        addresses: vec![address(DoorProtocol::Http, "127.0.0.1:8000")],
        callers: vec![
            caller("alice", true, 812.0, 3),
            caller("192.168.103.117", false, 3_096.4, 282),
        ],
        other_callers: None,
        ..open()
    }
}

#[test]
fn who_asks_is_shown_whole_at_every_width() {
    for width in [40, 44, 50, 60, 76] {
        let mut bench = bench(width, 12, asked());
        bench.show(|shown| shown.errors.counts.truncate(2));
        bench.keys("0");
        let text = bench.text();
        for said in ["caller", "key alice", " 192.168.103.117 ", "calls/s", "812"] {
            assert!(text.contains(said), "{width}: {said}: {text}");
        }
        for said in ["refused: no room", "refused: bad input"] {
            assert!(text.contains(said), "{width}: {said}: {text}");
        }
        assert!(text.contains("errors"), "{width}: {text}");
        assert!(!text.contains("at most 8\n"), "{width}: {text}");
    }
}

#[test]
fn figures_of_callers_give_way_to_long_names_by_their_weight() {
    for (name, left_out) in [
        ("127.0.0.1", &[][..]),
        ("192.168.103.117", &["calls "][..]),
        ("2001:db8:85a3:8d3:1319:8a2e", &["calls ", "errors"][..]),
    ] {
        let door = DoorView {
            callers: vec![caller(name, false, 3_096.4, 282)],
            ..asked()
        };
        let mut bench = bench(40, 12, door);
        bench.keys("0");
        let text = bench.text();
        let heads = text.lines().find(|line| line.contains("caller"));
        let heads = format!("{} ", heads.expect("heads"));
        assert!(heads.contains("calls/s"), "{text}");
        for figure in ["calls ", "errors"] {
            let is_there = heads.contains(figure);
            assert_eq!(is_there, !left_out.contains(&figure), "{name}: {text}");
        }
    }
}
