//! Sample ensembles, and matrices of them.

use std::sync::Arc;

use divisi_model::allocation::{Frame, Matrix};
use divisi_model::ensemble::{Ensemble, Files};
use divisi_runtime::device::Devices;
use divisi_runtime::device::simulated::find_profile;

use crate::place::root;

pub fn digits() -> Arc<Ensemble> {
    let folder = root().join("sample_ensembles/digits");
    Arc::new(Ensemble::read(&Files::from_path(&folder)).expect("digits is valid"))
}

pub fn frame(ensemble: &Ensemble, devices: &Devices) -> Arc<Frame> {
    Frame::from_ensemble(ensemble, devices)
}

/// Every member on every device at batch size 8.
pub fn everywhere(ensemble: &Ensemble, devices: &Devices) -> Matrix {
    let rows = vec![vec![8; ensemble.members.len()]; devices.count()];
    Matrix::from_rows(frame(ensemble, devices), &rows).expect("valid")
}

pub fn imn4() -> Arc<Ensemble> {
    let folder = root().join("sample_ensembles/imn4");
    Arc::new(Ensemble::read(&Files::from_path(&folder)).expect("imn4 is valid"))
}

/// Two small networks: simulating a run of them takes milliseconds.
pub fn small() -> Arc<Ensemble> {
    let mut ensemble = Ensemble::clone(&digits());
    ensemble.members = [1, 3].map(|m| Arc::clone(&ensemble.members[m])).to_vec();
    Arc::new(ensemble)
}

pub fn v100s(count: usize) -> Devices {
    Devices::simulated(&find_profile("v100").expect("built in"), count)
}
