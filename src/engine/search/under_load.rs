//! Searches for a goal that needs runs under load. The model finds matrices for every largest batch
//! size, and a simulation under load measures their latencies: briefly at first, longer for promising
//! matrices, and with fresh arrivals for the final one.

use std::cmp::Ordering;
use std::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use divisi_model::allocation::Matrix;

use super::error::{EvaluationError, SearchError};
use super::evaluator::{Doubt, Score};
use super::local::Position;
use super::method::{Goal, Objective};
use super::model_search::ModelSearch;
use super::result::{LoadedLatency, SearchResult};
use super::virtual_bench::{LatencyRun, VirtualBench};

/// The default arrival rate as a share of the best throughput: busy but not full.
const SHARE: f64 = 0.6;
/// Neighbours of the best candidate that are also simulated under load.
const NEIGHBOURS: usize = 24;

/// A p99 above the limit, or above the best one, by less than this factor may still improve.
const NEAR: f64 = 1.5;
/// The most candidates to confirm under fresh arrivals, the best first.
const MOST_CONFIRMED: usize = 4;

/// A matrix with its known figures.
#[derive(Clone, Debug)]
struct Candidate {
    matrix: Matrix,
    /// Samples per second in the long run: predicted, or simulated after confirmation.
    throughput: f64,
    /// The uncertainty of the throughput.
    doubt: Doubt,
    /// The latency, or `None` if the matrix does not keep up with the rate.
    latency: Option<LoadedLatency>,
}

impl Candidate {
    fn p99(&self) -> Duration {
        self.latency.map_or(Duration::MAX, |l| l.p99)
    }

    /// Returns whether the candidate keeps up and meets the latency of `goal`.
    fn meets(&self, goal: &Goal) -> bool {
        self.latency.is_some() && goal.p99.is_none_or(|most| self.p99() <= most)
    }

    /// Returns whether the candidate serves `goal` better than `other`. A candidate that meets the
    /// constraints is better; then the objective decides. If neither meets them, the closer one is
    /// better.
    fn is_better(&self, other: &Candidate, goal: &Goal) -> bool {
        match (self.meets(goal), other.meets(goal)) {
            (true, false) => true,
            (false, true) => false,
            (true, true) if goal.objective == Objective::Throughput => {
                self.throughput > other.throughput
            }
            _ if self.p99() == other.p99() => self.throughput > other.throughput,
            _ => self.p99() < other.p99(),
        }
    }
}

/// Returns the candidate that serves the job's goal best, and its shortfall.
///
/// # Errors
/// A simulation or measurement failed, or the search was cancelled.
pub(super) fn search(
    modelled: &ModelSearch<'_>,
    start: &Matrix,
    found: Vec<Matrix>,
) -> Result<SearchResult, SearchError> {
    let goal = &modelled.job.method.goal;
    let most = modelled.predict(&found[0]);
    let rate = goal.rate.unwrap_or(SHARE * most);
    let weighed = best_under_load(modelled, start, found, rate)?;
    let best = weighed.best;
    let mut result = modelled.figures(&best.matrix, start)?;
    result.evaluations += weighed.simulated;
    result.latency = best.latency;
    // A simulation from profiles of real devices is a prediction.
    result.steady = modelled.job.is_simulated().then_some(Score {
        samples_per_s: best.throughput,
        doubt: best.doubt,
    });
    if best.latency.is_some() {
        result.by_entry = modelled.virtual_bench().by_entry(&result.matrix, rate)?;
    }
    result.shortfall = shortfall(best.throughput, best.latency, goal, rate);
    Ok(result)
}

/// Returns the best under `rate` requests per second of `found`, of climbs with smaller batches,
/// and of the best one's neighbours.
fn best_under_load(
    modelled: &ModelSearch<'_>,
    start: &Matrix,
    mut found: Vec<Matrix>,
    rate: f64,
) -> Result<LoadedCandidates, SearchError> {
    let goal = &modelled.job.method.goal;
    let rule = modelled.job.method.algorithm.is_rule();
    let keeps_up = found.iter().any(|m| modelled.at_most(m) > rate);
    if !rule {
        // Smaller batches serve less, so they need no climb if even `found` cannot keep up.
        if keeps_up {
            found.extend(with_smaller_batches(modelled, start)?);
        }
        found.push(start.clone());
    }
    let bench = modelled.virtual_bench();
    let mut all: Vec<Candidate> = Vec::new();
    let mut best: Option<Candidate> = None;
    let mut weigh = |matrix: Matrix, best: &mut Option<Candidate>| {
        modelled.control.checkpoint()?;
        modelled.control.update(|p| {
            p.evaluations += 1;
            p.neighbour += 1;
        });
        let candidate = loaded(modelled, &bench, matrix, rate, best.as_ref())?;
        all.push(candidate.clone());
        if best.as_ref().is_none_or(|b| candidate.is_better(b, goal)) {
            *best = Some(candidate);
        }
        Ok::<(), SearchError>(())
    };
    let found = distinct(found);
    modelled.control.update(|p| p.expect(found.len()));
    modelled.control.begin_phase(0);
    for matrix in found {
        weigh(matrix, &mut best)?;
    }
    let around = neighbours(modelled, best.as_ref().filter(|_| !rule));
    modelled.control.update(|p| p.expect(around.len()));
    for matrix in around {
        weigh(matrix, &mut best)?;
    }
    confirmed(modelled, &bench, all, rate)
}

