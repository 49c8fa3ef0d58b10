//! Searches whose goal needs latencies: the model finds matrices for every largest
//! batch size, a simulation under load tells their latencies: a brief one at first, a
//! longer one for what looks promising, and fresh arrivals for what is to be the answer.

use std::cmp::Ordering;
use std::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use divisi_model::allocation::Matrix;

use super::error::{EvaluationError, SearchError};
use super::evaluator::Doubt;
use super::local::{LocalSearch, Position};
use super::method::{Goal, Objective};
use super::model_search::ModelSearch;
use super::result::{LoadedLatency, SearchResult};
use super::virtual_bench::{LatencyRun, VirtualBench};

/// Share of the best throughput that arrives where no rate is given: busy, not full.
const SHARE: f64 = 0.6;
/// Neighbours of the best candidate that are simulated under load as well.
const NEIGHBOURS: usize = 24;

/// A p99 beyond the limit, or the best yet, by less than this factor may still be had.
const NEAR: f64 = 1.5;
/// Candidates that are tried under fresh arrivals at most, the best first.
const MOST_CONFIRMED: usize = 4;

/// A matrix with what is known of it.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// The matrix.
    pub matrix: Matrix,
    /// Samples a second in the long run: predicted, or simulated once it is confirmed.
    pub throughput: f64,
    /// The uncertainty of that.
    pub doubt: Doubt,
    /// Its latency, or `None` if it does not keep up with the rate.
    pub latency: Option<LoadedLatency>,
    /// Whether long runs under fresh arrivals confirmed its figures.
    pub confirmed: bool,
}

impl Candidate {
    fn p99(&self) -> Duration {
        self.latency.map_or(Duration::MAX, |l| l.p99)
    }

    /// Whether it keeps up, and answers within the time of `goal`.
    pub(crate) fn meets(&self, goal: &Goal) -> bool {
        self.latency.is_some() && goal.p99.is_none_or(|most| self.p99() <= most)
    }

    /// Whether it serves `goal` better than `other`: first what must hold, then the
    /// objective; where neither holds what must, the nearer one.
    pub(crate) fn is_better(&self, other: &Candidate, goal: &Goal) -> bool {
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

/// The candidate that serves the job's goal best, and what it lacks.
///
/// # Errors
/// A simulation or measurement broke down, or the search was cancelled.
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
    if best.latency.is_some() {
        result.by_entry = modelled.virtual_bench().by_entry(&result.matrix, rate)?;
    }
    result.shortfall = shortfall(best.throughput, best.latency, goal, rate);
    Ok(result)
}

/// The best of `found`, of what climbs to it with smaller batches only, and of its
/// neighbours, under `rate` requests a second.
pub(super) fn best_under_load(
    modelled: &ModelSearch<'_>,
    start: &Matrix,
    mut found: Vec<Matrix>,
    rate: f64,
) -> Result<LoadedCandidates, SearchError> {
    let goal = &modelled.job.method.goal;
    let rule = modelled.job.method.algorithm.is_rule();
    let keeps_up = found.iter().any(|m| modelled.at_most(m) > rate);
    if !rule {
        // Smaller batches give less: where the most is too little, they need no climb.
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

/// The best candidate of which fresh arrivals say what was said of it before; where
/// there is none that meets the goal, what comes closest by these arrivals.
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
            // Fresh arrivals will not make it any better: one that says what comes
            // closest is enough.
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
        all,
    })
}

/// Replaces what is said of a candidate by what long runs under fresh arrivals say.
fn confirm(
    bench: &VirtualBench,
    candidate: &mut Candidate,
    rate: f64,
    most: Option<Duration>,
) -> Result<(), SearchError> {
    candidate.confirmed = true;
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

/// Candidates under load.
pub(super) struct LoadedCandidates {
    /// The best.
    pub best: Candidate,
    /// All of them.
    pub all: Vec<Candidate>,
    /// The number of them that were simulated.
    pub simulated: usize,
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

/// For each batch size but the largest, what a climb reaches with none above it: as
/// the largest batch shrinks, throughput is given up for latency.
fn with_smaller_batches(
    modelled: &ModelSearch<'_>,
    start: &Matrix,
) -> Result<Vec<Matrix>, SearchError> {
    let mut found = Vec::new();
    for largest in 0..modelled.rates.sizes().len() - 1 {
        let mut position = Position::new(&modelled.rates, modelled.budget.clone(), start);
        let mut search = LocalSearch::new(modelled.control, &modelled.job.frame).up_to(largest);
        search.climb(&mut position)?;
        found.push(position.matrix(&modelled.job.frame)?);
    }
    Ok(found)
}

/// Where latency counts or is just missed, a few of the best candidate's neighbours,
/// drawn by the seed.
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

/// Simulates `matrix` where that can show anything: it fits and keeps up. First
/// briefly, and longer where that comes near the limit or `best`.
fn loaded(
    modelled: &ModelSearch<'_>,
    bench: &VirtualBench,
    matrix: Matrix,
    rate: f64,
    best: Option<&Candidate>,
) -> Result<Candidate, SearchError> {
    let throughput = modelled.throughput(&matrix);
    // What is predicted may be too little; what it does at most is not.
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
        doubt: Doubt::Predicted,
        latency,
        confirmed: false,
    })
}

/// Returns the part of `goal` that is not reached with this throughput and latency under
/// `rate`, in words.
pub(super) fn shortfall(
    throughput: f64,
    latency: Option<LoadedLatency>,
    goal: &Goal,
    rate: f64,
) -> Option<String> {
    let Some(latency) = latency else {
        let overrun = || format!("it does not keep up with {rate} samples/s as they arrive");
        return too_slow(throughput, rate).or_else(|| Some(overrun()));
    };
    let most = goal.p99.filter(|most| latency.p99 > *most)?;
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    Some(format!(
        "p99 is {:.3} ms under {rate:.0} samples/s where at most {} ms is asked",
        ms(latency.p99),
        ms(most)
    ))
}

/// Returns the message about a throughput below the rate asked, if it is.
pub(super) fn too_slow(throughput: f64, rate: f64) -> Option<String> {
    (throughput <= rate).then(|| format!("{throughput:.0} samples/s at most where {rate} is asked"))
}
