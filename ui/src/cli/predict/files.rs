//! The destination of answers: one file, or a folder of masks.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use divisi_model::ensemble::AnswerKind;
use divisi_model::ensemble::samples::to_mask_png;

use super::answer::class_of;
use super::report::{AnswersReport, PredictedAnswers};
use super::table::{csv, npy};
use crate::cli::output::OutputFile;

/// The destination of answers.
pub(super) enum AnswerFiles {
    One(FileFormat, OutputFile),
    /// A folder with a PNG for each mask.
    Masks {
        folder: PathBuf,
        replaces: bool,
    },
}

impl AnswerFiles {
    /// Checks that `path` can be written, as far as possible in advance.
    pub(super) fn new(path: &Path, replaces: bool) -> Result<Self> {
        if path.is_dir() {
            return Ok(AnswerFiles::Masks {
                folder: path.to_owned(),
                replaces,
            });
        }
        let output = OutputFile::new(path, replaces)?;
        Ok(AnswerFiles::One(
            FileFormat::from_path(path, &output)?,
            output,
        ))
    }

    /// Checks that the destination suits a kind of answers.
    pub(super) fn check(&self, kind: AnswerKind) -> Result<()> {
        match (self, kind) {
            (AnswerFiles::One(..), _) | (_, AnswerKind::Masks { .. }) => Ok(()),
            (AnswerFiles::Masks { folder, .. }, _) => bail!(
                "--output {}: expected a file for answers of {}; a folder is only for masks",
                folder.display(),
                kind.name()
            ),
        }
    }

    /// Writes the answers to samples, by their names or else by their numbers.
    pub(super) fn write(
        &self,
        answers: &PredictedAnswers,
        report: &AnswersReport<'_>,
        names: &[String],
    ) -> Result<()> {
        match self {
            AnswerFiles::One(format, output) => output.write_bytes(&format.bytes(answers, report)?),
            AnswerFiles::Masks { folder, replaces } => {
                write_masks(folder, *replaces, answers, names)
            }
        }
    }
}

fn write_masks(
    folder: &Path,
    replaces: bool,
    answers: &PredictedAnswers,
    names: &[String],
) -> Result<()> {
    let Some(positions) = answers.kind().positions() else {
        return Ok(());
    };
    for (sample, row) in answers.rows().enumerate() {
        let name = names
            .get(sample)
            .cloned()
            .unwrap_or_else(|| sample.to_string());
        let classes: Vec<Option<u32>> = row.iter().map(|kept| class_of(*kept)).collect();
        let png = to_mask_png(&classes, positions.numbers(), positions.sides())?;
        OutputFile::new(&folder.join(format!("{name}.png")), replaces)?.write_bytes(&png)?;
    }
    Ok(())
}

/// The format of a file of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileFormat {
    Csv,
    Json,
    Npy,
}

impl FileFormat {
    /// Returns the format by the extension of `path`. A device or a pipe gets CSV.
    fn from_path(path: &Path, output: &OutputFile) -> Result<Self> {
        let end = path.extension().map(|e| e.to_string_lossy().to_lowercase());
        Ok(match end.as_deref() {
            Some("csv") => FileFormat::Csv,
            Some("json") => FileFormat::Json,
            Some("npy") => FileFormat::Npy,
            _ if !output.is_file() => FileFormat::Csv,
            _ => bail!(
                "--output {}: expected a .csv, .json or .npy file, or a folder for masks",
                path.display()
            ),
        })
    }

    /// Returns the contents of the file.
    fn bytes(self, answers: &PredictedAnswers, report: &AnswersReport<'_>) -> Result<Vec<u8>> {
        Ok(match self {
            FileFormat::Csv => csv(answers).into_bytes(),
            FileFormat::Json => {
                let mut bytes = serde_json::to_vec_pretty(report)?;
                bytes.push(b'\n');
                bytes
            }
            FileFormat::Npy => npy(answers),
        })
    }
}
