//! Spans as files for trace viewers.

use std::time::Duration;

use divisi_model::trace::{Span, SpanKind, TraceNames, chrome};
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use serde_json::{Value, json};

fn span(kind: SpanKind, start: u64, end: u64) -> Span {
    Span {
        device: DeviceIndex::new(1),
        member: MemberIndex::new(2),
        batch_size: 16,
        lane: 3,
        kind,
        start: Duration::from_nanos(start),
        end: Duration::from_nanos(end),
        samples: 12,
        batch: Some(7),
        request: 40,
        requests: 2,
        of_step: None,
    }
}

fn events(spans: &[Span]) -> Vec<Value> {
    let names = TraceNames {
        devices: vec!["cpu:0", "cpu \"1\""],
        members: vec!["a", "b", "c"],
    };
    let bytes = chrome(spans.iter().copied(), &names);
    let trace: Value = serde_json::from_slice(&bytes).expect("JSON");
    trace["traceEvents"].as_array().expect("events").clone()
}

#[test]
fn a_step_is_a_slice_of_its_lanes_thread() {
    let all = events(&[span(SpanKind::Compute, 1_500, 4_750)]);
    let args = json!({"batch": 7, "samples": 12, "batch_size": 16, "request": 40, "requests": 2});
    assert_eq!(
        all[0],
        json!({"ph": "X", "name": "compute", "pid": 1, "tid": 132, "ts": 1.5, "dur": 3.25, "args": args})
    );
    assert_eq!(
        all[1..],
        [
            json!({"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "cpu \"1\""}}),
            json!({"ph": "M", "name": "thread_name", "pid": 1, "tid": 132, "args": {"name": "c lane 3"}}),
        ]
    );
}

#[test]
fn what_overlaps_is_asynchronous() {
    let all = events(&[
        span(SpanKind::Wait, 0, 9_000),
        span(SpanKind::CopyAhead, 2_000, 5_000),
    ]);
    let phases: Vec<_> = all
        .iter()
        .map(|e| (e["ph"].clone(), e["id"].clone(), e["ts"].clone()))
        .collect();
    assert_eq!(
        phases[..4],
        [
            (json!("b"), json!(0), json!(0.0)),
            (json!("e"), json!(0), json!(9.0)),
            (json!("b"), json!(1), json!(2.0)),
            (json!("e"), json!(1), json!(5.0)),
        ]
    );
}

#[test]
fn nothing_is_an_empty_trace() {
    assert!(events(&[]).is_empty());
}
