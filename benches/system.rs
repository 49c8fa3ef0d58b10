//! The system itself, networks replaced by constants.
//!
//! `cargo bench --bench system`

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests, benchmarks and examples stop at the first surprise"
)]

mod common;

use std::hint::black_box;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use candle_core::Tensor;
use common::Bed;
use divisi_engine::serving::{BuildError, PredictorFactory, Request};
use divisi_model::ensemble::{BatchSize, ComputedMember};
use divisi_model::metrics::stats::{median, quantile};
use divisi_model::metrics::{LatencySplit, LatencyTally, LogHistogram, SplitTally};
use divisi_runtime::compute::{ComputeError, Predictor};
use divisi_runtime::device::ThreadTeam;

fn main() -> Result<()> {
    whole_ensemble()?;
    one_sample()?;
    cpu_per_sample()?;
    quorum()?;
    counting();
    Ok(())
}

/// 1 024 samples in the pool, 12 members, 1 000 classes, 22 workers, batch 128.
fn whole_ensemble() -> Result<()> {
    let bed = Bed::open("benches/fixtures/twelve", &["cpu:0", "cpu:1"])?;
    let matrix = bed.matrix_file("benches/fixtures/twelve/matrix.toml")?;
    let engine = bed.start(&matrix, bed.fakes())?;
    let values = vec![0.5; 1024 * 64];
    let mut times = Vec::new();
    for run in 0..55 {
        let staged = engine.stage(Request::new(&values))?;
        let start = Instant::now();
        let answer = staged.release().wait()?;
        let elapsed = start.elapsed();
        if answer.len() != 1024 {
            return Err(anyhow!("{} answers", answer.len()));
        }
        if run >= 5 {
            times.push(elapsed.as_secs_f64() * 1e3);
        }
    }
    println!(
        "12 members x 1024 samples x 1000 classes, 22 workers, fake: median {:.2} ms, p90 {:.2} ms (to reach 5)",
        median(&times),
        quantile(&times, 0.9)
    );
    Ok(())
}

/// One sample back to back: submit to answer.
fn one_sample() -> Result<()> {
    let bed = Bed::open("sample_ensembles/digits", &["cpu:0", "cpu:1"])?;
    for (name, matrix) in [
        (
            "members split",
            bed.matrix(&[vec![8, 8, 8, 0, 0, 0], vec![0, 0, 0, 8, 8, 8]])?,
        ),
        ("members everywhere", bed.everywhere(8)?),
    ] {
        let engine = bed.start(&matrix, bed.fakes())?;
        let sample = vec![0.5; 64];
        let mut times = Vec::new();
        for run in 0..22_000 {
            let start = Instant::now();
            engine
                .predict(Request::new(&sample))?
                .map_err(|e| anyhow!("{e}"))?;
            if run >= 2_000 {
                times.push(start.elapsed().as_secs_f64() * 1e6);
            }
        }
        println!(
            "one sample, 6 members, 2 partitions, fake, {name}: p50 {:.1} us, p99 {:.1} us (to reach 30, 300)",
            median(&times),
            quantile(&times, 0.99)
        );
    }
    Ok(())
}

/// CPU time of the process per sample and member, batch 32.
fn cpu_per_sample() -> Result<()> {
    let bed = Bed::open("sample_ensembles/digits", &["cpu:0", "cpu:1"])?;
    let engine = bed.start(&bed.everywhere(32)?, bed.fakes())?;
    let values = vec![0.5; 32 * 64];
    let samples = 400_000;
    let before = cpu_seconds()?;
    let mut pending = std::collections::VecDeque::new();
    for _ in 0..samples / 32 {
        if pending.len() >= 64 {
            let oldest: divisi_engine::serving::Pending =
                pending.pop_front().ok_or_else(|| anyhow!("none"))?;
            oldest.wait()?;
        }
        pending.push_back(engine.submit(Request::new(&values))?);
    }
    for rest in pending {
        rest.wait()?;
    }
    let used = cpu_seconds()? - before;
    println!(
        "engine's CPU per sample and member, batch 32, fake: {:.3} us (to reach 2)",
        used * 1e6 / (samples * 6) as f64
    );
    Ok(())
}

