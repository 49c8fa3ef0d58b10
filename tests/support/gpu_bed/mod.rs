//! An engine over GPUs in software.

pub mod programs;
pub mod soft;

use std::sync::Arc;
use std::time::Duration;

use divisi_engine::serving::{Engine, EngineError, EngineOptions, Request};
use divisi_model::allocation::Matrix;
use divisi_model::ensemble::Ensemble;
use divisi_runtime::device::gpu::{FoundGpus, GpuInfo};
use divisi_runtime::device::{Devices, Host};

use crate::common::{digits, frame, networks, start};
pub use programs::SoftFactory;
use soft::SoftGpu;

/// The batch size that most tests use.
pub const SIZE: i64 = 8;

pub fn info(index: usize) -> GpuInfo {
    GpuInfo {
        index,
        name: "Software GPU".into(),
        memory_bytes: 1 << 30,
        free_bytes: 1 << 30,
        capability: (8, 0),
        multiprocessors: 4,
        driver: (13, 0),
    }
}

/// An engine over software GPUs and partitions.
pub struct Bed {
    pub ensemble: Arc<Ensemble>,
    pub factory: Arc<SoftFactory>,
    pub devices: Devices,
}

impl Bed {
    pub fn new(names: &[&str]) -> Self {
        Bed::of(digits(), names)
    }

    pub fn of(ensemble: Arc<Ensemble>, names: &[&str]) -> Self {
        let host = Host {
            cores: vec![0, 1],
            memory_bytes: 4 << 30,
        };
        let found = FoundGpus {
            usable: vec![info(0), info(1)],
            unusable: Vec::new(),
        };
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let devices = Devices::named_with(&names, &host, |_| Ok(found.clone()));
        Bed {
            factory: SoftFactory::new(&ensemble, &[info(0), info(1)]),
            devices: devices.expect("they are there"),
            ensemble,
        }
    }

    pub fn gpu(&self) -> Arc<SoftGpu> {
        self.factory.soft(0)
    }

    /// Batch size `size` of every member on each of `devices`.
    pub fn matrix(&self, devices: &[usize], size: i64) -> Matrix {
        let row = |device| {
            let size = if devices.contains(&device) { size } else { 0 };
            vec![size; self.ensemble.members.len()]
        };
        let rows: Vec<Vec<i64>> = (0..self.devices.count()).map(row).collect();
        Matrix::from_rows(frame(&self.ensemble, &self.devices), &rows).expect("valid")
    }

    pub fn try_start(&self, matrix: &Matrix) -> Result<Engine, EngineError> {
        let options = EngineOptions {
            drain_limit: Duration::from_secs(5),
            ..EngineOptions::default()
        };
        self.start_with(matrix, options)
    }

    pub fn start_with(
        &self,
        matrix: &Matrix,
        options: EngineOptions,
    ) -> Result<Engine, EngineError> {
        let ensemble = Arc::clone(&self.ensemble);
        let factory = Arc::clone(&self.factory);
        Engine::start(ensemble, self.devices.clone(), matrix, factory, options)
    }

    /// Every member on every device.
    pub fn start(&self) -> Engine {
        let all: Vec<usize> = (0..self.devices.count()).collect();
        self.try_start(&self.matrix(&all, SIZE)).expect("starts")
    }

    /// Returns the answers of partitions to the calibration samples.
    pub fn reference(&self) -> Vec<Vec<f32>> {
        let engine = start(&self.ensemble, networks(&self.ensemble));
        rows(&engine, self.samples())
    }

    pub fn samples(&self) -> &[f32] {
        let samples = self.ensemble.calibration.as_ref();
        let values = samples.expect("digits has samples").values();
        &values[..64 * 300]
    }
}

pub fn rows(engine: &Engine, samples: &[f32]) -> Vec<Vec<f32>> {
    let answer = engine.predict(Request::new(samples)).expect("let in");
    let answer = answer.expect("answered");
    answer.rows().map(<[f32]>::to_vec).collect()
}

pub fn assert_same(found: &[Vec<f32>], expected: &[Vec<f32>]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        for (a, b) in found.iter().zip(expected) {
            assert!((a - b).abs() <= 1e-5, "{a} is not {b}");
        }
    }
}
