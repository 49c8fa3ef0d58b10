//! A session of which everything is known: marks, target, contributions, a search midway.

use std::path::PathBuf;
use std::time::Duration;

use divisi_engine::search::{Accepted, SearchProgress, Tried};
use divisi_model::allocation::Cell;
use divisi_model::ensemble::{BatchSize, Measure, Quality};
use divisi_model::metrics::{Bucket, LatencySummary, SplitMeans};
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_session::*;

use crate::fake::{Bench, search};

/// A console on it.
pub fn bench(width: u16, height: u16) -> Bench {
    let mut bench = Bench::new(width, height);
    bench.show(rich);
    bench
}

/// Adds what the plain fake leaves out.
pub fn rich(shown: &mut Snapshot) {
    shown.synthetic = false;
    shown.target = Some(Target {
        latency: Duration::from_millis(5),
        share: 0.99,
    });
    shown.latency.now.missed = Some(0.043);
    shown.latency.since.missed = Some(0.031);
    shown.latency_before = Some(before(&shown.latency.since));
    shown.marks = marks();
    shown.search = Some(searching());
    contributions(shown);
    for (i, member) in shown.members.iter_mut().enumerate() {
        let wave = |t: i32| 4800.0 + 700.0 * (f64::from(t) / (4.0 + i as f64)).sin();
        member.series = (0..60).map(|t| wave(t) as f32).collect();
        member.latency = shown.latency.clone();
        for distribution in [&mut member.latency.now, &mut member.latency.since] {
            distribution.summary.p50 = 1_100 + 200 * i as u64;
        }
    }
    for (i, entry) in shown.entries.iter_mut().enumerate() {
        entry.waiting = i * 3;
        entry.latency = shown.latency.clone();
    }
}

/// Slower by more than half, with more of it in queues.
fn before(now: &Distribution) -> Distribution {
    let slower = |b: &Bucket| Bucket {
        from: b.from * 8 / 5,
        micros: b.micros * 8 / 5,
        count: b.count / 2,
    };
    Distribution {
        summary: LatencySummary {
            count: 20_000,
            p50: 3_500,
            p90: 7_900,
            p99: 14_300,
            p999: 22_000,
            max: 41_000,
        },
        buckets: now.buckets.iter().map(slower).collect(),
        split: SplitMeans {
            queueing: 1900.0,
            ..now.split
        },
        missed: Some(0.18),
    }
}

fn marks() -> Vec<Mark> {
    let mark = |at, kind, text: &str| Mark {
        at: Duration::from_secs(at),
        kind,
        text: text.into(),
    };
    vec![
        mark(9, MarkKind::Load, "poisson:400 → poisson:800"),
        mark(21, MarkKind::Policy, "opt-wait:5ms → no-wait"),
        mark(30, MarkKind::Reload, "start cpu:1 × res-s, batch 16"),
    ]
}

/// A search in its third iteration, with neighbours better and worse.
pub fn searching() -> SearchView {
    let cell = |device, member| Cell {
        device: DeviceIndex::new(device),
        member: MemberIndex::new(member),
    };
    let tried = |(at, to, score): (Cell, u32, f64)| Tried {
        cell: at,
        to: BatchSize::new(to),
        score,
    };
    let gains = [
        (cell(0, 0), 32, 4990.0),
        (cell(0, 1), 8, 5120.0),
        (cell(0, 3), 8, 4300.0),
        (cell(0, 5), 16, 5105.0),
        (cell(1, 0), 8, 4700.0),
        (cell(1, 2), 8, 5230.0),
        (cell(1, 4), 8, 5340.0),
        (cell(1, 4), 16, 5560.0),
        (cell(1, 5), 32, 5080.0),
    ];
    let steps = [
        (1, 3770.0, vec![]),
        (54, 4400.0, vec![(cell(1, 3), BatchSize::new(16))]),
        (108, 5100.0, vec![(cell(0, 4), BatchSize::new(32))]),
    ];
    let accepted = |(evaluations, score, changes)| Accepted {
        run: false,
        evaluations,
        score,
        changes,
    };
    let mut view = search();
    view.progress = SearchProgress {
        tried: gains.into_iter().map(tried).collect(),
        accepted: steps.into_iter().map(accepted).collect(),
        curve: vec![
            (1, 3770.0),
            (9, 3900.0),
            (31, 4400.0),
            (66, 4720.0),
            (92, 5100.0),
            (131, 5560.0),
        ],
        best_score: Some(5560.0),
        ..view.progress
    };
    view
}

fn contributions(shown: &mut Snapshot) {
    let accuracy = |value| Quality {
        measure: Measure::Accuracy,
        value,
    };
    let contribution = |i: usize| {
        let i = i as f64;
        MemberContribution {
            weighed: 2048,
            agreement: accuracy(0.989 - 0.013 * i),
            quality: Some(accuracy(0.982 - 0.011 * i)),
            disagreement: Some(0.021 + 0.014 * i),
            entropy: Some(0.06 + 0.03 * i),
            cost: [0.03, 0.08, 0.19, 0.16, 0.42, 0.12][i as usize % 6],
            flips: Some(0.004 + 0.002 * i),
            otherwise: Some(0.996 - 0.002 * i),
            quality_change: Some(0.003 * (i - 3.0)),
        }
    };
    for (i, member) in shown.members.iter_mut().enumerate() {
        member.contribution = Some(contribution(i));
    }
    shown.combination.voting[5] = false;
}

/// A probation under way.
pub fn on_probation(shown: &mut Snapshot) {
    shown.probation = Some(Probation {
        terms: Terms {
            lasts: Duration::from_secs(30),
            p99: Some(1.2),
            failures: Some(0.01),
            accuracy: None,
        },
        since: Duration::from_secs(24),
        counted: Duration::from_secs(18),
        ended: None,
        state: ProbationState::Watching,
        before: Measured::default(),
        after: Measured::default(),
        checks: vec![
            Check {
                what: Limited::P99,
                value: Some(8_100.0),
                limit: 12_000.0,
                baseline: Some(10_000.0),
                beyond: 7,
                counted: 812,
                allowed: 0.0142,
                missing: 318,
            },
            Check {
                what: Limited::Failures,
                value: Some(0.0),
                limit: 0.01,
                baseline: Some(0.0),
                beyond: 0,
                counted: 812,
                allowed: 0.011,
                missing: 0,
            },
        ],
        fallback: shown.setup(),
    });
}

/// Being recorded, and watched by three.
pub fn recorded(shown: &mut Snapshot) {
    shown.recording = Some(RecordingView {
        dropped: 0,
        path: PathBuf::from("/var/lib/evening.divisi"),
        since: Duration::from_secs(2),
        bytes: 1_310_720,
        failed: None,
    });
    shown.audience = Audience {
        viewers: 3,
        editor: Some("ada@pts/4".into()),
        you_edit: false,
        attached: true,
        ..Audience::default()
    };
}

/// Everything that a lint speaks of.
pub fn troubled(shown: &mut Snapshot) {
    shown.devices[0].busy = 0.97;
    shown.devices[1].busy = 0.22;
    shown.devices[1].copying = 0.41;
    shown.members[4].queued = 4210;
    shown.members[4].growth = 912.0;
    shown.entries[0].fill = 0.3;
    shown.entries[2].copying = 1.8;
}
