//! Answers of a network as computed by calibrations, beside those of float32.

use std::ops::Range;

use super::error::CalibrationError;
use super::fake::{FakeQuantised, RoundedWeights};
use super::ranges::Calibration;
use super::rows::CalibrationRows;
use crate::compute::reference;
use crate::network::{Graph, Weights};

/// The signal in exact answers, and the error of those that were computed in bytes: sums of
/// squares over all numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SignalAndNoise {
    /// The sum of the squares of exact numbers.
    pub signal: f64,
    /// The sum of the squares of errors.
    pub noise: f64,
}

impl SignalAndNoise {
    /// Adds numbers, and the exact ones.
    pub fn add(&mut self, exact: &[f32], found: &[f32]) {
        for (exact, found) in exact.iter().zip(found) {
            let (exact, found) = (f64::from(*exact), f64::from(*found));
            self.signal += exact * exact;
            self.noise += (exact - found) * (exact - found);
        }
    }

    /// Returns the ratio of the two in decibels, or `None` where there is no error.
    pub fn decibels(&self) -> Option<f64> {
        let ratio = 10.0 * (self.signal / self.noise).log10();
        (self.noise > 0.0).then_some(ratio)
    }
}

/// Runs a network over samples in float32 and as each calibration has it computed. Calls `each` with
/// the rows of the samples, the exact answers, and those by each calibration.
///
/// # Errors
/// A sample is not finite, or a tensor operation fails.
pub(super) fn beside_exact(
    (graph, weights): (&Graph, &Weights),
    calibrations: &[&Calibration],
    rows: CalibrationRows<'_>,
    pieces: impl Iterator<Item = Range<usize>>,
    each: &mut dyn FnMut(Range<usize>, &[f32], &[Vec<f32>]),
) -> Result<(), CalibrationError> {
    let mut source = RoundedWeights::new(graph, weights);
    let fakes = calibrations.iter().map(|c| FakeQuantised::new(graph, c));
    let fakes: Vec<_> = fakes.collect();
    for piece in pieces {
        let samples = rows.read(graph, piece.clone())?;
        let exact = reference::run(graph, source.exact(), &samples)?;
        let exact: Vec<f32> = exact.flatten_all()?.to_vec1()?;
        let found = fakes.iter().map(|fake| {
            let answers = fake.run(&mut source, &samples)?;
            answers.flatten_all()?.to_vec1()
        });
        let found = found.collect::<candle_core::Result<Vec<Vec<f32>>>>()?;
        each(piece, &exact, &found);
    }
    Ok(())
}

impl Calibration {
    /// Runs the network that it belongs to over samples, in float32 and as computed in bytes, whose
    /// numbers float32 stands in for. Calls `each` with the rows of a few samples, the exact
    /// answers, and those in bytes.
    ///
    /// # Errors
    /// A sample is not finite, or a tensor operation fails.
    pub fn compare(
        &self,
        (graph, weights): (&Graph, &Weights),
        rows: CalibrationRows<'_>,
        each: &mut dyn FnMut(Range<usize>, &[f32], &[f32]),
    ) -> Result<(), CalibrationError> {
        let pieces = rows.pieces(graph);
        let mut first = |rows: Range<usize>, exact: &[f32], found: &[Vec<f32>]| {
            found
                .iter()
                .for_each(|found| each(rows.clone(), exact, found));
        };
        beside_exact((graph, weights), &[self], rows, pieces, &mut first)
    }
}
