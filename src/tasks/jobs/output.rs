//! The file of a job's answers: a row each, in order, whole rows alone.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// A file of answers that cannot be written, or be gone on with.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JobOutputError {
    /// It has fewer rows than were written.
    #[error("{path}: expected the {expected} rows that were written, found {found}")]
    Rows {
        /// The file.
        path: PathBuf,
        /// The rows that were written.
        expected: u64,
        /// The rows that are there.
        found: u64,
    },
    /// It cannot be read or written.
    #[error("{path}: {why}")]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: io::Error,
    },
}

impl JobOutputError {
    /// Returns the stable code of the failure.
    pub const fn code(&self) -> &'static str {
        match self {
            JobOutputError::Rows { .. } => "job_output_rows",
            JobOutputError::File { .. } => "job_output",
        }
    }
}

/// A file of answers, as CSV: the number of the sample, its class and the score of each class.
#[derive(Debug)]
pub struct JobOutput {
    path: PathBuf,
    file: File,
}

impl JobOutput {
    /// Begins a file, or goes on with one after its first `written` rows: what lies behind them was
    /// not confirmed, and goes.
    ///
    /// # Errors
    /// It cannot be opened, or has fewer rows.
    pub fn open(path: &Path, written: u64, classes: &[String]) -> Result<Self, JobOutputError> {
        let failed = |why| JobOutputError::File {
            path: path.to_owned(),
            why,
        };
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true);
        let mut file = options.truncate(false).open(path).map_err(failed)?;
        if written == 0 {
            file.set_len(0).map_err(failed)?;
            file.write_all(head(classes).as_bytes()).map_err(failed)?;
        } else {
            let (end, found) = end_of(&file, written + 1).map_err(failed)?;
            if found <= written {
                return Err(JobOutputError::Rows {
                    path: path.to_owned(),
                    expected: written,
                    found: found.saturating_sub(1),
                });
            }
            file.set_len(end).map_err(failed)?;
        }
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        Ok(JobOutput {
            path: path.to_owned(),
            file,
        })
    }

    /// Writes the next rows, as [`JobOutput::lines`] returns them.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&mut self, lines: &str) -> Result<(), JobOutputError> {
        let written = self.file.write_all(lines.as_bytes());
        written.map_err(|why| self.failed(why))
    }

    /// Returns the lines of answers, of which the first is that to row `first`.
    pub fn lines<'a>(first: u64, answers: impl Iterator<Item = &'a [f32]>) -> String {
        let mut text = String::new();
        for (row, scores) in (first..).zip(answers) {
            let best = scores.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
            let _ = write!(text, "{row},{}", best.map_or(0, |(class, _)| class));
            for score in scores {
                let _ = write!(text, ",{score}");
            }
            text.push('\n');
        }
        text
    }

    /// Returns another handle of the file.
    ///
    /// # Errors
    /// The system lends none.
    pub fn handle(&self) -> Result<File, JobOutputError> {
        self.file.try_clone().map_err(|why| self.failed(why))
    }

    /// Returns when all that was written is on the disk.
    ///
    /// # Errors
    /// It cannot be.
    pub fn sync(&self) -> Result<(), JobOutputError> {
        self.file.sync_data().map_err(|why| self.failed(why))
    }

    fn failed(&self, why: io::Error) -> JobOutputError {
        JobOutputError::File {
            path: self.path.clone(),
            why,
        }
    }
}

fn head(classes: &[String]) -> String {
    let scores = classes.iter().map(|class| format!(",score_{class}"));
    format!("sample,class{}\n", scores.collect::<String>())
}

/// Returns the byte behind so many whole lines, or behind all of them where there are fewer, and how
/// many lines that are.
fn end_of(file: &File, lines: u64) -> io::Result<(u64, u64)> {
    let mut reader = BufReader::new(file);
    reader.seek(SeekFrom::Start(0))?;
    let (mut end, mut found, mut line) = (0, 0, Vec::new());
    while found < lines {
        line.clear();
        let length = reader.read_until(b'\n', &mut line)?;
        if length == 0 || line.last() != Some(&b'\n') {
            break;
        }
        end += length as u64;
        found += 1;
    }
    Ok((end, found))
}
