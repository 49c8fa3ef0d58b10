//! A search by the model: profiles, an algorithm over predictions, a bound, and real runs of the
//! best candidates.

use std::sync::Arc;

use divisi_model::allocation::{Footprints, Frame, Matrix};
use divisi_model::profile::{CellCost, Costs};
use divisi_runtime::device::{Device, DeviceIndex, Devices, MemberIndex};

use super::control::Control;
use super::error::SearchError;
use super::evaluator::{Evaluator, Score};
use super::greedy::greedy;
use super::job::SearchJob;
use super::local::{LocalSearch, MemoryBudget, Position};
use super::method::Algorithm;
use super::model::{Batching, Limits, ModelEvaluator, Rates};
use super::placement::{best_batch, worst_fit};
use super::prediction::{Correction, Predicted, PredictionBasis};
use super::profiling::Profiler;
use super::result::SearchResult;
use super::under_load;
use super::virtual_bench::VirtualBench;

/// A search by the model: the job with its derived data.
pub(super) struct ModelSearch<'a> {
    /// The job.
    pub job: &'a SearchJob,
    /// Its control.
    pub control: &'a Arc<Control>,
    /// The memory of workers.
    pub footprints: Footprints,
    /// The costs of batches, corrected by past errors.
    pub costs: Arc<Costs>,
    /// The correction by past errors of any matrix.
    pub correction: Correction,
    /// The costs without correction, and their source.
    uncorrected: (Costs, PredictionBasis),
    /// The rates of workers.
    pub rates: Rates,
    /// The memory of the devices.
    pub budget: MemoryBudget,
    /// The bounds of workers.
    pub limits: Limits,
    /// An upper bound of the samples per second of all matrices under the ensemble's policy.
    pub bound: f64,
}

/// The result of an algorithm that uses only predictions.
pub(super) struct Candidates {
    /// Distinct matrices, the best prediction first.
    pub matrices: Vec<Matrix>,
    /// Matrices scored.
    pub evaluations: usize,
    /// Steps taken.
    pub steps: usize,
    /// Best-batch's matrix, if a last climb from it is worthwhile.
    pub second: Option<Matrix>,
}

impl Candidates {
    fn new(matrices: Vec<Matrix>, evaluations: usize, steps: usize) -> Self {
        Candidates {
            matrices,
            evaluations,
            steps,
            second: None,
        }
    }
}

/// Runs the search of `job`.
///
/// # Errors
/// No matrix fits, a measurement failed, or the search was cancelled.
pub(super) fn search(job: &SearchJob, control: &Arc<Control>) -> Result<SearchResult, SearchError> {
    let modelled = ModelSearch::new(job, control)?;
    let start = worst_fit(&job.frame, &job.devices, &modelled.footprints)?;
    let candidates = modelled.candidates(&start)?;
    let (evaluations, steps) = (candidates.evaluations, candidates.steps);
    let goal = &job.method.goal;
    let mut found = if modelled.decides_under_load() {
        under_load::search(&modelled, &start, candidates.matrices)?
    } else if job.method.algorithm.is_rule() {
        modelled.figures(&candidates.matrices[0], &start)?
    } else {
        modelled.measured(&start, candidates)?
    };
    found.evaluations += evaluations;
    found.iterations = steps;
    found.bound = Some(modelled.bound_next_to(&found.matrix));
    if found.steady.is_none() {
        found.steady = Some(modelled.steady(&found.matrix)?);
    }
    if let Some(rate) = goal.rate {
        modelled.judge_rate(&mut found, rate)?;
    }
    Ok(found)
}

impl<'a> ModelSearch<'a> {
    /// Profiles the missing costs and derives rates and bounds.
    pub(crate) fn new(job: &'a SearchJob, control: &'a Arc<Control>) -> Result<Self, SearchError> {
        let footprints = job.footprints(&job.devices);
        let cache = job.profiles();
        let profiler = Profiler {
            catalogue: job.demand.catalogue(),
            devices: &job.measured_on,
            footprints: &footprints,
            factory: job.factory.as_ref(),
            cache: cache.as_ref(),
            control,
        };
        let (known, basis) = match &job.known {
            Some((known, basis)) if job.is_quiet() => (Some(known.as_ref()), *basis),
            _ => (None, job.basis()),
        };
        let profiled = match job.is_quiet() {
            true => profiler.without_measuring(known)?,
            false => profiler.costs()?,
        };
        control.update(|p| {
            p.measuring = false;
            p.profiled = profiled.measured;
        });
        let correction = job.correction(basis, None);
        let costs = profiled.costs.at_pace(1.0 / correction.factor);
        let batching = Batching::from_ensemble(job.models());
        let rows = job.demand.by_member();
        let rates = Rates::new(&job.frame, &job.devices, &costs, batching).demanding(&rows);
        let budget = MemoryBudget::new(&job.frame, &job.devices, &footprints);
        let limits = Limits::new(&job.frame, &job.devices, &costs, batching).demanding(&rows);
        let bound = limits.bound(|cell, size| budget.fits_alone(cell, size));
        control.update(|p| p.bound = Some(bound));
        Ok(ModelSearch {
            job,
            control,
            costs: Arc::new(costs),
            correction,
            uncorrected: (profiled.costs, basis),
            footprints,
            rates,
            budget,
            limits,
            bound,
        })
    }

