//! `divisi allocate`: searches for an allocation matrix.

mod finished;
mod partitions;
mod precisions;
mod real_latency;
mod report;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use divisi_engine::load::LoadSamples;
use divisi_engine::search::{
    Algorithm, Bounds, Cache, Control, EvaluatorKind, Goal, Method, Objective, Score, SearchError,
    SearchJob, SearchOutcome, SearchResult,
};
use divisi_model::allocation::{Matrix, MatrixFile};
use divisi_model::ensemble::PolicyKind;
use divisi_session::SetupFile;

use super::args::{MoreModels, ServingTarget, at_least_one, parse_rate, parse_spare};
use super::open::{OpenedEnsemble, open_all};
use super::outcome::GoalNotMet;
use super::output::{OutputFile, note};
use super::reporting::ProductOptions;
use super::search;
use super::times::parse_millis;
use finished::SearchRun;
use precisions::{LossArgs, PrecisionsChosen};
use real_latency::{RealLatency, RealLoad};
use report::{Repetitions, SearchReport};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct AllocateArgs {
    #[command(flatten)]
    pub(super) target: ServingTarget,
    #[command(flatten)]
    more: MoreModels,
    /// Search: worst-fit, best-batch, greedy or local (default: local with --evaluator model, else
    /// greedy)
    #[arg(long, value_name = "NAME")]
    algorithm: Option<Algorithm>,
    /// Score matrices by running them (bench) or from profiles (model) (default: model if all
    /// devices are simulated, else bench)
    #[arg(long, value_name = "NAME")]
    evaluator: Option<EvaluatorKind>,
    /// Most iterations of the greedy search
    #[arg(long, default_value_t = 10, value_name = "N")]
    max_iter: usize,
    /// Most neighbours scored per greedy iteration (default: 100 with bench, all with model)
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    max_neighs: Option<usize>,
    /// Restarts of the local search, from points near the best
    #[arg(long, default_value_t = 8, value_name = "N")]
    restarts: usize,
    /// Best predicted matrices to run after the search (0: predictions only)
    #[arg(long, default_value_t = 3, value_name = "N")]
    finalists: usize,
    /// Objective: throughput, or latency (p99 under load, in virtual time)
    #[arg(long, default_value = "throughput", value_name = "NAME")]
    objective: Objective,
    /// Required p99 latency, such as 30ms
    #[arg(long, value_name = "TIME", value_parser = parse_millis)]
    p99: Option<Duration>,
    /// Load in one-sample requests per second (default for latency: 60 % of the best throughput)
    #[arg(long, value_name = "R", value_parser = parse_rate)]
    rate: Option<f64>,
    /// Memory to keep free on every device, such as 1GiB
    #[arg(long, value_name = "SIZE", value_parser = parse_spare)]
    spare_memory: Option<u64>,
    /// Batching policy, such as opt-wait:5ms or elastic:64; `help` lists all (default: the
    /// manifest's)
    #[arg(long, value_name = "P")]
    policy: Option<PolicyKind>,
    #[command(flatten)]
    loss: LossArgs,
    /// Random seed
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,
    /// Number of searches with consecutive seeds; reports median and spread
    #[arg(long, default_value_t = 1, value_name = "R", value_parser = at_least_one)]
    repeat: usize,
    /// Search with partitions of one core, two cores and up to 8 cores, and report the best
    #[arg(long, conflicts_with = "devices")]
    partitions: bool,
    /// Write the best matrix (and the precisions of --accuracy-loss) to this file
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Neither read nor write cached results
    #[arg(long)]
    no_cache: bool,
    #[command(flatten)]
    product: ProductOptions,
}

pub(crate) fn run(args: &AllocateArgs) -> Result<()> {
    let output = args.product.open(args.output.as_deref())?;
    let control = search::control();
    let (opened, report) = match args.partitions {
        true => partitions::best(args, &control)?,
        false => searched_on(args, &args.target, &control)?,
    };
    finish(args, &opened, output.as_ref(), &report)
}

