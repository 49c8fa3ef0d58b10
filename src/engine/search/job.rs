//! A complete search order: algorithm, evaluator, cache.

use std::sync::Arc;

use crate::load::LoadSamples;
use crate::serving::{BuildError, PredictorFactory};
use divisi_model::allocation::{Footprints, Frame, Matrix};
use divisi_model::catalogue::Demand;
use divisi_model::ensemble::{BatchSize, ComputedMember, Ensemble};
use divisi_model::profile::Costs;
use divisi_runtime::compute::Predictor;
use divisi_runtime::compute::gpu::Program;
use divisi_runtime::device::gpu::{Gpu, GpuInfo};
use divisi_runtime::device::host::HostWatch;
use divisi_runtime::device::{Devices, Ledger, MemberIndex, NoRoom, ThreadTeam};

use super::bench::BenchEvaluator;
use super::cache::{Cache, CacheKey};
use super::control::Control;
use super::error::{AskedError, SearchError};
use super::evaluator::{Doubt, Evaluator, Score};
use super::greedy::greedy;
use super::method::{Algorithm, EvaluatorKind, Method};
use super::model_search;
use super::occasion::Occasion;
use super::placement::{best_batch, worst_fit};
use super::prediction::PredictionBasis;
use super::progress::SearchProgress;
use super::result::{SearchResult, confirm, measured};
use super::virtual_bench::VirtualBench;

/// A complete search: its demand and its resources.
#[derive(Clone)]
pub struct SearchJob {
    /// The ensemble, or several with their shares of the requests.
    pub demand: Demand,
    /// The devices.
    pub devices: Devices,
    /// The same devices with the memory that measuring may use, which is less if an engine is
    /// serving on them.
    pub measured_on: Devices,
    /// The frame of matrices.
    pub frame: Arc<Frame>,
    /// The factory of workers for real runs.
    pub factory: Arc<dyn PredictorFactory>,
    /// The method.
    pub method: Method,
    /// The cache of results and profiles.
    pub cache: Option<Cache>,
    /// Costs that a quiet search prefers to kept profiles if they are complete, with their source:
    /// from predictions, or learnt while serving.
    pub known: Option<(Arc<Costs>, PredictionBasis)>,
}

/// The outcome of a job.
#[derive(Clone, Debug)]
pub struct SearchOutcome {
    /// The result.
    pub found: SearchResult,
    /// Whether the result comes from the cache and was not measured again.
    pub cached: bool,
    /// The reason why the result could not be stored, or `None`.
    pub cache_error: Option<String>,
}

impl SearchJob {
    /// Runs the search and reports progress in `control`.
    ///
    /// # Errors
    /// The method is invalid, no matrix fits, a measurement failed, or the search was cancelled.
    pub fn run(&self, control: &Arc<Control>) -> Result<SearchOutcome, SearchError> {
        self.method.check().map_err(AskedError::from)?;
        let job = self.sparing_memory()?;
        let name = &self.models().name;
        let key = CacheKey::new(&self.demand, &job.memory_in_key(), &self.method);
        // Costs learnt while serving differ each time.
        let cache = self.profiles().filter(|_| !job.is_quiet());
        let kept = cache.as_ref();
        if let Some(found) = kept.and_then(|c| c.load(&key, name, &self.frame)) {
            control.update(|p| show(p, &found));
            return Ok(SearchOutcome {
                found,
                cached: true,
                cache_error: None,
            });
        }
        let watch = HostWatch::start();
        let found = job.search(control)?;
        let measures = !job.is_quiet();
        let found = SearchResult {
            occasion: measures.then(|| Occasion::since(&watch, &self.devices)),
            ..found
        };
        control.update(|p| show(p, &found));
        let stored = cache.map(|c| c.store(&key, name, &found));
        Ok(SearchOutcome {
            found,
            cached: false,
            cache_error: stored.and_then(Result::err).map(|e| e.to_string()),
        })
    }

