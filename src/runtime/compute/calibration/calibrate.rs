//! Calibrates a network: ranges, then corrections of biases, then the layers to keep.

use std::collections::BTreeSet;

use super::compare::{ComparedAnswers, SignalAndNoise, beside_exact};
use super::digest::NetworkDigest;
use super::error::CalibrationError;
use super::kept::{KeptLayers, first_and_last, most_cost};
use super::method::RangeMethod;
use super::observe::{corrections, ranges};
use super::ranges::Calibration;
use super::rows::CalibrationRows;
use crate::network::{Graph, Weights};
use crate::reading::ReadError;

/// How a network is calibrated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CalibrationOptions {
    /// How ranges are chosen.
    pub method: RangeMethod,
    /// The layers that stay in float32.
    pub kept: KeptLayers,
}

/// A calibration and its measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct CalibratedNetwork {
    /// The calibration.
    pub calibration: Calibration,
    /// The cost of each layer in bytes that might have been kept.
    pub costs: Vec<LayerCost>,
}

/// The cost of computing a layer in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerCost {
    /// The node.
    pub node: usize,
    /// The share of the whole error that disappears if the layer stays in float32; negative if the
    /// error grows.
    pub share: f64,
}

/// The samples for choosing the layers to keep.
const TRIAL_ROWS: usize = 128;

/// Calibrates a network with samples. Calls `done` with the current task and the number of samples
/// it has processed.
///
/// # Errors
/// As [`CalibrationError`] lists.
pub fn calibrate(
    graph: &Graph,
    weights: &Weights,
    rows: CalibrationRows<'_>,
    options: &CalibrationOptions,
    done: &mut dyn FnMut(&'static str, usize),
) -> Result<CalibratedNetwork, CalibrationError> {
    check(graph, rows)?;
    let named = options.kept.named_nodes(graph)?;
    let mut observed = |n| done("observed", n);
    let found = ranges(graph, weights, rows, options.method, &mut observed)?;
    let digest = NetworkDigest::from_network(graph, weights);
    let plain = Calibration::of_ranges(digest, options.method, rows.count(), found);
    let plain = plain.keeping(named);
    let all = corrections(graph, weights, rows, &plain, &mut |n| done("corrected", n))?;
    let corrected = plain.clone().corrected(all);
    let mut candidates: BTreeSet<usize> = match options.kept {
        KeptLayers::Auto => first_and_last(graph)?.into_iter().collect(),
        KeptLayers::Named(_) => BTreeSet::new(),
    };
    candidates.retain(|&node| corrected.quantises(graph, node));
    choose(graph, weights, rows, &plain, &corrected, &candidates)
}

fn check(graph: &Graph, rows: CalibrationRows<'_>) -> Result<(), ReadError> {
    if rows.count() == 0 {
        return Err(ReadError::expected("samples", "none"));
    }
    if graph.lengths().is_some() {
        return Err(ReadError::new(
            "expected samples of one length; samples of varying length cannot be calibrated",
        ));
    }
    first_and_last(graph).map(|_| ())
}

/// Drops the corrections if they enlarge the error, and keeps the candidates whose cost is too
/// large.
fn choose(
    graph: &Graph,
    weights: &Weights,
    rows: CalibrationRows<'_>,
    plain: &Calibration,
    corrected: &Calibration,
    candidates: &BTreeSet<usize>,
) -> Result<CalibratedNetwork, CalibrationError> {
    let errors = errors(graph, weights, rows, &[plain, corrected])?;
    let base = match errors[1] <= errors[0] {
        true => corrected,
        false => plain,
    };
    let whole = errors[0].min(errors[1]);
    let keeping = |node: &usize| {
        let kept = base.kept().chain([*node]).collect();
        base.clone().keeping(kept)
    };
    let trials: Vec<Calibration> = candidates.iter().map(keeping).collect();
    let noises = self::errors(graph, weights, rows, &trials.iter().collect::<Vec<_>>())?;
    let costs = candidates.iter().zip(noises).map(|(&node, noise)| {
        let share = if whole > 0.0 {
            1.0 - noise / whole
        } else {
            0.0
        };
        LayerCost { node, share }
    });
    let costs: Vec<LayerCost> = costs.collect();
    let most = most_cost(graph);
    let dear = costs.iter().filter(|cost| cost.share > most);
    let kept = base.kept().chain(dear.map(|cost| cost.node)).collect();
    Ok(CalibratedNetwork {
        calibration: base.clone().keeping(kept),
        costs,
    })
}

/// Returns the error of the answers by each calibration, as a sum of squares over samples from all
/// over the rows.
fn errors(
    graph: &Graph,
    weights: &Weights,
    rows: CalibrationRows<'_>,
    calibrations: &[&Calibration],
) -> Result<Vec<f64>, CalibrationError> {
    let mut sums = vec![SignalAndNoise::default(); calibrations.len()];
    if calibrations.is_empty() {
        return Ok(Vec::new());
    }
    let step = rows.count().div_ceil(TRIAL_ROWS);
    let pieces = rows.pieces(graph).step_by(step);
    let mut add = |at: usize, of: ComparedAnswers<'_>| sums[at].add(of.exact, of.found);
    beside_exact(graph, weights, calibrations, rows, pieces, &mut add)?;
    Ok(sums.iter().map(|sum| sum.noise).collect())
}
