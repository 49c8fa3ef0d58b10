//! Measures real workers in real time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use divisi::allocation::Matrix;
use divisi::compute::constant_row;
use divisi::ensemble::{Ensemble, Samples};
use divisi::load::{Generator, LoadPattern, Until, saturate};
use divisi::serving::{Answer, Engine, FakeFactory, PredictorFactory};

use super::report::{BenchFigures, BenchReport};
use crate::cli::args::BenchArgs;
use crate::cli::open::OpenedEnsemble;
use crate::cli::progress::ProgressLine;
use crate::cli::report::FlawedMember;

/// Serves by `matrix` and measures.
pub(crate) fn measure(
    args: &BenchArgs,
    opened: &OpenedEnsemble,
    matrix: &Matrix,
    stopped: &AtomicBool,
) -> Result<BenchReport> {
    let factory: Arc<dyn PredictorFactory> = match args.fake {
        true => Arc::new(FakeFactory {
            classes: opened.ensemble.classes,
        }),
        false => opened.networks(),
    };
    let engine = Arc::new(opened.start(matrix, factory)?);
    for limit in &args.max_inf {
        engine
            .settings()
            .set_max_inf(opened.device(&limit.device)?, Some(limit.samples));
    }
    let runs = runs(args, opened, &engine, stopped)?;
    if runs.is_empty() {
        bail!("stopped before a run was whole");
    }
    let seen = engine.telemetry().observe();
    engine.shutdown();
    let figures = BenchFigures {
        runs,
        latency: seen.latency.since.summary,
        split: seen.latency.since.split,
        refused: seen.refused,
        dropped: seen.failed + seen.cancelled,
        flawed: FlawedMember::of(&opened.frame.members, &seen.flaws),
        in_virtual_time: false,
    };
    Ok(BenchReport::new(args, opened, matrix, figures))
}

/// Returns the samples and the seconds of each whole run, after one that is not counted.
fn runs(
    args: &BenchArgs,
    opened: &OpenedEnsemble,
    engine: &Arc<Engine>,
    stopped: &AtomicBool,
) -> Result<Vec<(usize, f64)>> {
    let samples = samples(args, opened)?;
    if let Some(LoadPattern::Closed { samples, .. }) = args.load
        && samples.count() > engine.telemetry().capacity()
    {
        let (samples, most) = (samples.count(), engine.telemetry().capacity());
        bail!("--load: a request of {samples} samples is larger than the pool of {most}");
    }
    let expected = args.fake.then(|| expected(&opened.ensemble));
    if args.load.is_some() && args.fake {
        // A pattern's answers go to the generator; the combination is checked before.
        saturating(args, engine, &samples, expected.as_deref(), stopped)?;
    }
    let mut progress = ProgressLine::new();
    let mut done = Vec::new();
    for run in 0..=args.runs {
        let run_of = match args.load.clone() {
            None => saturating(args, engine, &samples, expected.as_deref(), stopped)?,
            Some(pattern) => patterned(args, engine, &samples, pattern, stopped)?,
        };
        if stopped.load(Ordering::Acquire) {
            break;
        }
        if run == 0 {
            engine.telemetry().clear_latency();
        } else {
            done.push(run_of);
        }
        progress.say(|| format!("run {run} of {}", args.runs));
    }
    Ok(done)
}

fn samples(args: &BenchArgs, opened: &OpenedEnsemble) -> Result<Arc<Samples>> {
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
) -> Result<(usize, f64)> {
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
    Ok((run.samples, run.elapsed.as_secs_f64()))
}

/// Returns the row that the constants of fake members combine to under the ensemble's rule.
fn expected(ensemble: &Ensemble) -> Vec<f32> {
    let rule = ensemble.combination().build(ensemble.classes);
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
) -> Result<(usize, f64)> {
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
    Ok((answered as usize, started.elapsed().as_secs_f64()))
}