/// Returns the best candidate confirmed by fresh arrivals, or the closest one by these arrivals if
/// none meets the goal.
fn confirmed(
    modelled: &ModelSearch<'_>,
    bench: &VirtualBench,
    mut all: Vec<Candidate>,
    rate: f64,
) -> Result<LoadedCandidates, SearchError> {
    let goal = &modelled.job.method.goal;
    let simulated = all.iter().filter(|c| c.latency.is_some()).count();
    all.sort_by(|a, b| match (a.is_better(b, goal), b.is_better(a, goal)) {
        (true, _) => Ordering::Less,
        (_, true) => Ordering::Greater,
        _ => Ordering::Equal,
    });
    let mut best: Option<Candidate> = None;
    for candidate in all.iter_mut().take(MOST_CONFIRMED) {
        modelled.control.checkpoint()?;
        if best.is_some() && !candidate.meets(goal) {
            // Fresh arrivals cannot make it meet the goal, and one closest candidate is enough.
            break;
        }
        confirm(bench, candidate, rate, goal.p99)?;
        if best.as_ref().is_none_or(|b| candidate.is_better(b, goal)) {
            best = Some(candidate.clone());
        }
        if candidate.meets(goal) {
            break;
        }
    }
    Ok(LoadedCandidates {
        best: best.ok_or(EvaluationError::NoMatrix)?,
        simulated,
    })
}

/// Replaces a candidate's figures by those of long runs under fresh arrivals.
fn confirm(
    bench: &VirtualBench,
    candidate: &mut Candidate,
    rate: f64,
    most: Option<Duration>,
) -> Result<(), SearchError> {
    let pace = bench.pace(&candidate.matrix)?;
    (candidate.throughput, candidate.doubt) = (pace.samples_per_s, pace.doubt);
    candidate.latency = match candidate.latency {
        Some(_) if candidate.throughput > rate => {
            bench.worst_latency(&candidate.matrix, rate, most)?
        }
        _ => None,
    };
    Ok(())
}

/// The best candidate under load.
struct LoadedCandidates {
    best: Candidate,
    /// The number of simulated candidates.
    simulated: usize,
}

fn distinct(matrices: Vec<Matrix>) -> Vec<Matrix> {
    let mut found: Vec<Matrix> = Vec::new();
    for matrix in matrices {
        if !found.contains(&matrix) {
            found.push(matrix);
        }
    }
    found
}

/// Returns the result of a climb for each largest batch size below the maximum. Smaller batches
/// trade throughput for latency.
fn with_smaller_batches(
    modelled: &ModelSearch<'_>,
    start: &Matrix,
) -> Result<Vec<Matrix>, SearchError> {
    let mut found = Vec::new();
    for largest in 0..modelled.rates.sizes().len() - 1 {
        let mut position = Position::new(&modelled.rates, modelled.budget.clone(), start);
        let mut search = modelled.local_search().up_to(largest);
        search.climb(&mut position)?;
        found.push(position.matrix(&modelled.job.frame)?);
    }
    Ok(found)
}

/// Returns a few of the best candidate's neighbours, drawn by the seed, if latency is the objective
/// or its limit was just missed.
fn neighbours(modelled: &ModelSearch<'_>, best: Option<&Candidate>) -> Vec<Matrix> {
    let method = &modelled.job.method;
    let Some(best) = best else {
        return Vec::new();
    };
    let near = |most: &Duration| best.p99() > *most && best.p99() < most.mul_f64(NEAR);
    let just_missed = method.goal.p99.as_ref().is_some_and(near);
    if method.goal.objective == Objective::Throughput && !just_missed {
        return Vec::new();
    }
    let mut all = best.matrix.neighbours();
    all.shuffle(&mut ChaCha8Rng::seed_from_u64(method.bounds.seed));
    all.truncate(NEIGHBOURS);
    all
}

/// Simulates `matrix` if it fits and keeps up: first briefly, then longer if it comes near the
/// limit or `best`.
fn loaded(
    modelled: &ModelSearch<'_>,
    bench: &VirtualBench,
    matrix: Matrix,
    rate: f64,
    best: Option<&Candidate>,
) -> Result<Candidate, SearchError> {
    let throughput = modelled.throughput(&matrix);
    // Uses the upper bound, because a prediction may be too low.
    let latency = match modelled.at_most(&matrix) > rate {
        true => bench.latency(&matrix, rate, LatencyRun::BRIEF)?,
        false => None,
    };
    let limit = modelled.job.method.goal.p99;
    let limit = limit.or(best.and_then(|b| b.latency).map(|l| l.p99));
    let promising = |l: &LoadedLatency| limit.is_none_or(|most| l.p99 < most.mul_f64(NEAR));
    let latency = match latency.filter(promising) {
        Some(_) => bench.latency(&matrix, rate, LatencyRun::WHOLE)?,
        None => latency,
    };
    Ok(Candidate {
        matrix,
        throughput,
        doubt: Doubt::Predicted {
            spread: modelled.correction.spread,
        },
        latency,
    })
}

/// Returns the part of `goal` that this throughput and latency miss under `rate`, in words.
pub(super) fn shortfall(
    throughput: f64,
    latency: Option<LoadedLatency>,
    goal: &Goal,
    rate: f64,
) -> Option<String> {
    let Some(latency) = latency else {
        let overrun = || format!("this matrix cannot keep up with {rate} samples/s");
        return too_slow(throughput, rate).or_else(|| Some(overrun()));
    };
    let most = goal.p99.filter(|most| latency.p99 > *most)?;
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    Some(format!(
        "p99 is {:.3} ms under {rate:.0} samples/s; at most {} ms is required",
        ms(latency.p99),
        ms(most)
    ))
}

/// Returns the message about a throughput below the requested rate, or `None`.
pub(super) fn too_slow(throughput: f64, rate: f64) -> Option<String> {
    (throughput <= rate).then(|| format!("at most {throughput:.0} samples/s; {rate} are required"))
}
