//! The predicted throughput of a setup, from the laws of simulated devices, cached profiles, or
//! costs observed while serving.
//!
//! The basis of predictions is kept, so that a matrix keeps its prediction. Only a better basis
//! replaces it: batch times observed at any load, at capacity, or profiles. Every measurement adds
//! the error of its prediction to the ledger of this machine, which corrects later predictions and
//! determines their intervals.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::{Prediction, Setup};
use divisi_engine::search::model::{Batching, ModelEvaluator, Rates};
use divisi_engine::search::{
    Cache, PastError, Predicted, PredictedFigure, PredictionBasis, PredictionBook, Question,
    setup_number, subject_number,
};
use divisi_engine::serving::{Engine, Observed, PredictorFactory, WorkerId, WorkerSpec};
use divisi_model::allocation::{Footprints, Matrix};
use divisi_model::ensemble::MemberPrecision;
use divisi_model::profile::{Costs, Learnt};
use divisi_model::wall_clock::unix_seconds;
use divisi_runtime::device::MemberIndex;

use super::basis::{Basis, CostSources, NoBasis};

/// The least time between two searches for a better basis: profiles are files. A search may replace
/// them at any time.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The busy share from which a device runs batches back to back.
const AT_CAPACITY: f64 = 0.9;
/// The share of its rows from which a batch is full.
const FULL: f64 = 0.9;

/// Predicts throughputs for one engine.
pub(super) struct Forecast {
    engine: Arc<Engine>,
    sources: CostSources,
    /// The past errors of predictions.
    book: PredictionBook,
    /// The number of the models and devices in the book.
    subject: u64,
    /// The batches, samples and seconds of each worker at the last reading.
    counted: HashMap<WorkerId, (u64, u64, f64)>,
    /// The precisions of the members. Costs in other precisions do not apply.
    precisions: Vec<MemberPrecision>,
    basis: Option<Basis>,
    looked: Option<Duration>,
    /// The models for this basis, the most recently used last.
    models: Vec<Model>,
}

/// The costs behind a prediction, and the past errors of such predictions.
pub(super) struct Grounds {
    /// The costs in the precisions of the setup.
    pub costs: Arc<Costs>,
    /// The question in the ledger.
    pub about: Question,
    /// The ledger.
    pub book: PredictionBook,
}

/// The conditions of a prediction in addition to the setup.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Conditions {
    /// The slowdown factor of each device.
    pub slowdown: Vec<f64>,
    /// The rows that each member runs for a requested sample.
    pub rows: Vec<f64>,
}

/// The number of rounding steps per octave for row counts: counts observed while serving change
/// with each request.
const STEPS_AN_OCTAVE: f64 = 16.0;

impl Conditions {
    /// Creates conditions from the slowdowns of the devices and the members' rows for a sample.
    pub(super) fn new(slowdown: &[f64], mut rows: Vec<f64>) -> Self {
        for rows in &mut rows {
            *rows = ((rows.log2() * STEPS_AN_OCTAVE).round() / STEPS_AN_OCTAVE).exp2();
        }
        let slowdown = slowdown.to_vec();
        Conditions { slowdown, rows }
    }
}

/// Predicts for one way to form batches, under one set of conditions.
struct Model {
    batching: Batching,
    precisions: Vec<MemberPrecision>,
    conditions: Conditions,
    evaluator: ModelEvaluator,
    /// The most recent matrices and their predictions.
    said: Vec<(Matrix, f64)>,
}

/// The number of models and matrices kept: an operator switches between a few.
const MOST_MODELS: usize = 4;
const MOST_SAID: usize = 16;

impl Forecast {
    /// Creates a forecast without observations that reads profiles from `cache`.
    pub(super) fn new(
        engine: Arc<Engine>,
        factory: Arc<dyn PredictorFactory>,
        cache: Option<Cache>,
    ) -> Self {
        Forecast {
            precisions: engine.precisions(),
            book: cache.as_ref().map(Cache::book).cloned().unwrap_or_default(),
            subject: subject_number(engine.ensemble(), engine.devices()),
            sources: CostSources {
                engine: Arc::clone(&engine),
                factory,
                cache,
                learnt: Learnt::default(),
                at_capacity: Learnt::default(),
            },
            engine,
            counted: HashMap::new(),
            basis: None,
            looked: None,
            models: Vec::new(),
        }
    }