    /// Measures the result of an earlier run again, together with the start, because the best of
    /// several results is too high. Keeps the start unless it is certainly slower. Exact and
    /// predicted figures stay unchanged.
    ///
    /// # Errors
    /// A run failed, or the search was cancelled.
    pub fn again(
        &self,
        found: SearchResult,
        control: &Arc<Control>,
    ) -> Result<SearchResult, SearchError> {
        if matches!(found.doubt, Doubt::Exact | Doubt::Predicted { .. }) {
            return Ok(found);
        }
        let job = self.sparing_memory()?;
        let footprints = job.footprints(&job.devices);
        let start = worst_fit(&job.frame, &job.devices, &footprints)?;
        let mut judge = job.measuring(control)?;
        if found.matrix != start {
            return confirm(&start, found, judge.as_mut(), control);
        }
        let score = judge.score(&start, 0.0)?;
        Ok(SearchResult {
            score: score.samples_per_s,
            doubt: score.doubt,
            start_score: score.samples_per_s,
            start_doubt: score.doubt,
            evaluations: found.evaluations + 1,
            ..found
        })
    }

    /// Returns the job on devices without the memory that must stay free.
    pub(super) fn sparing_memory(&self) -> Result<SearchJob, SearchError> {
        let spare = self.method.goal.spare_memory;
        Ok(SearchJob {
            devices: sparing(&self.devices, spare)?,
            measured_on: sparing(&self.measured_on, spare)?,
            method: self.method.for_devices(&self.devices),
            ..self.clone()
        })
    }

    /// Returns the devices for the cache key. If even the largest matrix fits next to the running
    /// models, memory decides nothing, and the result is valid for any amount. Otherwise the key
    /// contains the remaining memory. The free memory of a GPU varies slightly.
    fn memory_in_key(&self) -> Devices {
        let largest = Some(self.frame.batch_sizes.largest());
        let cells = self.frame.devices.len() * self.frame.members.len();
        let fits = Matrix::new(Arc::clone(&self.frame), vec![largest; cells]).is_ok_and(|all| {
            let footprints = self.footprints(&self.measured_on);
            footprints.book(&all, &self.measured_on).is_ok()
        });
        match fits {
            true => self.devices.with_whole_gpus(),
            false => self.measured_on.clone(),
        }
    }

    /// Returns the members of all entries side by side.
    pub(super) fn models(&self) -> &Arc<Ensemble> {
        self.demand.models()
    }

    /// Plans the memory of the members on `devices`, next to the pools.
    pub(super) fn footprints(&self, devices: &Devices) -> Footprints {
        Footprints::plan_catalogue(self.demand.catalogue(), devices)
    }

    /// Returns whether every device is simulated, so that runs are in virtual time.
    pub fn is_simulated(&self) -> bool {
        self.devices.all_simulated()
    }

    /// Returns whether the search must not use this machine's devices.
    pub(super) fn is_quiet(&self) -> bool {
        self.method.quiet && !self.is_simulated()
    }

    fn search(&self, control: &Arc<Control>) -> Result<SearchResult, SearchError> {
        if self.method.evaluator == EvaluatorKind::Model {
            return model_search::search(self, control);
        }
        control.update(|p| p.measuring = !self.is_simulated());
        let footprints = self.footprints(&self.devices);
        let start = worst_fit(&self.frame, &self.devices, &footprints)?;
        let before = self.correction(self.basis(), None);
        let mut judge = self.measuring(control)?;
        let found = match self.method.algorithm {
            Algorithm::WorstFit => measured(&start, start.clone(), judge.as_mut(), control)?,
            Algorithm::BestBatch => {
                let (matrix, evaluations) = self.best_batch(&footprints, control)?;
                let mut found = measured(&start, matrix, judge.as_mut(), control)?;
                found.evaluations += evaluations;
                found
            }
            // Local was refused earlier, because only the model is fast enough for it.
            Algorithm::Greedy | Algorithm::Local => {
                let bounds = self.method.bounds;
                let found = greedy(start.clone(), bounds, judge.as_mut(), control)?;
                confirm(&start, found, judge.as_mut(), control)?
            }
        };
        let modelled = self.kept_model().map(|mut model| model.run(&found.matrix));
        Ok(SearchResult {
            predicted: modelled.map(|rate| before.apply(rate)),
            ..found
        })
    }

