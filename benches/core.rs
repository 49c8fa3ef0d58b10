//! The core alone, in virtual time: what deciding costs, without threads, locks and networks.
//!
//! `cargo bench --bench core [-- ROUNDS]`

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "tests, benchmarks and examples stop at the first surprise"
)]

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use divisi_engine::serving::{
    Arrival, Batch, Core, CoreConfig, Discipline, DoorState, Next, Stamps, WorkerSpec,
};
use divisi_model::ensemble::{BatchSize, MemberPrecision, PolicyKind};
use divisi_model::metrics::stats::{median, quantile};
use divisi_runtime::device::{DeviceIndex, MemberIndex};

const MEMBERS: usize = 6;
const DEVICES: usize = 2;
/// Samples run in a round.
const SAMPLES: usize = 100_000;

fn main() {
    let rounds = std::env::args().find_map(|arg| arg.parse().ok());
    let rounds = rounds.unwrap_or(11);
    for (name, size, in_flight) in [
        ("one sample at a time", 1, 1),
        ("32 samples, 64 requests in flight", 32, 64),
        ("one sample, 64 requests in flight", 1, 64),
    ] {
        let times = (0..=rounds).map(|_| nanoseconds(size, in_flight));
        let times: Vec<f64> = times.skip(1).collect();
        println!(
            "{name}, {MEMBERS} members: median {:.0} ns a request, p10 {:.0}, p90 {:.0}",
            median(&times),
            quantile(&times, 0.1),
            quantile(&times, 0.9),
        );
    }
}

/// Returns the time that a request of `size` samples takes the core.
fn nanoseconds(size: usize, in_flight: usize) -> f64 {
    let mut bed = CoreBed::new();
    let requests = SAMPLES / size;
    let start = Instant::now();
    for _ in 0..requests {
        bed.submit(size);
        while bed.core.in_flight() >= in_flight {
            bed.step();
        }
    }
    while bed.core.in_flight() > 0 {
        bed.step();
    }
    start.elapsed().as_secs_f64() * 1e9 / requests as f64
}

/// A core whose devices take a microsecond for a batch.
struct CoreBed {
    core: Core<()>,
    now: Duration,
    awake: VecDeque<DeviceIndex>,
    running: VecDeque<Batch<()>>,
}

impl CoreBed {
    fn new() -> Self {
        let mut core = Core::new(CoreConfig::ensemble(
            vec![Discipline::OneAtATime; DEVICES],
            &[0; MEMBERS],
            128,
            128,
            PolicyKind::NoWait,
        ));
        for device in DeviceIndex::all(DEVICES) {
            for member in MemberIndex::all(MEMBERS) {
                let id = core.new_worker();
                let size = BatchSize::new(32).expect("a size");
                let spec = WorkerSpec {
                    id,
                    device,
                    member,
                    size,
                    precision: MemberPrecision::default(),
                };
                core.add_worker(Duration::ZERO, spec);
            }
        }
        core.door().set(DoorState::Open);
        CoreBed {
            core,
            now: Duration::ZERO,
            awake: DeviceIndex::all(DEVICES).collect(),
            running: VecDeque::new(),
        }
    }

    fn submit(&mut self, samples: usize) {
        let arrival = Arrival::with_samples(samples);
        let admitted = self.core.admit(self.now, arrival, |_| ());
        let request = admitted.expect("there is room").request;
        self.core.enqueue(self.now, request);
        self.awake.extend(self.core.wake(self.now));
    }

    /// The devices that are awake ask; then the oldest batch ends.
    fn step(&mut self) {
        while let Some(device) = self.awake.pop_front() {
            if let Next::Run(batch) = self.core.next(self.now, device) {
                self.running.push_back(batch);
            }
            self.awake.extend(self.core.wake_others(self.now));
        }
        let Some(batch) = self.running.pop_front() else {
            return;
        };
        let started = self.now;
        self.now += Duration::from_micros(1);
        let stamps = Stamps {
            started,
            copied: started,
            computed: self.now,
            returned: self.now,
            busy: Duration::from_micros(1),
            expected: None,
        };
        self.core.fold(&batch);
        self.core.finish(self.now, &batch, stamps).pay(drop);
        self.awake.push_back(batch.device);
        self.awake.extend(self.core.wake(self.now));
    }
}
