//! `divisi bench`: how fast a matrix serves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use divisi::allocation::Matrix;
use divisi::compute::constant_row;
use divisi::ensemble::{Ensemble, Samples};
use divisi::load::{Generator, LoadPattern, Until, saturate};
use divisi::metrics::{LatencySummary, stats};
use divisi::serving::{Answer, Engine, FakeFactory, PredictorFactory};
use serde::Serialize;

use super::args::{BenchArgs, Format};
use super::open::{Opened, files, with_devices};
use super::progress::Progress;
use super::report::{DeviceRow, device_rows, matrix_table, print, print_json};
use super::signals;

#[derive(Serialize)]
struct Report {
    ensemble: String,
    samples: usize,
    runs: usize,
    elapsed_s: f64,
    samples_per_s: f64,
    rsd: f64,
    latency_us: LatencySummary,
    workers: usize,
    refused: u64,
    dropped: u64,
    devices: Vec<DeviceRow>,
    members: Vec<String>,
    matrix: Vec<Vec<usize>>,
    policy: String,
    segment: usize,
    load: String,
    seed: u64,
    simulated: bool,
    fake: bool,
    synthetic: bool,
}

pub fn run(args: &BenchArgs) -> Result<()> {
    let mut ensemble = Ensemble::read(&files(&args.target.ensemble))?;
    ensemble.policy = args.policy.unwrap_or(ensemble.policy);
    ensemble.segment_size = args.segment.unwrap_or(ensemble.segment_size);
    let opened = with_devices(ensemble, &args.target)?;
    let matrix = opened.matrix(args.matrix.as_deref())?;
    let factory: Arc<dyn PredictorFactory> = if args.fake {
        Arc::new(FakeFactory {
            classes: opened.ensemble.classes,
        })
    } else {
        opened.networks()
    };
    let engine = Arc::new(opened.start(&matrix, factory)?);
    let stopped = signals::stop_flag();
    let rates = measure(args, &opened, &engine, &stopped)?;
    if rates.is_empty() {
        bail!("stopped before a run was whole");
    }
    let report = report(args, &opened, &engine, &matrix, &rates);
    engine.shutdown();
    match args.format {
        Format::Json => print_json(&report)?,
        Format::Text => print(&text(&report, &matrix))?,
    }
    if stopped.load(Ordering::Acquire) {
        bail!("stopped after {} of {} runs", rates.len(), args.runs);
    }
    Ok(())
}

/// Samples a second of each whole run, after one that is not counted.
fn measure(
    args: &BenchArgs,
    opened: &Opened,
    engine: &Arc<Engine>,
    stopped: &AtomicBool,
) -> Result<Vec<f64>> {
    let samples = samples(args, opened)?;
    if let Some(LoadPattern::Closed { samples, .. }) = args.load
        && samples > engine.capacity()
    {
        let most = engine.capacity();
        bail!("--load: a request of {samples} samples is larger than the pool of {most}");
    }
    let expected = args.fake.then(|| expected(&opened.ensemble));
    if args.load.is_some() {
        // A pattern's answers go to the generator; the combination is checked before.
        saturating(args, engine, &samples, expected.as_deref(), stopped)?;
    }
    let mut progress = Progress::new();
    let mut rates = Vec::new();
    for run in 0..=args.runs {
        let rate = match args.load {
            None => saturating(args, engine, &samples, expected.as_deref(), stopped)?,
            Some(pattern) => patterned(args, engine, &samples, pattern, stopped)?,
        };
        if stopped.load(Ordering::Acquire) {
            break;
        }
        if run == 0 {
            engine.clear_latency();
        } else {
            rates.push(rate);
        }
        progress.say(|| format!("run {run} of {}", args.runs));
    }
    Ok(rates)
}

fn samples(args: &BenchArgs, opened: &Opened) -> Result<Arc<Samples>> {
    if args.fake && opened.ensemble.calibration.is_none() {
        let width = opened.ensemble.input.shape.elements();
        return Ok(Arc::new(Samples::new(vec![0.5; 128 * width], width, None)?));
    }
    opened.calibration()
}

