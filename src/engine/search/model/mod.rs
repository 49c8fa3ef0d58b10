//! Evaluator `model`: predicts throughput from the costs of batches.
//!
//! 1. Costs ([`divisi_model::profile::Costs`]): the law of a simulated device, or profiles of each
//!    network at each batch size. Every partition of a kind is measured at the same time with the
//!    same work, so that their contention is part of the figures.
//! 2. The linear program (`program`, `simplex`): a bounded primal simplex with a dense inverse,
//!    members + devices on a side. A neighbour starts from the basis of the matrix that it differs
//!    from. New workers enter at rate 0. A removed worker is charged twice the highest worth of a
//!    sample, so that the same primal steps empty it. The prices identify the bottlenecks.
//! 3. The run ([`Drain`]): the linear program distributes work optimally, and a run does not.
//!    Without this step the model preferred matrices with a lower real throughput.
//! 4. The bound ([`Limits`]): the linear program with a worker at every entry, each as cheap and
//!    fast as at its best batch size that fits alone. No matrix's linear program, and no run,
//!    exceeds it.
//!
//! Rates and limits follow the batching policy (`batching`): rates predict and limits bound. Only
//! limits rule matrices out.

mod batching;
mod program;
mod rates;
mod simplex;

use divisi_model::allocation::{Cell, Footprints, Frame, Matrix};
use divisi_model::ensemble::BatchSize;
use divisi_model::profile::Costs;
use divisi_runtime::device::{Devices, MemberIndex};

use super::error::{EvaluationError, SearchError};
use super::evaluator::{Evaluator, Score};
use super::prediction::predicted::PredictionBasis;

pub use batching::Batching;
pub use program::{Bottlenecks, Limits, LinearProgram, WorkerRate};
pub use rates::{EntryRate, RUN, Rates, RunWorker};

/// Scores a matrix by its linear program and the losses of a run.
pub struct ModelEvaluator {
    rates: Rates,
    devices: Devices,
    footprints: Footprints,
    program: LinearProgram,
    drain: Drain,
    /// The half-width of the intervals of predictions as a factor.
    spread: f64,
}

impl ModelEvaluator {
    /// Creates an evaluator that predicts from complete `costs`, for batches formed by `batching`.
    ///
    /// # Errors
    /// A device of this machine was not measured.
    pub fn new(
        frame: &Frame,
        devices: &Devices,
        footprints: Footprints,
        costs: &Costs,
        batching: Batching,
    ) -> Result<Self, SearchError> {
        if !costs.is_complete() {
            return Err(EvaluationError::NotProfiled.into());
        }
        let rates = Rates::new(frame, devices, costs, batching);
        Ok(ModelEvaluator::from_rates(rates, devices, footprints))
    }

    /// Creates an evaluator from existing rates.
    pub fn from_rates(rates: Rates, devices: &Devices, footprints: Footprints) -> Self {
        ModelEvaluator {
            rates,
            devices: devices.clone(),
            footprints,
            program: LinearProgram::default(),
            drain: Drain::default(),
            spread: PredictionBasis::Profiles.prior(),
        }
    }

    /// Returns the evaluator with this half-width of the intervals of predictions, as a factor.
    #[must_use]
    pub fn with_spread(self, spread: f64) -> Self {
        ModelEvaluator { spread, ..self }
    }

    /// Returns the samples per second of `matrix` in the long run with an optimal distribution of
    /// work, even if the matrix does not fit.
    pub fn throughput(&mut self, matrix: &Matrix) -> f64 {
        self.solve(&self.rates.workers(matrix))
    }

    /// Returns the samples per second of a run in benchmark mode.
    pub fn run(&mut self, matrix: &Matrix) -> f64 {
        let workers = self.rates.workers(matrix);
        if self.rates.are_shared() {
            return self.drain.shared(&self.rates, &workers);
        }
        let throughput = self.solve(&workers);
        steady(&self.rates, throughput, &workers)
    }

    /// Returns the samples per second of a run of `samples` in benchmark mode.
    pub fn run_of(&mut self, matrix: &Matrix, samples: usize) -> f64 {
        let usual = self.rates.set_run_length(samples);
        let rate = self.run(matrix);
        self.rates.set_run_length(usual);
        rate
    }

    /// Returns the seconds of one batch on a device of its own.
    pub fn latency(&self, cell: Cell, size: BatchSize) -> f64 {
        let number = self.rates.sizes().iter().position(|s| *s == size);
        number.map_or(0.0, |number| self.rates.at(cell, number).latency)
    }

