//! Latencies lately and since, bars, bounds of chance, and from when latencies count.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use divisi_engine::load::{Generator, LoadPattern};
use divisi_engine::serving::{
    Arrival, Core, CoreConfig, Discipline, DoorState, Next, Request, Stamps, WorkerSpec,
};
use divisi_model::ensemble::{BatchSize, MemberPrecision, PolicyKind};
use divisi_model::metrics::{
    Bucket, Latency, LatencySummary, LatencyTally, LogHistogram, WINDOW, stats,
};
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use proptest::prelude::*;

use crate::common::{digits, fakes, start};
use crate::wait::wait_until;

fn s(n: u64) -> Duration {
    Duration::from_secs(n)
}

#[test]
fn what_is_large_for_a_moment_is_not_usually_the_largest() {
    let every_tenth = |at: usize| if at % 10 == 9 { 2.0 } else { 1.0 };
    let usual: Vec<f64> = (0..207).map(every_tenth).collect();
    let mut disturbed = usual.clone();
    disturbed[80..100].fill(30.0);
    let largest = [&usual, &disturbed].map(|times| stats::usual_largest(times, 3));
    assert_eq!(largest, [2.0, 2.0]);
    for (values, runs, expected) in [
        (&[1.0, 5.0, 3.0][..], 1, 5.0),
        (&[4.0], 3, 4.0),
        (&[], 3, 0.0),
    ] {
        assert_eq!(stats::usual_largest(values, runs), expected, "{values:?}");
    }
}

#[test]
fn a_burst_leaves_the_window_and_stays_in_what_was_since() {
    let mut tally = LatencyTally::default();
    for _ in 0..200 {
        tally.slot(s(5)).record(14_598_000, 1);
    }
    for second in 6..60 {
        for _ in 0..100 {
            tally.slot(s(second)).record(1_000, 1);
        }
        let view = tally.view(s(second), None);
        let inside = s(second) < s(5) + WINDOW;
        assert_eq!(view.now.summary.p99 > 1_000_000, inside, "after {second} s");
        assert!(view.now.summary.count <= 100 * WINDOW.as_secs() + 200);
        assert!(view.since.summary.max > 14_000_000, "it was");
    }
    let idle = tally.view(s(60) + WINDOW, None);
    assert_eq!(idle.now.summary.count, 0, "nothing lately");
    assert_eq!(idle.since.summary.count, 200 + 54 * 100);
}

proptest! {
    #[test]
    fn every_latency_is_in_what_was_since_once_and_in_the_window_while_it_is_new(
        answers in prop::collection::vec((0u64..3_000, 1u64..1_000_000), 1..200),
    ) {
        let mut tally = LatencyTally::default();
        let mut now = 0;
        let mut given: Vec<(u64, u64)> = Vec::new();
        for (gap, micros) in answers {
            now += gap;
            tally.slot(Duration::from_millis(now)).record(micros, 1);
            given.push((now / 1000, micros));
        }
        let view = tally.view(Duration::from_millis(now), Some(Duration::from_millis(100)));
        let newest = now / 1000;
        let lately = given.iter().filter(|(at, _)| at + WINDOW.as_secs() > newest).count();
        prop_assert_eq!(view.since.summary.count, given.len() as u64);
        prop_assert_eq!(view.now.summary.count, lately as u64);
        let bars = |buckets: &[Bucket]| buckets.iter().map(|b| b.count).sum::<u64>();
        prop_assert_eq!(bars(&view.now.buckets), lately as u64);
        prop_assert_eq!(bars(&view.since.buckets), given.len() as u64);
    }

    #[test]
    fn no_bar_is_where_no_latency_was(
        micros in prop::collection::vec(1u64..5_000_000, 1..100),
    ) {
        let (mut fine, mut coarse) = (Latency::new(), LogHistogram::default());
        for &m in &micros {
            fine.record(Duration::from_micros(m));
            coarse.record(m, 1);
        }
        for bars in [fine.buckets(4), coarse.buckets(4)] {
            prop_assert!(bars.windows(2).all(|w| w[0].micros <= w[1].from));
            for bar in bars {
                // Three digits of each latency are known.
                let (from, to) = (bar.from as f64 / 1.001, bar.micros as f64 * 1.001 + 1.0);
                let within = |m: &u64| *m as f64 > from - 1.0 && *m as f64 <= to;
                prop_assert!(bar.count > 0 && bar.from < bar.micros);
                prop_assert!(micros.iter().any(within), "{bar:?} {micros:?}");
                prop_assert!(bar.micros <= 16 || bar.micros <= bar.from * 5 / 4 + 2, "{bar:?}");
            }
        }
    }

    #[test]
    fn tails_are_what_adding_all_cases_up_gives(n in 1u64..40, hit in 0u64..40, p in 0.01f64..0.99) {
        let k = hit.min(n);
        let mass = |i: u64| {
            let choose = (0..i).fold(1.0, |c, j| c * (n - j) as f64 / (j + 1) as f64);
            choose * p.powi(i as i32) * (1.0 - p).powi((n - i) as i32)
        };
        let upper: f64 = (k..=n).map(mass).sum();
        let lower: f64 = (0..=k).map(mass).sum();
        prop_assert!((stats::at_least(k, n, p) - upper).abs() < 1e-9);
        prop_assert!((stats::at_most(k, n, p) - lower).abs() < 1e-9);
    }
}