    /// Records the batches that workers ran since the last reading. If they were `disturbed` by a
    /// measuring search, only the counts are updated.
    pub(super) fn learn(&mut self, seen: &Observed, disturbed: bool) {
        self.follow_precisions();
        let before = std::mem::take(&mut self.counted);
        for worker in &seen.workers {
            let now = (worker.batches, worker.samples, worker.seconds);
            self.counted.insert(worker.spec.id, now);
            let (batches, samples, seconds) =
                before.get(&worker.spec.id).copied().unwrap_or_default();
            let is_current = self.is_current(&worker.spec);
            let kind = self.sources.kind(worker.spec.device).filter(|_| is_current);
            let new = now.0.saturating_sub(batches);
            if let (Some(kind), false, true) = (kind, disturbed, new > 0) {
                let mean = |sum: f64| sum / new as f64;
                let rows = mean(now.1.saturating_sub(samples) as f64);
                let took = mean(now.2 - seconds);
                let member = worker.spec.member;
                self.sources.learnt.see(member, kind, new, rows, took);
                let is_busy = seen.devices[worker.spec.device].busy >= AT_CAPACITY;
                if is_busy && rows >= FULL * worker.spec.size.get() as f64 {
                    self.sources.at_capacity.see(member, kind, new, rows, took);
                }
            }
        }
    }

    /// Records that `running` served `samples_per_s` at capacity.
    pub(super) fn served_at_capacity(
        &mut self,
        running: &Setup,
        conditions: &Conditions,
        samples_per_s: f64,
    ) {
        let predicted = self.throughput(running, conditions).ok().flatten();
        let question = self.question(running);
        if let Some((predicted, question)) = predicted.zip(question) {
            self.book.record(PastError {
                at: unix_seconds(),
                question,
                predicted,
                measured: samples_per_s,
                runs: 1,
            });
            self.book.save();
        }
    }

    /// Returns the number of a setup in the ledger.
    pub(super) fn number(&self, setup: &Setup) -> u64 {
        let precisions = setup.precisions.iter().copied();
        setup_number(&setup.matrix, Batching::from(setup), precisions)
    }

    fn question(&self, setup: &Setup) -> Option<Question> {
        Some(Question {
            subject: self.subject,
            setup: Some(self.number(setup)),
            basis: self.basis.as_ref()?.kind,
            disturbed: PredictionBook::is_disturbed(self.engine.devices()),
            figure: PredictedFigure::Throughput,
        })
    }

    /// Returns whether a worker has the current precision of its member; a worker that is about to
    /// be replaced may not.
    fn is_current(&self, worker: &WorkerSpec) -> bool {
        let of_all = self.engine.ensemble().precision;
        let device = &self.engine.devices().get(worker.device).kind;
        let now = self.precisions[worker.member];
        now.is_same_on(worker.precision, device, of_all)
    }

    /// Forgets the costs of members whose precision changed.
    fn follow_precisions(&mut self) {
        let now = self.engine.precisions();
        let both = MemberIndex::enumerate(self.precisions.iter().zip(&now));
        for (member, _) in both.filter(|(_, (before, now))| before != now) {
            self.sources.learnt.forget(member);
            self.sources.at_capacity.forget(member);
            self.basis = None;
            self.models.clear();
        }
        self.precisions = now;
    }

    /// Returns the costs for a search that does not measure, with their source: those used by
    /// predictions, or else all observed costs.
    pub(super) fn search_costs(&mut self) -> (Arc<Costs>, PredictionBasis) {
        let basis = self.refresh_basis().ok().and(self.basis.as_ref());
        let (costs, kind) = match basis {
            Some(basis) => (basis.costs.clone(), basis.kind),
            None => {
                let all = self.sources.observed_costs(&self.sources.learnt, false);
                (all, PredictionBasis::Seen)
            }
        };
        (Arc::new(costs), kind)
    }

    /// Returns the throughputs of `running` and `staged`, in requested samples.
    pub(super) fn predict(
        &mut self,
        running: &Setup,
        staged: &Setup,
        conditions: &Conditions,
    ) -> Prediction {
        self.follow_precisions();
        if let Err(why) = self.refresh_basis() {
            return Prediction {
                source: why.to_string(),
                ..Prediction::default()
            };
        }
        let before = self.predicted(running, conditions).ok().flatten();
        let (after, source) = match self.predicted(staged, conditions) {
            Ok(after) => (
                after,
                after.map_or_else(String::new, |after| after.grounds()),
            ),
            Err(why) => (None, why.to_string()),
        };
        Prediction {
            before,
            after,
            source,
        }
    }

