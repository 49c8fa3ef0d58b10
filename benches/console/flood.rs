//! 200 000 spans a second: what is lost is counted, and nobody waits.

use std::time::{Duration, Instant};

use anyhow::Result;
use divisi_model::metrics::stats::quantile;

use crate::keys;
use crate::screen::{Screen, sleep_until, thread_time};
use crate::synthetic::Producer;

const RATE: u64 = 200_000;
const WINDOW: Duration = Duration::from_secs(10);

pub fn run() -> Result<()> {
    let alone = {
        let producer = Producer::start(RATE);
        std::thread::park_timeout(WINDOW / 2);
        producer.cost().1
    };
    let producer = Producer::start(RATE);
    let mut screen = Screen::new(producer.session());
    let cpu = thread_time();
    screen.run(WINDOW);
    let share = (thread_time() - cpu).as_secs_f64() / WINDOW.as_secs_f64();
    let (pushed, watched) = producer.cost();
    let model = screen.console.model();
    println!(
        "console flood, {RATE} spans/s: {pushed} pushed, {} lost and counted; a push took \
         {alone:?} a span with nobody watching, {watched:?} watched; the console {:.1} % of a core",
        model.lost_spans,
        share * 100.0
    );
    drop(producer);
    held_up();
    let times = keys::measure(RATE);
    println!(
        "console flood, keys: p50 {:.2} ms, p99 {:.2} ms (to stay within 33)",
        quantile(&times, 0.5),
        quantile(&times, 0.99)
    );
    Ok(())
}

/// A console that looks every half a second: the rings keep the latest.
fn held_up() {
    let producer = Producer::start(RATE);
    let mut screen = Screen::new(producer.session());
    let started = Instant::now();
    for look in 1..=10 {
        sleep_until(started + WINDOW / 20 * look);
        screen.beat();
    }
    let (pushed, cost) = producer.cost();
    println!(
        "console flood, the console held up for {:?} at a time: {} of {pushed} spans lost and \
         counted; a push took {cost:?} a span",
        WINDOW / 20,
        screen.console.model().lost_spans
    );
}
