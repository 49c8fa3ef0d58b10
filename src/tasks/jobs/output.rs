//! The output file of a job: complete rows, in order.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use divisi_model::ensemble::label_of;
use divisi_runtime::words::csv_field;
use thiserror::Error;

/// The reasons why an output file cannot be written or continued.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JobOutputError {
    /// The file has fewer rows than were written.
    #[error("{path}: expected {expected} rows already written, found {found}")]
    Rows {
        /// The file.
        path: PathBuf,
        /// The number of written rows.
        expected: u64,
        /// The number of rows found.
        found: u64,
    },
    /// The file has other contents.
    #[error("{path}: expected a new file or this job's own output, found another file")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Another server is writing the file.
    #[error("{path}: another server is writing this file")]
    Claimed {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be read or written.
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

/// An output file in CSV format: the number of the sample, its class (empty if a score is not a
/// number), the score of each class and, on request, the variant that answered.
#[derive(Debug)]
pub struct JobOutput {
    path: PathBuf,
    file: File,
}

impl JobOutput {
    /// Opens a file and locks it for this process until it is dropped.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened, or another process has it.
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

    /// Starts the file, or continues it after its first `written` rows. Rows after those were not
    /// confirmed and are removed. A new job's file must be empty or begin with the same header.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written, has other contents, or has fewer rows.
    pub fn begin(
        mut self,
        written: u64,
        classes: &[String],
        names_variants: bool,
    ) -> Result<Self, JobOutputError> {
        match written {
            0 => self.begin_anew(&head(classes, names_variants))?,
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
        // A killed program may have written a part of the header.
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

    /// Writes all of the next rows, as returned by [`JobOutput::lines`], or none of them.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn write(&mut self, lines: &str) -> Result<(), JobOutputError> {
        let before = self.file.stream_position();
        let before = before.map_err(|why| self.failed(why))?;
        let written = self.file.write_all(lines.as_bytes());
        written.map_err(|why| {
            // A part of the rows may remain. Continuing the file searches for complete rows.
            let _ = self.file.set_len(before);
            let _ = self.file.seek(SeekFrom::Start(before));
            self.failed(why)
        })
    }

    /// Returns the lines for answers that start at row `first`, with the name of their variant in
    /// the last column if it is given.
    pub fn lines<'a>(
        first: u64,
        answers: impl Iterator<Item = &'a [f32]>,
        variant: Option<&str>,
    ) -> String {
        let mut text = String::new();
        for (row, scores) in (first..).zip(answers) {
            let class = label_of(scores).map_or(String::new(), |class| class.to_string());
            let _ = write!(text, "{row},{class}");
            for score in scores {
                let _ = write!(text, ",{score}");
            }
            if let Some(variant) = variant {
                let _ = write!(text, ",{}", csv_field(variant));
            }
            text.push('\n');
        }
        text
    }

    /// Returns another handle of the file.
    ///
    /// # Errors
    /// Returns an error if the system has no more handles.
    pub fn handle(&self) -> Result<File, JobOutputError> {
        self.file.try_clone().map_err(|why| self.failed(why))
    }

    /// Waits until all rows are on the disk.
    ///
    /// # Errors
    /// Returns an error if syncing failed.
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

fn head(classes: &[String], names_variants: bool) -> String {
    let mut head = "sample,class".to_owned();
    for class in classes {
        let _ = write!(head, ",{}", csv_field(&format!("score_{class}")));
    }
    if names_variants {
        head.push_str(",variant");
    }
    head.push('\n');
    head
}

/// Returns the byte after this many complete lines and their number, or after all lines if there
/// are fewer.
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
