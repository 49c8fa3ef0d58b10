//! An evaluator that records how far each measurement was from its prediction.

use std::sync::Arc;

use divisi_model::allocation::Matrix;
use divisi_model::ensemble::Ensemble;
use divisi_runtime::device::Devices;
use divisi_runtime::device::host::HostWatch;

use super::book::PredictionBook;
use super::ledger::{PastError, PredictedFigure, Question};
use super::predicted::PredictionBasis;
use super::subject::{setup_of, subject_number};
use crate::search::error::SearchError;
use crate::search::evaluator::{Doubt, Evaluator, Score};
use crate::search::model::{ModelEvaluator, RUN};
use divisi_model::wall_clock::unix_seconds;

/// Records the errors of a model while another evaluator measures.
pub(in crate::search) struct ErrorRecorder {
    measured: Box<dyn Evaluator>,
    /// The model, with batch costs that past errors have not corrected.
    model: ModelEvaluator,
    models: Arc<Ensemble>,
    subject: u64,
    /// The cores of the devices that compute on the host.
    cores: Option<Vec<usize>>,
    basis: PredictionBasis,
    book: PredictionBook,
}

impl ErrorRecorder {
    /// Creates a recorder in `book` of the errors of `model`, which predicts for models on devices
    /// from costs of this source.
    pub(in crate::search) fn new(
        measured: Box<dyn Evaluator>,
        model: ModelEvaluator,
        models: Arc<Ensemble>,
        devices: &Devices,
        basis: PredictionBasis,
        book: PredictionBook,
    ) -> Self {
        ErrorRecorder {
            subject: subject_number(&models, devices),
            cores: devices.host_cores(),
            measured,
            model,
            models,
            basis,
            book,
        }
    }

    fn record(&mut self, matrix: &Matrix, samples: usize, score: Score, watch: &HostWatch) {
        let load = self.cores.as_deref().zip(watch.end());
        self.book.record(PastError {
            at: unix_seconds(),
            question: Question {
                subject: self.subject,
                setup: Some(setup_of(matrix, &self.models)),
                basis: self.basis,
                disturbed: load.is_some_and(|(cores, load)| load.is_disturbed(Some(cores))),
                figure: PredictedFigure::Throughput,
            },
            predicted: self.model.run_of(matrix, samples),
            measured: score.samples_per_s,
            runs: u32::try_from(score.doubt.runs()).unwrap_or(u32::MAX),
        });
    }
}

impl Evaluator for ErrorRecorder {
    fn score(&mut self, matrix: &Matrix, best: f64) -> Result<Score, SearchError> {
        let watch = HostWatch::start();
        let score = self.measured.score(matrix, best)?;
        // A single run was cut short, so it is too rough.
        if score.doubt != Doubt::Once {
            self.record(matrix, RUN, score, &watch);
        }
        Ok(score)
    }

    fn steady(&mut self, matrix: &Matrix) -> f64 {
        self.measured.steady(matrix)
    }

    fn glance(&mut self, matrix: &Matrix, samples: usize) -> Result<Score, SearchError> {
        let watch = HostWatch::start();
        let score = self.measured.glance(matrix, samples)?;
        self.record(matrix, samples, score, &watch);
        Ok(score)
    }
}

impl Drop for ErrorRecorder {
    fn drop(&mut self) {
        self.book.save();
    }
}
