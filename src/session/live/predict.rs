//! What a setup would serve, by the model: from simulated devices' laws, profiles that
//! are kept, and else from what serving has shown.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::allocation::Matrix;
use crate::device::Devices;
use crate::profile::{CellCost, Costs, Learnt};
use crate::search::model::{ModelEvaluator, Rates};
use crate::search::profiling::Profiler;
use crate::search::{Cache, Control};
use crate::serving::{Engine, Observed, PredictorFactory, WorkerId};
use crate::session::Prediction;

/// What serving shows is taken in again at most so often: rates are worked out anew.
const RENEW_EVERY: Duration = Duration::from_secs(1);

/// Predicts throughputs for one engine.
pub(super) struct Forecast {
    engine: Arc<Engine>,
    factory: Arc<dyn PredictorFactory>,
    cache: Option<Cache>,
    learnt: Learnt,
    /// Batches, samples and seconds of each worker when it was last looked at.
    counted: HashMap<WorkerId, (u64, u64, f64)>,
    model: Option<Model>,
}

/// What predicts, and from what it was made.
struct Model {
    evaluator: Option<ModelEvaluator>,
    source: String,
    slowdown: Vec<f64>,
    made: Duration,
    /// No look at what serves changes it.
    lasts: bool,
    before: Option<(Matrix, f64)>,
}

impl Forecast {
    /// Nothing seen yet; profiles are read from `cache`.
    pub fn new(
        engine: Arc<Engine>,
        factory: Arc<dyn PredictorFactory>,
        cache: Option<Cache>,
    ) -> Self {
        Forecast {
            engine,
            factory,
            cache,
            learnt: Learnt::default(),
            counted: HashMap::new(),
            model: None,
        }
    }

    /// Takes in what workers did since the last look; where it was `disturbed`, by a
    /// search that measures, it only counts from there.
    pub fn learn(&mut self, seen: &Observed, disturbed: bool) {
        let before = std::mem::take(&mut self.counted);
        for worker in &seen.workers {
            let now = (worker.batches, worker.samples, worker.seconds);
            self.counted.insert(worker.spec.id, now);
            let (batches, samples, seconds) =
                before.get(&worker.spec.id).copied().unwrap_or_default();
            let kind = self.kind(worker.spec.device);
            let new = now.0.saturating_sub(batches);
            if let (Some(kind), false, true) = (kind, disturbed, new > 0) {
                let mean = |sum: f64| sum / new as f64;
                let rows = mean(now.1.saturating_sub(samples) as f64);
                let took = mean(now.2 - seconds);
                let member = worker.spec.member;
                self.learnt.see(member, kind, new, rows, took);
            }
        }
    }

    /// The first device that is like another; none of simulated ones, which have laws.
    fn kind(&self, device: usize) -> Option<usize> {
        let devices = self.engine.devices();
        let facts = &devices.get(device).kind;
        let real = facts.profile().is_none();
        let like = || devices.iter().position(|d| d.kind.is_like(facts));
        real.then(like).flatten()
    }

    /// What batches cost by what was seen: laws of simulated devices beside it.
    pub fn known(&self) -> Arc<Costs> {
        Arc::new(self.seen())
    }

    /// Throughputs of `running` and of `staged`, with devices as slow as told.
    pub fn predict(&mut self, running: &Matrix, staged: &Matrix, slowdown: &[f64]) -> Prediction {
        let now = self.engine.observe().now;
        let stale = |m: &Model| !m.lasts && now >= m.made + RENEW_EVERY;
        let kept = self.model.take();
        let kept = kept.filter(|m| !stale(m) && m.slowdown == slowdown);
        let mut model = kept.unwrap_or_else(|| self.model(now, slowdown));
        let prediction = model.predict(running, staged);
        self.model = Some(model);
        prediction
    }

