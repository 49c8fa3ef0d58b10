//! A matrix for one more device: the running workers stay, and workers on the new device are added
//! one after another as long as they raise the throughput.

use std::sync::Arc;

use divisi_model::allocation::{Cell, Footprints, Frame, Matrix};
use divisi_model::ensemble::BatchSize;
use divisi_runtime::device::{DeviceIndex, Devices, MemberIndex};

use super::error::SearchError;
use super::model::ModelEvaluator;

/// A worker must raise the throughput by at least this factor. Less is within rounding.
const WORTHWHILE: f64 = 1.001;

/// Returns `matrix` with workers on the last device of `devices`, which `matrix` lacks. Of all
/// workers that fit, the one that raises the throughput most is added first.
///
/// # Errors
/// The matrix does not match the devices.
pub fn extend_matrix(
    matrix: &Matrix,
    devices: &Devices,
    footprints: &Footprints,
    model: &mut ModelEvaluator,
) -> Result<Matrix, SearchError> {
    let mut best = widened(matrix, devices)?;
    let mut throughput = model.throughput(&best);
    let device = DeviceIndex::new(devices.count().saturating_sub(1));
    while let Some((better, higher)) = best_addition(&best, device, devices, footprints, model) {
        if higher < WORTHWHILE * throughput {
            break;
        }
        (best, throughput) = (better, higher);
    }
    Ok(best)
}

/// Returns the matrix with an empty row for each missing device.
fn widened(matrix: &Matrix, devices: &Devices) -> Result<Matrix, SearchError> {
    let frame = Arc::new(Frame {
        devices: devices.names(),
        ..matrix.frame().as_ref().clone()
    });
    let mut entries: Vec<Option<BatchSize>> = matrix.cells().map(|cell| matrix.get(cell)).collect();
    entries.resize(frame.devices.len() * frame.members.len(), None);
    Ok(Matrix::new(frame, entries)?)
}

/// Returns the matrix with the worker on `device` that raises the throughput most, and that
/// throughput, or `None` if no worker fits.
fn best_addition(
    matrix: &Matrix,
    device: DeviceIndex,
    devices: &Devices,
    footprints: &Footprints,
    model: &mut ModelEvaluator,
) -> Option<(Matrix, f64)> {
    let frame = matrix.frame();
    let members = MemberIndex::all(frame.members.len());
    let free = members.map(|member| Cell { device, member });
    let free = free.filter(|cell| matrix.get(*cell).is_none());
    let additions = free.flat_map(|cell| {
        let sizes = frame.batch_sizes.iter();
        sizes.filter_map(move |size| matrix.with_entry(cell, Some(size)).ok())
    });
    let fitting = additions.filter(|changed| footprints.book(changed, devices).is_ok());
    let scored = fitting.map(|changed| {
        let throughput = model.throughput(&changed);
        (changed, throughput)
    });
    scored.max_by(|a, b| a.1.total_cmp(&b.1))
}
