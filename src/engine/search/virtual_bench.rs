//! Evaluator `bench` where no device is real: the matrix serves in virtual time.

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

/// Samples that are there at any time of a long run: enough for every worker, and so
/// few that members that are ahead soon go on at the pace of the slowest.
const THERE: usize = 2048;
/// Samples of a long run, …
const LONG: usize = 4 * THERE;
/// … whose pace is taken from this part of it: in the first members get ahead, and in
/// the last nothing new comes.
const STEADY: (f64, f64) = (0.25, 0.75);
/// A long run is at most so many times as long where an entry is asked seldom.
const MOST_TIMES: f64 = 16.0;
/// Parts of as many requests of which each has a pace.
const PARTS: usize = 8;
/// Requests that fill what was idle at first, before latencies are taken.
const WARM_UP: usize = 200;

/// The number of waiting samples may grow by this share of the arrivals, …
const GROWTH: f64 = 0.01;
/// … as seen at so many times in the second half of a run. …
const LOOKS: usize = 16;
/// … Where it grows, a run so many times as long tells whether that was chance, or the
/// time before the first answers, …
const LONGER: usize = 4;
/// … until one has at least so many requests.
const MOST: usize = 1 << 13;

/// A run from which a latency is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatencyRun {
    /// The number of requests.
    pub requests: usize,
    /// The seed of their arrivals.
    pub seed: u64,
}

impl LatencyRun {
    /// A first look: five requests lie beyond its p99.
    pub const BRIEF: LatencyRun = LatencyRun {
        requests: 500,
        seed: 1,
    };
    /// Twenty requests lie beyond its p99.
    pub const WHOLE: LatencyRun = LatencyRun {
        requests: 2000,
        seed: 1,
    };
    /// Other arrivals, and longer, than any that a matrix was chosen by.
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

/// Runs matrices in virtual time: exact, so that a score has no error.
#[derive(Clone)]
pub struct VirtualBench {
    demand: Demand,
    devices: Devices,
    footprints: Footprints,
    costs: Arc<Costs>,
}

impl VirtualBench {
    /// Serves by `costs`; matrices have to fit on `devices`.
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

    /// Latencies of `matrix` under `rate` requests a second; `None` where it does not
    /// fit or does not keep up with them.
    ///
    /// # Errors
    /// The simulation broke down.
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

    /// A run that keeps up with `rate` requests a second, or `None` if `matrix` does not.
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

    /// The worst of the latencies under several arrivals that nothing was chosen by; of
    /// the first few of them where these are beyond `most` already.
    ///
    /// # Errors
    /// The simulation broke down.
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

    /// The worst latencies of each entry under these arrivals, where several are asked.
    ///
    /// # Errors
    /// The simulation broke down.
    pub fn by_entry(&self, matrix: &Matrix, rate: f64) -> Result<Vec<EntryLatency>, SearchError> {
        let mut worst: BTreeMap<usize, LoadedLatency> = BTreeMap::new();
        let several = self.demand.mix().asked().count() > 1;
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

    /// Samples a second of `matrix` in a long run: neither the first batches nor the
    /// last ones count. How far parts of the run differ says how far a longer one might.
    /// 0 where it does not fit.
    ///
    /// # Errors
    /// The simulation broke down.
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

    /// How many times as long a long run is, so that what is asked seldom is asked often enough.
    fn longer(&self) -> usize {
        let shares = self.demand.mix().asked().map(|(_, share)| share);
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

/// Samples a second in the steady part of a long run. Its doubt is that of parts of it
/// (batch means; Law and Kelton, *Simulation Modeling and Analysis*, section 9.5) with
/// what the ends may bring: answers come in bursts, as batches do, and an end falls
/// anywhere between two.
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
    // The standard deviation of the difference of two places within a burst.
    let ends = largest_burst(steady) as f64 / samples as f64 / 6_f64.sqrt();
    Some(Score {
        samples_per_s: whole,
        doubt: Doubt::Runs {
            runs,
            error: error.hypot(ends),
        },
    })
}

/// The last of the answers that come at the same time as answer number `at`.
fn burst_end(served: &[Served], at: usize) -> usize {
    let time = served.get(at).map(|s| s.at);
    let later = served.iter().skip(at).take_while(|s| Some(s.at) == time);
    at + later.count().saturating_sub(1)
}

/// Samples that are answered at the same time at most.
fn largest_burst(served: &[Served]) -> usize {
    let bursts = served.chunk_by(|a, b| a.at == b.at);
    let samples = bursts.map(|burst| burst.iter().map(|s| s.samples).sum::<usize>());
    samples.max().unwrap_or(0)
}

/// Samples a second after the first of some answers until the last.
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

/// When a request was due, in seconds.
fn due(served: &Served) -> f64 {
    served.at.saturating_sub(served.latency).as_secs_f64()
}

/// When the last request was due, in seconds.
fn last_due(report: &SimulationReport) -> f64 {
    report.served.iter().map(due).fold(0.0, f64::max)
}

/// Whether ever more requests wait while others arrive: the slope of a line through how
/// many do, if it is no chance (95 %). What is served once nothing arrives tells nothing.
fn backlog_grows(report: &SimulationReport) -> bool {
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
    // A line has one number more than a mean, so one point counts less.
    slope > GROWTH * rate && slope > t95(LOOKS - 1) * error
}

/// The slope of the line through points with the least squares, and its standard error.
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

/// Percentiles of the requests after the first ones, of the entry whose 99th is the highest.
fn loaded(report: &SimulationReport, rate: f64) -> LoadedLatency {
    let entries = of_entries(report, rate);
    let slowest = entries.into_iter().max_by_key(|(_, latency)| latency.p99);
    slowest.map_or_else(|| percentiles(Vec::new(), rate), |(_, latency)| latency)
}

/// The same of each entry that was asked.
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
    fn name(&self) -> &'static str {
        "bench, simulated"
    }

    fn steady(&mut self, matrix: &Matrix) -> f64 {
        let rates = Rates::new(
            matrix.frame(),
            &self.devices,
            &self.costs,
            Batching::of(self.demand.models()),
        );
        let rates = rates.demanding(&self.demand.by_member());
        ModelEvaluator::by(rates, &self.devices, self.footprints.clone()).throughput(matrix)
    }

    fn score(&mut self, matrix: &Matrix, _best: f64) -> Result<Score, SearchError> {
        if self.footprints.book(matrix, &self.devices).is_err() {
            return Ok(Score::NONE);
        }
        let report = self.run(matrix, Workload::Saturate { samples: RUN })?;
        Ok(Score::exact(report.samples_per_s()))
    }
}
