//! How GPUs are doing: read when somebody asks, at most once a second; whose memory it is.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Instant;

use divisi_runtime::device::gpu::{Gauges, Sampler, others_bytes};

use crate::wait::{wait_for, wait_until};

#[test]
fn nothing_is_read_before_somebody_asks_and_then_once_a_second() {
    let reads = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&reads);
    let sampler = Sampler::new(move || Gauges {
        temperature: Some(40 + counted.fetch_add(1, Ordering::SeqCst) as u32),
        ..Gauges::default()
    });
    assert_eq!(reads.load(Ordering::SeqCst), 0);
    let start = Instant::now();
    let first = wait_for(|| sampler.latest().temperature.ok_or("nothing is read yet"));
    assert_eq!(first, 40);
    let seen: Vec<Gauges> = (0..1000).map(|_| sampler.latest()).collect();
    assert!(seen.is_sorted_by_key(|g| g.temperature));
    // However slow the machine, no more than one each second, and one that is under way.
    let most = start.elapsed().as_secs() as usize + 2;
    let reads = reads.load(Ordering::SeqCst);
    assert!((1..=most).contains(&reads), "{reads} reads, at most {most}");
}

#[test]
fn a_driver_that_hangs_holds_nobody_up() {
    let (let_go, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    let sampler = Sampler::new(move || {
        // Until the other end is dropped.
        let _ = held.lock().expect("one reader").recv();
        Gauges::default()
    });
    let asked = thread::spawn(move || {
        assert_eq!(sampler.latest(), Gauges::default());
        drop(sampler);
    });
    wait_until("nobody waits for the driver", || asked.is_finished());
    asked.join().expect("default gauges");
    drop(let_go);
}

#[test]
fn memory_of_others_is_known_where_it_is_clear_who_is_who() {
    let gib = |n: u64| Some(n << 30);
    for (processes, expected) in [
        (vec![], None),
        (vec![(7, gib(4))], Some(0)),
        (vec![(7, gib(4)), (8, gib(1)), (9, gib(2))], gib(3)),
        // One that computes and draws is listed twice.
        (vec![(7, gib(4)), (8, gib(1)), (8, gib(1))], gib(1)),
        (vec![(7, gib(4)), (8, None)], None),
        (vec![(8, gib(1))], None),
    ] {
        assert_eq!(others_bytes(&processes, 7), expected, "{processes:?}");
    }
}