/// Searches on the devices of a target. Returns the ensemble and the report.
fn searched_on(
    args: &AllocateArgs,
    target: &ServingTarget,
    control: &Arc<Control>,
) -> Result<(OpenedEnsemble, SearchReport)> {
    let opened = open_all(target, &args.more, args.policy, None)?;
    let cache = (!args.no_cache).then(Cache::of_user).flatten();
    let choice = args.loss.choose(&opened, cache.as_ref(), control)?;
    let opened = match &choice {
        Some(choice) => opened.in_precisions(&choice.precisions),
        None => opened,
    };
    let mut best: Option<SearchRun> = None;
    let mut scores = Vec::new();
    for repetition in 0..args.repeat as u64 {
        let seed = args.seed.wrapping_add(repetition);
        control.begin();
        let searched = search(args, &opened, seed, control)?;
        scores.push(searched.found.score);
        if best.as_ref().is_none_or(|b| searched.is_better(b)) {
            best = Some(searched);
        }
        if control.is_cancelled() {
            break;
        }
    }
    let mut best = best.context("no search ran")?;
    if args.repeat > 1 && !control.is_cancelled() {
        best.measure_again(control)?;
    }
    let mut report = best.report(&opened, control);
    report.repeat = (args.repeat > 1).then(|| Repetitions::from_scores(scores));
    measure_latency(args, &opened, control, &mut report)?;
    let members = &opened.frame.members;
    report.precisions = choice.map(|choice| PrecisionsChosen::from_choice(&choice, members));
    Ok((opened, report))
}

/// Measures the latency of the result with real requests if the goal needs it and this machine's
/// devices may run it, and compares it with the goal.
fn measure_latency(
    args: &AllocateArgs,
    opened: &OpenedEnsemble,
    control: &Control,
    report: &mut SearchReport,
) -> Result<()> {
    let is_open = report.shortfall.is_none() && !control.is_cancelled();
    let (Some(rate), true) = (args.rate, is_open && report.latency_us.is_some()) else {
        return Ok(());
    };
    let runs = method(args, opened, args.seed).runs_on(&opened.devices);
    if !runs || opened.devices.is_simulated() {
        return Ok(());
    }
    let load = RealLoad {
        rate,
        seed: args.seed,
    };
    let Some(measured) = load.measure(opened, report.placed.matrix(), control)? else {
        return Ok(());
    };
    report.shortfall = missed(&measured, args.p99);
    report.measured_us = Some(measured.latency);
    Ok(())
}

/// Returns the part of the goal that real requests miss, if any.
fn missed(measured: &RealLatency, most: Option<Duration>) -> Option<String> {
    let (p99, refused) = (
        Duration::from_micros(measured.latency.p99),
        measured.refused,
    );
    if refused > 0 {
        return Some(format!("{refused} real requests were refused"));
    }
    let most = most.filter(|&most| p99 > most)?;
    let (p99, most) = (p99.as_secs_f64() * 1e3, most.as_secs_f64() * 1e3);
    Some(format!(
        "p99 {p99:.2} ms with real requests, over {most} ms"
    ))
}

fn finish(
    args: &AllocateArgs,
    opened: &OpenedEnsemble,
    output: Option<&OutputFile>,
    report: &SearchReport,
) -> Result<()> {
    // The file is written first, since a reader of the output may close the pipe early. The report
    // is printed even if the file cannot be written, so that the result is not lost.
    let text_of_file = file_text(opened, report.placed.matrix(), report.precisions.is_some());
    let written = output.map_or(Ok(()), |output| output.write(&text_of_file));
    let shown = args.product.print(report, output);
    written.and(shown)?;
    if report.cancelled {
        bail!("search cancelled: the result is the best matrix found");
    }
    if let Some(lack) = &report.shortfall {
        let words =
            format!("found no matrix that meets the goal; the result comes closest: {lack}");
        return Err(GoalNotMet(words).into());
    }
    Ok(())
}

/// Returns the text of a matrix file, or of a setup file if precisions belong to the result.
fn file_text(opened: &OpenedEnsemble, matrix: &Matrix, with_precisions: bool) -> String {
    let matrix = MatrixFile::new(&opened.ensemble.name, matrix);
    if !with_precisions {
        return matrix.to_text();
    }
    let members = opened.ensemble.members.iter();
    let setup = SetupFile {
        matrix,
        policy: None,
        combination: None,
        segment_size: None,
        precisions: Some(members.map(|member| member.precision).collect()),
    };
    setup.to_text()
}

