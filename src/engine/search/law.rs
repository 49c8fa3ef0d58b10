//! The law of a device of this machine: measured batches of several networks, and the law of a
//! simulated device that fits them best.

use std::sync::Arc;

use crate::serving::NetworkFactory;
use divisi_model::allocation::Footprints;
use divisi_model::catalogue::Catalogue;
use divisi_model::ensemble::Ensemble;
use divisi_model::metrics::stats::median;
use divisi_model::profile::{CellCost, Costs};
use divisi_runtime::compute::work;
use divisi_runtime::device::simulated::{Law, OpWork};
use divisi_runtime::device::{DeviceIndex, Devices, MemberIndex};

use super::control::Control;
use super::error::SearchError;
use super::profiling::Profiler;

/// A law that was fitted to measured batches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FittedLaw {
    /// The law.
    pub law: Law,
    /// The number of networks.
    pub networks: usize,
    /// The number of measured batches of different networks or sizes.
    pub batches: usize,
    /// The median relative difference between the law's time and the measured time.
    pub error: f64,
}

/// A measured batch.
#[derive(Clone, Debug)]
pub struct MeasuredBatch {
    /// The work of the network's operations.
    pub work: Arc<[OpWork]>,
    /// The number of samples.
    pub rows: usize,
    /// The bytes of a sample.
    pub sample_bytes: u64,
    /// The bytes of an answer.
    pub answer_bytes: u64,
    /// The measured seconds.
    pub seconds: f64,
}

/// Measures the networks of `probes` on one device in every batch size, and returns the law that
/// fits best. Units, grain and copies are those of `start`.
///
/// # Errors
/// A network does not run on the device, or the measurement was cancelled.
pub fn measure_law(
    probes: &[Arc<Ensemble>],
    device: &Devices,
    start: Law,
    control: &Control,
) -> Result<FittedLaw, SearchError> {
    let mut batches = Vec::new();
    for ensemble in probes {
        batches.extend(measured(ensemble, device, control)?);
    }
    let (law, error) = fit_law(start, &batches);
    Ok(FittedLaw {
        law,
        networks: probes.iter().map(|e| e.members.len()).sum(),
        batches: batches.len(),
        error,
    })
}

fn measured(
    ensemble: &Arc<Ensemble>,
    device: &Devices,
    control: &Control,
) -> Result<Vec<MeasuredBatch>, SearchError> {
    let factory = NetworkFactory::new(Arc::clone(ensemble));
    let profiler = Profiler {
        catalogue: &Catalogue::from_ensemble(Arc::clone(ensemble)),
        devices: device,
        footprints: &Footprints::plan(ensemble, device),
        factory: &factory,
        cache: None,
        control,
    };
    let costs = profiler.costs()?.costs;
    let members = MemberIndex::all(ensemble.members.len());
    Ok(members
        .flat_map(|member| batches_of(ensemble, &costs, member))
        .collect())
}

fn batches_of(ensemble: &Ensemble, costs: &Costs, member: MemberIndex) -> Vec<MeasuredBatch> {
    let CellCost::Measured(times) = costs.cell(member, DeviceIndex::new(0)) else {
        return Vec::new();
    };
    let work: Arc<[OpWork]> = work(&ensemble.members[member].graph).into();
    let points = times.points().iter();
    let batch = |&(rows, seconds): &(usize, f64)| MeasuredBatch {
        work: Arc::clone(&work),
        rows,
        sample_bytes: costs.sample_bytes(member),
        answer_bytes: 4 * ensemble.answer_width() as u64,
        seconds,
    };
    points.map(batch).collect()
}

/// The first step of the fit in each number: a factor of 4, as a logarithm.
const FIRST_STEP: f64 = 1.386;
/// The step at which the fit ends: 0.5 %.
const LAST_STEP: f64 = 0.005;
/// The most rounds of the fit.
const MOST_ROUNDS: usize = 500;

/// Returns the law that fits `batches` best, and its median relative error. Starts from `start`, and
/// changes the rate, both bandwidths and the launch time by a pattern search (Hooke and Jeeves,
/// "Direct search", 1961) over their logarithms. The error is the mean square of the logarithm of
/// the ratio of times, so that small networks count as much as large ones.
pub fn fit_law(start: Law, batches: &[MeasuredBatch]) -> (Law, f64) {
    let mut best = [
        start.rate.ln(),
        start.activation_bandwidth.ln(),
        start.weight_bandwidth.ln(),
        start.launch.max(1e-9).ln(),
    ];
    let loss = |numbers: &[f64; 4]| {
        let law = law_from(start, numbers);
        let errors = batches.iter().map(|b| (seconds(&law, b) / b.seconds).ln());
        errors.map(|e| e * e).sum::<f64>()
    };
    let (mut least, mut step) = (loss(&best), FIRST_STEP);
    for _ in 0..MOST_ROUNDS {
        let before = least;
        for number in 0..best.len() {
            for change in [step, -step] {
                let mut other = best;
                other[number] += change;
                let found = loss(&other);
                if found < least {
                    (best, least) = (other, found);
                    break;
                }
            }
        }
        if least >= before {
            step /= 2.0;
        }
        if step < LAST_STEP {
            break;
        }
    }
    let law = law_from(start, &best);
    let errors = batches
        .iter()
        .map(|b| (seconds(&law, b) / b.seconds - 1.0).abs());
    let errors: Vec<f64> = errors.collect();
    (law, median(&errors))
}

/// The allowed rates and bandwidths, as in profiles.
const RATES: (f64, f64) = (1e6, 1e18);

fn law_from(start: Law, logarithms: &[f64; 4]) -> Law {
    let rate = |number: f64| number.exp().clamp(RATES.0, RATES.1);
    Law {
        rate: rate(logarithms[0]),
        activation_bandwidth: rate(logarithms[1]),
        weight_bandwidth: rate(logarithms[2]),
        launch: logarithms[3].exp().clamp(1e-9, 1.0),
        ..start
    }
}

/// Returns the seconds of a batch by `law`, with the device to itself.
fn seconds(law: &Law, batch: &MeasuredBatch) -> f64 {
    let rows = batch.rows as u64;
    let kernels = batch
        .work
        .iter()
        .map(|op| law.kernel(op, batch.rows).seconds + law.launch);
    law.copy(batch.sample_bytes * rows) + kernels.sum::<f64>() + law.copy(batch.answer_bytes * rows)
}
