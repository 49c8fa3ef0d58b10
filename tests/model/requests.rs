//! The record of slow and failed requests.

use std::time::Duration;

use divisi_model::metrics::{
    KEPT_REQUESTS, LatencySplit, NamedVersion, RequestLog, RequestOrigin, RequestRecord,
    RequestSender,
};

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn request(number: u64, ended: Duration, latency: Duration) -> RequestRecord {
    RequestRecord {
        number,
        ended,
        latency,
        split: LatencySplit::default(),
        received: None,
        samples: 1,
        sender: None,
        id: String::new(),
        model: NamedVersion {
            name: "digits".into(),
            version: "1".into(),
        },
        last: None,
        batches: Vec::new(),
        failure: None,
    }
}

fn numbers(records: &[RequestRecord]) -> Vec<u64> {
    records.iter().map(|record| record.number).collect()
}

#[test]
fn the_slowest_requests_come_first() {
    let mut log = RequestLog::default();
    for (number, latency) in [(1, 3), (2, 9), (3, 5)] {
        log.answered(request(number, millis(100), millis(latency)));
    }
    assert_eq!(numbers(&log.view(millis(200)).slowest), [2, 3, 1]);
}

#[test]
fn a_fast_request_is_below_the_threshold_once_there_are_enough_slow_ones() {
    let mut log = RequestLog::default();
    assert_eq!(log.threshold(), (Duration::ZERO, Duration::ZERO));
    for number in 0..KEPT_REQUESTS as u64 {
        log.answered(request(number, millis(500), millis(10 + number)));
    }
    assert_eq!(log.threshold(), (millis(10), Duration::from_secs(10)));
    log.answered(request(99, millis(600), millis(50)));
    assert_eq!(log.threshold().0, millis(11));
    assert_eq!(log.view(millis(700)).slowest.len(), KEPT_REQUESTS);
}

#[test]
fn every_ten_seconds_slower_requests_have_a_new_chance() {
    let mut log = RequestLog::default();
    for number in 0..KEPT_REQUESTS as u64 {
        log.answered(request(number, millis(500), millis(900)));
    }
    log.answered(request(99, millis(10_500), millis(5)));
    let (least, until) = log.threshold();
    assert_eq!((least, until), (Duration::ZERO, Duration::from_secs(20)));
}

#[test]
fn requests_are_forgotten_after_a_minute() {
    let mut log = RequestLog::default();
    log.answered(request(1, millis(1_000), millis(900)));
    log.answered(request(2, millis(50_000), millis(5)));
    assert_eq!(numbers(&log.view(millis(60_000)).slowest), [1, 2]);
    assert_eq!(numbers(&log.view(millis(62_000)).slowest), [2]);
}

#[test]
fn the_last_failures_are_kept_newest_first() {
    let mut log = RequestLog::default();
    for number in 0..100 {
        let record = request(number, millis(number), millis(1));
        log.failed(record.failed("the deadline passed"));
    }
    let failed = log.view(millis(200)).failed;
    assert_eq!(failed.len(), KEPT_REQUESTS);
    assert_eq!((failed[0].number, failed[63].number), (99, 36));
    assert_eq!(failed[0].failure.as_deref(), Some("the deadline passed"));
}

#[test]
fn texts_of_clients_are_cut_to_a_line() {
    let origin = RequestOrigin {
        sender: RequestSender::Key("alice".into()),
        id: format!("a\nb{}", "x".repeat(1000)).into(),
        received: millis(2),
    };
    let record = request(1, millis(10), millis(3)).sent_by(Some(&origin));
    assert_eq!(record.sender.as_deref(), Some("alice"));
    assert!(record.id.len() < 300 && !record.id.contains('\n'));
    assert_eq!(record.whole(), millis(5));
}
