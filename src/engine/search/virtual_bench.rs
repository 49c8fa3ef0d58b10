//! Evaluator `bench` for simulated devices: the matrix serves in virtual time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::load::LoadPattern;
use crate::simulation::{Scenario, Served, Simulation, SimulationReport, Workload};
use divisi_model::allocation::{Footprints, Matrix};
use divisi_model::catalogue::Demand;
use divisi_model::metrics::stats::t95;
use divisi_model::profile::Costs;
use divisi_runtime::device::Devices;

use super::error::SearchError;
use super::evaluator::{Doubt, Evaluator, Score};
use super::model::{Batching, ModelEvaluator, RUN, Rates};
use super::result::{EntryLatency, LoadedLatency};

/// The samples in flight during a long run: enough for every worker, and few enough that fast
/// members soon continue at the pace of the slowest.
const THERE: usize = 2048;
/// Samples of a long run, …
const LONG: usize = 4 * THERE;
/// … whose pace is measured over this part. In the first part fast members get ahead, and in the
/// last part no new samples arrive.
const STEADY: (f64, f64) = (0.25, 0.75);
/// The largest factor by which a long run is extended for an entry with few requests.
const MOST_TIMES: f64 = 16.0;
/// The number of equal parts whose paces are compared.
const PARTS: usize = 8;
/// Requests that fill the idle system before latencies are measured.
pub(super) const WARM_UP: usize = 200;

/// The number of waiting samples may grow by this share of the arrivals, …
const GROWTH: f64 = 0.01;
/// … sampled at this number of times in the second half of a run. …
const LOOKS: usize = 16;
/// … If it grows more, a run longer by this factor shows whether the cause was chance or the time
/// before the first answers, …
const LONGER: usize = 4;
/// … up to a run with at least this number of requests.
const MOST: usize = 1 << 13;

/// A run for measuring latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatencyRun {
    /// The number of requests.
    pub requests: usize,
    /// The seed of their arrivals.
    pub seed: u64,
}

impl LatencyRun {
    /// A first look: five requests are above its p99.
    pub const BRIEF: LatencyRun = LatencyRun {
        requests: 500,
        seed: 1,
    };
    /// Twenty requests are above its p99.
    pub const WHOLE: LatencyRun = LatencyRun {
        requests: 2000,
        seed: 1,
    };
    /// Other and longer arrivals than any that influenced the choice of a matrix.
    pub const FRESH: [LatencyRun; 3] = [
        LatencyRun::fresh(2),
        LatencyRun::fresh(3),
        LatencyRun::fresh(4),
    ];

    const fn fresh(seed: u64) -> Self {
        LatencyRun {
            requests: 4096,
            seed,
        }
    }
}

/// Runs matrices in virtual time. Results are exact, so a score has no error.
#[derive(Clone)]
pub struct VirtualBench {
    demand: Demand,
    devices: Devices,
    footprints: Footprints,
    costs: Arc<Costs>,
}

impl VirtualBench {
    /// Creates an evaluator with `costs`. Matrices have to fit on `devices`.
    pub fn new(
        demand: impl Into<Demand>,
        devices: Devices,
        footprints: Footprints,
        costs: Arc<Costs>,
    ) -> Self {
        VirtualBench {
            demand: demand.into(),
            devices,
            footprints,
            costs,
        }
    }

    /// Returns the latencies of `matrix` under `rate` requests per second, or `None` if it does not
    /// fit or keep up.
    ///
    /// # Errors
    /// The simulation failed.
    pub fn latency(
        &self,
        matrix: &Matrix,
        rate: f64,
        arriving: LatencyRun,
    ) -> Result<Option<LoadedLatency>, SearchError> {
        if self.footprints.book(matrix, &self.devices).is_err() {
            return Ok(None);
        }
        let report = self.steady_run(matrix, rate, arriving)?;
        Ok(report.map(|report| loaded(&report, rate)))
    }

    /// Returns a run that keeps up with `rate` requests per second, or `None` if `matrix` does not.
    fn steady_run(
        &self,
        matrix: &Matrix,
        rate: f64,
        arriving: LatencyRun,
    ) -> Result<Option<SimulationReport>, SearchError> {
        let mut requests = WARM_UP + arriving.requests;
        loop {
            let report = self.run(matrix, poisson(rate, requests, arriving.seed))?;
            if report.refused == 0 && !backlog_grows(&report) {
                return Ok(Some(report));
            }
            if report.refused > 0 || requests >= MOST {
                return Ok(None);
            }
            requests *= LONGER;
        }
    }

