//! Evaluator `bench`: runs real workers on calibration samples.

use std::sync::Arc;
use std::time::Duration;

use crate::load::{LoadSamples, Run, Until, saturate_mix};
use crate::serving::{ApplyError, Engine, EngineError, EngineOptions, PlanError, PredictorFactory};
use divisi_model::allocation::Matrix;
use divisi_model::catalogue::Catalogue;
use divisi_runtime::device::Devices;

use super::control::Control;
use super::error::{SearchError, Stopped};
use super::evaluator::{Evaluator, Score};
use super::model::RUN;

/// Samples before a glance.
const WARM_UP: usize = 64;
/// Runs are repeated until the relative standard error is below this value, …
const STEADY: f64 = 0.01;
/// … or until this number of runs.
const MOST_RUNS: usize = 6;
/// A matrix that is slower than the best one by this factor is not measured to the end.
const HOPELESS: f64 = 1.15;

/// Measures matrices on its own engine. From one matrix to the next it reloads only the difference,
/// so unchanged workers keep running.
pub struct BenchEvaluator {
    catalogue: Arc<Catalogue>,
    devices: Devices,
    factory: Arc<dyn PredictorFactory>,
    samples: LoadSamples,
    control: Arc<Control>,
    engine: Option<Engine>,
}

impl BenchEvaluator {
    /// Creates an evaluator for the models of a catalogue with `samples`. It checks `control`
    /// between runs.
    pub fn new(
        catalogue: &Catalogue,
        devices: Devices,
        factory: Arc<dyn PredictorFactory>,
        samples: impl Into<LoadSamples>,
        control: Arc<Control>,
    ) -> Self {
        BenchEvaluator {
            // A closed loop sends only what is answered, so queue limits do not matter.
            catalogue: Arc::new(catalogue.without_queues()),
            devices,
            factory,
            samples: samples.into(),
            control,
            engine: None,
        }
    }

    /// Makes the engine run `matrix`. Returns `false` if a device cannot hold it.
    fn load(&mut self, matrix: &Matrix) -> Result<bool, SearchError> {
        let Some(engine) = &self.engine else {
            let fits = self.start(matrix)?;
            if fits {
                // The first run warms up the memory and is not counted.
                self.run(RUN, None)?;
            }
            return Ok(fits);
        };
        let setup = engine.setup().with_matrix(matrix.clone());
        match engine.apply_setup(&setup, &mut |_| {}) {
            Ok(_) => Ok(true),
            Err(ApplyError::Plan(PlanError::DoesNotFit(_)) | ApplyError::Worker(_)) => Ok(false),
            Err(other) => Err(other.into()),
        }
    }

    fn start(&mut self, matrix: &Matrix) -> Result<bool, SearchError> {
        let started = Engine::start_catalogue(
            Arc::clone(&self.catalogue),
            self.devices.clone(),
            matrix,
            Arc::clone(&self.factory),
            EngineOptions::default(),
        );
        match started {
            Ok(engine) => self.engine = Some(engine),
            Err(EngineError::DoesNotFit(_) | EngineError::Worker { .. }) => return Ok(false),
            Err(other) => return Err(other.into()),
        }
        Ok(true)
    }

    fn run(&self, samples: usize, limit: Option<Duration>) -> Result<Run, SearchError> {
        let Some(engine) = self
            .engine
            .as_ref()
            .filter(|_| !self.control.is_cancelled())
        else {
            return Err(Stopped.into());
        };
        let until = Until {
            limit,
            stop: Some(self.control.cancelled()),
        };
        let run = saturate_mix(engine, &self.samples, samples, until)?;
        if self.control.is_cancelled() {
            return Err(Stopped.into());
        }
        Ok(run)
    }

    /// Repeats runs until the estimate is steady or clearly below `best`.
    fn measure(&self, best: f64) -> Result<Score, SearchError> {
        let limit = (best > 0.0).then(|| Duration::from_secs_f64(HOPELESS * RUN as f64 / best));
        let mut rates = Vec::new();
        loop {
            let run = self.run(RUN, limit)?;
            rates.push(run.samples_per_s());
            let score = Score::of_runs(&rates);
            let hopeless = run.cut_short || score.samples_per_s * (1.0 + 2.0 * STEADY) < best;
            let steady = rates.len() >= 3 && score.doubt.error().is_some_and(|e| e <= STEADY);
            if hopeless || steady || rates.len() >= MOST_RUNS {
                return Ok(score);
            }
        }
    }
}

impl Evaluator for BenchEvaluator {
    fn score(&mut self, matrix: &Matrix, best: f64) -> Result<Score, SearchError> {
        if self.load(matrix)? {
            self.measure(best)
        } else {
            Ok(Score::NONE)
        }
    }

    fn glance(&mut self, matrix: &Matrix, samples: usize) -> Result<Score, SearchError> {
        let cold = self.engine.is_none();
        let fits = if cold {
            self.start(matrix)?
        } else {
            self.load(matrix)?
        };
        if !fits {
            return Ok(Score::NONE);
        }
        // The memory of new workers is cold. A short run is enough to touch it.
        self.run(WARM_UP, None)?;
        Ok(Score::of_runs(&[self.run(samples, None)?.samples_per_s()]))
    }
}
