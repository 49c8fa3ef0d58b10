//! Compares a network's answers under calibrations with those in float32.

use std::ops::Range;

use super::error::CalibrationError;
use super::fake::{FakeQuantised, RoundedWeights};
use super::ranges::Calibration;
use super::rows::CalibrationRows;
use crate::compute::reference;
use crate::network::{Graph, Weights};

/// The signal in exact answers, and the error of answers computed in bytes: sums of squares over
/// all numbers.
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

    /// Returns the ratio of the two in decibels, or `None` if the error is 0.
    pub fn decibels(&self) -> Option<f64> {
        let ratio = 10.0 * (self.signal / self.noise).log10();
        (self.noise > 0.0).then_some(ratio)
    }
}

/// The answers to some samples in float32, and as computed in bytes.
#[derive(Clone, Debug)]
pub struct ComparedAnswers<'a> {
    /// The samples, counted over all.
    pub rows: Range<usize>,
    /// The numbers of their exact answers, one answer after another.
    pub exact: &'a [f32],
    /// The numbers as computed in bytes.
    pub found: &'a [f32],
}

/// Runs a network over samples in float32 and under each calibration. Calls `each` with the
/// position of a calibration and its answers to a few samples.
///
/// # Errors
/// A sample is not finite, or a tensor operation fails.
pub(super) fn beside_exact(
    graph: &Graph,
    weights: &Weights,
    calibrations: &[&Calibration],
    rows: CalibrationRows<'_>,
    pieces: impl Iterator<Item = Range<usize>>,
    each: &mut dyn FnMut(usize, ComparedAnswers<'_>),
) -> Result<(), CalibrationError> {
    let mut source = RoundedWeights::new(graph, weights);
    let fakes = calibrations.iter().map(|c| FakeQuantised::new(graph, c));
    let fakes: Vec<_> = fakes.collect();
    for piece in pieces {
        let samples = rows.read(graph, piece.clone())?;
        let exact = reference::run(graph, source.exact(), &samples)?;
        let exact: Vec<f32> = exact.flatten_all()?.to_vec1()?;
        for (at, fake) in fakes.iter().enumerate() {
            let found = fake.run(&mut source, &samples)?;
            let found: Vec<f32> = found.flatten_all()?.to_vec1()?;
            let answers = ComparedAnswers {
                rows: piece.clone(),
                exact: &exact,
                found: &found,
            };
            each(at, answers);
        }
    }
    Ok(())
}

impl Calibration {
    /// Runs the calibration's network over samples, in float32 and as computed in bytes (simulated
    /// in float32). Calls `each` with the answers to a few samples at a time.
    ///
    /// # Errors
    /// A sample is not finite, or a tensor operation fails.
    pub fn compare(
        &self,
        graph: &Graph,
        weights: &Weights,
        rows: CalibrationRows<'_>,
        each: &mut dyn FnMut(ComparedAnswers<'_>),
    ) -> Result<(), CalibrationError> {
        let pieces = rows.pieces(graph);
        let mut each = |_, answers: ComparedAnswers<'_>| each(answers);
        beside_exact(graph, weights, &[self], rows, pieces, &mut each)
    }
}
