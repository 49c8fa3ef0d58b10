//! Evaluator `model`: throughput predicted from what batches cost.
//!
//! 1. Costs ([`divisi_model::profile::Costs`]): the law of a simulated device, or profiles of each network
//!    at each batch size, measured with every partition of the kind busy with the same work, so that
//!    what they take from each other is in the figure.
//! 2. The linear program (`program`, `simplex`): a bounded primal simplex with a dense inverse,
//!    members + devices on a side. A neighbour starts from the basis of the matrix it differs from:
//!    workers that come enter at rate 0, and one that goes is charged twice what a sample can be
//!    worth, so that the same primal steps empty it. The prices name what binds.
//! 3. The run ([`Drain`]): the linear program shares work out as well as can be, and a run does not.
//!    Without this step the model preferred matrices that served worse.
//! 4. The bound ([`Limits`]): the linear program with a worker at every entry, each as cheap and fast
//!    as at its best batch size that fits alone. No matrix's linear program, and no run, exceeds it.
//!
//! Rates and limits follow the batching policy (`batching`): rates predict, limits bound, and only
//! limits rule anything out.

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

pub use batching::Batching;
pub use program::{Bottlenecks, Limits, LinearProgram, WorkerRate};
pub use rates::{EntryRate, RUN, Rates, RunWorker};

/// Scores a matrix by its linear program and what keeps a run from it.
pub struct ModelEvaluator {
    rates: Rates,
    devices: Devices,
    footprints: Footprints,
    program: LinearProgram,
    drain: Drain,
}

impl ModelEvaluator {
    /// Predicts from `costs`, which must be complete, of batches as `batching` forms them.
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
        Ok(ModelEvaluator::by(rates, devices, footprints))
    }

    /// Predicts from rates worked out before.
    pub fn by(rates: Rates, devices: &Devices, footprints: Footprints) -> Self {
        ModelEvaluator {
            rates,
            devices: devices.clone(),
            footprints,
            program: LinearProgram::default(),
            drain: Drain::default(),
        }
    }

    /// Samples a second of `matrix` in the long run, shared out as well as can be;
    /// whether it fits or not.
    pub fn throughput(&mut self, matrix: &Matrix) -> f64 {
        self.solve(&self.rates.workers(matrix))
    }

    /// Samples a second of a run of benchmark mode.
    pub fn run(&mut self, matrix: &Matrix) -> f64 {
        let workers = self.rates.workers(matrix);
        if self.rates.are_shared() {
            return self.drain.shared(&self.rates, &workers);
        }
        let throughput = self.solve(&workers);
        steady(&self.rates, throughput, &workers)
    }

    /// Seconds of one batch with its device to itself.
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
    fn name(&self) -> &'static str {
        "model"
    }

    fn steady(&mut self, matrix: &Matrix) -> f64 {
        self.throughput(matrix)
    }

    fn score(&mut self, matrix: &Matrix, _best: f64) -> Result<Score, SearchError> {
        if self.footprints.book(matrix, &self.devices).is_err() {
            return Ok(Score::NONE);
        }
        Ok(Score::predicted(self.run(matrix)))
    }
}

/// Share of a worker's batch that is still to do, on average, when its queue is empty
/// and everything else done. Half a batch is left on average; part of it goes on while
/// others still work. Chosen by simulating 300 random matrices of one to twelve networks
/// on four to twelve V100s: a quarter leaves no bias.
const LEFT: f64 = 0.25;

/// A worker that runs fewer batches than this has so few that they can be counted.
const SLOW: f64 = 4.0;

/// Works runs out, in memory of its own.
///
/// The linear program shares work out as well as can be. Two things keep a run from
/// that. Workers that run side by side on an accelerator share it without knowing which
/// member is behind: each gets what it asks for, or its part of it where they ask for
/// too much, until its queue is empty (processor sharing; Kleinrock, *Queueing Systems*,
/// volume 2, chapter 4). And a run ends with its last batch: a slow worker may have just
/// taken one.
#[derive(Clone, Debug, Default)]
pub struct Drain {
    samples: f64,
    left: Vec<f64>,
    speed: Vec<f64>,
    asked: Vec<f64>,
    ended: Vec<f64>,
}

impl Drain {
    /// Samples a second of a run in which workers share accelerators. Every member has
    /// a worker.
    pub fn shared(&mut self, rates: &Rates, workers: &[RunWorker]) -> f64 {
        let (members, devices) = (rates.members(), rates.devices());
        self.samples = rates.run() as f64;
        refill(&mut self.left, members, self.samples);
        refill(&mut self.ended, members, 0.0);
        let mut now = 0.0;
        // With each turn at least one queue is empty.
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

    /// How fast each queue empties now.
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
            // What rounding leaves.
            if *left < self.samples * 1e-9 {
                *left = 0.0;
                *ended = now;
            }
        }
    }
}

/// Samples a second of a run at `throughput` while it lasts: on CPU partitions, which
/// always take the oldest samples, work is shared out nearly as well as can be.
pub fn steady(rates: &Rates, throughput: f64, workers: &[RunWorker]) -> f64 {
    let samples = rates.run() as f64;
    samples / last_batch(workers, |_| samples / throughput)
}

/// When the last batch ends. A slow worker takes one after another until its queue is
/// empty, and ends the one it has.
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