    /// Returns the costs behind a prediction of a setup and the past errors of such predictions.
    pub(super) fn grounds(&mut self, setup: &Setup) -> Result<Option<Grounds>, NoBasis> {
        self.follow_precisions();
        self.refresh_basis()?;
        let (Some(basis), Some(about)) = (&self.basis, self.question(setup)) else {
            return Ok(None);
        };
        let footprints = self.footprints(setup);
        let (sources, now) = (&self.sources, &self.precisions);
        let changed = sources.otherwise(basis, now, setup, &footprints)?;
        Ok(Some(Grounds {
            costs: Arc::new(changed.unwrap_or_else(|| basis.costs.clone())),
            about,
            book: self.book.clone(),
        }))
    }

    /// Returns the memory of workers in the precisions of a setup.
    fn footprints(&self, setup: &Setup) -> Footprints {
        let (ensemble, devices) = (self.engine.ensemble(), self.engine.devices());
        let footprints = self.engine.footprints();
        footprints.in_precisions(ensemble, devices, &setup.precisions)
    }

    /// Returns the throughput of a setup, corrected by past errors.
    fn predicted(
        &mut self,
        setup: &Setup,
        conditions: &Conditions,
    ) -> Result<Option<Predicted>, NoBasis> {
        let modelled = self.throughput(setup, conditions)?;
        let question = self.question(setup);
        let both = modelled.zip(question);
        Ok(both.map(|(modelled, about)| self.book.correction(&about).apply(modelled)))
    }

    /// Returns the throughput of a setup by the batch costs alone.
    fn throughput(
        &mut self,
        setup: &Setup,
        conditions: &Conditions,
    ) -> Result<Option<f64>, NoBasis> {
        let batching = Batching::from(setup);
        let same = |m: &Model| {
            m.batching == batching
                && m.precisions == setup.precisions
                && m.conditions == *conditions
        };
        let model = match self.models.iter().position(same) {
            Some(known) => self.models.remove(known),
            None => match self.model(setup, conditions)? {
                Some(model) => model,
                None => return Ok(None),
            },
        };
        if self.models.len() >= MOST_MODELS {
            self.models.remove(0);
        }
        self.models.push(model);
        let model = self.models.last_mut();
        Ok(model.map(|model| model.predict(&setup.matrix)))
    }

    fn model(&self, setup: &Setup, conditions: &Conditions) -> Result<Option<Model>, NoBasis> {
        let Conditions { slowdown, rows } = conditions;
        let (frame, batching) = (setup.matrix.frame(), Batching::from(setup));
        let Some(basis) = &self.basis else {
            return Ok(None);
        };
        let (devices, footprints) = (self.engine.devices(), self.footprints(setup));
        let costs = self
            .sources
            .otherwise(basis, &self.precisions, setup, &footprints)?;
        let costs = costs.as_ref().unwrap_or(&basis.costs);
        let rates = Rates::slowed(frame, devices, costs, batching, slowdown).demanding(rows);
        Ok(Some(Model {
            batching,
            precisions: setup.precisions.clone(),
            conditions: conditions.clone(),
            evaluator: ModelEvaluator::from_rates(rates, devices, footprints),
            said: Vec::new(),
        }))
    }

    /// Adopts a basis if it is better than the current one. Returns an error if there is none.
    fn refresh_basis(&mut self) -> Result<(), NoBasis> {
        let now = self.engine.telemetry().now();
        let kind = self.basis.as_ref().map(|b| b.kind);
        let settled = kind == Some(PredictionBasis::Laws);
        let recently = self.looked.is_some_and(|at| now < at + LOOK_EVERY);
        if settled || (kind.is_some() && recently) {
            return Ok(());
        }
        self.looked = Some(now);
        match self.sources.best_basis() {
            Ok(new) => {
                let old = self.basis.as_ref();
                if old.is_none_or(|old| new.replaces(old)) {
                    self.basis = Some(new);
                    self.models.clear();
                }
                Ok(())
            }
            Err(_) if kind.is_some() => Ok(()),
            Err(why) => Err(why),
        }
    }
}

impl Model {
    fn predict(&mut self, matrix: &Matrix) -> f64 {
        if let Some((_, said)) = self.said.iter().find(|(m, _)| m == matrix) {
            return *said;
        }
        let samples_per_s = self.evaluator.throughput(matrix);
        if self.said.len() >= MOST_SAID {
            self.said.remove(0);
        }
        self.said.push((matrix.clone(), samples_per_s));
        samples_per_s
    }
}
