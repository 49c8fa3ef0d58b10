//! The baseline that searches are compared with: the best batch size for each
//! member, each alone on a device (the paper, section IV.C).

use std::sync::Arc;

use crate::allocation::{Cell, Footprints, Frame, Matrix};
use crate::device::Devices;
use crate::ensemble::BatchSize;

use super::control::Control;
use super::evaluator::{Evaluator, SearchError};
use super::worst_fit::place;

/// Measures each member alone on the first device (the first accelerator, where there are
/// any) at every batch size (through `alone`, an evaluator of that member's one-device
/// matrix), then gives each its best size and a device of its own, an accelerator where
/// there are any; where those are fewer than members, worst-fit decreasing shares all
/// devices. Gives the matrix and the number of evaluations.
///
/// # Errors
/// A measurement broke down or was stopped, or a member fits nowhere.
pub fn best_batch(
    frame: &Arc<Frame>,
    devices: &Devices,
    footprints: &Footprints,
    mut alone: impl FnMut(usize) -> Result<Box<dyn Evaluator>, SearchError>,
    control: &Control,
) -> Result<(Matrix, usize), SearchError> {
    let preferred = devices.preferred();
    let mut sizes = Vec::new();
    let mut evaluations = 0;
    control.update(|p| p.expect(frame.members.len() * frame.batch_sizes.count()));
    control.begin_phase(0);
    for member in 0..frame.members.len() {
        let mut evaluator = alone(member)?;
        let place = Cell {
            device: preferred[0],
            member,
        };
        let (size, scored) = best_size(frame, place, evaluator.as_mut(), control)?;
        evaluations += scored;
        sizes.push(size);
    }
    if preferred.len() >= frame.members.len() {
        let matrix = one_each(frame, &sizes, &preferred)?;
        if footprints.book(&matrix, devices).is_ok() {
            return Ok((matrix, evaluations));
        }
    }
    Ok((place(frame, devices, footprints, &sizes)?, evaluations))
}

fn best_size(
    frame: &Arc<Frame>,
    place: Cell,
    evaluator: &mut dyn Evaluator,
    control: &Control,
) -> Result<(BatchSize, usize), SearchError> {
    let single = Arc::new(Frame {
        devices: vec![frame.devices[place.device].clone()],
        members: vec![frame.members[place.member].clone()],
        batch_sizes: frame.batch_sizes.clone(),
    });
    let mut best = (frame.batch_sizes.smallest(), 0.0);
    for size in frame.batch_sizes.iter() {
        control.checkpoint()?;
        let matrix = Matrix::new(Arc::clone(&single), vec![Some(size)])?;
        let score = evaluator.score(&matrix, best.1)?.samples_per_s;
        if score > best.1 {
            best = (size, score);
        }
        control.update(|p| {
            p.neighbour += 1;
            p.evaluations += 1;
            p.scores.push(score);
        });
    }
    Ok((best.0, frame.batch_sizes.count()))
}

/// Each member on one of `devices`, in order.
fn one_each(
    frame: &Arc<Frame>,
    sizes: &[BatchSize],
    devices: &[usize],
) -> Result<Matrix, SearchError> {
    let members = frame.members.len();
    let mut entries = vec![None; frame.devices.len() * members];
    for (member, (&size, device)) in sizes.iter().zip(devices).enumerate() {
        entries[device * members + member] = Some(size);
    }
    Ok(Matrix::new(Arc::clone(frame), entries)?)
}
