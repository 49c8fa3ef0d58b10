//! `divisi bench`: measures the throughput and latency of a matrix.
//!
//! Devices of this machine serve in real time. If all devices are simulated, the run is in virtual
//! time unless `--real-time` is given.

mod report;

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use divisi_engine::load::{LoadPattern, LoadSamples, Until, saturate, saturate_mix};
use divisi_engine::search::Occasion;
use divisi_engine::serving::{Answer, Engine, FakeFactory, PipelineIndex, PredictorFactory};
use divisi_engine::simulation::{Scenario, Simulation, Workload};
use divisi_model::allocation::Matrix;
use divisi_model::ensemble::{Ensemble, PolicyKind, Samples};
use divisi_model::profile::Costs;
use divisi_runtime::compute::constant_row;
use divisi_runtime::device::MemberIndex;
use divisi_runtime::device::host::HostWatch;

use super::args::{MoreModels, ServingTarget, at_least_one};
use super::measured_host::MeasuredHost;
use super::open::{OpenedEnsemble, open_all};
use super::output::{FlawedMember, ProgressLine, refuse_flawed, time_left};
use super::predicted::{self, PredictedRow};
use super::reporting::ReportOptions;
use super::sent_load::SentLoad;
use super::signals;
use report::BenchReport;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    pub(super) target: ServingTarget,
    #[command(flatten)]
    more: MoreModels,
    /// Matrix to run (default: worst-fit decreasing)
    #[arg(long, value_name = "FILE")]
    matrix: Option<PathBuf>,
    /// Samples per run
    #[arg(long, default_value_t = 1024, value_name = "N", value_parser = at_least_one)]
    samples: usize,
    /// Measured runs (the median is reported)
    #[arg(long, default_value_t = 5, value_name = "R", value_parser = at_least_one)]
    runs: usize,
    /// Batching policy, such as opt-wait:5ms or elastic:64; `help` lists all (default: the
    /// manifest's)
    #[arg(long, value_name = "P")]
    policy: Option<PolicyKind>,
    /// Most samples in progress on a device, with the elastic policy (default: the policy's)
    #[arg(long, value_name = "DEVICE=N", value_delimiter = ',')]
    max_inf: Vec<MaxInf>,
    /// Segment size in samples (default: the manifest's)
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    segment: Option<usize>,
    /// Load: closed[:CLIENTS[xSAMPLES]], poisson:RATE, steady:RATE or burst[:RATE] (default: all
    /// samples at once)
    #[arg(long, value_name = "PATTERN")]
    load: Option<LoadPattern>,
    /// Run simulated devices in real time instead of virtual time
    #[arg(long)]
    real_time: bool,
    /// Replace networks by constants: measures overhead and checks the combination rule
    #[arg(long)]
    fake: bool,
    /// Seed of random arrivals
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,
    #[command(flatten)]
    report: ReportOptions,
}

/// The limit of samples in progress on a device.
#[derive(Clone, Debug)]
pub(crate) struct MaxInf {
    pub device: String,
    pub samples: NonZeroU32,
}

impl FromStr for MaxInf {
    type Err = String;

    /// Parses `sim:v100:0=64`.
    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.rsplit_once('=');
        let parsed = parts.and_then(|(device, samples)| {
            Some(MaxInf {
                device: device.to_owned(),
                samples: samples.parse().ok()?,
            })
        });
        parsed
            .ok_or_else(|| format!("expected DEVICE=SAMPLES with SAMPLES above 0, found `{text}`"))
    }
}

pub(crate) fn run(args: &BenchArgs) -> Result<()> {
    let output = args.report.open()?;
    let target = args.target.for_matrix(args.matrix.as_deref());
    let opened = open_all(&target, &args.more, args.policy, args.segment)?;
    if args.fake && opened.demand.catalogue().single_ensemble().is_none() {
        bail!("--fake: expected one ensemble, found several");
    }
    let (opened, matrix) = opened.with_matrix(args.matrix.as_deref(), args.target.precision)?;
    let stopped = signals::stop_flag();
    let report = measure(args, &opened, &matrix, &stopped)?;
    output.write(&report)?;
    if stopped.load(Ordering::Acquire) {
        bail!("stopped early: the figures are incomplete");
    }
    refuse_flawed(&report.flawed, 0, args.samples)
}

