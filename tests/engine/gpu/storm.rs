//! Everything at once over GPUs in software and a partition: panics, losses, reloads,
//! changes of policy, cancels and deadlines. Every request is answered exactly once.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use divisi_engine::serving::{Engine, EngineEvent, Request};
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::common::{reload, set_combination, set_policy};
use crate::gpu_bed::soft::{SoftGpu, lock};
use crate::gpu_bed::{Bed, SIZE, info};
use crate::promises::Panics;
use crate::wait::{wait_for, wait_until};

const ROUNDS: usize = 24;

#[test]
fn whatever_happens_to_gpus_every_request_is_answered_exactly_once() {
    let bed = Bed::new(&["cuda:0", "cuda:1", "cpu:0"]);
    let engine = bed.start();
    let (sent, told) = (AtomicU64::new(0), std::sync::Arc::<AtomicU64>::default());
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for seed in 0..3 {
            let (bed, engine, sent, told, over) = (&bed, &engine, &sent, &told, &over);
            scope.spawn(move || {
                let mut random = ChaCha8Rng::seed_from_u64(seed);
                while !over.load(Ordering::Acquire) {
                    ask(bed, engine, &mut random, sent, told);
                    wait_until("a few are under way", || {
                        engine.telemetry().in_flight() < 12
                    });
                }
            });
        }
        let _over = Over(&over);
        let mut random = ChaCha8Rng::seed_from_u64(99);
        for _ in 0..ROUNDS {
            inject(&bed, &engine, &mut random);
            let so_far = engine.telemetry().settlements().kept;
            wait_until("answers come", || {
                engine.telemetry().settlements().kept > so_far + 5
            });
        }
    });
    wait_for(|| match engine.telemetry().in_flight() {
        0 => Ok(()),
        left => Err((left, engine.telemetry().settlements())),
    });
    wait_until("all are told", || {
        told.load(Ordering::Acquire) == sent.load(Ordering::Acquire)
    });
    let books = engine.telemetry().settlements();
    assert_eq!(books.promised, sent.load(Ordering::Acquire));
    assert_eq!(books.kept, books.promised, "{books:?}");
    assert_eq!((books.twice, books.dropped), (0, 0), "{books:?}");
    assert_eq!(divisi_runtime::lock::violations(), [""; 0]);
    let events = engine.telemetry().take_events();
    let panicked = |e: &&(Duration, EngineEvent)| e.1.text().contains("panics");
    assert!(events.iter().filter(panicked).count() > 0, "{events:?}");
}

/// Lets those who ask end, also where a round fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// A request: some have a deadline, some are cancelled.
fn ask(
    bed: &Bed,
    engine: &Engine,
    random: &mut ChaCha8Rng,
    sent: &AtomicU64,
    told: &std::sync::Arc<AtomicU64>,
) {
    let samples = 1 + random.random_range(0..20);
    let mut request = Request::new(&bed.samples()[..64 * samples]);
    if random.random_range(0..8) == 0 {
        request = request.within(Duration::from_micros(random.random_range(0..900)));
    }
    if random.random_range(0..5) == 0 {
        let Ok(pending) = engine.submit(request) else {
            return;
        };
        sent.fetch_add(1, Ordering::AcqRel);
        match random.random_range(0..2) {
            0 => pending.cancel(),
            _ => drop(pending.wait()),
        }
        told.fetch_add(1, Ordering::AcqRel);
        return;
    }
    let counter = std::sync::Arc::clone(told);
    let reply = move |_| {
        counter.fetch_add(1, Ordering::AcqRel);
    };
    // The door may be closed for want of workers.
    let let_in = engine.submit_with(request, Box::new(reply));
    sent.fetch_add(u64::from(let_in.is_ok()), Ordering::AcqRel);
}

fn inject(bed: &Bed, engine: &Engine, random: &mut ChaCha8Rng) {
    match random.random_range(0..10) {
        0..4 => {
            let member = random.random_range(0..bed.ensemble.members.len());
            *lock(&bed.factory.trouble) =
                Some((MemberIndex::new(member), random.random_range(0..2) == 0));
        }
        4..6 => {
            let policies = ["no-wait", "elastic", "pipelined-opt-wait:1ms", "elastic:6"];
            let policy = policies[random.random_range(0..policies.len())];
            let policy = policy.parse().expect("a policy");
            set_policy(engine, policy).expect("powers of two");
        }
        6 => {
            let by = engine.settings().combination();
            engine
                .settings()
                .combine_with(std::sync::Arc::new(Panics { folding: true }));
            set_combination(engine, by).expect("it was set before");
        }
        7 => lose_and_regain(bed, engine),
        _ => {
            let sets: [&[usize]; 4] = [&[0, 2], &[1, 2], &[0, 1, 2], &[2]];
            let devices = sets[random.random_range(0..sets.len())];
            let size = [SIZE, 16][random.random_range(0..2)];
            let matrix = bed.matrix(devices, size);
            // A worker that panics meanwhile is no reason to fail.
            reload(engine, &matrix).expect("reloads");
        }
    }
}

/// The first GPU falls off the bus; another takes its place.
fn lose_and_regain(bed: &Bed, engine: &Engine) {
    let fallback = bed.matrix(&[1, 2], SIZE);
    engine
        .evacuate(DeviceIndex::new(0), &|_| Ok(fallback.clone()), &mut |_| {})
        .expect("moves");
    lock(&bed.factory.gpus)[0] = SoftGpu::new(info(0));
    engine
        .faults()
        .regain(DeviceIndex::new(0))
        .expect("another one is there");
    let all = bed.matrix(&[0, 1, 2], SIZE);
    reload(engine, &all).expect("reloads");
}
