//! Bytes of five minutes' history.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crossterm::event::KeyCode;
use divisi_model::codes::Code;
use divisi_model::trace::Span;
use divisi_session::{
    Command, EditPreview, Refusal, Session, Setup, Snapshot, WhatIf, WhatIfReply,
};

use crate::screen::Screen;
use crate::synthetic::{Producer, spans};

const RATE: u64 = 2000;

pub fn run() {
    let feed = Arc::new(Mutex::new((Vec::new(), Duration::ZERO)));
    let mut state = Producer::start(1).session();
    let session = Fed {
        feed: Arc::clone(&feed),
        shown: state.snapshot(),
    };
    let mut screen = Screen::new(Box::new(session));
    for second in 0..300 {
        let batches = second * RATE / 5..(second + 1) * RATE / 5;
        let all = batches.flat_map(|b| {
            spans(
                b,
                Duration::from_secs_f64(b as f64 * 5.0 / RATE as f64),
                RATE,
            )
        });
        *feed.lock().expect("feed") = (all.collect(), Duration::from_secs(second + 1));
        screen.console.refresh();
    }
    // Half a second is shown at first.
    for _ in 0..8 {
        screen.press(KeyCode::Char('-'));
    }
    let started = Instant::now();
    screen.draw();
    println!(
        "console memory: all of five minutes painted from nothing in {:.1?}",
        started.elapsed()
    );
    let timeline = &screen.console.model().timeline;
    println!(
        "console memory: five minutes of 48 lanes at {RATE} spans/s take {:.1} MiB (to stay within 64), {} spans made room",
        timeline.bytes() as f64 / f64::from(1 << 20),
        timeline.crowded_out()
    );
}

/// Gives what it is fed.
struct Fed {
    feed: Arc<Mutex<(Vec<Span>, Duration)>>,
    shown: Snapshot,
}

impl Session for Fed {
    fn snapshot(&mut self) -> Snapshot {
        self.shown.now = self.now();
        self.shown.clone()
    }

    fn now(&mut self) -> Duration {
        self.feed.lock().expect("feed").1
    }

    fn drain_spans(&mut self, into: &mut Vec<Span>) -> u64 {
        into.append(&mut self.feed.lock().expect("feed").0);
        0
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
