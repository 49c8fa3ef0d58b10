//! `divisi accuracy --precisions`: what each of several precisions costs, beside the first.

use anyhow::Result;
use divisi::ensemble::{AnswerKind, MemberPrecision, Samples, label_of};
use serde::Serialize;

use super::{AccuracyReport, GradedAnswers, graded, text};
use crate::cli::open::OpenedEnsemble;

/// The accuracies by precision, in the order in which they were asked for.
#[derive(Serialize)]
pub(super) struct PrecisionsReport {
    precisions: Vec<PrecisionReport>,
}

#[derive(Serialize)]
struct PrecisionReport {
    precision: MemberPrecision,
    #[serde(flatten)]
    accuracy: AccuracyReport,
    /// Its answers beside those of the first precision, which has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    beside_first: Option<Likeness>,
}

/// Answers of one precision beside those of another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Likeness {
    /// The share of samples of which both answer the same class, 0 to 1; none where answers are
    /// no classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    agreement: Option<f64>,
    /// The largest difference between two numbers of answers.
    largest_difference: f64,
}

impl Likeness {
    /// Compares the rows of answers; `width` numbers each.
    fn of(answers: AnswerKind, first: &[f32], found: &[f32], width: usize) -> Self {
        let pairs = || first.chunks_exact(width).zip(found.chunks_exact(width));
        let same = pairs().filter(|(a, b)| label_of(a) == label_of(b)).count();
        let differences = first
            .iter()
            .zip(found)
            .map(|(a, b)| f64::from((a - b).abs()));
        Likeness {
            agreement: answers
                .is_of_classes()
                .then(|| same as f64 / pairs().len().max(1) as f64),
            largest_difference: differences.fold(0.0, f64::max),
        }
    }

    fn line(self, precision: MemberPrecision, first: MemberPrecision) -> String {
        let agreement = self.agreement.map_or_else(String::new, |share| {
            format!("{:.2} % of answers are the same class, ", 100.0 * share)
        });
        let largest = self.largest_difference;
        format!("{precision} beside {first}: {agreement}numbers differ by at most {largest:.2e}")
    }
}

impl PrecisionsReport {
    /// Runs every sample once in each precision.
    pub(super) fn of(
        opened: &OpenedEnsemble,
        samples: &Samples,
        asked: &[MemberPrecision],
    ) -> Result<Self> {
        let mut first: Option<GradedAnswers> = None;
        let mut precisions = Vec::new();
        for &precision in asked {
            let mut ensemble = opened.ensemble.as_ref().clone();
            ensemble.compute_in(precision);
            let opened = OpenedEnsemble::new(ensemble, opened.devices.clone());
            let found = graded(&opened, samples)?;
            let (answers, width) = (opened.ensemble.answers, opened.ensemble.answer_width());
            let like =
                |first: &GradedAnswers| Likeness::of(answers, &first.rows, &found.rows, width);
            precisions.push(PrecisionReport {
                precision,
                accuracy: found.count.report(&opened.ensemble, samples.len()),
                beside_first: first.as_ref().map(like),
            });
            first.get_or_insert(found);
        }
        Ok(PrecisionsReport { precisions })
    }

    /// Returns what a terminal shows.
    pub(super) fn text(&self) -> String {
        let first = self.precisions[0].precision;
        let each = self.precisions.iter().map(|report| {
            let like = report.beside_first;
            let like = like.map(|like| format!("\n{}", like.line(report.precision, first)));
            let table = text(&report.accuracy, None);
            format!("{}: {table}{}", report.precision, like.unwrap_or_default())
        });
        each.collect::<Vec<_>>().join("\n\n")
    }

    /// Returns the reports of all precisions.
    pub(super) fn reports(&self) -> impl Iterator<Item = &AccuracyReport> {
        self.precisions.iter().map(|report| &report.accuracy)
    }
}
