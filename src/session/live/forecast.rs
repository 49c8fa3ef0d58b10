//! The predicted throughput of a setup, by the model: from simulated devices' laws, profiles that
//! are kept, and else from what serving has shown.
//!
//! The basis of predictions is taken once and kept, so that a matrix has one prediction in
//! a session. Only a better basis replaces it, and each says what it is: batch times seen
//! while serving, profiles, profiles at the pace that serving showed by then.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use crate::allocation::{Cell, Footprints, Matrix};
use crate::catalogue::Catalogue;
use crate::device::{DeviceIndex, MemberIndex};
use crate::ensemble::MemberPrecision;
use crate::metrics::stats::median;
use crate::profile::{CellCost, Costs, Learnt};
use crate::search::model::{Batching, ModelEvaluator, Rates};
use crate::search::profiling::Profiler;
use crate::search::{Cache, Control};
use crate::serving::{Engine, Observed, PredictorFactory, WorkerId};
use crate::session::{Prediction, Setup};

/// A better basis is looked for at most so often: profiles are files.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Predicts throughputs for one engine.
pub(super) struct Forecast {
    engine: Arc<Engine>,
    factory: Arc<dyn PredictorFactory>,
    cache: Option<Cache>,
    learnt: Learnt,
    /// Batches, samples and seconds of each worker when it was last looked at.
    counted: HashMap<WorkerId, (u64, u64, f64)>,
    /// The numbers that members are computed in now: costs of others say nothing of them.
    precisions: Vec<MemberPrecision>,
    basis: Option<Basis>,
    looked: Option<Duration>,
    /// Of this basis, the one asked last at the end.
    models: Vec<Model>,
}

/// The conditions that a prediction supposes, beside the setup.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Conditions {
    /// How many times as long each device takes.
    slowdown: Vec<f64>,
    /// The rows that each member runs for a sample of what is asked.
    rows: Vec<f64>,
}

/// Rows are rounded to so many steps an octave: what is counted while serving changes with each request.
const STEPS_AN_OCTAVE: f64 = 16.0;

impl Conditions {
    /// Supposes devices as slow as told, and members that run so many rows for a sample.
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
    /// The matrices asked of last, with what was said.
    said: Vec<(Matrix, f64)>,
}

/// Models and matrices remembered: who compares goes back and forth between a few.
const MOST_MODELS: usize = 4;
const MOST_SAID: usize = 16;

/// How good a basis is; a better one replaces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Grade {
    Seen,
    Profiles,
    Paced,
    /// Of simulated devices: there is no better one.
    Laws,
}

/// The batch costs that predictions rest on.
struct Basis {
    /// How good they are.
    grade: Grade,
    /// The costs of batches.
    costs: Costs,
    /// Where they come from, in words.
    source: String,
    /// How many times as long batches take as profiles say.
    pace: f64,
}

/// There is nothing to predict from yet.
#[derive(Debug, Error)]
enum NoBasis {
    #[error("no profile of {member} on {device} yet: serve some load, or search with the model")]
    Now { member: String, device: String },
    #[error("no profile of {member} in {precision} on {device} yet")]
    Otherwise {
        member: String,
        precision: MemberPrecision,
        device: String,
    },
}

impl Forecast {
    /// Nothing seen yet; profiles are read from `cache`.
    pub(super) fn new(
        engine: Arc<Engine>,
        factory: Arc<dyn PredictorFactory>,
        cache: Option<Cache>,
    ) -> Self {
        Forecast {
            precisions: engine.precisions(),
            engine,
            factory,
            cache,
            learnt: Learnt::default(),
            counted: HashMap::new(),
            basis: None,
            looked: None,
            models: Vec::new(),
        }
    }