fn saturating(
    args: &BenchArgs,
    engine: &Engine,
    samples: &Samples,
    expected: Option<&[f32]>,
    stopped: &AtomicBool,
) -> Result<f64> {
    let mut wrong = 0;
    let until = Until {
        limit: None,
        stop: Some(stopped),
    };
    let run = saturate(engine, samples, args.samples, until, |_, answer| {
        wrong += expected.map_or(0, |row| count_wrong(answer, row));
    })?;
    if wrong > 0 {
        let all = args.samples;
        bail!("{wrong} of {all} answers are not what the fake members combine to");
    }
    Ok(run.samples_per_s())
}

/// What the constants of fake members combine to under the ensemble's rule.
fn expected(ensemble: &Ensemble) -> Vec<f32> {
    let rule = ensemble.combination();
    let mut state = vec![0.0; rule.state_width()];
    for member in 0..ensemble.members.len() {
        rule.fold(member, &constant_row(member, ensemble.classes), &mut state);
    }
    rule.finish(state, ensemble.classes)
}

fn count_wrong(answer: &Answer, expected: &[f32]) -> usize {
    let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5 * b.abs().max(1e-3);
    let rows = answer.rows();
    rows.filter(|row| !row.iter().zip(expected).all(near))
        .count()
}

fn patterned(
    args: &BenchArgs,
    engine: &Arc<Engine>,
    samples: &Arc<Samples>,
    pattern: LoadPattern,
    stopped: &AtomicBool,
) -> Result<f64> {
    let started = Instant::now();
    let generator = Generator::start(
        Arc::clone(engine),
        Arc::clone(samples),
        pattern,
        args.seed,
        Some(args.samples),
    )?;
    while !generator.is_finished() && !stopped.load(Ordering::Acquire) {
        thread::park_timeout(Duration::from_millis(1));
    }
    let answered = generator.tally().answered.load(Ordering::Relaxed);
    Ok(answered as f64 / started.elapsed().as_secs_f64())
}

fn report(
    args: &BenchArgs,
    opened: &Opened,
    engine: &Engine,
    matrix: &Matrix,
    rates: &[f64],
) -> Report {
    let seen = engine.observe();
    let (median, rsd) = (stats::median(rates), stats::rsd(rates));
    Report {
        ensemble: opened.ensemble.name.clone(),
        samples: args.samples,
        runs: rates.len(),
        elapsed_s: if median > 0.0 {
            args.samples as f64 / median
        } else {
            0.0
        },
        samples_per_s: median,
        rsd,
        latency_us: seen.latency,
        workers: matrix.workers().count(),
        refused: seen.refused,
        dropped: seen.failed + seen.cancelled,
        devices: device_rows(&opened.devices),
        members: opened.frame.members.clone(),
        matrix: matrix.rows(),
        policy: seen.policy.to_string(),
        segment: opened.ensemble.segment_size,
        load: args
            .load
            .map_or_else(|| "all at once".into(), |p| p.to_string()),
        seed: args.seed,
        simulated: false,
        fake: args.fake,
        synthetic: opened.ensemble.is_synthetic(),
    }
}

fn text(report: &Report, matrix: &Matrix) -> String {
    let l = &report.latency_us;
    let mut text = format!(
        "{}\n\n{:.0} samples/s (median of {} runs of {}, spread {:.1} %)\nlatency p50 {} µs, p90 {} µs, p99 {} µs, max {} µs\npolicy {}, load {}, {} workers",
        matrix_table(matrix),
        report.samples_per_s,
        report.runs,
        report.samples,
        100.0 * report.rsd,
        l.p50,
        l.p90,
        l.p99,
        l.max,
        report.policy,
        report.load,
        report.workers
    );
    if report.refused + report.dropped > 0 {
        text += &format!(
            "\n{} requests refused, {} dropped",
            report.refused, report.dropped
        );
    }
    if report.fake {
        text += "\nfake networks: the combination was checked";
    }
    if report.synthetic {
        text += "\nsynthetic weights";
    }
    text
}
