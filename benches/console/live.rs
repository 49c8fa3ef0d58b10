//! 30 frames a second on 200×60 with 48 lanes and 2 000 spans a second.

use std::time::Duration;

use anyhow::Result;
use crossterm::event::KeyCode;

use crate::screen::{Screen, thread_time};
use crate::synthetic::Producer;

const WINDOW: Duration = Duration::from_secs(15);

pub fn run() -> Result<()> {
    for (what, zooms) in [
        ("500 ms shown", ""),
        ("10 ms shown", "+++++"),
        ("5 min shown", "--------"),
    ] {
        let producer = Producer::start(2000);
        let mut screen = Screen::new(producer.session());
        screen.run(Duration::from_secs(2));
        for key in zooms.chars() {
            screen.press(KeyCode::Char(key));
        }
        let (cpu, bytes, drawn) = (thread_time(), screen.bytes(), screen.drawn);
        screen.run(WINDOW);
        let share = (thread_time() - cpu).as_secs_f64() / WINDOW.as_secs_f64();
        let frames = (screen.drawn - drawn).max(1);
        println!(
            "console live, {what}: {:.2} % of a core (to stay below 3), {:.1} frames/s, \
             {:.0} µs and {} bytes a frame",
            share * 100.0,
            frames as f64 / WINDOW.as_secs_f64(),
            share * WINDOW.as_secs_f64() * 1e6 / frames as f64,
            (screen.bytes() - bytes) / frames
        );
    }
    Ok(())
}
