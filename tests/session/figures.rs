//! Figures over time: the records of seconds, their merging, their bounds, and their way over
//! sockets and through recordings.

use std::sync::atomic::Ordering;
use std::time::Duration;

use divisi_model::metrics::{LogHistogram, Reading};
use divisi_session::remote::RemoteSession;
use divisi_session::wire::{decode, encode};
use divisi_session::{
    Command, Figure, FigureCounters, FigureGauges, FigureHistory, FigureRecord, FigureRecorder,
    FigureSpread, Play, Session, WallStart,
};

use crate::folder::Folder;
use crate::transport::{Puppet, play, record, serve, viewer};

fn at(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn second(number: u64, p99: f64) -> FigureRecord {
    let record = FigureRecord::new(number, number + 1);
    record.with(Figure::P99, FigureSpread::single(p99, 1.0))
}

/// Requests of one millisecond each.
fn counters(answered: u64) -> FigureCounters {
    let mut latency = LogHistogram::default();
    latency.record(1000, answered);
    FigureCounters {
        answers: Reading {
            answered,
            samples: answered * 2,
            latency,
            ..Reading::default()
        },
        admitted: answered,
        ..FigureCounters::default()
    }
}

#[track_caller]
fn mean(record: &FigureRecord, figure: Figure) -> f64 {
    f64::from(record.figure(figure).expect("measured").mean)
}

#[test]
fn a_second_has_the_rates_and_percentiles_between_two_readings() {
    let mut recorder = FigureRecorder::default();
    let gauges = FigureGauges::default();
    recorder.note(at(0), &gauges, || counters(0));
    recorder.note(at(500), &gauges, || unreachable!("no second has ended"));
    recorder.note(at(1000), &gauges, || counters(200));
    let last = recorder.history().last().expect("a second");
    assert_eq!((last.from(), last.until()), (at(0), at(1000)));
    assert_eq!(mean(last, Figure::Answered), 200.0);
    assert_eq!(mean(last, Figure::Samples), 400.0);
    assert_eq!(mean(last, Figure::Offered), 200.0);
    assert!((mean(last, Figure::P99) - 1000.0).abs() < 70.0);
    for unknown in [Figure::Load, Figure::Met, Figure::Device, Figure::Host] {
        assert_eq!(last.figure(unknown), None, "{unknown:?}");
    }
}

#[test]
fn a_second_without_requests_has_no_percentiles() {
    let mut recorder = FigureRecorder::default();
    for now in [0, 1000, 2000] {
        recorder.note(at(now), &FigureGauges::default(), || counters(5));
    }
    let last = recorder.history().last().expect("a second");
    assert_eq!(last.figure(Figure::P50), None);
    assert_eq!(mean(last, Figure::Answered), 0.0);
}

#[test]
fn a_queue_keeps_its_highest_and_lowest_length_of_a_second() {
    let mut recorder = FigureRecorder::default();
    for (now, queue) in [(0, 4), (400, 10), (800, 1), (1000, 0)] {
        let gauges = FigureGauges {
            queue,
            ..FigureGauges::default()
        };
        recorder.note(at(now), &gauges, || counters(0));
    }
    let last = recorder.history().last().expect("a second");
    let queue = last.figure(Figure::Queue).expect("measured");
    assert_eq!((queue.low, queue.mean, queue.high), (1.0, 5.0, 10.0));
}

#[test]
fn another_engine_counts_from_zero() {
    let mut recorder = FigureRecorder::default();
    let gauges = FigureGauges::default();
    recorder.note(at(0), &gauges, || counters(900));
    let next = FigureCounters {
        generation: 1,
        ..counters(30)
    };
    recorder.note(at(1000), &gauges, || next);
    let last = recorder.history().last().expect("a second");
    assert_eq!(mean(last, Figure::Answered), 30.0);
}

#[test]
fn the_share_that_met_the_objective_counts_requests_of_the_second_only() {
    let mut recorder = FigureRecorder::default();
    for (now, objective) in [(0, (90, 10)), (1000, (93, 11))] {
        let with = FigureCounters {
            objective: Some(objective),
            ..counters(0)
        };
        recorder.note(at(now), &FigureGauges::default(), || with);
    }
    let last = recorder.history().last().expect("a second");
    assert_eq!(mean(last, Figure::Met), 0.75);
}

#[test]
fn ten_minutes_are_kept_in_seconds_and_earlier_ones_are_merged() {
    let seconds = (0..700).map(|number| second(number, number as f64));
    let history = FigureHistory::from_records(seconds);
    let records: Vec<_> = history.records().collect();
    assert_eq!(records.len(), 610);
    let first = records[0];
    assert_eq!((first.from(), first.seconds()), (at(0), 10));
    let p99 = first.figure(Figure::P99).expect("measured");
    assert_eq!((p99.low, p99.mean, p99.high), (0.0, 4.5, 9.0));
    let newest = records[records.len() - 1];
    assert_eq!((newest.from(), newest.seconds()), (at(699_000), 1));
}

#[test]
fn a_month_is_kept_whole_in_bounded_memory() {
    let mut history = FigureHistory::default();
    let hours = 31 * 24;
    for minute in 0..hours * 60 {
        history.push(FigureRecord::new(minute * 60, minute * 60 + 60).with(
            Figure::P99,
            FigureSpread::single(if minute == 7 { 5e6 } else { 1e3 }, 60.0),
        ));
    }
    assert!(history.len() <= 2400, "{}", history.len());
    assert_eq!(history.from(), Some(Duration::ZERO));
    assert_eq!(history.until(), Duration::from_secs(hours * 3600));
    let all = history.within(Duration::ZERO, Duration::MAX);
    let worst = all.expect("records").figure(Figure::P99).expect("measured");
    assert_eq!(worst.high, 5e6, "the worst minute is not averaged away");
    let records: Vec<_> = history.records().collect();
    let is_in_order = records
        .windows(2)
        .all(|two| two[0].until() <= two[1].from());
    assert!(is_in_order);
}

#[test]
fn a_record_of_the_past_is_ignored() {
    let mut history = FigureHistory::from_records([second(5, 1.0)]);
    history.push(second(5, 9.0));
    history.push(second(3, 9.0));
    assert_eq!(history.len(), 1);
}

#[test]
fn records_with_impossible_numbers_are_ignored() {
    let mut history = FigureHistory::default();
    history.push(second(1, f64::NAN));
    history.push(FigureRecord::new(u64::MAX - 1, u64::MAX));
    assert!(history.is_empty());
}

#[test]
fn records_are_the_same_after_their_way_over_the_wire() {
    let record = second(7, 1234.0);
    let bytes = encode(&record).expect("encoded");
    assert!(bytes.len() < 60, "{} bytes", bytes.len());
    assert_eq!(decode::<FigureRecord>(&bytes).expect("decoded"), record);
}

#[test]
fn the_start_of_the_engine_has_a_time_of_day_that_moves_only_with_the_clock() {
    let mut start = WallStart::default();
    assert_eq!(start.note(at(500), 1_000_500), 1_000_000);
    assert_eq!(start.note(at(1500), 1_001_520), 1_000_000);
    // The clock was set by an hour.
    assert_eq!(start.note(at(2500), 4_602_500), 4_600_000);
}

#[test]
fn a_console_that_attaches_gets_the_figures_of_the_whole_session() {
    let folder = Folder::new();
    let puppet = Puppet::new();
    (1..=30).for_each(|second| puppet.step(second * 1000));
    let (_hub, path) = serve(Box::new(puppet.clone()), &folder);
    let mut console = RemoteSession::join(&path, viewer("ann@pts/1")).expect("joins");
    let history = console.history().expect("answered");
    assert_eq!(history.len(), 30);
    let shown = console.snapshot();
    assert_eq!(shown.second.as_ref(), history.last());
}

#[test]
fn a_recording_has_the_figures_from_before_it_and_until_its_position() {
    let folder = Folder::new();
    let path = folder.join("a.divisi");
    record(&path, 20);
    let (mut session, clock) = play(&path);
    clock.store(12_500, Ordering::Relaxed);
    let history = session.history().expect("figures");
    assert_eq!(history.until(), Duration::from_secs(12));
    assert_eq!(history.len(), 12);
}

#[test]
fn seeking_in_a_recording_keeps_the_figures_complete() {
    let folder = Folder::new();
    let path = folder.join("a.divisi");
    record(&path, 40);
    let (mut session, _) = play(&path);
    for (position, seconds) in [(38, 38), (7, 7), (23, 23)] {
        let position = Play::Seek(Duration::from_millis(position * 1000 + 500));
        session
            .command(Command::Play(Play::Pause(true)))
            .expect("pauses");
        session.command(Command::Play(position)).expect("seeks");
        let history = session.history().expect("figures");
        assert_eq!(history.len(), seconds, "{position:?}");
    }
}