fn search(
    args: &AllocateArgs,
    opened: &OpenedEnsemble,
    seed: u64,
    control: &Arc<Control>,
) -> Result<SearchRun> {
    // Repetitions measure how much results vary, so none of them may come from the cache.
    let is_cached = !args.no_cache && args.repeat == 1;
    let cache = is_cached.then(Cache::of_user).flatten();
    let method = method(args, opened, seed);
    if method.runs_on(&opened.devices) {
        LoadSamples::for_mix(opened.demand.catalogue(), opened.demand.mix())?;
    }
    let job = opened.search_job(method, cache);
    let started = std::time::Instant::now();
    let outcome = watched(&job, control);
    let elapsed_s = started.elapsed().as_secs_f64();
    let (found, cached) = match outcome {
        Ok(outcome) => {
            if let Some(why) = outcome.cache_error {
                // The result is valid; only the next run cannot reuse it.
                note(&format!("divisi: the result could not be cached: {why}"));
            }
            (outcome.found, outcome.cached)
        }
        Err(SearchError::Stopped(stopped)) => (best_so_far(control).context(stopped)?, false),
        Err(error) => return Err(error.into()),
    };
    Ok(SearchRun {
        job,
        found,
        cached,
        profiled: control.progress().profiled,
        elapsed_s,
    })
}

fn method(args: &AllocateArgs, opened: &OpenedEnsemble, seed: u64) -> Method {
    let quick = opened.devices.all_simulated() || args.algorithm == Some(Algorithm::Local);
    let evaluator = args.evaluator.unwrap_or(match quick {
        true => EvaluatorKind::Model,
        false => EvaluatorKind::Bench,
    });
    let defaults = match evaluator {
        EvaluatorKind::Model => Method::quick(),
        EvaluatorKind::Bench => Method::default(),
    };
    Method {
        algorithm: args.algorithm.unwrap_or(defaults.algorithm),
        evaluator,
        bounds: Bounds {
            max_iter: args.max_iter,
            max_neighs: args.max_neighs.unwrap_or(defaults.bounds.max_neighs),
            seed,
        },
        restarts: args.restarts,
        finalists: args.finalists,
        quiet: false,
        // Results of different times and loads do not compare.
        again: args.partitions,
        goal: Goal {
            objective: args.objective,
            p99: args.p99,
            rate: args.rate,
            spare_memory: args.spare_memory.unwrap_or(0),
        },
    }
}

/// Runs the search in its own thread and shows its progress.
fn watched(job: &SearchJob, control: &Arc<Control>) -> Result<SearchOutcome, SearchError> {
    let far = |_| {
        let p = control.progress();
        let text = match (p.profiles, p.neighbours) {
            ((known, needed), _) if known < needed => format!("{known}/{needed} members profiled"),
            (_, 0) => "scoring".to_owned(),
            (_, neighbours) => format!("{}/{neighbours} scored", p.neighbour),
        };
        match (p.best_score, p.start_score) {
            (Some(best), Some(start)) => format!(
                "iteration {} · {text} · best {best:.0} samples/s · start {start:.0}",
                p.iteration
            ),
            _ => text,
        }
    };
    search::watched("the search", || job.run(control), far)
}

fn best_so_far(control: &Control) -> Option<SearchResult> {
    let progress = control.progress();
    let score = Score {
        samples_per_s: progress.best_score?,
        doubt: progress.best_doubt,
    };
    let start = Score {
        samples_per_s: progress.start_score?,
        doubt: progress.start_doubt,
    };
    let matrix = progress.best?;
    Some(SearchResult {
        evaluations: progress.evaluations,
        iterations: progress.iteration,
        // The coverage of an interrupted iteration counts in part.
        coverage: progress.coverage * progress.neighbour as f64 / progress.neighbours.max(1) as f64,
        bound: progress.bound,
        gain: progress.gain,
        ..SearchResult::new(matrix, score, start)
    })
}
