//! Runs a network over samples, observes every value, and finds how rounding shifts the mean
//! answers of weighted nodes.

use std::collections::BTreeMap;

use candle_core::Tensor;

use super::error::CalibrationError;
use super::fake::{RoundedWeights, channel_axis, rounded};
use super::method::RangeMethod;
use super::observer::RangeObserver;
use super::range::ValueRange;
use super::ranges::Calibration;
use super::rows::{CalibrationRows, not_finite};
use crate::compute::reference::{self, Fixed, walk};
use crate::network::{Graph, Weights};

/// Returns the range of each value over the samples; `None` for values that are not always finite.
///
/// # Errors
/// A sample or its answer is not finite, or a tensor operation fails.
pub(super) fn ranges(
    graph: &Graph,
    weights: &Weights,
    rows: CalibrationRows<'_>,
    method: RangeMethod,
    done: &mut dyn FnMut(usize),
) -> Result<Vec<Option<ValueRange>>, CalibrationError> {
    let mut observers = vec![Some(RangeObserver::new(method)); graph.nodes().len() + 1];
    let mut observe = |value: usize, numbers: &Tensor| -> Result<(), CalibrationError> {
        if let Some(observer) = &mut observers[value] {
            let numbers: Vec<f32> = numbers.flatten_all()?.to_vec1()?;
            if observer.add(&numbers).is_err() {
                observers[value] = None;
            }
        }
        Ok(())
    };
    let mut source = Fixed::new(graph, weights);
    for piece in rows.pieces(graph) {
        let samples = rows.read(graph, piece.clone())?;
        observe(0, &samples)?;
        let answers = walk(graph, &samples, |index, inputs, shapes| {
            let value = reference::apply(&graph.nodes()[index], &mut source, inputs, shapes)?;
            observe(index + 1, &value)?;
            Ok::<_, CalibrationError>(value)
        })?;
        check_answers(&answers, piece.start)?;
        done(piece.end);
    }
    let ranges = observers.into_iter();
    Ok(ranges.map(|observer| observer?.range()).collect())
}

/// Checks answers to the samples from `first` on.
fn check_answers(answers: &Tensor, first: usize) -> Result<(), CalibrationError> {
    let numbers: Vec<f32> = answers.flatten_all()?.to_vec1()?;
    match not_finite(&numbers, answers.dim(1)?) {
        None => Ok(()),
        Some((row, at)) => {
            let row = first + row;
            Err(CalibrationError::Answer { row, at })
        }
    }
}

/// Returns how much rounding lowers the mean of each output channel of each node computed in bytes:
/// the mean for exact weights and inputs minus the mean for rounded ones, over all samples (Nagel
/// et al., "Data-free quantization through weight equalization and bias correction", ICCV 2019,
/// section 4.2 with the expectations as measured).
///
/// # Errors
/// A tensor operation fails.
pub(super) fn corrections(
    graph: &Graph,
    weights: &Weights,
    rows: CalibrationRows<'_>,
    calibration: &Calibration,
    done: &mut dyn FnMut(usize),
) -> Result<BTreeMap<usize, Vec<f32>>, CalibrationError> {
    let mut means: BTreeMap<usize, ChannelMeans> = BTreeMap::new();
    let mut source = RoundedWeights::new(graph, weights);
    for piece in rows.pieces(graph) {
        let samples = rows.read(graph, piece.clone())?;
        walk(graph, &samples, |index, inputs, shapes| {
            let node = &graph.nodes()[index];
            let exact = reference::apply(node, source.exact(), inputs, shapes)?;
            let range = calibration.range(node.inputs[0].index());
            if let Some(range) = range.filter(|_| calibration.quantises(graph, index)) {
                let input = rounded(inputs[0], range)?;
                let found = source.apply(graph, index, &[&input], shapes)?;
                let lost = (&exact - found)?;
                let axis = channel_axis(node.shape, &lost);
                means.entry(index).or_default().add(&lost, axis)?;
            }
            Ok::<_, CalibrationError>(exact)
        })?;
        done(piece.end);
    }
    let all = means.into_iter();
    Ok(all.map(|(node, means)| (node, means.finish())).collect())
}

/// The means of the channels of tensors, in float64.
#[derive(Default)]
struct ChannelMeans {
    sums: Vec<f64>,
    /// Numbers of each channel.
    count: usize,
}

impl ChannelMeans {
    fn add(&mut self, values: &Tensor, axis: usize) -> candle_core::Result<()> {
        let channels = values.dim(axis)?;
        // Channels first, so that the numbers of each lie together.
        let apart = values.transpose(0, axis)?.contiguous()?;
        let numbers: Vec<f32> = apart.flatten_all()?.to_vec1()?;
        let each = numbers.len() / channels.max(1);
        self.sums.resize(channels, 0.0);
        for (sum, numbers) in self.sums.iter_mut().zip(numbers.chunks_exact(each.max(1))) {
            *sum += numbers.iter().copied().map(f64::from).sum::<f64>();
        }
        self.count += each;
        Ok(())
    }

    fn finish(self) -> Vec<f32> {
        let means = self.sums.iter().map(|sum| sum / self.count.max(1) as f64);
        means.map(|mean| mean as f32).collect()
    }
}
