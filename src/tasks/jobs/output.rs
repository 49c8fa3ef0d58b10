//! The file of a job's answers: a row each, in order, whole rows alone.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use divisi_model::ensemble::label_of;
use divisi_runtime::words::csv_field;
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
    /// It holds something else.
    #[error("{path}: expected a new file, or one that this job began, found another")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Another server writes it.
    #[error("{path}: another server writes it")]
    Claimed {
        /// The file.
        path: PathBuf,
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
            JobOutputError::Foreign { .. } => "job_output_foreign",
            JobOutputError::Claimed { .. } => "job_output_claimed",
            JobOutputError::File { .. } => "job_output",
        }
    }
}

/// A file of answers, as CSV: the number of the sample, its class (nothing where a score is no number) and
/// the score of each class.
#[derive(Debug)]
pub struct JobOutput {
    path: PathBuf,
    file: File,
}

impl JobOutput {
    /// Opens a file for this process alone, until it is dropped.
    ///
    /// # Errors
    /// It cannot be opened, or another process has it.
    pub fn claim(path: &Path) -> Result<Self, JobOutputError> {
        let path = path.to_owned();
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true);
        let file = match options.truncate(false).open(&path) {
            Ok(file) => file,
            Err(why) => return Err(JobOutputError::File { path, why }),
        };
        match file.try_lock() {
            Ok(()) => Ok(JobOutput { path, file }),
            Err(TryLockError::WouldBlock) => Err(JobOutputError::Claimed { path }),
            Err(TryLockError::Error(why)) => Err(JobOutputError::File { path, why }),
        }
    }

    /// Begins the file, or goes on with it after its first `written` rows: what lies behind them was
    /// not confirmed, and goes. One that is begun is empty, or was begun before and begins alike.
    ///
    /// # Errors
    /// It cannot be written, holds something else, or has fewer rows.
    pub fn begin(mut self, written: u64, classes: &[String]) -> Result<Self, JobOutputError> {
        match written {
            0 => self.begin_anew(&head(classes))?,
            _ => self.go_on(written)?,
        }
        let end = self.file.seek(SeekFrom::End(0));
        end.map_err(|why| self.failed(why))?;
        Ok(self)
    }

    fn begin_anew(&mut self, head: &str) -> Result<(), JobOutputError> {
        let mut found = Vec::new();
        let read = (&self.file).take(head.len() as u64).read_to_end(&mut found);
        read.map_err(|why| self.failed(why))?;
        // A program that was killed may have written a part of it.
        if !head.as_bytes().starts_with(&found) {
            return Err(JobOutputError::Foreign {
                path: self.path.clone(),
            });
        }
        let begun = self.file.set_len(0);
        let begun = begun.and_then(|()| self.file.seek(SeekFrom::Start(0)));
        let begun = begun.and_then(|_| self.file.write_all(head.as_bytes()));
        begun.map_err(|why| self.failed(why))
    }

    fn go_on(&mut self, written: u64) -> Result<(), JobOutputError> {
        let (end, found) = end_of(&self.file, written + 1).map_err(|why| self.failed(why))?;
        if found <= written {
            return Err(JobOutputError::Rows {
                path: self.path.clone(),
                expected: written,
                found: found.saturating_sub(1),
            });
        }
        self.file.set_len(end).map_err(|why| self.failed(why))
    }

    /// Writes the next rows, as [`JobOutput::lines`] returns them, or none of them.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&mut self, lines: &str) -> Result<(), JobOutputError> {
        let before = self.file.stream_position();
        let before = before.map_err(|why| self.failed(why))?;
        let written = self.file.write_all(lines.as_bytes());
        written.map_err(|why| {
            // A part of them may be there. Who goes on with the file looks for whole rows again.
            let _ = self.file.set_len(before);
            let _ = self.file.seek(SeekFrom::Start(before));
            self.failed(why)
        })
    }

    /// Returns the lines of answers, of which the first is that to row `first`.
    pub fn lines<'a>(first: u64, answers: impl Iterator<Item = &'a [f32]>) -> String {
        let mut text = String::new();
        for (row, scores) in (first..).zip(answers) {
            let class = label_of(scores).map_or(String::new(), |class| class.to_string());
            let _ = write!(text, "{row},{class}");
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
    let mut head = "sample,class".to_owned();
    for class in classes {
        let _ = write!(head, ",{}", csv_field(&format!("score_{class}")));
    }
    head.push('\n');
    head
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
