//! From a key press to the changed screen, while 48 lanes are live.

use std::time::{Duration, Instant};

use anyhow::Result;
use crossterm::event::KeyCode;
use divisi_model::metrics::stats::quantile;

use crate::screen::{FRAME, Screen, sleep_until};
use crate::synthetic::Producer;

const PRESSES: usize = 600;
/// Keys of every kind: panels, time, rows, spans, dialogs.
const KEYS: &str = "3+-.,,f{{}+--+foooo4z1z3z?";

pub fn run() -> Result<()> {
    let times = measure(2000);
    println!(
        "console keys, 48 lanes and 2 000 spans/s: p50 {:.2} ms, p99 {:.2} ms, most {:.2} ms \
         (p99 to stay within 33)",
        quantile(&times, 0.5),
        quantile(&times, 0.99),
        quantile(&times, 1.0)
    );
    Ok(())
}

/// Milliseconds that each press took. A key comes at any time within a frame, also
/// while the frame is being worked on.
pub fn measure(rate: u64) -> Vec<f64> {
    let producer = Producer::start(rate);
    let mut screen = Screen::new(producer.session());
    screen.run(Duration::from_secs(2));
    let mut keys = KEYS.chars().cycle();
    let mut due = Instant::now();
    let mut times = Vec::with_capacity(PRESSES);
    for press in 0..PRESSES {
        let comes = due + FRAME.mul_f64((press * 37 % 101) as f64 / 101.0);
        sleep_until(due);
        screen.beat();
        sleep_until(comes);
        match keys.next() {
            Some('?') => screen.press(KeyCode::Esc),
            Some(key) => screen.press(KeyCode::Char(key)),
            None => {}
        }
        screen.draw();
        times.push(comes.elapsed().as_secs_f64() * 1e3);
        due += FRAME;
    }
    times
}