#[test]
fn bounds_are_those_of_the_tables() {
    // Clopper and Pearson's, from published tables of the 95 % interval.
    for (k, n, upper) in [
        (0, 100, 0.0362),
        (1, 100, 0.0545),
        (10, 100, 0.1762),
        (5, 20, 0.4910),
    ] {
        let found = stats::share_at_most(k, n, 0.025);
        assert!((found - upper).abs() < 5e-4, "{k} of {n}: {found}");
    }
    assert_eq!(stats::share_at_most(0, 0, 0.01), 1.0);
    let needed = stats::enough(0.01, 0.03, 0.001, 0.95).expect("some");
    let tells = stats::surprising(needed, 0.01, 0.001);
    assert!(stats::at_least(tells, needed, 0.01) <= 0.001);
    assert!(stats::at_least(tells, needed, 0.03) >= 0.95);
    assert!((600..1200).contains(&needed), "{needed}");
}

#[test]
fn a_percentile_asks_for_one_request_above_it_at_least() {
    let asks = [(0.5, 2), (0.9, 10), (0.99, 100), (0.999, 1000)];
    for (share, least) in asks {
        let of = |count| LatencySummary {
            count,
            ..LatencySummary::default()
        };
        assert!(of(least).is_enough_for(share), "{share} of {least}");
        assert!(
            !of(least - 1).is_enough_for(share),
            "{share} of {least} less one"
        );
    }
}

/// One member on one device that runs a batch at a time.
fn core() -> Core<()> {
    let mut core = Core::new(CoreConfig::ensemble(
        vec![Discipline::OneAtATime],
        &[0],
        8,
        16,
        PolicyKind::NoWait,
    ));
    core.door().set(DoorState::Open);
    let spec = WorkerSpec {
        id: core.new_worker(),
        device: DeviceIndex::new(0),
        member: MemberIndex::new(0),
        size: BatchSize::new(8).expect("a size"),
        precision: MemberPrecision::default(),
    };
    core.add_worker(Duration::ZERO, spec);
    core
}

#[test]
fn resizing_is_admission_and_not_copying() {
    let ms = Duration::from_millis;
    let mut core = core();
    let admitted = core
        .admit(ms(0), Arrival::with_samples(1), |_| ())
        .expect("room");
    // So long its samples took to be resized and written to the pool.
    core.enqueue(ms(50), admitted.request);
    let Next::Run(batch) = core.next(ms(51), DeviceIndex::new(0)) else {
        panic!("it waits");
    };
    let stamps = Stamps {
        started: ms(51),
        copied: ms(52),
        computed: ms(60),
        returned: ms(60),
        busy: ms(9),
        expected: None,
    };
    let done = core.finish(ms(61), &batch, stamps);
    let first = done.iter().next().expect("it is over");
    let split = first.split;
    assert_eq!(split.admission, ms(50));
    assert_eq!((split.queueing, split.copying), (ms(1), ms(1)));
    assert_eq!(split.total(), first.latency);
    done.pay(|_| {});
}

