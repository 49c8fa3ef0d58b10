//! Evaluator `model` over whole matrices, as the algorithms of the paper want it.

use crate::allocation::{Footprints, Frame, Matrix};
use crate::device::Devices;
use crate::profile::Costs;
use crate::search::evaluator::{Evaluator, Score, SearchError};

use super::program::Programme;
use super::rates::Rates;

/// Scores a matrix by its linear programme.
pub struct ModelEvaluator {
    rates: Rates,
    devices: Devices,
    footprints: Footprints,
    programme: Programme,
}

impl ModelEvaluator {
    /// Predicts from `costs`, which must be complete.
    ///
    /// # Errors
    /// A device of this machine was not measured.
    pub fn new(
        frame: &Frame,
        devices: &Devices,
        footprints: Footprints,
        costs: &Costs,
    ) -> Result<Self, SearchError> {
        if !costs.is_complete() {
            let reason = "expected a profile of every member on every device";
            return Err(SearchError::Evaluation(reason.into()));
        }
        Ok(ModelEvaluator {
            rates: Rates::new(frame, costs),
            devices: devices.clone(),
            footprints,
            programme: Programme::default(),
        })
    }

    /// Samples a second of `matrix`, whether it fits or not.
    pub fn throughput(&mut self, matrix: &Matrix) -> f64 {
        let workers = self.rates.workers(matrix);
        let (members, devices) = (self.rates.members(), self.rates.devices());
        self.programme.renew(members, devices, &workers);
        self.programme.throughput()
    }
}

impl Evaluator for ModelEvaluator {
    fn name(&self) -> &'static str {
        "model"
    }

    fn score(&mut self, matrix: &Matrix, _best: f64) -> Result<Score, SearchError> {
        if self.footprints.book(matrix, &self.devices).is_err() {
            return Ok(Score::NONE);
        }
        Ok(Score {
            samples_per_s: self.throughput(matrix),
            error: 0.0,
        })
    }
}
