//! The quality measures of answers with known targets.

use divisi_runtime::named::named;
use serde::{Deserialize, Serialize};

use super::answers::AnswerKind;
use super::tags::TagScheme;

named! {
    /// A measure of answers against targets.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Measure {
        /// The share of samples whose most likely class is the target.
        #[default]
        Accuracy = "accuracy",
        /// The square root of the mean squared difference of values.
        Rmse = "RMSE",
        /// The mean absolute difference of values.
        MeanAbsoluteError = "mean absolute error",
        /// The mean cosine of the angle between answer and target.
        MeanCosine = "mean cosine",
        /// The harmonic mean of precision and recall over all labels together.
        MicroF1 = "micro F1",
        /// The mean over labels of each label's harmonic mean of precision and recall. Labels that
        /// are neither given nor expected are left out.
        MacroF1 = "macro F1",
        /// The share of samples with exactly the expected labels.
        ExactMatch = "exact match",
        /// The mean over classes of intersection over union: pixels that are and should be of the
        /// class, divided by pixels that are or should be. Classes that are neither given nor
        /// expected are left out.
        MeanIou = "mean IoU",
        /// The share of pixels with the expected class.
        PixelAccuracy = "pixel accuracy",
        /// The harmonic mean of precision and recall of spans of tokens. A span is right if its
        /// kind and both ends are right.
        SpanF1 = "span F1",
        /// The share of tokens with the expected class.
        TokenAccuracy = "token accuracy",
        /// The mean over classes of the average precision of boxes, and over minimum overlaps from
        /// 50 to 95 %.
        Map = "mAP@[.5:.95]",
        /// The mean over classes of the average precision of boxes with a minimum overlap of 50 %.
        Map50 = "mAP@.5",
    }
}

impl Measure {
    /// Returns the measures for a kind of answers, the main one first.
    pub fn suited(answers: AnswerKind) -> &'static [Measure] {
        match answers {
            AnswerKind::Classes { .. } => &[Measure::Accuracy],
            AnswerKind::Values {
                normalise: true, ..
            } => &[Measure::MeanCosine],
            AnswerKind::Values { .. } => &[Measure::Rmse, Measure::MeanAbsoluteError],
            AnswerKind::Labels { .. } => &[Measure::MicroF1, Measure::MacroF1, Measure::ExactMatch],
            AnswerKind::Boxes { .. } => &[Measure::Map, Measure::Map50],
            AnswerKind::Masks { .. } => &[Measure::MeanIou, Measure::PixelAccuracy],
            AnswerKind::Tokens { scheme, .. } => match scheme {
                TagScheme::Spans => &[Measure::SpanF1, Measure::TokenAccuracy],
                TagScheme::Outside { .. } => &[Measure::MicroF1, Measure::TokenAccuracy],
                TagScheme::Plain => &[Measure::TokenAccuracy],
            },
        }
    }

    /// Returns the main measure of answers of a kind.
    pub fn main(answers: AnswerKind) -> Self {
        let suited = Measure::suited(answers).first();
        suited.copied().unwrap_or_default()
    }

    /// Returns the measure of similarity between answers of a kind.
    pub fn of_similarity(answers: AnswerKind) -> Self {
        match answers {
            AnswerKind::Labels { .. } => Measure::ExactMatch,
            AnswerKind::Masks { .. } => Measure::PixelAccuracy,
            AnswerKind::Tokens { .. } => Measure::TokenAccuracy,
            AnswerKind::Boxes { .. } => Measure::Map50,
            other => Measure::main(other),
        }
    }

    /// Returns its name as a key: `accuracy`, `rmse`, `micro_f1`.
    pub fn key(self) -> &'static str {
        match self {
            Measure::Accuracy => "accuracy",
            Measure::Rmse => "rmse",
            Measure::MeanAbsoluteError => "mean_absolute_error",
            Measure::MeanCosine => "mean_cosine",
            Measure::MicroF1 => "micro_f1",
            Measure::MacroF1 => "macro_f1",
            Measure::ExactMatch => "exact_match",
            Measure::MeanIou => "mean_iou",
            Measure::PixelAccuracy => "pixel_accuracy",
            Measure::SpanF1 => "span_f1",
            Measure::TokenAccuracy => "token_accuracy",
            Measure::Map => "map",
            Measure::Map50 => "map_50",
        }
    }

    /// Returns whether it is a share from 0 to 1 that is shown in percent.
    pub fn is_share(self) -> bool {
        match self {
            Measure::Rmse | Measure::MeanAbsoluteError | Measure::MeanCosine => false,
            Measure::Accuracy
            | Measure::MicroF1
            | Measure::MacroF1
            | Measure::ExactMatch
            | Measure::MeanIou
            | Measure::PixelAccuracy
            | Measure::SpanF1
            | Measure::TokenAccuracy
            | Measure::Map
            | Measure::Map50 => true,
        }
    }

    /// Returns whether it is the share of answers, pixels or tokens that are right.
    pub fn counts_answers(self) -> bool {
        matches!(
            self,
            Measure::Accuracy
                | Measure::ExactMatch
                | Measure::PixelAccuracy
                | Measure::TokenAccuracy
        )
    }

    /// Returns whether lower values are better.
    pub fn is_error(self) -> bool {
        matches!(self, Measure::Rmse | Measure::MeanAbsoluteError)
    }

    /// Formats a value of it: `98.66 %`, `0.01234`.
    pub fn format_value(self, value: f64) -> String {
        match self.is_share() {
            true => format!("{:.2} %", 100.0 * value),
            false => significant(value),
        }
    }
}

/// Formats a number with four significant digits.
fn significant(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if size == 0.0 || !size.is_finite() => format!("{value}"),
        _ if !(1e-4..1e6).contains(&size) => format!("{value:.3e}"),
        _ => {
            let digits = (3.0 - size.log10().floor()).clamp(0.0, 8.0);
            format!("{value:.*}", digits as usize)
        }
    }
}

/// A value with its measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// The measure.
    pub measure: Measure,
    /// The value: a share from 0 to 1, an error in the unit of the values, or a cosine.
    pub value: f64,
}

impl Quality {
    /// Formats the value.
    pub fn text(&self) -> String {
        self.measure.format_value(self.value)
    }
}
