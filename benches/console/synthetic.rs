//! A session of 48 lanes whose spans come at a chosen rate from a thread of its own,
//! through the same rings as an engine's.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use divisi_engine::serving::Flaws;
use divisi_model::allocation::{Frame, Matrix};
use divisi_model::codes::Code;
use divisi_model::ensemble::{
    AnswerKind, AnswerWidth, BatchSizes, Combination, MemberPrecision, PolicyKind, RuleKind,
};
use divisi_model::trace::{Span, SpanKind, SpanRing};
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_session::*;

const DEVICES: usize = 4;
const MEMBERS: usize = 12;
/// As an engine's.
const RING: usize = 16_384;
/// The producer wakes up so often.
const BEAT: Duration = Duration::from_millis(5);
/// Steps of a batch.
const STEPS: [SpanKind; 5] = [
    SpanKind::Wait,
    SpanKind::CopyIn,
    SpanKind::Compute,
    SpanKind::CopyOut,
    SpanKind::Send,
];

/// Rings that a thread fills until this is dropped.
pub struct Producer {
    rings: Arc<Vec<SpanRing>>,
    started: Instant,
    /// Nanoseconds spent pushing, and spans pushed.
    pushing: Arc<AtomicU64>,
    pushed: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Producer {
    /// `rate` spans a second over all lanes.
    pub fn start(rate: u64) -> Self {
        let mut producer = Producer {
            rings: Arc::new((0..DEVICES).map(|_| SpanRing::new(RING)).collect()),
            started: Instant::now(),
            pushing: Arc::default(),
            pushed: Arc::default(),
            stop: Arc::default(),
            thread: None,
        };
        let (rings, started) = (Arc::clone(&producer.rings), producer.started);
        let (pushing, pushed) = (Arc::clone(&producer.pushing), Arc::clone(&producer.pushed));
        let stop = Arc::clone(&producer.stop);
        producer.thread = Some(thread::spawn(move || {
            let mut batch = 0;
            while !stop.load(Ordering::Relaxed) {
                let until = started.elapsed();
                let due = (until.as_secs_f64() * rate as f64 / STEPS.len() as f64) as u64;
                while batch < due {
                    let at =
                        Duration::from_secs_f64(batch as f64 * STEPS.len() as f64 / rate as f64);
                    let spans = spans(batch, at, rate);
                    let before = Instant::now();
                    rings[spans[0].device].push(&spans);
                    let took = before.elapsed().as_nanos() as u64;
                    pushing.fetch_add(took, Ordering::Relaxed);
                    pushed.fetch_add(spans.len() as u64, Ordering::Relaxed);
                    batch += 1;
                }
                thread::park_timeout(BEAT);
            }
        }));
        producer
    }

    /// A session on it.
    pub fn session(&self) -> Box<Synthetic> {
        Box::new(Synthetic {
            rings: Arc::clone(&self.rings),
            started: self.started,
            shown: shown(),
        })
    }

    /// Spans pushed, and what one took on average.
    pub fn cost(&self) -> (u64, Duration) {
        let pushed = self.pushed.load(Ordering::Relaxed);
        let nanos = self.pushing.load(Ordering::Relaxed) / pushed.max(1);
        (pushed, Duration::from_nanos(nanos))
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the producer ends");
        }
    }
}

/// A batch that ends at `at`; a lane is busy for nearly all of the time.
pub fn spans(batch: u64, at: Duration, rate: u64) -> [Span; 5] {
    let lanes = (DEVICES * MEMBERS) as u64;
    let lane = (batch % lanes) as usize;
    let every = Duration::from_secs_f64(5.0 * lanes as f64 / rate as f64);
    let marks = [0.0, 0.3, 0.36, 0.92, 0.96, 1.0].map(|p| every.mul_f64(p));
    std::array::from_fn(|i| Span {
        device: DeviceIndex::new(lane % DEVICES),
        member: MemberIndex::new(lane / DEVICES),
        batch_size: 16,
        lane: 0,
        kind: STEPS[i],
        start: (at + marks[i]).saturating_sub(every),
        end: (at + marks[i + 1]).saturating_sub(every),
        samples: 1 + (batch % 16) as usize,
        batch: Some(batch),
        request: batch * 4,
        requests: 4,
        of_step: None,
    })
}

/// A state that changes a little with time, as a busy engine's does.
pub struct Synthetic {
    rings: Arc<Vec<SpanRing>>,
    started: Instant,
    shown: Snapshot,
}

