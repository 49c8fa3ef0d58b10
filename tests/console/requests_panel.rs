//! The panel of recent requests: their order, their parts, and the lit request.

use std::time::Duration;

use crossterm::event::KeyCode;
use divisi_console::console::Panel;
use divisi_model::trace::{Span, SpanKind};
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_session::{LastRun, LatencySplit, NamedVersion, RequestRecord, RequestsView, Snapshot};

use crate::fake::Bench;

fn micros(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

/// A request that waited for `queueing` and computed for 4 ms.
fn request(number: u64, queueing: u64) -> RequestRecord {
    let split = LatencySplit {
        admission: micros(40),
        queueing: micros(queueing),
        computing: micros(4_000),
        combining: micros(20),
        ..LatencySplit::default()
    };
    RequestRecord {
        number,
        ended: Duration::from_millis(30_000 + number),
        latency: split.total(),
        split,
        received: Some(micros(200)),
        samples: 4,
        sender: Some("alice".into()),
        id: String::new(),
        model: NamedVersion {
            name: "digits".into(),
            version: "1".into(),
        },
        last: Some(LastRun {
            step: "dense".into(),
            place: Some((DeviceIndex::new(1), MemberIndex::new(5))),
            batch: Some(3),
        }),
        batches: vec![1, 2, 3],
        failure: None,
    }
}

fn failed(number: u64) -> RequestRecord {
    RequestRecord {
        split: LatencySplit::default(),
        last: None,
        sender: None,
        received: None,
        ..request(number, 0).failed("the deadline passed")
    }
}

fn set(shown: &mut Snapshot) {
    shown.started = Some((20_000 * 24 + 14) * 3_600_000);
    let mut named = request(17, 900);
    named.id = "order-66".into();
    named.sender = Some("10.0.3.17".into());
    shown.requests = RequestsView {
        slowest: vec![request(12, 31_000), request(15, 3_100), named],
        failed: vec![failed(21), failed(20)],
    };
}

fn bench(width: u16, height: u16) -> Bench {
    let mut bench = Bench::new(width, height);
    bench.show(set);
    bench
}

#[test]
fn the_slowest_requests_are_listed_with_their_parts() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut bench = bench(width, height);
        bench.keys("y");
        screen!(format!("requests_{width}x{height}"), bench);
    }
}

#[test]
fn the_critical_path_is_said_in_words() {
    let mut bench = bench(120, 40);
    bench.keys("y");
    bench.press(KeyCode::Down);
    let text = bench.plain();
    let words = "0.20 ms on the network and reading it, 0.04 ms before the queue, \
                 waited 3.10 ms for dense on cpu:1, computed 4.00 ms, combined 0.02 ms";
    let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("54 % compute:"), "{text}");
    assert!(said.contains(words), "{text}");
}

#[test]
fn failed_requests_have_their_reason() {
    let mut bench = bench(120, 40);
    bench.keys("yo");
    let text = bench.plain();
    assert!(text.contains("2 failed, newest first"), "{text}");
    assert!(text.contains("the deadline passed"), "{text}");
    assert!(!text.contains("alice"), "{text}");
}

#[test]
fn the_newest_come_first_if_asked_for() {
    let mut bench = bench(120, 40);
    bench.keys("yoo");
    let text = bench.plain();
    let place = |name: &str| text.find(name).unwrap_or_else(|| panic!("{name}: {text}"));
    assert!(place("#21") < place("order-66"), "{text}");
    assert!(place("order-66") < place("#12"), "{text}");
}

#[test]
fn a_filter_finds_an_id_or_a_client() {
    for filter in ["order", "10.0.3", "17"] {
        let mut bench = bench(120, 40);
        bench.keys("y/");
        bench.keys(filter);
        bench.press(KeyCode::Enter);
        let text = bench.plain();
        assert!(
            text.contains("order-66") && !text.contains("#15 "),
            "{filter}: {text}"
        );
    }
}

#[test]
fn a_selected_request_stays_while_others_arrive() {
    let mut bench = bench(120, 40);
    bench.keys("y");
    bench.press(KeyCode::Down);
    bench.show(|shown| shown.requests.slowest.insert(0, request(40, 90_000)));
    let text = bench.plain();
    assert!(
        text.contains("HELD") && text.contains("#15 of alice"),
        "{text}"
    );
    assert!(!text.contains("#40"), "{text}");
    bench.press(KeyCode::Esc);
    assert!(bench.plain().contains("#40"));
}

/// The computation of a batch that begins with another request.
fn span() -> Span {
    Span {
        device: DeviceIndex::new(1),
        member: MemberIndex::new(5),
        batch_size: 8,
        lane: 0,
        kind: SpanKind::Compute,
        start: Duration::from_millis(41_900),
        end: Duration::from_millis(41_904),
        samples: 8,
        batch: Some(3),
        request: 11,
        requests: 2,
        of_step: None,
    }
}

#[test]
fn a_lit_request_shows_its_spans_and_its_last_worker() {
    let mut bench = bench(120, 40);
    bench.desk.spans.lock().expect("lock").push(span());
    bench.show(|shown| shown.requests.slowest[0].ended = span().end);
    bench.keys("y");
    bench.press(KeyCode::Enter);
    let model = bench.console.model();
    let reading = model.streams.reading.as_ref().expect("a lit span");
    assert_eq!(reading.span, span());
    assert_eq!(reading.request().number, 12);
    assert_eq!(model.cursor.member, MemberIndex::new(5));
    assert_eq!(model.focus, Panel::Requests);
    assert!(bench.plain().contains("3 streams"), "{}", bench.plain());
    bench.press(KeyCode::Esc);
    assert!(bench.console.model().streams.reading.is_none());
}

#[test]
fn a_request_whose_spans_are_gone_is_said_to_be_gone() {
    let mut bench = bench(120, 40);
    bench.keys("y");
    bench.press(KeyCode::Enter);
    assert!(bench.plain().contains("its spans are no longer kept"));
}

#[test]
fn without_requests_the_panel_says_so() {
    let mut bench = Bench::new(80, 24);
    bench.keys("y");
    assert!(bench.plain().contains("no requests in the last minute"));
}