#[test]
fn the_oldest_request_that_waits_is_told_until_it_is_over() {
    let mut core = core();
    assert_eq!(core.oldest_waiting(s(9)), None);
    let requests: Vec<_> = (0..3)
        .map(|at| {
            let admitted = core
                .admit(s(at), Arrival::with_samples(1), |_| ())
                .expect("room");
            core.enqueue(s(at), admitted.request);
            admitted.request
        })
        .collect();
    assert_eq!(core.oldest_waiting(s(10)), Some(s(10)));
    core.fail(s(10), requests[0]).pay(|_| {});
    assert_eq!(core.oldest_waiting(s(10)), Some(s(9)));
    core.fail(s(10), requests[2]).pay(|_| {});
    assert_eq!(core.oldest_waiting(s(12)), Some(s(11)));
    core.fail(s(12), requests[1]).pay(|_| {});
    assert_eq!(core.oldest_waiting(s(12)), None);
}

#[test]
fn a_request_that_is_sent_late_has_waited_since_it_was_due() {
    let ensemble = digits();
    let engine = start(&ensemble, fakes(&ensemble));
    // As long as it serves, at least: before its start nothing was due.
    wait_until("some time passed", || {
        engine.telemetry().now() > Duration::from_millis(200)
    });
    let samples = ensemble.calibration.clone().expect("digits");
    let late = Duration::from_millis(150);
    let values = samples.rows(0, 1);
    let request = Request {
        late,
        ..Request::new(&values)
    };
    engine
        .submit(request)
        .expect("room")
        .wait()
        .expect("served");
    let seen = engine.telemetry().observe().latency;
    for latency in [seen.now, seen.since] {
        assert_eq!(latency.summary.count, 1);
        assert!(latency.summary.max >= 150_000, "{:?}", latency.summary);
        assert!(latency.split.admission >= 150_000.0, "{:?}", latency.split);
    }
}

#[test]
fn open_loads_count_from_when_requests_were_due_and_the_closed_loop_from_sending() {
    let run = |pattern: &str| {
        let ensemble = digits();
        let engine = Arc::new(start(&ensemble, fakes(&ensemble)));
        let samples = ensemble.calibration.clone().expect("digits");
        let pattern: LoadPattern = pattern.parse().expect("a pattern");
        let generator = Generator::start(Arc::clone(&engine), samples, pattern, 1, Some(400));
        let generator = generator.expect("starts");
        wait_until("all are over", || generator.is_finished());
        let behind = generator.tally().behind.load(Ordering::Relaxed);
        (behind, engine.telemetry().observe().latency.since)
    };
    // A million a second: nobody sends as fast, so each is later than the one before.
    for pattern in ["steady:1000000", "poisson:1000000", "burst:1000000"] {
        let (behind, latency) = run(pattern);
        assert!(behind > 0, "{pattern}");
        let max = latency.summary.max as f64;
        assert!(
            max * 1.001 + 1.0 >= behind as f64,
            "{pattern}: {behind} {latency:?}"
        );
    }
    let (behind, _) = run("closed:2x1");
    assert_eq!(behind, 0);
    let open = |text: &str| text.parse::<LoadPattern>().expect("a pattern").is_open();
    assert!(open("diurnal:5") && open("replay:a.csv") && !open("closed"));
}

#[test]
fn a_running_batch_is_a_span_from_its_start_to_now() {
    let ms = Duration::from_millis;
    let mut core = core();
    assert_eq!(core.under_way(ms(0)), Vec::new());
    let admitted = core
        .admit(ms(0), Arrival::with_samples(3), |_| ())
        .expect("room");
    core.enqueue(ms(1), admitted.request);
    let Next::Run(batch) = core.next(ms(5), DeviceIndex::new(0)) else {
        panic!("it waits");
    };
    let running = core.under_way(ms(900));
    let [span] = running[..] else {
        panic!("one batch runs: {running:?}");
    };
    assert_eq!((span.start, span.end), (ms(5), ms(900)));
    assert_eq!((span.samples, span.batch), (3, Some(batch.id.0)));
    assert_eq!((span.request, span.requests), (admitted.request.0, 1));
    core.finish(ms(901), &batch, Stamps::default()).pay(|_| {});
    assert_eq!(core.under_way(ms(902)), Vec::new());
}