    fn model(&self, now: Duration, slowdown: &[f64]) -> Model {
        let (costs, source, lasts) = self.costs();
        let (devices, frame) = (
            self.engine.devices(),
            Arc::clone(self.engine.matrix().frame()),
        );
        let rates = costs.map(|costs| Rates::slowed(&frame, devices, &costs, slowdown));
        let footprints = self.engine.footprints();
        Model {
            evaluator: rates.map(|r| ModelEvaluator::by(r, devices, footprints.clone())),
            source,
            slowdown: slowdown.to_vec(),
            made: now,
            lasts,
            before: None,
        }
    }

    /// Costs where all are known, where they come from, and whether that can be relied
    /// on to stay.
    fn costs(&self) -> (Option<Costs>, String, bool) {
        let devices = self.engine.devices();
        if devices.all_simulated() {
            let laws = self.engine.costs().clone();
            return (Some(laws), "model: laws of the devices".into(), true);
        }
        let mut costs = self.kept(devices);
        let paced = self.pace(&mut costs);
        if costs.is_complete() {
            let source = match paced {
                true => "model: profiles at the pace of serving",
                false => "model: profiles",
            };
            return (Some(costs), source.into(), false);
        }
        costs.fill_from(&self.seen());
        match costs.unknown() {
            None => (Some(costs), "model: seen while serving".into(), false),
            Some((member, device)) => {
                let member = &self.engine.ensemble().members[member].name;
                let device = &devices.get(device).name;
                let source = format!(
                    "no profile of {member} on {device} yet: serve some load, or search with the model"
                );
                (None, source, false)
            }
        }
    }

    fn kept(&self, devices: &Devices) -> Costs {
        let booked = self.engine.ledger(&self.engine.matrix()).ok();
        let beside = booked.map_or_else(|| devices.clone(), |booked| devices.beside(&booked));
        let profiler = Profiler {
            ensemble: self.engine.ensemble(),
            devices: &beside,
            footprints: self.engine.footprints(),
            factory: self.factory.as_ref(),
            cache: self.cache.as_ref(),
            control: &Control::default(),
        };
        profiler.kept()
    }

    /// Profiles were measured some time ago, on a machine that may have been busier: what
    /// serving shows says how long batches take now. Whether it showed anything.
    fn pace(&self, costs: &mut Costs) -> bool {
        let mut paced = false;
        for device in 0..self.engine.devices().count() {
            let Some(kind) = self.kind(device) else {
                continue;
            };
            for member in 0..self.engine.ensemble().members.len() {
                let CellCost::Measured(profile) = costs.cell(member, device) else {
                    continue;
                };
                let pace = self.learnt.pace(member, kind, profile);
                let now = pace.and_then(|pace| profile.at_pace(pace).ok());
                if let Some(now) = now {
                    costs.set_measured(member, device, Arc::new(now));
                    paced = true;
                }
            }
        }
        paced
    }

    fn seen(&self) -> Costs {
        let (ensemble, devices) = (self.engine.ensemble(), self.engine.devices());
        let sizes: Vec<usize> = ensemble.batch_sizes.iter().map(|s| s.get()).collect();
        let mut costs = Costs::of_laws(ensemble, devices);
        for device in 0..devices.count() {
            let Some(kind) = self.kind(device) else {
                continue;
            };
            for member in 0..ensemble.members.len() {
                if let Some(measured) = self.learnt.measured(member, kind, &sizes) {
                    costs.set_measured(member, device, Arc::new(measured));
                }
            }
        }
        costs
    }
}

impl Model {
    fn predict(&mut self, running: &Matrix, staged: &Matrix) -> Prediction {
        let source = self.source.clone();
        let Some(evaluator) = &mut self.evaluator else {
            return Prediction {
                source,
                ..Prediction::default()
            };
        };
        // What runs stays the same while somebody types.
        let known = self.before.take().filter(|(matrix, _)| matrix == running);
        let before = known.unwrap_or_else(|| (running.clone(), evaluator.throughput(running)));
        let after = evaluator.throughput(staged);
        let prediction = Prediction {
            before: Some(before.1),
            after: Some(after),
            source,
        };
        self.before = Some(before);
        prediction
    }
}
