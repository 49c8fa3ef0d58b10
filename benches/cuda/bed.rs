//! The GPU, and networks lowered for it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use divisi_engine::serving::{Engine, EngineOptions, NetworkFactory, PredictorFactory};
use divisi_model::allocation::{Frame, Matrix, PoolBounds};
use divisi_model::ensemble::{Ensemble, Files, Samples};
use divisi_runtime::compute::gpu::{Precision, Program};
use divisi_runtime::device::gpu::{Gpu, open};
use divisi_runtime::device::{Devices, Host, MemberIndex};

use crate::common::folder;

/// Host memory for samples under way: enough that the client does not hold the GPU up.
const POOL: u64 = 1 << 30;

/// The driver's counts are at rest after so many equal readings, so far apart.
const ALIKE: usize = 5;
const PAUSE: Duration = Duration::from_millis(40);

/// All built-in networks.
pub const BUILTIN: &str = "benches/fixtures/builtin";

/// The networks to measure: `usual`, or those that CUDA_BENCH_NETWORKS names (to try the
/// rows out where those take too long).
pub fn networks(usual: &[&str]) -> Vec<String> {
    match std::env::var("CUDA_BENCH_NETWORKS") {
        Ok(names) => names.split(',').map(str::to_owned).collect(),
        Err(_) => usual.iter().map(ToString::to_string).collect(),
    }
}

/// An ensemble for GPU 0.
pub struct Bed {
    pub gpu: Arc<dyn Gpu>,
    pub ensemble: Arc<Ensemble>,
    pub factory: Arc<NetworkFactory>,
}

impl Bed {
    /// The ensemble in the folder `path` of the repository.
    pub fn open(path: &str, precision: Precision) -> Result<Self> {
        let mut ensemble = Ensemble::read(&Files::from_path(&folder(path)))?;
        ensemble.precision = precision;
        Self::of(ensemble)
    }

    pub fn of(ensemble: Ensemble) -> Result<Self> {
        let ensemble = Arc::new(ensemble);
        Ok(Bed {
            gpu: open(0)?,
            factory: Arc::new(NetworkFactory::new(Arc::clone(&ensemble))),
            ensemble,
        })
    }

    /// The member called `name` alone.
    pub fn only(&self, name: &str) -> Result<Self> {
        Self::of(self.ensemble.single_member(self.member(name)?))
    }

    pub fn member(&self, name: &str) -> Result<MemberIndex> {
        let names = self.ensemble.member_names();
        let found = names.iter().position(|n| n == name);
        let found = found.map(MemberIndex::new);
        found.with_context(|| format!("no member is called `{name}`"))
    }

    pub fn program(&self, member: MemberIndex) -> Result<Arc<dyn Program>> {
        Ok(self
            .factory
            .program(self.ensemble.network(member), &self.gpu)?)
    }

    /// Values of a sample of `member`.
    pub fn width(&self, member: MemberIndex) -> usize {
        self.ensemble.members[member].graph.input().elements()
    }

    /// Bytes in use as the driver counts them, once that has come to rest: what is freed
    /// is so in the order of a stream.
    pub fn settled_bytes(&self) -> Result<u64> {
        let mut last = self.gpu.usage()?.used;
        let mut alike = 0;
        while alike < ALIKE {
            std::thread::sleep(PAUSE);
            let now = self.gpu.usage()?.used;
            alike = if now == last { alike + 1 } else { 0 };
            last = now;
        }
        Ok(last)
    }

    pub fn samples(&self) -> Result<Arc<Samples>> {
        let samples = self.ensemble.calibration.clone();
        samples.context("the ensemble has no calibration samples")
    }

    /// Serving on `devices`, every member everywhere at one batch size.
    pub fn serve(&self, devices: &[&str], size: i64) -> Result<Engine> {
        let names: Vec<String> = devices.iter().map(ToString::to_string).collect();
        let devices = Devices::from_names(&names, &Host::discover())?;
        let rows = vec![vec![size; self.ensemble.members.len()]; devices.count()];
        let matrix = Matrix::from_rows(Frame::from_ensemble(&self.ensemble, &devices), &rows)?;
        let options = EngineOptions {
            pool: PoolBounds {
                bytes: POOL,
                ..PoolBounds::default()
            },
            ..EngineOptions::default()
        };
        Ok(Engine::start(
            Arc::clone(&self.ensemble),
            devices,
            &matrix,
            Arc::clone(&self.factory) as _,
            options,
        )?)
    }
}