    /// Takes in what workers did since the last look; where it was `disturbed`, by a
    /// search that measures, it only counts from there.
    pub(super) fn learn(&mut self, seen: &Observed, disturbed: bool) {
        self.follow_precisions();
        let before = std::mem::take(&mut self.counted);
        for worker in &seen.workers {
            let now = (worker.batches, worker.samples, worker.seconds);
            self.counted.insert(worker.spec.id, now);
            let (batches, samples, seconds) =
                before.get(&worker.spec.id).copied().unwrap_or_default();
            let is_current = self.precisions[worker.spec.member] == worker.spec.precision;
            let kind = self.kind(worker.spec.device).filter(|_| is_current);
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

    /// Forgets the costs of members that are computed in other numbers now.
    fn follow_precisions(&mut self) {
        let now = self.engine.precisions();
        let both = MemberIndex::enumerate(self.precisions.iter().zip(&now));
        for (member, _) in both.filter(|(_, (before, now))| before != now) {
            self.learnt.forget(member);
            self.basis = None;
            self.models.clear();
        }
        self.precisions = now;
    }

    /// The first device that is like another; none of simulated ones, which have laws.
    fn kind(&self, device: DeviceIndex) -> Option<DeviceIndex> {
        let devices = self.engine.devices();
        let facts = &devices.get(device).kind;
        let real = self.engine.costs().law(device).is_none();
        let like = || {
            let mut all = devices.indices();
            all.find(|d| devices.get(*d).kind.is_like(facts))
        };
        real.then(like).flatten()
    }

    /// Returns the costs for a search that measures nothing: those that predictions rest on, or
    /// else all that were seen.
    pub(super) fn known(&mut self) -> Arc<Costs> {
        let costs = match self.look() {
            Ok(()) => self.basis.as_ref().map(|b| b.costs.clone()),
            Err(_) => None,
        };
        Arc::new(costs.unwrap_or_else(|| self.seen(false)))
    }

    /// Returns the throughputs of `running` and of `staged`, in samples of what is asked.
    pub(super) fn predict(
        &mut self,
        running: &Setup,
        staged: &Setup,
        conditions: &Conditions,
    ) -> Prediction {
        self.follow_precisions();
        if let Err(why) = self.look() {
            return Prediction {
                source: why.to_string(),
                ..Prediction::default()
            };
        }
        let source = self.basis.as_ref().map(|b| b.source.clone());
        let source = source.unwrap_or_default();
        let before = self.throughput(running, conditions).ok().flatten();
        let (after, source) = match self.throughput(staged, conditions) {
            Ok(after) => (after, source),
            Err(why) => (None, why.to_string()),
        };
        Prediction {
            before,
            after,
            source,
        }
    }

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
        let (ensemble, devices) = (self.engine.ensemble(), self.engine.devices());
        let footprints = self.engine.footprints();
        let footprints = footprints.in_precisions(ensemble, devices, &setup.precisions);
        let costs = self.otherwise(basis, setup, &footprints)?;
        let costs = costs.as_ref().unwrap_or(&basis.costs);
        let rates = Rates::slowed(frame, devices, costs, batching, slowdown).demanding(rows);
        Ok(Some(Model {
            batching,
            precisions: setup.precisions.clone(),
            conditions: conditions.clone(),
            evaluator: ModelEvaluator::by(rates, devices, footprints),
            said: Vec::new(),
        }))
    }

    /// Returns the costs of a setup in which members are computed in other numbers than now, from
    /// the profiles of these alone, or `None` where no device computes any otherwise.
    fn otherwise(
        &self,
        basis: &Basis,
        setup: &Setup,
        footprints: &Footprints,
    ) -> Result<Option<Costs>, NoBasis> {
        let (devices, of_all) = (self.engine.devices(), self.engine.ensemble().precision);
        let both = MemberIndex::enumerate(self.precisions.iter().zip(&setup.precisions));
        let changed: Vec<(MemberIndex, DeviceIndex)> = both
            .flat_map(|(member, (now, then))| {
                let others = devices.enumerate();
                let others = others.filter(|(_, d)| !now.is_same_on(*then, &d.kind, of_all));
                others.map(move |(device, _)| (member, device))
            })
            .collect();
        if changed.is_empty() {
            return Ok(None);
        }
        let catalogue = self.engine.catalogue().in_precisions(&setup.precisions);
        let kept = self.kept(&catalogue, footprints);
        let mut costs = basis.costs.clone();
        for (member, device) in changed {
            let CellCost::Measured(profile) = kept.cell(member, device) else {
                return Err(NoBasis::Otherwise {
                    member: self.engine.ensemble().members[member].name.clone(),
                    precision: setup.precisions[member],
                    device: devices.get(device).name.clone(),
                });
            };
            let paced = profile.at_pace(basis.pace).map(Arc::new);
            costs.set_measured(
                member,
                device,
                paced.unwrap_or_else(|_| Arc::clone(profile)),
            );
        }
        Ok(Some(costs))
    }

    /// Takes a basis, or a better one than there is; why there is none.
    fn look(&mut self) -> Result<(), NoBasis> {
        let now = self.engine.telemetry().observe().now;
        let grade = self.basis.as_ref().map(|b| b.grade);
        let settled = grade >= Some(Grade::Paced);
        let recently = self.looked.is_some_and(|at| now < at + LOOK_EVERY);
        if settled || (grade.is_some() && recently) {
            return Ok(());
        }
        self.looked = Some(now);
        match self.best_basis(now) {
            Ok(new) => {
                if grade.is_none_or(|grade| new.grade > grade) {
                    self.basis = Some(new);
                    self.models.clear();
                }
                Ok(())
            }
            Err(_) if grade.is_some() => Ok(()),
            Err(why) => Err(why),
        }
    }

    /// The best basis that there is now, or what is missing.
    fn best_basis(&self, now: Duration) -> Result<Basis, NoBasis> {
        let devices = self.engine.devices();
        if devices.all_simulated() {
            return Ok(Basis {
                grade: Grade::Laws,
                costs: self.engine.costs().clone(),
                source: "model: laws of the devices".into(),
                pace: 1.0,
            });
        }
        let catalogue = self.engine.computed_catalogue();
        let mut costs = self.kept(&catalogue, &self.engine.footprints());
        if costs.is_complete() {
            let pace = self.pace(&mut costs);
            return Ok(Basis {
                grade: if pace.is_some() {
                    Grade::Paced
                } else {
                    Grade::Profiles
                },
                source: match pace {
                    Some(pace) => format!(
                        "model: profiles × {pace:.2}, the pace of serving at {} s",
                        now.as_secs()
                    ),
                    None => "model: profiles".into(),
                },
                pace: pace.unwrap_or(1.0),
                costs,
            });
        }
        costs.fill_from(&self.seen(true));
        match costs.unknown() {
            None => Ok(Basis {
                grade: Grade::Seen,
                source: format!("model: seen while serving until {} s", now.as_secs()),
                pace: 1.0,
                costs,
            }),
            Some((member, device)) => Err(NoBasis::Now {
                member: self.engine.ensemble().members[member].name.clone(),
                device: devices.get(device).name.clone(),
            }),
        }
    }

    /// Returns the costs of profiles that are kept of the members as the catalogue has them computed.
    fn kept(&self, catalogue: &Catalogue, footprints: &Footprints) -> Costs {
        let devices = self.engine.devices();
        let booked = self.engine.ledger(&self.engine.matrix()).ok();
        let beside = booked.map_or_else(|| devices.clone(), |booked| devices.beside(&booked));
        let profiler = Profiler {
            catalogue,
            devices: &beside,
            footprints,
            factory: self.factory.as_ref(),
            cache: self.cache.as_ref(),
            control: &Control::default(),
        };
        profiler.kept()
    }

    /// Profiles were measured some time ago, on a machine that may have been busier: what
    /// serving shows says how long batches take now. How many times as long in the middle,
    /// once that is known of every worker; else profiles stay as they are.
    fn pace(&self, costs: &mut Costs) -> Option<f64> {
        let measured = |cell: &Cell| match costs.cell(cell.member, cell.device) {
            CellCost::Measured(profile) => Some(Arc::clone(profile)),
            _ => None,
        };
        let matrix = self.engine.matrix();
        let workers = matrix.workers().map(|(cell, _)| cell);
        let real =
            workers.filter_map(|cell| Some((cell, self.kind(cell.device)?, measured(&cell)?)));
        let paces = real.map(|(cell, kind, profile)| self.learnt.pace(cell.member, kind, &profile));
        let paces: Vec<f64> = paces.collect::<Option<_>>()?;
        if paces.is_empty() {
            return None;
        }
        let middle = median(&paces);
        for device in self.engine.devices().indices() {
            let Some(kind) = self.kind(device) else {
                continue;
            };
            for member in MemberIndex::all(self.engine.ensemble().members.len()) {
                let CellCost::Measured(profile) = costs.cell(member, device) else {
                    continue;
                };
                // One that does not run there goes at the pace of those that do.
                let pace = self.learnt.pace(member, kind, profile).unwrap_or(middle);
                if let Ok(now) = profile.at_pace(pace) {
                    costs.set_measured(member, device, Arc::new(now));
                }
            }
        }
        Some(middle)
    }

    /// Returns the batch costs seen while serving, and the laws of simulated devices. With
    /// `settled`, costs that were seen too seldom are left out.
    fn seen(&self, settled: bool) -> Costs {
        let (ensemble, devices) = (self.engine.ensemble(), self.engine.devices());
        let sizes: Vec<usize> = ensemble.batch_sizes.iter().map(|s| s.get()).collect();
        let mut costs = Costs::of_laws(ensemble, devices);
        for device in devices.indices() {
            let Some(kind) = self.kind(device) else {
                continue;
            };
            for member in MemberIndex::all(ensemble.members.len()) {
                let enough = !settled || self.learnt.is_settled(member, kind);
                let measured = self.learnt.measured(member, kind, &sizes);
                if let Some(measured) = measured.filter(|_| enough) {
                    costs.set_measured(member, device, Arc::new(measured));
                }
            }
        }
        costs
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
