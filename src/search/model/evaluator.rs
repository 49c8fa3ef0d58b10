//! Evaluator `model` over whole matrices, as the algorithms of the paper want it.

use crate::allocation::{Cell, Footprints, Frame, Matrix};
use crate::device::Devices;
use crate::ensemble::BatchSize;
use crate::profile::Costs;
use crate::search::evaluator::{Evaluator, Score, SearchError};

use super::batching::Batching;
use super::drain::{Drain, Runner, steady};
use super::program::Programme;
use super::rates::Rates;

/// Scores a matrix by its linear programme and what keeps a run from it.
pub struct ModelEvaluator {
    rates: Rates,
    devices: Devices,
    footprints: Footprints,
    programme: Programme,
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
            let reason = "expected a profile of every member on every device";
            return Err(SearchError::Evaluation(reason.into()));
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
            programme: Programme::default(),
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

    fn solve(&mut self, workers: &[Runner]) -> f64 {
        let (members, devices) = (self.rates.members(), self.rates.devices());
        let workers: Vec<_> = workers.iter().map(|w| w.rate).collect();
        self.programme.renew(members, devices, &workers);
        self.programme.throughput()
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