    pub(super) fn model(&self) -> ModelEvaluator {
        let (rates, footprints) = (self.rates.clone(), self.footprints.clone());
        let model = ModelEvaluator::from_rates(rates, &self.job.devices, footprints);
        model.with_spread(self.correction.spread)
    }

    /// Returns a local search that reports progress.
    pub(super) fn local_search(&self) -> LocalSearch<'_> {
        LocalSearch::new(self.control, &self.job.frame).with_spread(self.correction.spread)
    }

    /// Returns the evaluator by runs, which records the errors of predictions.
    pub(super) fn judge(&self) -> Result<Box<dyn Evaluator>, SearchError> {
        let (costs, basis) = &self.uncorrected;
        let judge = self.job.judge(self.control, &self.costs)?;
        Ok(self.job.recording(judge, costs, *basis))
    }

    /// Returns the predicted samples per second of a run of `matrix` by the errors before this
    /// search.
    pub(super) fn expected(&self, matrix: &Matrix) -> Predicted {
        let modelled = self.predict(matrix) / self.correction.factor;
        self.correction.apply(modelled)
    }

    /// Returns the predicted samples per second of a run of `matrix`, corrected by the past errors
    /// of this matrix too.
    pub(super) fn predicted(&self, matrix: &Matrix) -> Predicted {
        let modelled = self.predict(matrix) / self.correction.factor;
        let correction = self.job.correction(self.uncorrected.1, Some(matrix));
        correction.apply(modelled)
    }

    /// Returns the predicted samples per second of a run of `matrix`.
    pub(crate) fn predict(&self, matrix: &Matrix) -> f64 {
        self.model().run(matrix)
    }

    /// Returns the bound with the correction of the predictions of `matrix`, which includes the
    /// errors of this search, so that both compare.
    fn bound_next_to(&self, matrix: &Matrix) -> f64 {
        let correction = self.job.correction(self.uncorrected.1, Some(matrix));
        self.bound / self.correction.factor * correction.factor
    }

    /// Returns an upper bound of the samples per second of `matrix` in the long run.
    pub(crate) fn at_most(&self, matrix: &Matrix) -> f64 {
        self.limits.throughput(matrix)
    }

    /// Returns the predicted samples per second of `matrix` in the long run.
    pub(crate) fn throughput(&self, matrix: &Matrix) -> f64 {
        self.model().throughput(matrix)
    }

    /// Returns the long-run samples per second of `matrix`, simulated if every device is simulated
    /// and runs are allowed.
    fn steady(&self, matrix: &Matrix) -> Result<Score, SearchError> {
        if self.job.is_simulated() && self.job.method.finalists > 0 {
            return self.virtual_bench().pace(matrix);
        }
        let modelled = self.throughput(matrix) / self.correction.factor;
        let correction = self.job.correction(self.uncorrected.1, Some(matrix));
        Ok(correction.apply(modelled).score())
    }

    /// Returns whether simulations under load choose the matrix: if latencies matter, or if a rate is
    /// required and nothing runs on real devices.
    fn decides_under_load(&self) -> bool {
        let method = &self.job.method;
        let goal = &method.goal;
        goal.needs_latency() || (goal.rate.is_some() && !method.runs_on(&self.job.devices))
    }

    /// Adds the latency at `rate` if it is missing, and the shortfall if the matrix is too slow.
    fn judge_rate(&self, found: &mut SearchResult, rate: f64) -> Result<(), SearchError> {
        let steady = found.steady.map_or(0.0, |s| s.samples_per_s);
        if found.shortfall.is_none() {
            found.shortfall = under_load::too_slow(steady, rate);
        }
        if found.shortfall.is_none() && found.latency.is_none() {
            let bench = self.virtual_bench();
            found.latency = bench.worst_latency(&found.matrix, rate, None)?;
            let goal = &self.job.method.goal;
            found.shortfall = under_load::shortfall(steady, found.latency, goal, rate);
        }
        Ok(())
    }

    fn candidates(&self, start: &Matrix) -> Result<Candidates, SearchError> {
        // Greedy reports its start itself.
        if self.job.method.algorithm != Algorithm::Greedy {
            let predicted = self.predict(start);
            let predicted = Score::predicted(predicted, self.correction.spread);
            self.control.update(|p| p.set_out(start, predicted));
        }
        match self.job.method.algorithm {
            Algorithm::WorstFit => Ok(Candidates::new(vec![start.clone()], 1, 0)),
            Algorithm::BestBatch => self.best_batch(),
            Algorithm::Greedy => {
                let bounds = self.job.method.bounds;
                let found = greedy(start.clone(), bounds, &mut self.model(), self.control)?;
                let (evaluations, steps) = (found.evaluations, found.iterations);
                Ok(Candidates::new(vec![found.matrix], evaluations, steps))
            }
            Algorithm::Local => self.local_from_both(start),
        }
    }

    fn best_batch(&self) -> Result<Candidates, SearchError> {
        let job = self.job;
        if job.is_simulated() {
            // A run costs almost nothing, and the rule's matrix is the same with either evaluator.
            let (matrix, runs) = job.best_batch(&self.footprints, self.control)?;
            return Ok(Candidates::new(vec![matrix], runs, 0));
        }
        let alone = |member: MemberIndex| {
            let preferred = job.devices.preferred()[0];
            let (demand, first) = (job.demand.for_column(member), job.devices.only(preferred));
            let ensemble = demand.models();
            let mut costs = Costs::of_laws(ensemble, &first);
            if let CellCost::Measured(profile) = self.costs.cell(member, preferred) {
                costs.set_measured(
                    MemberIndex::new(0),
                    DeviceIndex::new(0),
                    Arc::clone(profile),
                );
            }
            let frame = Frame::from_ensemble(ensemble, &first);
            let footprints = Footprints::plan(ensemble, &first);
            let batching = Batching::from_ensemble(ensemble);
            let model = ModelEvaluator::new(&frame, &first, footprints, &costs, batching)?;
            Ok(Box::new(model) as Box<dyn Evaluator>)
        };
        let found = best_batch(
            &job.frame,
            &job.devices,
            &self.footprints,
            alone,
            self.control,
        );
        let (matrix, evaluations) = found?;
        Ok(Candidates::new(vec![matrix], evaluations, 0))
    }

    /// Searches locally from worst-fit's matrix, and climbs once from best-batch's, which is also a
    /// candidate: it is the better start if batches matter most.
    fn local_from_both(&self, start: &Matrix) -> Result<Candidates, SearchError> {
        let restarts = self.job.method.restarts;
        // One climb from the start, one after each restart, one from best-batch's matrix.
        let climbs = 1 + restarts + usize::from(restarts > 0);
        self.control.update(|p| p.climbs = (0, climbs));
        self.control.begin_phase(0);
        let mut all = self.local(start)?;
        if self.job.method.restarts == 0 {
            // Only one climb is requested.
            return Ok(all);
        }
        // The matrix may fit only because no member has its best batch, or not at all.
        let shown = self.control.progress();
        let best_batch = self.best_batch();
        // The scores of single members are not scores of a matrix.
        self.control.update(|p| *p = shown);
        let Ok(mut second) = best_batch else {
            self.control.checkpoint()?;
            self.control.update(|p| p.climbs.0 = climbs);
            return Ok(all);
        };
        self.control.update(|p| p.evaluations += second.evaluations);
        let other = second.matrices.swap_remove(0);
        let mut position = Position::new(&self.rates, self.budget.clone(), &other);
        let mut search = self.local_search();
        search.climb(&mut position)?;
        all.evaluations += second.evaluations + search.evaluations;
        all.steps += search.steps;
        self.add(&mut all.matrices, position.matrix(&self.job.frame)?);
        self.add(&mut all.matrices, other.clone());
        let matrices = &mut all.matrices;
        matrices.sort_by(|a, b| self.predict(b).total_cmp(&self.predict(a)));
        all.second = matrices.contains(&other).then_some(other);
        Ok(all)
    }

    /// Adds a matrix unless the list has it already, apart from the order of equal devices.
    fn add(&self, matrices: &mut Vec<Matrix>, matrix: Matrix) {
        let devices = &self.job.devices;
        let rows = canonical(&matrix, devices);
        if !matrices.iter().any(|m| canonical(m, devices) == rows) {
            matrices.push(matrix);
        }
    }

    /// Searches locally from `start`.
    pub(crate) fn local(&self, start: &Matrix) -> Result<Candidates, SearchError> {
        let method = &self.job.method;
        let mut position = Position::new(&self.rates, self.budget.clone(), start);
        let mut search = self.local_search();
        let seed = method.bounds.seed;
        let optima = search.climb_all(&mut position, method.restarts, seed)?;
        let mut matrices: Vec<Matrix> = Vec::new();
        for optimum in optima {
            position.go_to(&optimum.entries);
            self.add(&mut matrices, position.matrix(&self.job.frame)?);
        }
        let (evaluations, steps) = (search.evaluations, search.steps);
        Ok(Candidates::new(matrices, evaluations, steps))
    }

    /// Returns an evaluator for runs in virtual time with the same costs.
    pub(crate) fn virtual_bench(&self) -> VirtualBench {
        let (demand, devices) = (self.job.demand.clone(), self.job.devices.clone());
        let costs = Arc::clone(&self.costs);
        VirtualBench::new(demand, devices, self.footprints.clone(), costs)
    }
}

/// Returns the matrix's rows with those of equal devices sorted. Matrices that differ only in the
/// assignment among equal devices become equal.
fn canonical(matrix: &Matrix, devices: &Devices) -> Vec<Vec<usize>> {
    let mut rows = matrix.rows();
    let all: Vec<&Device> = devices.iter().collect();
    for first in 0..rows.len() {
        for other in first + 1..rows.len() {
            if all[first].kind.is_like(&all[other].kind) && rows[other] > rows[first] {
                rows.swap(first, other);
            }
        }
    }
    rows
}
