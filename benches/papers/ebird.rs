//! Ebird's comparison (Cui et al., section VIII) on a simulated Titan RTX: six networks,
//! the batching policies, latency under a changing load and throughput within 200 ms.

use std::sync::Arc;
use std::time::Duration;

use divisi::allocation::Matrix;
use divisi::ensemble::{Ensemble, PolicyKind, Wait};
use divisi::load::LoadPattern;
use divisi::simulation::{Report, Workload};

use super::stage::{Stage, fixture};

/// The largest batch, and the target of all latencies (sections III and VIII.A).
const SIZE: i64 = 32;
const TARGET: Duration = Duration::from_millis(200);

/// Waiting times that opt-wait is tried with, milliseconds.
const WAITS: [u64; 6] = [0, 5, 10, 20, 30, 50];

pub fn run() {
    println!(
        "Ebird: six networks on a Titan RTX, batches of up to {SIZE}, all latencies under 200 ms"
    );
    let all = fixture("ebird");
    for member in 0..all.members.len() {
        let mut only = all.only(member);
        only.batch_sizes = divisi::ensemble::BatchSizes::new(&[SIZE]).expect("a size");
        network(&all.members[member].name, &Arc::new(only));
    }
}

struct Bed {
    stage: Stage,
    matrix: Matrix,
}

impl Bed {
    fn run(&self, policy: PolicyKind, pattern: LoadPattern, samples: usize) -> Report {
        let workload = Workload::Pattern {
            pattern,
            samples,
            seed: 1,
        };
        self.stage.run(&self.matrix, policy, workload)
    }

    /// The highest steady rate at which every latency is within the target.
    fn throughput(&self, policy: PolicyKind) -> f64 {
        let fits = |rate: f64| {
            let report = self.run(policy, LoadPattern::steady(rate), 2000);
            report.refused == 0 && report.served.iter().all(|s| s.latency <= TARGET)
        };
        let (mut low, mut high) = (1.0, 4000.0);
        while high / low > 1.002 {
            let middle = f64::sqrt(low * high);
            match fits(middle) {
                true => low = middle,
                false => high = middle,
            }
        }
        low
    }
}

fn network(name: &str, ensemble: &Arc<Ensemble>) {
    let stage = Stage::new(ensemble, "sim:titan-rtx");
    let matrix = Matrix::from_rows(stage.frame.clone(), &[vec![SIZE]]).expect("valid");
    let bed = Bed { stage, matrix };
    let elastic = PolicyKind::Elastic { max_inf: None };
    let wait = |ms| PolicyKind::OptWait {
        wait: Wait::nearest(Duration::from_millis(ms)),
    };
    let best = WAITS
        .map(|ms| (bed.throughput(wait(ms)), ms))
        .into_iter()
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .expect("six");
    let pipelined = |ms| PolicyKind::PipelinedOptWait {
        wait: Wait::nearest(Duration::from_millis(ms)),
    };
    // The load is high where opt-wait's latencies come near the target (section VIII.B).
    let high = 0.9 * bed.throughput(wait(30));
    let burst = LoadPattern::burst(high);
    let low = LoadPattern::steady(high / 4.0);
    println!("{name}: burst {:.0} to {high:.0} samples/s", high / 4.0);
    let policies = [
        ("elastic", elastic),
        ("no-wait", PolicyKind::NoWait),
        ("opt-wait 30 ms", wait(30)),
        ("opt-wait best", wait(best.1)),
        ("pipelined 30 ms", pipelined(30)),
        ("pipelined best", pipelined(best.1)),
        (
            "static 30 ms",
            PolicyKind::Static {
                wait: Wait::nearest(Duration::from_millis(30)),
            },
        ),
    ];
    let reference = (half_means(&bed.run(wait(30), burst.clone(), 400)), best.0);
    for (label, policy) in policies {
        let halves = half_means(&bed.run(policy, burst.clone(), 400));
        let p50 = bed.run(policy, low.clone(), 400).latency.p50 as f64 / 1e3;
        let rate = bed.throughput(policy);
        println!(
            "  {label:<16} low load p50 {p50:>6.1} ms, burst: slow part {:>6.1} ms ({:+.0} %), fast part {:>6.1} ms ({:+.0} %), {rate:>6.0} samples/s ({:+.0} % on the best opt-wait{})",
            halves.0,
            100.0 * (halves.0 / reference.0.0 - 1.0),
            halves.1,
            100.0 * (halves.1 / reference.0.1 - 1.0),
            100.0 * (rate / reference.1 - 1.0),
            if label == "opt-wait best" {
                format!(", t = {} ms", best.1)
            } else {
                String::new()
            },
        );
    }
}

/// Mean latency, milliseconds, of the slow and of the fast requests of a burst.
fn half_means(report: &Report) -> (f64, f64) {
    let mut served: Vec<(Duration, Duration)> = report
        .served
        .iter()
        .map(|s| (s.at - s.latency, s.latency))
        .collect();
    served.sort();
    let (slow, fast) = served.split_at(150);
    let mean = |part: &[(Duration, Duration)]| {
        let all: Vec<f64> = part.iter().map(|(_, l)| l.as_secs_f64() * 1e3).collect();
        all.iter().sum::<f64>() / all.len().max(1) as f64
    };
    (mean(slow), mean(fast))
}