    /// Returns best-batch's matrix by runs, and the number of runs.
    pub(super) fn best_batch(
        &self,
        footprints: &Footprints,
        control: &Arc<Control>,
    ) -> Result<(Matrix, usize), SearchError> {
        let alone = |member: MemberIndex| {
            if self.demand.requested_entry(member).is_none() {
                return Ok(Box::new(NotAsked) as Box<dyn Evaluator>);
            }
            let demand = self.demand.for_column(member);
            let first = self.measured_on.only(self.devices.preferred()[0]);
            let job = SearchJob {
                frame: Frame::from_ensemble(demand.models(), &first),
                factory: Arc::new(OneMember {
                    member,
                    factory: Arc::clone(&self.factory),
                }),
                devices: first.clone(),
                measured_on: first,
                demand,
                ..self.clone()
            };
            job.judge(
                control,
                &Arc::new(Costs::of_laws(job.models(), &job.devices)),
            )
        };
        best_batch(&self.frame, &self.devices, footprints, alone, control)
    }

    /// Returns the evaluator by runs: with real workers, or in virtual time if no device is real.
    pub(super) fn judge(
        &self,
        control: &Arc<Control>,
        costs: &Arc<Costs>,
    ) -> Result<Box<dyn Evaluator>, SearchError> {
        if self.is_simulated() {
            let footprints = self.footprints(&self.devices);
            let (devices, costs) = (self.devices.clone(), Arc::clone(costs));
            let demand = self.demand.clone();
            return Ok(Box::new(VirtualBench::new(
                demand, devices, footprints, costs,
            )));
        }
        let catalogue = self.demand.catalogue();
        let samples =
            LoadSamples::for_mix(catalogue, self.demand.mix()).map_err(AskedError::from)?;
        Ok(Box::new(BenchEvaluator::new(
            catalogue,
            self.measured_on.clone(),
            Arc::clone(&self.factory),
            samples,
            Arc::clone(control),
        )))
    }
}

/// Evaluates the matrices of a member that receives no requests. All are equally good.
struct NotAsked;

impl Evaluator for NotAsked {
    fn score(&mut self, _: &Matrix, _: f64) -> Result<Score, SearchError> {
        Ok(Score::NONE)
    }
}

/// Returns the devices with `spare` bytes of each memory reserved.
fn sparing(devices: &Devices, spare: u64) -> Result<Devices, AskedError> {
    let mut ledger = Ledger::new(devices);
    let mut spaces = Vec::new();
    for (index, device) in devices.enumerate() {
        // A lost device has no memory to reserve.
        let gone = devices.memory_bytes(index) == 0;
        if spare == 0 || gone || spaces.contains(&device.space) {
            continue;
        }
        spaces.push(device.space);
        let refused = |room: NoRoom| AskedError::SpareMemory {
            most: room.free,
            device: device.name.clone(),
            found: spare,
        };
        ledger.reserve(device.space, spare).map_err(refused)?;
    }
    Ok(devices.minus_booked(&ledger))
}

fn show(progress: &mut SearchProgress, found: &SearchResult) {
    progress.evaluations = progress.evaluations.max(found.evaluations);
    progress.show(found);
    progress.coverage = found.coverage;
    progress.bound = found.bound;
}

/// Builds one member of an ensemble as if it were alone.
struct OneMember {
    member: MemberIndex,
    factory: Arc<dyn PredictorFactory>,
}

impl OneMember {
    /// Maps the network to its number among those of all members.
    fn of_all(&self, network: ComputedMember) -> ComputedMember {
        ComputedMember {
            member: self.member,
            ..network
        }
    }
}

impl PredictorFactory for OneMember {
    fn build(
        &self,
        network: ComputedMember,
        size: BatchSize,
        team: Option<Arc<ThreadTeam>>,
    ) -> Result<Box<dyn Predictor>, BuildError> {
        self.factory.build(self.of_all(network), size, team)
    }

    fn gpu(&self, info: &GpuInfo) -> Result<Arc<dyn Gpu>, BuildError> {
        self.factory.gpu(info)
    }

    fn program(
        &self,
        network: ComputedMember,
        gpu: &Arc<dyn Gpu>,
    ) -> Result<Arc<dyn Program>, BuildError> {
        self.factory.program(self.of_all(network), gpu)
    }
}
