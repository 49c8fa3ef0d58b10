//! Doubts about a registration: its rows, its labels and its profiles.

use divisi_modelless::accuracy::AccuracyEstimate;
use divisi_runtime::words::counted;
use thiserror::Error;

use super::Registration;
use crate::counts::{set_of, voters};
use crate::records::RegisteredModel;

/// The number of rows from which the interval of an accuracy of 95 % is at most 5 points wide.
pub const ENOUGH_ROWS: u32 = 300;

/// A doubt about a registration. The ensemble is registered nevertheless.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum RegistrationRemark {
    /// There are few rows.
    #[error(
        "accuracies are counted on {}; use at least {ENOUGH_ROWS}, because goals are compared with \
         them",
        counted(*.0 as usize, "row")
    )]
    FewRows(u32),
    /// All labels are the same class.
    #[error("all labels are class {0}: the accuracies say nothing about other classes")]
    OneClass(usize),
    /// The whole ensemble is hardly more accurate than a constant answer.
    #[error(
        "the whole ensemble is right on {:.2} % of the rows; the same class for every row would be \
         right on {:.2} %: check that each label belongs to its row, and the order of the classes",
        100.0 * .accuracy, 100.0 * .constant
    )]
    NearChance {
        /// The accuracy of the whole ensemble.
        accuracy: f64,
        /// The share of the most frequent label, or of a random class if that is more.
        constant: f64,
    },
    /// Another ensemble of the task was counted on other rows.
    #[error(
        "`{0}` was counted on other rows, so its accuracies and these cannot be compared; register \
         both with the same --input"
    )]
    OtherRows(String),
    /// The machine was not quiet.
    #[error(
        "other programs used the processor during the measurement, so times may be too long; a \
         server of the task measures again when the machine is quiet, or register again then"
    )]
    Disturbed,
}

impl RegistrationRemark {
    /// Returns the stable code of the remark.
    pub const fn code(&self) -> &'static str {
        match self {
            RegistrationRemark::FewRows(_) => "few_rows",
            RegistrationRemark::OneClass(_) => "one_class",
            RegistrationRemark::NearChance { .. } => "near_chance",
            RegistrationRemark::OtherRows(_) => "other_rows",
            RegistrationRemark::Disturbed => "disturbed",
        }
    }
}

impl Registration<'_> {
    /// Returns the doubts about its rows and measurements.
    pub fn remarks(&self, model: &RegisteredModel) -> Vec<RegistrationRemark> {
        let labels = self.samples.labels().unwrap_or_default();
        let rows = model.record.rows.count;
        let mut remarks = Vec::new();
        if rows < ENOUGH_ROWS {
            remarks.push(RegistrationRemark::FewRows(rows));
        }
        remarks.extend(doubtful_labels(
            labels,
            whole(model),
            model.record.interface.classes,
        ));
        if !model.record.condition.is_quiet() {
            remarks.push(RegistrationRemark::Disturbed);
        }
        remarks
    }
}

/// Returns the accuracy of the whole ensemble: the highest one is counted, not promised.
fn whole(model: &RegisteredModel) -> Option<AccuracyEstimate> {
    let members = set_of(&voters(&model.record.combination));
    let variants = model.variants.iter();
    let whole = variants.filter(|variant| variant.members == members);
    let accuracies = whole.map(|variant| variant.accuracy);
    accuracies.max_by(|a, b| a.value().get().total_cmp(&b.value().get()))
}

fn doubtful_labels(
    labels: &[usize],
    whole: Option<AccuracyEstimate>,
    classes: usize,
) -> Option<RegistrationRemark> {
    let first = *labels.first()?;
    if labels.len() > 1 && labels.iter().all(|label| *label == first) {
        return Some(RegistrationRemark::OneClass(first));
    }
    let mut counts = vec![0_u32; classes];
    for label in labels {
        if let Some(count) = counts.get_mut(*label) {
            *count += 1;
        }
    }
    let most = counts.into_iter().max().unwrap_or(0);
    let constant = f64::from(most) / labels.len() as f64;
    let constant = constant.max(1.0 / classes.max(1) as f64);
    let whole = whole?;
    let is_near = whole.interval()?.low.get() <= constant;
    is_near.then(|| RegistrationRemark::NearChance {
        accuracy: whole.value().get(),
        constant,
    })
}
