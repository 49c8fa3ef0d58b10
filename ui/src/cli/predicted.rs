//! Predicted throughputs in reports, and predictions of benchmarks.

use divisi_engine::search::{Cache, Method, Predicted, SearchJob};
use serde::Serialize;

use super::open::OpenedEnsemble;

/// A predicted throughput in a report.
#[derive(Serialize)]
pub(crate) struct PredictedRow {
    /// The predicted samples per second of a short run.
    predicted: f64,
    /// The interval that contains nine of ten measurements.
    predicted_low: f64,
    predicted_high: f64,
    /// The source of the prediction and of its interval.
    predicted_by: String,
}

impl PredictedRow {
    /// Returns the row of a prediction.
    pub(super) fn new(predicted: Predicted) -> Self {
        PredictedRow {
            predicted: predicted.samples_per_s,
            predicted_low: predicted.low,
            predicted_high: predicted.high,
            predicted_by: predicted.grounds(),
        }
    }

    /// Returns the row as a line of text.
    pub(super) fn line(&self) -> String {
        let PredictedRow {
            predicted,
            predicted_low: low,
            predicted_high: high,
            predicted_by: grounds,
        } = self;
        format!("predicted {predicted:.0} samples/s ({low:.0} … {high:.0}): {grounds}")
    }
}

/// Returns a job that predicts runs of an opened ensemble from kept profiles, and records the errors
/// of these predictions.
pub(super) fn job(opened: &OpenedEnsemble) -> SearchJob {
    opened.search_job(Method::default(), Cache::of_user())
}
