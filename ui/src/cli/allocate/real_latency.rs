//! The latency of a found matrix with real requests. A simulation knows the times of batches only,
//! not those of clients, threads and other programs.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::{Result, anyhow};
use divisi_engine::load::LoadSamples;
use divisi_engine::search::Control;
use divisi_engine::serving::Engine;
use divisi_model::allocation::Matrix;

use super::report::LatencyRow;
use crate::cli::open::OpenedEnsemble;
use crate::cli::sent_load::SentLoad;

/// The shortest and longest time of requests, in seconds.
const LASTS_S: (f64, f64) = (2.0, 10.0);
/// The requests for a p99, if the time allows: ten are slower.
const REQUESTS: f64 = 1000.0;
/// The share of requests to warm up.
const WARM_UP: f64 = 0.2;

/// The load of a real measurement.
pub(super) struct RealLoad {
    /// Requests of one sample per second.
    pub(super) rate: f64,
    pub(super) seed: u64,
}

/// The latency of real requests.
pub(super) struct RealLatency {
    pub(super) latency: LatencyRow,
    /// Requests without room.
    pub(super) refused: u64,
}

impl RealLoad {
    /// Serves requests by `matrix` on this machine. Returns their latency, or `None` after a
    /// cancellation, or if there are no samples to send.
    pub(super) fn measure(
        &self,
        opened: &OpenedEnsemble,
        matrix: &Matrix,
        control: &Control,
    ) -> Result<Option<RealLatency>> {
        let Ok(samples) = opened.load_samples() else {
            return Ok(None);
        };
        let engine = Arc::new(opened.start(matrix, opened.networks())?);
        let lasts = (REQUESTS / self.rate).clamp(LASTS_S.0, LASTS_S.1);
        let requests = (self.rate * lasts).max(1.0);
        self.send(&engine, &samples, requests * WARM_UP, control)?;
        engine.telemetry().clear_latency();
        let refused = self.send(&engine, &samples, requests, control)?;
        let seen = engine.telemetry().observe().latency.since.summary;
        engine.shutdown();
        let latency = LatencyRow {
            rate: self.rate,
            p50: seen.p50,
            p99: seen.p99,
        };
        Ok((!control.is_cancelled()).then_some(RealLatency { latency, refused }))
    }

    /// Sends requests and waits for their answers. Returns the number of refused ones.
    fn send(
        &self,
        engine: &Arc<Engine>,
        samples: &LoadSamples,
        requests: f64,
        control: &Control,
    ) -> Result<u64> {
        let pattern = format!("poisson:{}", self.rate);
        let load = SentLoad {
            pattern: pattern.parse().map_err(|why| anyhow!("--rate: {why}"))?,
            requests: requests.ceil() as usize,
            seed: self.seed,
        };
        let tally = load.send(engine, samples, || control.is_cancelled())?;
        Ok(tally.refused.load(Ordering::Relaxed))
    }
}