    /// Returns the worst latency under several fresh arrivals. Stops early if one exceeds `most`.
    ///
    /// # Errors
    /// The simulation failed.
    pub fn worst_latency(
        &self,
        matrix: &Matrix,
        rate: f64,
        most: Option<Duration>,
    ) -> Result<Option<LoadedLatency>, SearchError> {
        let mut worst: Option<LoadedLatency> = None;
        for arriving in LatencyRun::FRESH {
            let Some(latency) = self.latency(matrix, rate, arriving)? else {
                return Ok(None);
            };
            worst = match worst {
                Some(before) if before.p99 >= latency.p99 => Some(before),
                _ => Some(latency),
            };
            if most.is_some_and(|most| latency.p99 > most) {
                break;
            }
        }
        Ok(worst)
    }

    /// Returns the worst latencies of each entry under fresh arrivals, if there are several
    /// entries.
    ///
    /// # Errors
    /// The simulation failed.
    pub fn by_entry(&self, matrix: &Matrix, rate: f64) -> Result<Vec<EntryLatency>, SearchError> {
        let mut worst: BTreeMap<usize, LoadedLatency> = BTreeMap::new();
        let several = self.demand.mix().requested().count() > 1;
        for arriving in LatencyRun::FRESH.into_iter().filter(|_| several) {
            let report = self.steady_run(matrix, rate, arriving)?;
            for (entry, latency) in report.iter().flat_map(|r| of_entries(r, rate)) {
                let known = worst.entry(entry).or_insert(latency);
                if latency.p99 > known.p99 {
                    *known = latency;
                }
            }
        }
        let entries = self.demand.catalogue().entries();
        let named = |(entry, latency): (usize, LoadedLatency)| EntryLatency {
            name: entries[entry].name().to_owned(),
            p50: latency.p50,
            p99: latency.p99,
        };
        Ok(worst.into_iter().map(named).collect())
    }

    /// Returns the samples per second of `matrix` in a long run, without its first and last
    /// batches, or 0 if it does not fit. The variation between parts of the run estimates the
    /// uncertainty.
    ///
    /// # Errors
    /// The simulation failed.
    pub fn pace(&self, matrix: &Matrix) -> Result<Score, SearchError> {
        if self.footprints.book(matrix, &self.devices).is_err() {
            return Ok(Score::NONE);
        }
        let samples = self.demand.models().segment_size.min(THERE);
        let clients = THERE / samples;
        let workload = Workload::Pattern {
            pattern: LoadPattern::closed(clients, samples),
            samples: LONG * self.longer(),
            seed: LatencyRun::WHOLE.seed,
        };
        let report = self.run(matrix, workload)?;
        Ok(steady_part(&report).unwrap_or_else(|| Score::of_runs(&[report.samples_per_s()])))
    }

    /// Returns the factor that extends a long run so that rarely requested entries get enough
    /// requests.
    fn longer(&self) -> usize {
        let shares = self.demand.mix().requested().map(|(_, share)| share);
        let least = shares.fold(1.0, f64::min);
        (1.0 / least).ceil().min(MOST_TIMES) as usize
    }

    fn run(&self, matrix: &Matrix, workload: Workload) -> Result<SimulationReport, SearchError> {
        let scenario = Scenario {
            demand: self.demand.clone(),
            devices: self.devices.clone(),
            matrix: matrix.clone(),
            costs: Arc::clone(&self.costs),
            policy: self.demand.models().policy,
        };
        let simulation = Simulation::new(&scenario)?;
        Ok(simulation.with_requests().run(workload)?)
    }
}

/// Returns the samples per second in the steady part of a long run. The uncertainty comes from its
/// parts (batch means; Law and Kelton, *Simulation Modeling and Analysis*, section 9.5) and from
/// its ends: answers come in bursts, like batches, and an end falls anywhere between two bursts.
fn steady_part(report: &SimulationReport) -> Option<Score> {
    let served = &report.served;
    let number = |share: f64| (share * served.len() as f64) as usize;
    let (first, last) = (burst_end(served, number(STEADY.0)), number(STEADY.1));
    let last = burst_end(served, last);
    let steady = served.get(first..=last)?;
    let whole = between(steady)?;
    let each = (last - first) / PARTS;
    let ends = (0..PARTS).map(|part| first + part * each);
    let parts = ends.filter_map(|from| between(served.get(from..=from + each)?));
    let Doubt::Runs { runs, error } = Doubt::of_runs(&parts.collect::<Vec<f64>>()) else {
        return Some(Score::of_runs(&[whole]));
    };
    let samples: usize = steady.iter().map(|s| s.samples).sum();
    // The standard deviation of the difference of two positions within a burst.
    let ends = largest_burst(steady) as f64 / samples as f64 / 6_f64.sqrt();
    Some(Score {
        samples_per_s: whole,
        doubt: Doubt::Runs {
            runs,
            error: error.hypot(ends),
        },
    })
}

/// Returns the number of the last answer at the same time as answer number `at`.
fn burst_end(served: &[Served], at: usize) -> usize {
    let time = served.get(at).map(|s| s.at);
    let later = served.iter().skip(at).take_while(|s| Some(s.at) == time);
    at + later.count().saturating_sub(1)
}

