//! Reads the rows of members as labels.

use super::member::OutputKind;
use super::rule::{Temperature, log};

/// The maximum magnitude of logits. Sums of logits stay finite.
const MOST_LOGIT: f32 = 1e30;

/// The conversion of a member's rows to labels.
#[derive(Clone, Copy, Debug)]
pub(super) struct LabelReading {
    are_logits: bool,
    /// The reciprocal of the member's temperature.
    cooling: f32,
}

impl LabelReading {
    /// Reads rows of `outputs` at a temperature. Rows other than logits are probabilities.
    pub(super) fn new(outputs: OutputKind, temperature: Temperature) -> Self {
        LabelReading {
            are_logits: matches!(outputs, OutputKind::LabelLogits),
            cooling: (1.0 / temperature.get()) as f32,
        }
    }

    /// Returns whether rows are used unchanged.
    pub(super) fn is_plain(self) -> bool {
        !self.are_logits && self.cooling == 1.0
    }

    /// Returns the probability of a label, or NaN for a value that is not finite.
    pub(super) fn probability(self, value: f32) -> f32 {
        match self.is_plain() {
            true => value,
            false if !value.is_finite() => f32::NAN,
            false => 1.0 / (1.0 + (-self.logit(value)).exp()),
        }
    }

    /// Returns the logit of a label, which is also finite for probabilities of 0 and 1.
    pub(super) fn logit(self, value: f32) -> f32 {
        let logit = match self.are_logits {
            true => value,
            false => log(value) - log(1.0 - value),
        };
        (logit * self.cooling).clamp(-MOST_LOGIT, MOST_LOGIT)
    }
}

/// Returns the reading of each member's rows.
pub(super) fn readings(outputs: &[OutputKind], temperatures: &[Temperature]) -> Vec<LabelReading> {
    let each = outputs.iter().zip(temperatures);
    each.map(|(outputs, t)| LabelReading::new(*outputs, *t))
        .collect()
}