fn measure(
    args: &BenchArgs,
    opened: &OpenedEnsemble,
    matrix: &Matrix,
    stopped: &Arc<AtomicBool>,
) -> Result<BenchReport> {
    let elastic = matches!(opened.ensemble.policy, PolicyKind::Elastic { .. });
    if !args.max_inf.is_empty() && !elastic {
        bail!("--max-inf requires --policy elastic");
    }
    if opened.devices.all_simulated() && !args.real_time && !args.fake {
        return measure_simulated(args, opened, matrix, stopped);
    }
    measure_live(args, opened, matrix, stopped)
}

/// Measures in virtual time. One run is enough, since it is deterministic.
fn measure_simulated(
    args: &BenchArgs,
    opened: &OpenedEnsemble,
    matrix: &Matrix,
    stopped: &Arc<AtomicBool>,
) -> Result<BenchReport> {
    let scene = Scenario {
        demand: opened.demand.clone(),
        devices: opened.devices.clone(),
        matrix: matrix.clone(),
        costs: Arc::new(Costs::of_laws(&opened.ensemble, &opened.devices)),
        policy: opened.ensemble.policy,
    };
    let mut simulation = Simulation::new(&scene)?.until(Arc::clone(stopped));
    for limit in &args.max_inf {
        simulation = simulation.with_max_inf(opened.device(&limit.device)?, limit.samples);
    }
    let samples = args.samples;
    let run = simulation.run(match args.load.clone() {
        None => Workload::Saturate { samples },
        Some(pattern) => Workload::Pattern {
            pattern,
            samples,
            seed: args.seed,
        },
    })?;
    let runs = [(run.samples, run.elapsed.as_secs_f64())];
    Ok(BenchReport {
        error: Some(0.0),
        latency_us: run.latency,
        latency_split_us: run.split,
        refused: run.refused,
        virtual_time: true,
        ..BenchReport::from_runs(args, opened, matrix, &runs)
    })
}

/// Serves by `matrix` in real time and measures.
fn measure_live(
    args: &BenchArgs,
    opened: &OpenedEnsemble,
    matrix: &Matrix,
    stopped: &AtomicBool,
) -> Result<BenchReport> {
    let factory: Arc<dyn PredictorFactory> = match args.fake {
        true => Arc::new(FakeFactory {
            classes: opened.ensemble.answer_width(),
        }),
        false => opened.networks(),
    };
    let engine = Arc::new(opened.start(matrix, factory)?);
    for limit in &args.max_inf {
        engine
            .settings()
            .set_max_inf(opened.device(&limit.device)?, Some(limit.samples));
    }
    // Only runs of all samples at once measure the capacity.
    let job = (args.load.is_none() && !args.fake).then(|| predicted::job(opened));
    let predicted = job
        .as_ref()
        .and_then(|job| job.predict_run(matrix, args.samples));
    let (runs, watch) = runs(args, opened, &engine, stopped)?;
    let host = watch.end().map(MeasuredHost::from_load);
    let occasion = Occasion::since(&watch, &opened.devices);
    if runs.is_empty() {
        bail!("stopped before the first run was complete");
    }
    let seen = engine.telemetry().observe();
    engine.shutdown();
    if let Some(job) = &job {
        let rate = |(samples, seconds): &(usize, f64)| *samples as f64 / seconds.max(1e-9);
        let rates: Vec<f64> = runs.iter().map(rate).collect();
        job.record_runs(matrix, args.samples, &rates, occasion);
    }
    Ok(BenchReport {
        predicted: predicted.map(PredictedRow::new),
        latency_us: seen.latency.since.summary,
        latency_split_us: seen.latency.since.split,
        refused: seen.refused,
        dropped: seen.failed + seen.cancelled,
        host,
        flawed: FlawedMember::from_flaws(&opened.frame.members, &seen.flaws),
        ..BenchReport::from_runs(args, opened, matrix, &runs)
    })
}

/// The samples and the seconds of each run, and the watch of the host since the first one.
type MeasuredRuns = (Vec<(usize, f64)>, HostWatch);