    fn solve(&mut self, workers: &[RunWorker]) -> f64 {
        let (members, devices) = (self.rates.members(), self.rates.devices());
        let workers: Vec<_> = workers.iter().map(|w| w.rate).collect();
        self.program.renew(members, devices, &workers);
        self.program.throughput()
    }
}

impl Evaluator for ModelEvaluator {
    fn steady(&mut self, matrix: &Matrix) -> f64 {
        self.throughput(matrix)
    }

    fn score(&mut self, matrix: &Matrix, _best: f64) -> Result<Score, SearchError> {
        if self.footprints.book(matrix, &self.devices).is_err() {
            return Ok(Score::NONE);
        }
        Ok(Score::predicted(self.run(matrix), self.spread))
    }
}

/// The average part of a worker's batch that is left when its queue is empty and all other work is
/// done. On average half a batch is left, and part of it runs while others still work. Chosen by
/// simulating 300 random matrices of one to twelve networks on four to twelve V100s: a quarter
/// leaves no bias.
const LEFT: f64 = 0.25;

/// A worker with fewer batches in a run is slow: its batches are counted one by one.
const SLOW: f64 = 4.0;

/// Computes runs, with its own buffers.
///
/// The linear program distributes work optimally. Two effects keep a run from that. First, workers
/// on a shared accelerator do not know which member is behind. Each gets the time that it wants, or
/// its share if they want too much, until its queue is empty (processor sharing; Kleinrock,
/// *Queueing Systems*, volume 2, chapter 4). Second, a run ends with its last batch, and a slow
/// worker may have just begun one.
#[derive(Clone, Debug, Default)]
pub struct Drain {
    samples: f64,
    left: Vec<f64>,
    speed: Vec<f64>,
    asked: Vec<f64>,
    ended: Vec<f64>,
}

impl Drain {
    /// Returns the samples per second of a run in which workers share accelerators. Every member
    /// must have a worker.
    pub fn shared(&mut self, rates: &Rates, workers: &[RunWorker]) -> f64 {
        let (members, devices) = (rates.members(), rates.devices());
        self.samples = rates.run() as f64;
        refill(&mut self.left, members, self.samples);
        refill(&mut self.ended, members, 0.0);
        let mut now = 0.0;
        // Each turn empties at least one queue.
        for _ in 0..members {
            self.turn(devices, workers);
            let ends = self.left.iter().zip(&self.speed);
            let ends = ends.filter(|(left, _)| **left > 0.0);
            let next = ends
                .map(|(left, speed)| left / speed)
                .fold(f64::INFINITY, f64::min);
            if !next.is_finite() {
                break;
            }
            now += next;
            self.pass(next, now);
        }
        self.samples / last_batch(workers, |member| self.ended[member])
    }

    /// Computes the rate at which each queue empties now.
    fn turn(&mut self, devices: usize, workers: &[RunWorker]) {
        refill(&mut self.asked, devices, 0.0);
        let members = self.left.len();
        refill(&mut self.speed, members, 0.0);
        for RunWorker { rate, .. } in workers {
            if self.left[rate.member] > 0.0 {
                self.asked[rate.device] += rate.most * rate.seconds;
            }
        }
        for RunWorker { rate, .. } in workers {
            self.speed[rate.member] += rate.most / self.asked[rate.device].max(1.0);
        }
    }

    fn pass(&mut self, seconds: f64, now: f64) {
        let members = self.left.iter_mut().zip(&self.speed).zip(&mut self.ended);
        for ((left, speed), ended) in members {
            if *left <= 0.0 {
                continue;
            }
            *left -= speed * seconds;
            // Ignores rounding errors.
            if *left < self.samples * 1e-9 {
                *left = 0.0;
                *ended = now;
            }
        }
    }
}

/// Returns the samples per second of a run at a steady `throughput`. CPU partitions always take the
/// oldest samples, so they distribute work almost optimally.
pub fn steady(rates: &Rates, throughput: f64, workers: &[RunWorker]) -> f64 {
    let samples = rates.run() as f64;
    samples / last_batch(workers, |_| samples / throughput)
}

/// Returns the end of the last batch. A slow worker runs one batch after another until its queue is
/// empty, and finishes the last one.
fn last_batch(workers: &[RunWorker], empty: impl Fn(MemberIndex) -> f64) -> f64 {
    let ends = workers.iter().map(|worker| {
        let (empty, latency) = (empty(worker.rate.member), worker.latency);
        let ends = empty + LEFT * latency;
        if SLOW * latency < empty {
            return ends;
        }
        ends.max((empty / latency).ceil() * latency)
    });
    ends.fold(f64::MIN_POSITIVE, f64::max)
}

fn refill(values: &mut Vec<f64>, len: usize, value: f64) {
    values.clear();
    values.resize(len, value);
}