/// Three members of which one never ends while it is measured: the time of an answer of the two
/// others beyond the one that the quorum waits.
fn quorum() -> Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("pipeline.toml"), QUORUM)?;
    let path = folder.path().to_str().unwrap();
    let bed = Bed::open(path, &["cpu:0", "cpu:1"])?;
    let matrix = bed.matrix(&[vec![8, 8, 0], vec![0, 0, 8]])?;
    let (stop, stopped) = mpsc::channel();
    let stuck = Mutex::new(Some(stopped));
    let factory = StuckFactory {
        inner: bed.fakes(),
        stuck,
    };
    let engine = bed.start(&matrix, Arc::new(factory))?;
    let mut times = Vec::new();
    for run in 0..220 {
        let start = Instant::now();
        let answer = engine.predict(Request::new(&[0.5; 4]))??;
        let took = start.elapsed().as_secs_f64() * 1e3 - 20.0;
        assert_eq!(answer.missing().names, ["c"]);
        if run >= 20 {
            times.push(took);
        }
    }
    drop(stop);
    println!(
        "a quorum of 2 of 3, one stopped, wait 20 ms: p50 {:.2} ms beyond it, p99 {:.2} ms (to reach 5)",
        median(&times),
        quantile(&times, 0.99)
    );
    Ok(())
}

const QUORUM: &str = r#"
name = "voters"
classes = 4
outputs = ["answer"]
[input]
shape = [4]
[[members]]
name = "a"
network = { builder = "perceptron", hidden = [8] }
[[members]]
name = "b"
network = { builder = "perceptron", hidden = [8] }
[[members]]
name = "c"
network = { builder = "perceptron", hidden = [8] }
[[steps]]
model = "a"
inputs = "input"
outputs = "x"
[[steps]]
model = "b"
inputs = "input"
outputs = "y"
[[steps]]
model = "c"
inputs = "input"
outputs = "z"
[[steps]]
host = "vote"
inputs = ["x", "y", "z"]
outputs = "answer"
quorum = 2
wait_ms = 20
"#;

/// Constants, but for the third member, whose batches end once the channel is closed.
struct StuckFactory {
    inner: Arc<dyn PredictorFactory>,
    stuck: Mutex<Option<mpsc::Receiver<()>>>,
}

impl PredictorFactory for StuckFactory {
    fn build(
        &self,
        network: ComputedMember,
        size: BatchSize,
        pool: Option<Arc<ThreadTeam>>,
    ) -> Result<Box<dyn Predictor>, BuildError> {
        match self
            .stuck
            .lock()
            .unwrap()
            .take_if(|_| network.member.get() == 2)
        {
            Some(stuck) => Ok(Box::new(Stuck(stuck))),
            None => self.inner.build(network, size, pool),
        }
    }
}

struct Stuck(mpsc::Receiver<()>);

impl Predictor for Stuck {
    fn predict(
        &mut self,
        _rows: usize,
        _input: &Tensor,
        _output: &Tensor,
    ) -> Result<(), ComputeError> {
        // An error says that the channel is closed.
        let _ = self.0.recv();
        Ok(())
    }
}

/// User and system time of this process (Linux).
fn cpu_seconds() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or("").split(' ').collect();
    let ticks: f64 = fields[11].parse::<f64>()? + fields[12].parse::<f64>()?;
    Ok(ticks / 100.0)
}

/// Measures the cost of counting a request: in a window and since, and in one distribution of
/// all the time.
fn counting() {
    const COUNT: u64 = 20_000_000;
    let each = |mut count: Box<dyn FnMut(Duration, u64)>| {
        let start = Instant::now();
        for i in 0..COUNT {
            // Ten thousand a second, for half an hour.
            count(Duration::from_micros(i * 100), black_box(i % 50_021));
        }
        start.elapsed().as_secs_f64() * 1e9 / COUNT as f64
    };
    let split = LatencySplit::default();
    let (mut histogram, mut tally) = (LogHistogram::default(), SplitTally::default());
    let whole = each(Box::new(move |_, micros| {
        histogram.record(micros, 1);
        tally.record(black_box(split));
    }));
    let mut tally = LatencyTally::default();
    let window = each(Box::new(move |now, micros| {
        let slot = tally.slot(now);
        slot.record(micros, 1);
        slot.record_split(black_box(split), 1);
    }));
    println!("a latency counted: {window:.1} ns with a window, {whole:.1} ns without");
}
