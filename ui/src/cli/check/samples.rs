//! Samples in the report: the conversion of texts, and the ensemble's calibration samples.

use divisi_model::ensemble::Ensemble;
use serde::Serialize;

use crate::cli::output::cut_line;

#[derive(Serialize)]
pub(super) struct TextSummary {
    /// The number of tokens to which texts are cut or padded.
    length: usize,
    /// The largest id of the tokenizer's vocabulary.
    highest_id: u32,
    /// The number of truncated calibration samples in words, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    cut: Option<String>,
}

impl TextSummary {
    pub(super) fn from_ensemble(ensemble: &Ensemble) -> Option<Self> {
        let tokenizer = ensemble.text.as_ref()?.tokenizer();
        Some(TextSummary {
            length: tokenizer.length(),
            highest_id: tokenizer.highest(),
            cut: ensemble.calibration.as_deref().and_then(cut_line),
        })
    }

    pub(super) fn line(&self) -> String {
        let mut line = format!(
            "texts of up to {} tokens, ids up to {}",
            self.length, self.highest_id
        );
        line.extend(self.cut.iter().map(|cut| format!("; {cut}")));
        line + "\n"
    }
}

#[derive(Serialize)]
pub(super) struct CalibrationSummary {
    samples: usize,
    /// Whether they have labels or other targets.
    targets: bool,
}

impl CalibrationSummary {
    pub(super) fn from_ensemble(ensemble: &Ensemble) -> Option<Self> {
        let samples = ensemble.calibration.as_ref()?;
        Some(CalibrationSummary {
            samples: samples.len(),
            targets: samples.targets().is_some(),
        })
    }
}
