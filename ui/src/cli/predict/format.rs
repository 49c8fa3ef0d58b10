//! What a file of answers is, by its name.

use std::path::Path;

use anyhow::{Result, bail};
use divisi::ensemble::samples::to_npy;

use super::answers::PredictedAnswers;
use super::report::{AnswersReport, csv};
use crate::cli::output::OutputFile;

/// What a file of answers is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    Csv,
    Json,
    Npy,
}

impl FileFormat {
    /// By the end of its name; a device or a pipe, whose name says nothing, takes CSV.
    pub fn of(path: &Path, output: &OutputFile) -> Result<Self> {
        let end = path.extension().map(|e| e.to_string_lossy().to_lowercase());
        Ok(match end.as_deref() {
            Some("csv") => FileFormat::Csv,
            Some("json") => FileFormat::Json,
            Some("npy") => FileFormat::Npy,
            _ if !output.is_file() => FileFormat::Csv,
            _ => bail!(
                "--output {}: expected a name that ends in .csv, .json or .npy",
                path.display()
            ),
        })
    }

    /// The whole file.
    pub fn bytes(self, answers: &PredictedAnswers, report: &AnswersReport<'_>) -> Result<Vec<u8>> {
        Ok(match self {
            FileFormat::Csv => csv(answers, report.simulated).into_bytes(),
            FileFormat::Json => {
                let mut bytes = serde_json::to_vec_pretty(report)?;
                bytes.push(b'\n');
                bytes
            }
            FileFormat::Npy => scores(answers),
        })
    }
}

/// `[samples, classes]`; with members `[members + 1, samples, classes]`, the ensemble last.
fn scores(answers: &PredictedAnswers) -> Vec<u8> {
    let (samples, classes) = (answers.len(), answers.classes);
    let values = answers.values().copied();
    match answers.members().count() {
        0 => to_npy(values, &[samples, classes]),
        members => to_npy(values, &[members + 1, samples, classes]),
    }
}
