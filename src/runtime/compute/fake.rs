//! A stand-in for a network: writes a constant row for every sample.
//!
//! With it a run measures the system itself, and the combination can be checked.

use candle_core::Tensor;

use super::error::ComputeError;
use super::predictor::Predictor;
use super::rows::write_rows;

/// Answers every sample with one row of probabilities.
pub struct FakePredictor {
    row: Vec<f32>,
}

impl FakePredictor {
    /// A stand-in for member number `member` of an ensemble of `classes`.
    pub fn new(member: usize, classes: usize) -> Self {
        FakePredictor {
            row: constant_row(member, classes),
        }
    }
}

/// The probabilities that a fake member gives: half on its own class, the rest even.
pub fn constant_row(member: usize, classes: usize) -> Vec<f32> {
    let mut row = vec![0.5 / classes as f32; classes];
    row[member % classes] += 0.5;
    row
}

impl Predictor for FakePredictor {
    fn predict(&mut self, batch: usize, _: &Tensor, output: &Tensor) -> Result<(), ComputeError> {
        write_rows(&output.narrow(0, 0, batch)?, |rows| {
            for row in rows.chunks_exact_mut(self.row.len()) {
                row.copy_from_slice(&self.row);
            }
        })
    }
}