impl Session for Synthetic {
    fn snapshot(&mut self) -> Snapshot {
        let now = self.now();
        let wave = 1.0 + 0.1 * now.as_secs_f64().sin();
        let shown = &mut self.shown;
        shown.now = now;
        shown.counters.answered = (now.as_secs_f64() * 4000.0) as u64;
        shown.throughput.samples_per_s = 4000.0 * wave;
        shown.devices.iter_mut().for_each(|d| d.busy = 0.8 * wave);
        shown
            .members
            .iter_mut()
            .for_each(|m| m.samples_per_s = 4000.0 * wave);
        shown.clone()
    }

    fn now(&mut self) -> Duration {
        self.started.elapsed()
    }

    fn drain_spans(&mut self, into: &mut Vec<Span>) -> u64 {
        self.rings.iter().map(|ring| ring.drain(into)).sum()
    }

    fn command(&mut self, _: Command) -> Result<(), Refusal> {
        Ok(())
    }

    fn preview(&mut self, _: &Setup) -> Result<EditPreview, Refusal> {
        Err(Refusal::new(Code::DoesNotFit, "nothing to preview"))
    }

    fn what_if(&mut self, _: &WhatIf) -> Result<WhatIfReply, Refusal> {
        Err(Refusal::new(Code::DoesNotFit, "nothing to predict"))
    }
}

fn shown() -> Snapshot {
    let frame = Arc::new(Frame {
        devices: (0..DEVICES).map(|d| format!("sim:v100:{d}")).collect(),
        members: (0..MEMBERS).map(|m| format!("resnet{}", 101 + m)).collect(),
        batch_sizes: BatchSizes::default(),
    });
    let device = |name: &String| DeviceView {
        name: name.clone(),
        kind: "simulated".into(),
        faults_on_demand: true,
        busy: 0.8,
        copying: 0.1,
        memory_booked: 9 << 30,
        memory_bytes: 16 << 30,
        shares_memory_of: None,
        side_by_side: true,
        lost: false,
        loss: None,
        gpu: None,
        slowdown: 1.0,
        max_inf: None,
        alive: 48,
    };
    let member = |name: &String| MemberView {
        name: name.clone(),
        flops: 4_000_000_000,
        parameters: 25_000_000,
        synthetic: true,
        precision: MemberPrecision::default(),
        queued: 12,
        growth: 0.0,
        samples_per_s: 4000.0,
        series: vec![4000.0; 60],
        latency: LatencyView::default(),
        contribution: None,
        flaws: Flaws::default(),
    };
    let entry = EntryView {
        load: 0.1,
        fill: 0.9,
        batches: 1000,
        ..EntryView::default()
    };
    let line = |i: u64| LogEntry {
        at: Duration::from_secs(i),
        level: LogLevel::Info,
        text: format!("line {i} of the program's log"),
    };
    Snapshot {
        generation: 0,
        models: Vec::new(),
        copies: Arc::default(),
        can_load: false,
        door: None,
        scaling: None,
        model_change: None,
        graphs: Vec::new(),
        now: Duration::ZERO,
        started: None,
        second: None,
        requests: Default::default(),
        ensemble: "synthetic".into(),
        answers: AnswerKind::Classes {
            count: AnswerWidth::nearest(10),
        },
        pipeline: false,
        synthetic: true,
        simulated: true,
        precision: None,
        health: Health::Serving,
        lately: LostRequests::default(),
        errors: divisi_session::ErrorsView::default(),
        matrix: Matrix::from_rows(Arc::clone(&frame), &vec![vec![16; MEMBERS]; DEVICES])
            .expect("valid"),
        policy: PolicyKind::NoWait,
        own_policies: false,
        combination: Combination::equal_weights(RuleKind::Average, MEMBERS),
        segment_size: 128,
        devices: frame.devices.iter().map(device).collect(),
        members: frame.members.iter().map(member).collect(),
        entries: vec![entry; DEVICES * MEMBERS],
        latency: LatencyView::default(),
        latency_before: None,
        oldest_waiting: None,
        host: None,
        under_way: Vec::new(),
        target: None,
        throughput: ThroughputView {
            samples_per_s: 4000.0,
            requests_per_s: 1000.0,
            series: vec![4000.0; 120],
            moment: Duration::from_secs(1),
        },
        quality: None,
        counters: Counters::default(),
        load: LoadView::default(),
        search: None,
        reload: None,
        proposal: None,
        log: (0..500).map(line).collect(),
        can_undo: false,
        can_redo: false,
        marks: Vec::new(),
        history: Vec::new(),
        probation: None,
        audience: Audience::default(),
        playback: None,
        recording: None,
    }
}
