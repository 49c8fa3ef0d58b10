//! Serving throughput with the console open and without, in turn, in this terminal.
//!
//! `benches/console/throughput.sh` runs it in a terminal of 160×50.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use divisi_console::console::{self, Options};
use divisi_engine::load::{Generator, LoadPattern, LoadTally};
use divisi_model::metrics::stats::{median, quantile};
use divisi_model::trace::Span;
use divisi_session::{
    Command, EditPreview, LiveSession, Refusal, Session, Setup, Snapshot, WhatIf, WhatIfReply,
};

use crate::common::Bed;

const PAIRS: usize = 20;
const WINDOW: Duration = Duration::from_secs(3);
/// Before a window begins, so that the screen is up and the queues are full.
const SETTLE: Duration = Duration::from_millis(700);

pub fn run() -> Result<()> {
    let bed = Bed::open("sample_ensembles/digits", &["cpu:0", "cpu:1"])?;
    let engine = Arc::new(bed.start(&bed.everywhere(8)?, bed.networks())?);
    let samples = bed
        .ensemble
        .calibration
        .clone()
        .ok_or_else(|| anyhow!("no samples"))?;
    let session = LiveSession::new(Arc::clone(&engine), bed.networks(), None);
    let session = Shared(Arc::new(Mutex::new(session)));
    let pattern = LoadPattern::closed(16, 32);
    let load = Generator::start(engine, samples, pattern, 1, None)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut ratios = Vec::new();
    for _ in 0..PAIRS {
        thread::park_timeout(SETTLE);
        let closed = rate(load.tally());
        let tally = Arc::clone(load.tally());
        let counting = thread::spawn(move || {
            thread::park_timeout(SETTLE);
            rate(&tally)
        });
        let open = console::run(Box::new(session.clone()), options());
        let all = SETTLE + WINDOW + Duration::from_millis(100);
        // The console has no reason to end by itself: time is up for it.
        let ended = runtime.block_on(async { tokio::time::timeout(all, open).await });
        if let Ok(early) = ended {
            early?;
            return Err(anyhow!("the console ended early"));
        }
        let open = counting.join().map_err(|_| anyhow!("counting panicked"))?;
        ratios.push(open / closed);
    }
    eprintln!(
        "console open over not open, {PAIRS} pairs: median {:.4}, from {:.4} to {:.4} (to reach 0.97)",
        median(&ratios),
        quantile(&ratios, 0.0),
        quantile(&ratios, 1.0)
    );
    Ok(())
}

fn options() -> Options {
    Options {
        read_only: false,
        mouse: false,
        title: "digits".into(),
        layouts: Vec::new(),
        demo: None,
    }
}

/// Samples answered a second over the window.
fn rate(tally: &LoadTally) -> f64 {
    let (start, before) = (Instant::now(), tally.answered.load(Ordering::Relaxed));
    while start.elapsed() < WINDOW {
        thread::park_timeout(WINDOW - start.elapsed().min(WINDOW));
    }
    let answered = tally.answered.load(Ordering::Relaxed) - before;
    answered as f64 / start.elapsed().as_secs_f64()
}

/// One session lent to one console after another.
#[derive(Clone)]
struct Shared(Arc<Mutex<LiveSession>>);

impl Session for Shared {
    fn snapshot(&mut self) -> Snapshot {
        self.0.lock().expect("session").snapshot()
    }

    fn now(&mut self) -> Duration {
        self.0.lock().expect("session").now()
    }

    fn drain_spans(&mut self, into: &mut Vec<Span>) -> u64 {
        self.0.lock().expect("session").drain_spans(into)
    }

    fn command(&mut self, command: Command) -> Result<(), Refusal> {
        self.0.lock().expect("session").command(command)
    }

    fn preview(&mut self, setup: &Setup) -> Result<EditPreview, Refusal> {
        self.0.lock().expect("session").preview(setup)
    }

    fn what_if(&mut self, question: &WhatIf) -> Result<WhatIfReply, Refusal> {
        self.0.lock().expect("session").what_if(question)
    }
}
