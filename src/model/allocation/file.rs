//! Matrices in files.
//!
//! ```toml
//! ensemble = "digits"
//! devices = ["cpu:0", "cpu:1"]
//! members = ["mlp", "cnn-s"]
//! # one row per device, one column per member; 0: no worker
//! matrix = [
//!     [16, 0],
//!     [0, 8],
//! ]
//! ```

use std::fmt::Write as _;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use divisi_runtime::words;

use super::matrix::{Frame, InvalidMatrix, Matrix};

/// The additional fields of a setup file (`session::SetupFile`).
const SETUP_FIELDS: [&str; 4] = ["policy", "combination", "segment_size", "precisions"];

/// Returns the message about a field that only setup files have, or `None` for other errors.
fn about_setup(error: &toml::de::Error, text: &str) -> Option<String> {
    let name = text.get(error.span()?)?.trim_matches('"');
    if name == "precision" {
        let meant = "`precision`: expected `precisions`, a list with one for each member";
        return Some(meant.to_owned());
    }
    let field = SETUP_FIELDS.iter().find(|field| **field == name)?;
    Some(format!(
        "`{field}`: expected only a matrix, found a complete setup; open the file in the console, \
         or remove {}",
        SETUP_FIELDS.join(", ")
    ))
}

/// A matrix with the names of its ensemble and devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatrixFile {
    /// The ensemble's name.
    pub ensemble: String,
    /// The devices' names, one per row.
    pub devices: Vec<String>,
    /// The members' names, one per column.
    pub members: Vec<String>,
    /// The batch sizes, row by row; 0 for no worker.
    pub matrix: Vec<Vec<i64>>,
}

/// The reason why a file has no matrix for an ensemble on its devices.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum MatrixFileError {
    /// The file is not a matrix file.
    #[error("line {line}: {message}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The parser's message in plain words.
        message: String,
    },
    /// The matrix belongs to another ensemble.
    #[error(
        "ensemble: expected `{expected}`, found `{found}`; the matrix belongs to another ensemble"
    )]
    Ensemble {
        /// The ensemble's name.
        expected: String,
        /// The name in the file.
        found: String,
    },
    /// The matrix is for other members.
    #[error("members: expected [{expected}], found [{found}]")]
    Members {
        /// The members' names.
        expected: String,
        /// The names in the file.
        found: String,
    },
    /// The matrix is for other devices.
    #[error(
        "devices: expected [{expected}], found [{found}]; --devices chooses the devices of the file"
    )]
    Devices {
        /// The devices' names.
        expected: String,
        /// The names in the file.
        found: String,
    },
    /// The matrix breaks a rule.
    #[error("matrix: {0}")]
    Matrix(InvalidMatrix),
}

impl MatrixFileError {
    /// Converts an error of TOML's parser over `text`.
    pub fn from_toml(error: &toml::de::Error, text: &str) -> Self {
        let offset = error.span().map_or(0, |s| s.start).min(text.len());
        let before = text.as_bytes()[..offset].iter();
        MatrixFileError::Syntax {
            line: 1 + before.filter(|&&b| b == b'\n').count(),
            message: words::plain(error.message()),
        }
    }
}

impl MatrixFile {
    /// Returns the file for `matrix` of the ensemble `ensemble`.
    pub fn new(ensemble: &str, matrix: &Matrix) -> Self {
        let rows = matrix.rows();
        MatrixFile {
            ensemble: ensemble.to_owned(),
            devices: matrix.frame().devices.clone(),
            members: matrix.frame().members.clone(),
            matrix: rows
                .iter()
                .map(|row| row.iter().map(|&n| n as i64).collect())
                .collect(),
        }
    }

    /// Reads a file's text.
    ///
    /// # Errors
    /// The text is not a matrix file.
    pub fn parse(text: &str) -> Result<Self, MatrixFileError> {
        toml::from_str(text).map_err(|e| {
            let mut error = MatrixFileError::from_toml(&e, text);
            if let (MatrixFileError::Syntax { message, .. }, Some(why)) =
                (&mut error, about_setup(&e, text))
            {
                *message = why;
            }
            error
        })
    }

    /// Returns the file's text, with one line per row for reading and editing by hand.
    pub fn to_text(&self) -> String {
        let list = |items: &[String]| {
            let quoted: Vec<String> = items
                .iter()
                .map(|i| toml::Value::from(i.as_str()).to_string())
                .collect();
            quoted.join(", ")
        };
        let mut text = format!(
            "ensemble = {}\ndevices = [{}]\nmembers = [{}]\n# one row per device, one column per \
             member; 0: no worker\nmatrix = [\n",
            toml::Value::from(self.ensemble.as_str()),
            list(&self.devices),
            list(&self.members),
        );
        for row in &self.matrix {
            let cells: Vec<String> = row.iter().map(|n| format!("{n:>3}")).collect();
            // Writing to a string cannot fail.
            let _ = writeln!(text, "    [{}],", cells.join(", "));
        }
        text.push_str("]\n");
        text
    }

    /// Returns the matrix for this ensemble and these devices.
    ///
    /// # Errors
    /// The file is for another ensemble, members or devices, or the matrix breaks a rule.
    pub fn matrix_for(
        &self,
        ensemble: &str,
        frame: &Arc<Frame>,
    ) -> Result<Matrix, MatrixFileError> {
        if self.ensemble != ensemble {
            return Err(MatrixFileError::Ensemble {
                expected: ensemble.to_owned(),
                found: self.ensemble.clone(),
            });
        }
        if self.members != frame.members {
            return Err(MatrixFileError::Members {
                expected: frame.members.join(", "),
                found: self.members.join(", "),
            });
        }
        if self.devices != frame.devices {
            return Err(MatrixFileError::Devices {
                expected: frame.devices.join(", "),
                found: self.devices.join(", "),
            });
        }
        Matrix::from_rows(Arc::clone(frame), &self.matrix).map_err(MatrixFileError::Matrix)
    }
}
