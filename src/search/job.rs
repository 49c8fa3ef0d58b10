//! A whole search as a person asks for it: algorithm, evaluator, cache.

use std::sync::Arc;

use rayon::ThreadPool;

use crate::allocation::{Footprints, Frame, Matrix};
use crate::compute::Predictor;
use crate::device::Devices;
use crate::ensemble::{BatchSize, Ensemble, Samples};
use crate::serving::{BuildError, PredictorFactory};

use super::bench::BenchEvaluator;
use super::best_batch::best_batch;
use super::cache::{Cache, CacheKey};
use super::control::Control;
use super::evaluator::{Evaluator, SearchError};
use super::greedy::{Bounds, Found, greedy};
use super::worst_fit::worst_fit;

/// The algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    WorstFit,
    BestBatch,
    Greedy,
}

impl Algorithm {
    /// Its name on the command line and the screen.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::WorstFit => "worst-fit",
            Algorithm::BestBatch => "best-batch",
            Algorithm::Greedy => "greedy",
        }
    }
}

/// What to search for and with.
#[derive(Clone)]
pub struct Job {
    pub ensemble: Arc<Ensemble>,
    pub devices: Devices,
    /// The same devices with the memory that measuring may take: less than all of it
    /// where an engine serves on them already.
    pub measured_on: Devices,
    pub frame: Arc<Frame>,
    pub factory: Arc<dyn PredictorFactory>,
    pub samples: Arc<Samples>,
    pub algorithm: Algorithm,
    pub bounds: Bounds,
    pub cache: Option<Cache>,
}

/// What a job came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub found: Found,
    /// It was found by an earlier search and not measured again.
    pub cached: bool,
    /// Why it could not be stored, if it could not.
    pub cache_error: Option<String>,
}

impl Job {
    /// Runs the search; what happens shows in `control`.
    ///
    /// # Errors
    /// No matrix fits, a measurement broke down, or the search was cancelled.
    pub fn run(&self, control: &Arc<Control>) -> Result<Outcome, SearchError> {
        let key = CacheKey::new(
            &self.ensemble,
            self.memory_in_key(),
            self.algorithm.name(),
            "bench",
            &self.bounds,
        );
        let stored = self
            .cache
            .as_ref()
            .and_then(|c| c.load(&key, &self.ensemble.name, &self.frame));
        if let Some(found) = stored {
            control.update(|p| {
                p.start_score = Some(found.start_score);
                p.best_score = Some(found.score);
                p.best = Some(found.matrix.clone());
                p.coverage = found.coverage;
            });
            return Ok(Outcome {
                found,
                cached: true,
                cache_error: None,
            });
        }
        let found = self.search(control)?;
        let stored = self
            .cache
            .as_ref()
            .map(|c| c.store(&key, &self.ensemble.name, &found));
        Ok(Outcome {
            found,
            cached: false,
            cache_error: stored.and_then(Result::err).map(|e| e.to_string()),
        })
    }

    /// Where even the largest matrix fits beside what serves, memory decides nothing
    /// and results are good for any; else they belong to what was left.
    fn memory_in_key(&self) -> &Devices {
        let largest = Some(self.frame.batch_sizes.largest());
        let cells = self.frame.devices.len() * self.frame.members.len();
        let fits = Matrix::new(Arc::clone(&self.frame), vec![largest; cells]).is_ok_and(|all| {
            let footprints = Footprints::of(&self.ensemble, &self.measured_on);
            footprints.book(&all, &self.measured_on).is_ok()
        });
        if fits {
            &self.devices
        } else {
            &self.measured_on
        }
    }

    fn search(&self, control: &Arc<Control>) -> Result<Found, SearchError> {
        let footprints = Footprints::of(&self.ensemble, &self.devices);
        let start = worst_fit(&self.frame, &self.devices, &footprints)?;
        let mut evaluator = self.evaluator(control);
        match self.algorithm {
            Algorithm::WorstFit => measure_once(start.clone(), start, &mut evaluator, control),
            Algorithm::Greedy => greedy(start, self.bounds, &mut evaluator, control),
            Algorithm::BestBatch => {
                let first = self.measured_on.first();
                let alone = |member: usize| {
                    let ensemble = Arc::new(self.ensemble.only(member));
                    let factory = Arc::new(OneMember {
                        member,
                        factory: Arc::clone(&self.factory),
                    });
                    Ok(Box::new(BenchEvaluator::new(
                        ensemble,
                        first.clone(),
                        factory,
                        Arc::clone(&self.samples),
                        Arc::clone(control),
                    )) as Box<dyn Evaluator>)
                };
                let (matrix, evaluations) =
                    best_batch(&self.frame, &self.devices, &footprints, alone, control)?;
                let mut found = measure_once(start, matrix, &mut evaluator, control)?;
                found.evaluations += evaluations;
                Ok(found)
            }
        }
    }

    fn evaluator(&self, control: &Arc<Control>) -> BenchEvaluator {
        BenchEvaluator::new(
            Arc::clone(&self.ensemble),
            self.measured_on.clone(),
            Arc::clone(&self.factory),
            Arc::clone(&self.samples),
            Arc::clone(control),
        )
    }
}

/// Scores a matrix, and the start beside it where that is another.
fn measure_once(
    start: Matrix,
    matrix: Matrix,
    evaluator: &mut dyn Evaluator,
    control: &Control,
) -> Result<Found, SearchError> {
    control.checkpoint()?;
    let start_score = evaluator.score(&start, 0.0)?;
    let same = start == matrix;
    let score = if same {
        start_score
    } else {
        evaluator.score(&matrix, 0.0)?
    };
    control.update(|p| {
        p.start_score = Some(start_score.samples_per_s);
        p.best_score = Some(score.samples_per_s);
        p.best = Some(matrix.clone());
        p.evaluations += 2 - usize::from(same);
    });
    Ok(Found {
        matrix,
        score: score.samples_per_s,
        error: score.error,
        start_score: start_score.samples_per_s,
        evaluations: 2 - usize::from(same),
        iterations: 0,
        coverage: 1.0,
    })
}

/// Builds one member of an ensemble as if it were the only one.
struct OneMember {
    member: usize,
    factory: Arc<dyn PredictorFactory>,
}

impl PredictorFactory for OneMember {
    fn build(
        &self,
        _member: usize,
        size: BatchSize,
        pool: Option<Arc<ThreadPool>>,
    ) -> Result<Box<dyn Predictor>, BuildError> {
        self.factory.build(self.member, size, pool)
    }
}
