//! Clients that keep an engine busy, and the samples a second that come of it.

use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use divisi_engine::serving::{Engine, Request};
use divisi_model::ensemble::Samples;

/// How many ask, and for how much at once.
#[derive(Clone, Copy)]
pub struct Clients {
    pub threads: usize,
    /// Requests that each has under way.
    pub under_way: usize,
    /// Samples of a request.
    pub samples: usize,
}

/// The figures of a flood.
pub struct Flood {
    pub samples_per_s: f64,
    /// Of requests' latencies, in seconds.
    pub longest: f64,
}

impl Clients {
    /// Asks for `time`; the first fifth of it is not counted.
    pub fn flood(self, engine: &Engine, samples: &Samples, time: Duration) -> Result<Flood> {
        let began = Instant::now();
        let from = began + time / 5;
        let latencies: Vec<Result<Vec<f64>>> = thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads)
                .map(|_| scope.spawn(|| self.ask(engine, samples, from, began + time)))
                .collect();
            let ended = threads.into_iter().map(|thread| thread.join());
            ended
                .map(|one| one.map_err(|_| anyhow!("a client panicked"))?)
                .collect()
        });
        let all: Result<Vec<Vec<f64>>> = latencies.into_iter().collect();
        let all = all?.concat();
        Ok(Flood {
            samples_per_s: (all.len() * self.samples) as f64 / (time * 4 / 5).as_secs_f64(),
            longest: all.iter().copied().fold(0.0, f64::max),
        })
    }

    /// Latencies of what was answered between `from` and `until`.
    fn ask(
        self,
        engine: &Engine,
        samples: &Samples,
        from: Instant,
        until: Instant,
    ) -> Result<Vec<f64>> {
        let (answers, inbox) = channel();
        let (mut under_way, mut latencies) = (0, Vec::new());
        // The same samples in every request: making up others takes longer than serving them.
        let rows = samples.rows(0, self.samples);
        loop {
            while under_way < self.under_way && Instant::now() < until {
                let (answers, sent) = (answers.clone(), Instant::now());
                let reply = move |outcome| {
                    let _ = answers.send((sent, Instant::now(), outcome));
                };
                engine.submit_with(Request::new(&rows), Box::new(reply))?;
                under_way += 1;
            }
            if under_way == 0 {
                return Ok(latencies);
            }
            let (sent, at, outcome) = inbox.recv()?;
            outcome.map_err(|failure| anyhow!("{failure}"))?;
            under_way -= 1;
            if (from..until).contains(&at) {
                latencies.push((at - sent).as_secs_f64());
            }
        }
    }
}
