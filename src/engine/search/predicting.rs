//! The predictions of a search, and the record of their errors.

use std::sync::Arc;

use divisi_model::allocation::Matrix;
use divisi_model::metrics::stats::median;
use divisi_model::profile::Costs;

use super::cache::{Cache, ProfileRenewal};
use super::control::Control;
use super::error::SearchError;
use super::evaluator::Evaluator;
use super::job::SearchJob;
use super::method::Algorithm;
use super::model::{Batching, ModelEvaluator, Rates};
use super::occasion::Occasion;
use super::prediction::{
    Correction, ErrorRecorder, PastError, Predicted, PredictedFigure, PredictionBasis,
    PredictionBook, Question, setup_of, subject_number,
};
use super::profiling::Profiler;

impl SearchJob {
    /// Returns the cache. If the search measures again, it uses nothing in it.
    pub(super) fn profiles(&self) -> Option<Cache> {
        let cache = self.cache.as_ref()?;
        Some(match self.method.again {
            true => cache.clone().renewing(ProfileRenewal::All),
            false => cache.clone(),
        })
    }

    /// Returns the source of batch costs for predictions.
    pub(super) fn basis(&self) -> PredictionBasis {
        match self.is_simulated() {
            true => PredictionBasis::Laws,
            false => PredictionBasis::Profiles,
        }
    }

    /// Returns the correction of predictions of `matrix`, or of any matrix.
    pub(super) fn correction(&self, basis: PredictionBasis, matrix: Option<&Matrix>) -> Correction {
        let question = self.question(basis, matrix);
        let book = self.cache.as_ref().map(Cache::book);
        book.map_or(Correction::unlearnt(basis), |book| {
            book.correction(&question)
        })
    }

    /// Returns the question for a prediction of `matrix`, or of any matrix, under the present load.
    fn question(&self, basis: PredictionBasis, matrix: Option<&Matrix>) -> Question {
        Question {
            subject: subject_number(self.models(), &self.devices),
            setup: matrix.map(|matrix| setup_of(matrix, self.models())),
            basis,
            disturbed: PredictionBook::is_disturbed(&self.devices),
            figure: PredictedFigure::Throughput,
        }
    }

    /// Returns `judge`, which then records the errors of predictions from `costs` if there is a
    /// ledger and the costs are complete.
    pub(super) fn recording(
        &self,
        judge: Box<dyn Evaluator>,
        costs: &Costs,
        basis: PredictionBasis,
    ) -> Box<dyn Evaluator> {
        let book = self.cache.as_ref().map(Cache::book);
        let Some(book) = book.filter(|_| costs.is_complete()) else {
            return judge;
        };
        let model = self.model(costs);
        let (models, book) = (Arc::clone(self.models()), book.clone());
        let recorder = ErrorRecorder::new(judge, model, models, &self.devices, basis, book);
        Box::new(recorder)
    }

    /// Returns the evaluator by runs for a search that does not predict. It records the errors of
    /// predictions too.
    pub(super) fn measuring(
        &self,
        control: &Arc<Control>,
    ) -> Result<Box<dyn Evaluator>, SearchError> {
        let costs = self.predicting_costs(control)?;
        let judge = self.judge(control, &Arc::new(costs.clone()))?;
        Ok(self.recording(judge, &costs, self.basis()))
    }

    /// Returns the costs for the predictions next to runs. Missing profiles are measured first by a
    /// search with many runs; for one run they would take longer than the run.
    fn predicting_costs(&self, control: &Control) -> Result<Costs, SearchError> {
        let is_real = self.cache.is_some() && !self.is_simulated();
        match (is_real, self.method.algorithm) {
            (false, _) => Ok(Costs::of_laws(self.models(), &self.devices)),
            (true, Algorithm::WorstFit | Algorithm::BestBatch) => Ok(self.kept_costs()),
            (true, Algorithm::Greedy | Algorithm::Local) => self.profiled(control),
        }
    }

    /// Returns the predicted samples per second of a run of `samples` of `matrix` from kept profiles
    /// or laws, or `None` if a profile is missing.
    pub fn predict_run(&self, matrix: &Matrix, samples: usize) -> Option<Predicted> {
        let modelled = self.kept_model()?.run_of(matrix, samples);
        Some(self.correction(self.basis(), Some(matrix)).apply(modelled))
    }

    /// Records the error of the prediction of runs of `samples` of `matrix` with these samples per
    /// second. They ended at `occasion`. Does nothing if there is no prediction.
    pub fn record_runs(&self, matrix: &Matrix, samples: usize, rates: &[f64], occasion: Occasion) {
        let book = self.cache.as_ref().map(Cache::book);
        let Some((book, mut model)) = book.zip(self.kept_model()) else {
            return;
        };
        book.record(PastError {
            at: occasion.at,
            question: Question {
                disturbed: occasion.disturbed == Some(true),
                ..self.question(self.basis(), Some(matrix))
            },
            predicted: model.run_of(matrix, samples),
            measured: median(rates),
            runs: u32::try_from(rates.len()).unwrap_or(u32::MAX),
        });
        book.save();
    }

    /// Returns the model by kept profiles or laws, or `None` if a profile is missing.
    pub(super) fn kept_model(&self) -> Option<ModelEvaluator> {
        let costs = self.kept_costs();
        costs.is_complete().then(|| self.model(&costs))
    }

    /// Returns the costs by kept profiles or laws, incomplete if a profile is missing.
    fn kept_costs(&self) -> Costs {
        let footprints = self.footprints(&self.devices);
        let profiler = Profiler {
            catalogue: self.demand.catalogue(),
            devices: &self.measured_on,
            footprints: &footprints,
            factory: self.factory.as_ref(),
            cache: self.cache.as_ref(),
            control: &Control::default(),
        };
        profiler.kept_costs()
    }

    /// Returns the model by `costs`.
    fn model(&self, costs: &Costs) -> ModelEvaluator {
        let batching = Batching::from_ensemble(self.models());
        let rates = Rates::new(&self.frame, &self.devices, costs, batching);
        let rates = rates.demanding(&self.demand.by_member());
        ModelEvaluator::from_rates(rates, &self.devices, self.footprints(&self.devices))
    }

    /// Returns the costs by profiles, or incomplete costs if a network cannot be profiled.
    fn profiled(&self, control: &Control) -> Result<Costs, SearchError> {
        let cache = self.profiles();
        let profiler = Profiler {
            catalogue: self.demand.catalogue(),
            devices: &self.measured_on,
            footprints: &self.footprints(&self.devices),
            factory: self.factory.as_ref(),
            cache: cache.as_ref(),
            control,
        };
        match profiler.costs() {
            Ok(profiled) => {
                control.update(|p| p.profiled = profiled.measured);
                Ok(profiled.costs)
            }
            Err(stopped @ SearchError::Stopped(_)) => Err(stopped),
            Err(_) => Ok(Costs::of_laws(self.models(), &self.devices)),
        }
    }
}