/// Returns the samples and the seconds of each complete run, after a warm-up run, and the watch of
/// the host since then.
fn runs(
    args: &BenchArgs,
    opened: &OpenedEnsemble,
    engine: &Arc<Engine>,
    stopped: &AtomicBool,
) -> Result<MeasuredRuns> {
    let samples = samples(args, opened)?;
    if let Some(LoadPattern::Closed { samples, .. }) = args.load
        && samples.count() > capacity(opened, engine)
    {
        let (samples, most) = (samples.count(), capacity(opened, engine));
        bail!("--load: a request of {samples} samples is larger than the pool of {most}");
    }
    // A pipeline has no rule to compare with.
    let compares = args.fake && opened.ensemble.pipeline.is_none();
    let expected = compares.then(|| expected(&opened.ensemble));
    if args.load.is_some() && args.fake {
        // A load pattern's answers go to the generator, so the combination is checked before.
        saturating(args, engine, &samples, expected.as_deref(), stopped)?;
    }
    let ended = AtomicUsize::new(0);
    let one = || match args.load.clone() {
        None => saturating(args, engine, &samples, expected.as_deref(), stopped),
        Some(pattern) => patterned(args, engine, &samples, pattern, stopped),
    };
    let runs = || {
        let mut done = Vec::new();
        let mut host = HostWatch::start();
        for run in 0..=args.runs {
            let figures = one()?;
            if stopped.load(Ordering::Acquire) {
                break;
            }
            match run {
                0 => {
                    engine.telemetry().clear_latency();
                    host = HostWatch::start();
                }
                _ => done.push(figures),
            }
            ended.store(run + 1, Ordering::Relaxed);
        }
        Ok((done, host))
    };
    let far = |elapsed| runs_in_words(elapsed, ended.load(Ordering::Relaxed), args.runs);
    ProgressLine::watch(runs, far).context("the measurement failed")?
}

/// Returns the progress of the warm-up run and of `all` runs; `ended` runs are complete.
fn runs_in_words(elapsed: Duration, ended: usize, all: usize) -> String {
    let left = time_left(elapsed, ended, all + 1);
    match ended {
        0 => "warming up".to_owned(),
        run => format!("run {} of {all}{left}", run.min(all)),
    }
}

/// Returns the largest request, in samples, that every model accepts.
fn capacity(opened: &OpenedEnsemble, engine: &Engine) -> usize {
    let asked = opened.demand.mix().requested();
    let most = asked.map(|(entry, _)| engine.telemetry().capacity_of(PipelineIndex(entry)));
    most.min().unwrap_or(0)
}

fn samples(args: &BenchArgs, opened: &OpenedEnsemble) -> Result<LoadSamples> {
    if args.fake && opened.ensemble.calibration.is_none() {
        let width = opened.ensemble.input.shape.elements();
        return Ok(Arc::new(Samples::new(vec![0.5; 128 * width], width, None)?).into());
    }
    opened.load_samples()
}

fn saturating(
    args: &BenchArgs,
    engine: &Engine,
    samples: &LoadSamples,
    expected: Option<&[f32]>,
    stopped: &AtomicBool,
) -> Result<(usize, f64)> {
    let mut wrong = 0;
    let until = Until {
        limit: None,
        stop: Some(stopped),
    };
    let run = match (expected, samples.of_entry(0)) {
        (Some(row), Some(samples)) => {
            saturate(engine, samples, args.samples, until, |_, answer| {
                wrong += count_wrong(answer, row);
            })?
        }
        _ => saturate_mix(engine, samples, args.samples, until)?,
    };
    if wrong > 0 {
        let all = args.samples;
        bail!("{wrong} of {all} answers differ from the combination of the fake members");
    }
    Ok((run.samples, run.elapsed.as_secs_f64()))
}

/// Returns the combination of the fake members' constants under the ensemble's rule.
fn expected(ensemble: &Ensemble) -> Vec<f32> {
    let width = ensemble.answer_width();
    let rule = ensemble.build_rule(&ensemble.combination());
    let mut state = vec![0.0; rule.state_width()];
    for (member, served) in MemberIndex::enumerate(&ensemble.members) {
        let row = constant_row(member, served.row_width());
        rule.fold(member, &row, &mut state);
    }
    rule.finish(state.into(), width).into_vec()
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
    samples: &LoadSamples,
    pattern: LoadPattern,
    stopped: &AtomicBool,
) -> Result<(usize, f64)> {
    let started = Instant::now();
    let load = SentLoad {
        pattern,
        requests: args.samples,
        seed: args.seed,
    };
    let tally = load.send(engine, samples, || stopped.load(Ordering::Acquire))?;
    let answered = tally.answered.load(Ordering::Relaxed);
    Ok((answered as usize, started.elapsed().as_secs_f64()))
}
