//! Ebird's comparison (Cui et al., section VIII) on the GPU that is there: six networks,
//! each alone, under the batching policies.
//!
//! Steady load is a closed one: so many one-sample requests under way that none takes
//! longer than the target. So the throughput within it is measured without a search.

use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use divisi_engine::load::{Arrivals, LoadPattern};
use divisi_engine::serving::{Engine, Request};
use divisi_model::ensemble::{PolicyKind, Samples, Wait};
use divisi_model::metrics::stats::quantile;
use divisi_runtime::compute::gpu::Precision;
use serde_json::json;

use crate::bed::{BUILTIN, Bed, networks};
use crate::flood::Clients;

/// The paper's (table III), and its largest batch.
const NETWORKS: [&str; 6] = [
    "inception-v4",
    "resnet50",
    "resnet101",
    "resnet152",
    "vgg16",
    "vgg19",
];
const SIZE: i64 = 32;
/// Requests of a run under a pattern, as the paper has them; the first of a burst are slow.
const REQUESTS: usize = 400;
const SLOW: usize = 150;
const WAITS: [u64; 4] = [1, 2, 5, 10];
const TIME: Duration = Duration::from_millis(500);
/// Requests under way.
const CLIENTS: [Clients; 2] = [clients(1, 32), clients(4, 32)];

const fn clients(threads: usize, under_way: usize) -> Clients {
    Clients {
        threads,
        under_way,
        samples: 1,
    }
}

pub fn run() -> Result<()> {
    let all = Bed::open(BUILTIN, Precision::Bf16)?;
    for network in networks(&NETWORKS) {
        let bed = all.only(&network)?;
        let stage = Stage {
            engine: bed.serve(&["cuda:0"], SIZE)?,
            samples: bed.samples()?,
        };
        stage.network(&network)?;
    }
    Ok(())
}

struct Stage {
    engine: Engine,
    samples: std::sync::Arc<Samples>,
}

impl Stage {
    fn network(&self, network: &str) -> Result<()> {
        let wait = |ms| Wait::nearest(Duration::from_millis(ms));
        let opt_wait = |ms| PolicyKind::OptWait { wait: wait(ms) };
        let mut best = (0.0, WAITS[0]);
        for ms in WAITS {
            let rate = self.throughput(opt_wait(ms))?;
            best = if rate > best.0 { (rate, ms) } else { best };
        }
        // The load is high where opt-wait's latencies come near the target (section
        // VIII.B): at what it serves, less a tenth.
        let high = 0.9 * self.throughput(opt_wait(30))?;
        let policies = [
            ("elastic", PolicyKind::Elastic { max_inf: None }),
            ("no-wait", PolicyKind::NoWait),
            ("opt-wait 30 ms", opt_wait(30)),
            ("opt-wait best", opt_wait(best.1)),
            (
                "pipelined 30 ms",
                PolicyKind::PipelinedOptWait { wait: wait(30) },
            ),
            (
                "pipelined best",
                PolicyKind::PipelinedOptWait { wait: wait(best.1) },
            ),
        ];
        for (label, policy) in policies {
            let throughput = self.throughput(policy)?;
            let low = self.latencies(LoadPattern::steady(high / 4.0))?;
            let burst = self.latencies(LoadPattern::burst(high))?;
            let (slow, fast) = burst.split_at(SLOW);
            let line = json!({
                "network": network,
                "policy": label,
                "best_wait_ms": best.1,
                "high_rate": high,
                "samples_per_s": throughput,
                "low_p50_ms": 1e3 * quantile(&low, 0.5),
                "slow_mean_ms": mean_ms(slow),
                "fast_mean_ms": mean_ms(fast),
            });
            println!("{line}");
        }
        Ok(())
    }

    /// Sets the policy; samples a second under steady load, the better number of clients.
    fn throughput(&self, policy: PolicyKind) -> Result<f64> {
        let setup = self.engine.setup().with_policy(policy);
        self.engine.apply_setup(&setup, &mut |_| {})?;
        let mut best: f64 = 0.0;
        for clients in CLIENTS {
            let flood = clients.flood(&self.engine, &self.samples, TIME)?;
            // The paper's target of 200 ms for every answer.
            if flood.longest <= 0.2 {
                best = best.max(flood.samples_per_s);
            }
        }
        Ok(best)
    }

    /// Seconds from each request's time to its answer, in order.
    fn latencies(&self, pattern: LoadPattern) -> Result<Vec<f64>> {
        let mut arrivals = Arrivals::new(&pattern, 1)?.context("an open pattern")?;
        let (answers, inbox) = channel();
        let mut due = Instant::now();
        for request in 0..REQUESTS {
            due += arrivals.next_gap();
            until(due);
            let (answers, at) = (answers.clone(), due);
            let reply = move |outcome| {
                let _ = answers.send((request, at.elapsed(), outcome));
            };
            let rows = self.samples.rows(request, 1);
            self.engine
                .submit_with(Request::new(&rows), Box::new(reply))?;
        }
        let mut latencies = vec![0.0; REQUESTS];
        for _ in 0..REQUESTS {
            let (request, latency, outcome): (usize, Duration, _) = inbox.recv()?;
            outcome.map_err(|failure| anyhow!("{failure}"))?;
            latencies[request] = latency.as_secs_f64();
        }
        Ok(latencies)
    }
}

/// Sleeps, and spins at the end: sleep is late by more than the gaps are long.
fn until(due: Instant) {
    const CLOSE: Duration = Duration::from_micros(200);
    let left = due.saturating_duration_since(Instant::now());
    if left > CLOSE {
        thread::sleep(left - CLOSE);
    }
    while Instant::now() < due {
        std::hint::spin_loop();
    }
}

fn mean_ms(latencies: &[f64]) -> f64 {
    1e3 * latencies.iter().sum::<f64>() / latencies.len().max(1) as f64
}