/// Returns the most samples that are answered at the same time.
fn largest_burst(served: &[Served]) -> usize {
    let bursts = served.chunk_by(|a, b| a.at == b.at);
    let samples = bursts.map(|burst| burst.iter().map(|s| s.samples).sum::<usize>());
    samples.max().unwrap_or(0)
}

/// Returns the samples per second from the first of some answers to the last.
fn between(served: &[Served]) -> Option<f64> {
    let (from, rest) = served.split_first()?;
    let samples: usize = rest.iter().map(|s| s.samples).sum();
    let seconds = rest.last()?.at.saturating_sub(from.at).as_secs_f64();
    (seconds > 0.0).then(|| samples as f64 / seconds)
}

fn poisson(rate: f64, requests: usize, seed: u64) -> Workload {
    Workload::Pattern {
        pattern: LoadPattern::poisson(rate),
        samples: requests,
        seed,
    }
}

/// Returns the due time of a request, in seconds.
fn due(served: &Served) -> f64 {
    served.at.saturating_sub(served.latency).as_secs_f64()
}

/// Returns the due time of the last request, in seconds.
fn last_due(report: &SimulationReport) -> f64 {
    report.served.iter().map(due).fold(0.0, f64::max)
}

/// Returns whether the number of waiting requests grows while requests arrive: the slope of a
/// fitted line, if it is significant (95 %). Ignores answers after the last arrival.
pub(super) fn backlog_grows(report: &SimulationReport) -> bool {
    let (served, end) = (&report.served, last_due(report));
    let waiting = |look: usize| {
        let time = end * 0.5 * (1.0 + look as f64 / LOOKS as f64);
        let due = served.iter().filter(|s| due(s) <= time).count();
        let answered = served.partition_point(|s| s.at.as_secs_f64() <= time);
        (time, due as f64 - answered as f64)
    };
    let points: Vec<_> = (1..=LOOKS).map(waiting).collect();
    let (slope, error) = line(&points);
    let rate = served.len() as f64 / end;
    // A line has one parameter more than a mean, so one point counts less.
    slope > GROWTH * rate && slope > t95(LOOKS - 1) * error
}

/// Returns the slope of the least-squares line through points, and its standard error.
fn line(points: &[(f64, f64)]) -> (f64, f64) {
    let n = points.len() as f64;
    let mean = |value: fn(&(f64, f64)) -> f64| points.iter().map(value).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let spread: f64 = points.iter().map(|p| (p.0 - x).powi(2)).sum();
    let product: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    let slope = product / spread;
    let rest = points.iter().map(|p| (p.1 - y - slope * (p.0 - x)).powi(2));
    (slope, (rest.sum::<f64>() / (n - 2.0) / spread).sqrt())
}

/// Returns the percentiles of the requests after the warm-up, of the entry with the highest 99th
/// percentile.
pub(super) fn loaded(report: &SimulationReport, rate: f64) -> LoadedLatency {
    let entries = of_entries(report, rate);
    let slowest = entries.into_iter().max_by_key(|(_, latency)| latency.p99);
    slowest.map_or_else(|| percentiles(Vec::new(), rate), |(_, latency)| latency)
}

/// Returns the percentiles of each requested entry.
fn of_entries(report: &SimulationReport, rate: f64) -> BTreeMap<usize, LoadedLatency> {
    let mut latencies: BTreeMap<usize, Vec<Duration>> = BTreeMap::new();
    for served in report.served.get(WARM_UP..).unwrap_or_default() {
        latencies
            .entry(served.entry)
            .or_default()
            .push(served.latency);
    }
    let each = latencies.into_iter();
    each.map(|(entry, latencies)| (entry, percentiles(latencies, rate)))
        .collect()
}

fn percentiles(mut latencies: Vec<Duration>, rate: f64) -> LoadedLatency {
    latencies.sort_unstable();
    let at = |share: f64| {
        let rank = (share * latencies.len() as f64).ceil() as usize;
        latencies.get(rank.saturating_sub(1)).copied()
    };
    LoadedLatency {
        rate,
        p50: at(0.5).unwrap_or_default(),
        p99: at(0.99).unwrap_or_default(),
    }
}

impl Evaluator for VirtualBench {
    fn steady(&mut self, matrix: &Matrix) -> f64 {
        let rates = Rates::new(
            matrix.frame(),
            &self.devices,
            &self.costs,
            Batching::from_ensemble(self.demand.models()),
        );
        let rates = rates.demanding(&self.demand.by_member());
        ModelEvaluator::from_rates(rates, &self.devices, self.footprints.clone()).throughput(matrix)
    }

    fn score(&mut self, matrix: &Matrix, _best: f64) -> Result<Score, SearchError> {
        if self.footprints.book(matrix, &self.devices).is_err() {
            return Ok(Score::NONE);
        }
        let report = self.run(matrix, Workload::Saturate { samples: RUN })?;
        Ok(Score::exact(report.samples_per_s()))
    }
}
