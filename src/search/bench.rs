//! Evaluator `bench`: real workers, calibration samples.

use std::sync::Arc;
use std::time::Duration;

use crate::allocation::Matrix;
use crate::device::Devices;
use crate::ensemble::{Ensemble, Samples};
use crate::load::{Run, saturate};
use crate::serving::{Engine, EngineOptions, PredictorFactory, ReloadError};

use super::control::{Control, Stopped};
use super::evaluator::{Evaluator, Score, SearchError};

/// Samples of one run at least: the paper measures over 1 024 (section IV.A).
const SAMPLES: usize = 1024;
/// Runs are repeated until the relative standard error is below this, …
const STEADY: f64 = 0.01;
/// … at most so many times.
const MOST_RUNS: usize = 6;
/// A matrix this much slower than the best so far is not measured to the end.
const HOPELESS: f64 = 1.15;

/// Measures matrices on an engine of its own. From one matrix to the next it reloads
/// only what differs, so workers that did not change are not started again.
pub struct BenchEvaluator {
    ensemble: Arc<Ensemble>,
    devices: Devices,
    factory: Arc<dyn PredictorFactory>,
    samples: Arc<Samples>,
    control: Arc<Control>,
    engine: Option<Engine>,
}

impl BenchEvaluator {
    /// Measures with `samples`; looks at `control` between runs.
    pub fn new(
        ensemble: Arc<Ensemble>,
        devices: Devices,
        factory: Arc<dyn PredictorFactory>,
        samples: Arc<Samples>,
        control: Arc<Control>,
    ) -> Self {
        BenchEvaluator {
            ensemble,
            devices,
            factory,
            samples,
            control,
            engine: None,
        }
    }

    /// Makes the engine run `matrix`; false where it does not fit.
    fn load(&mut self, matrix: &Matrix) -> Result<bool, SearchError> {
        let Some(engine) = &self.engine else {
            if crate::allocation::Footprints::of(&self.ensemble)
                .book(matrix, &self.devices)
                .is_err()
            {
                return Ok(false);
            }
            self.engine = Some(Engine::start(
                Arc::clone(&self.ensemble),
                self.devices.clone(),
                matrix,
                Arc::clone(&self.factory),
                EngineOptions::default(),
            )?);
            self.run(None)?; // The first run pays for cold memory and is not counted.
            return Ok(true);
        };
        match engine.reload(matrix, |_| {}) {
            Ok(_) => Ok(true),
            Err(ReloadError::DoesNotFit(_)) => Ok(false),
            Err(other) => Err(other.into()),
        }
    }

    fn run(&self, limit: Option<Duration>) -> Result<Run, SearchError> {
        let Some(engine) = &self.engine else {
            return Err(Stopped.into());
        };
        if self.control.is_cancelled() {
            return Err(Stopped.into());
        }
        saturate(engine, &self.samples, SAMPLES, limit, |_, _| {})
            .map_err(|e| SearchError::Evaluation(e.to_string()))
    }

    /// Runs until the estimate is steady or plainly below `best`.
    fn measure(&self, best: f64) -> Result<Score, SearchError> {
        let limit = (best > 0.0).then(|| Duration::from_secs_f64(HOPELESS * SAMPLES as f64 / best));
        let mut rates = Vec::new();
        loop {
            let run = self.run(limit)?;
            rates.push(run.samples_per_s());
            let score = estimate(&rates);
            let hopeless = run.cut_short || score.samples_per_s * (1.0 + 2.0 * STEADY) < best;
            let steady = rates.len() >= 3 && score.error <= STEADY;
            if hopeless || steady || rates.len() >= MOST_RUNS {
                return Ok(score);
            }
        }
    }
}

impl Evaluator for BenchEvaluator {
    fn name(&self) -> &'static str {
        "bench"
    }

    fn score(&mut self, matrix: &Matrix, best: f64) -> Result<Score, SearchError> {
        if self.load(matrix)? {
            self.measure(best)
        } else {
            Ok(Score::NONE)
        }
    }
}

/// The median, with the standard error relative to the mean.
fn estimate(rates: &[f64]) -> Score {
    let n = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / n;
    let spread = rates.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    Score {
        samples_per_s: sorted[sorted.len() / 2],
        error: spread.sqrt() / n.sqrt() / mean.max(1e-9),
    }
}
