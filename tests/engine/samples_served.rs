//! The sample ensembles that come with the program, served on many devices.

use std::sync::Arc;

use divisi_engine::search::worst_fit;
use divisi_engine::serving::{Engine, EngineOptions};
use divisi_model::allocation::{Footprints, Frame};
use divisi_model::ensemble::{Ensemble, Files};
use divisi_runtime::device::{Devices, Host};

use crate::common::fakes;
use crate::place::root;

#[test]
fn the_samples_that_come_with_the_program_can_be_served() {
    for (name, members) in [
        ("drawings", 3),
        ("imn1", 1),
        ("imn4", 4),
        ("imn12", 12),
        ("fos14", 14),
        ("cif36", 36),
    ] {
        let folder = root().join("sample_ensembles");
        let ensemble = Ensemble::read(&Files::from_path(&folder.join(name))).expect(name);
        assert_eq!(
            (ensemble.name.as_str(), ensemble.members.len()),
            (name, members)
        );
        assert!(ensemble.is_synthetic() && ensemble.calibration.is_some());
        let devices = Devices::default_of(&Host {
            cores: (0..17).collect(),
            memory_bytes: 1 << 40,
        });
        let footprints = Footprints::plan(&ensemble, &devices);
        let matrix = worst_fit(
            &Frame::from_ensemble(&ensemble, &devices),
            &devices,
            &footprints,
        );
        let ensemble = Arc::new(ensemble);
        let engine = Engine::start(
            Arc::clone(&ensemble),
            devices,
            &matrix.expect(name),
            fakes(&ensemble),
            EngineOptions::default(),
        );
        assert!(engine.is_ok(), "{name}: {:?}", engine.err());
    }
}
