//! The samples that a network is calibrated by, a few at a time.

use std::ops::Range;

use candle_core::{Device, Tensor};

use super::error::CalibrationError;
use crate::network::Graph;

/// Samples as a network takes them, which are read a few at a time.
#[derive(Clone, Copy)]
pub struct CalibrationRows<'a> {
    count: usize,
    read: &'a dyn Fn(Range<usize>) -> Vec<f32>,
}

/// The most numbers of the network's largest value held at once.
const NUMBERS: usize = 4 << 20;

/// The most samples computed at once.
const MOST: usize = 32;

impl<'a> CalibrationRows<'a> {
    /// Creates `count` samples, which `read` returns one after another.
    pub fn new(count: usize, read: &'a dyn Fn(Range<usize>) -> Vec<f32>) -> Self {
        CalibrationRows { count, read }
    }

    /// Returns the number of samples.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the ranges of samples that are computed at once.
    pub(super) fn pieces(&self, graph: &Graph) -> impl Iterator<Item = Range<usize>> + use<> {
        let nodes = graph.nodes().iter().map(|node| node.shape.elements());
        let largest = nodes.chain([graph.input().elements(), 1]).max();
        let each = (NUMBERS / largest.unwrap_or(1)).clamp(1, MOST);
        let count = self.count;
        (0..count)
            .step_by(each)
            .map(move |first| first..count.min(first + each))
    }

    /// Returns samples as `[samples, values]`.
    ///
    /// # Errors
    /// A number is not finite.
    pub(super) fn read(
        &self,
        graph: &Graph,
        rows: Range<usize>,
    ) -> Result<Tensor, CalibrationError> {
        let width = graph.input().elements();
        let numbers = (self.read)(rows.clone());
        if let Some((row, at)) = not_finite(&numbers, width) {
            let row = rows.start + row;
            return Err(CalibrationError::Sample { row, at });
        }
        Ok(Tensor::from_vec(
            numbers,
            (rows.len(), width),
            &Device::Cpu,
        )?)
    }
}

/// Returns the row and the position in it of the first number that is not finite.
pub(super) fn not_finite(numbers: &[f32], width: usize) -> Option<(usize, usize)> {
    let at = numbers.iter().position(|number| !number.is_finite())?;
    Some((at / width.max(1), at % width.max(1)))
}
