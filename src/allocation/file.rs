//! Matrices in files.
//!
//! ```toml
//! ensemble = "digits"
//! devices = ["cpu:0", "cpu:1"]
//! members = ["mlp", "cnn-s"]
//! # a row a device, a column a member; 0 is no worker
//! matrix = [
//!     [16, 0],
//!     [0, 8],
//! ]
//! ```

use std::fmt::Write as _;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::words;

use super::matrix::{Frame, InvalidMatrix, Matrix};

/// What a file of a whole setup has beside the matrix (`session::SetupFile`).
const SETUP_FIELDS: [&str; 3] = ["policy", "combination", "segment_size"];

/// A field of a whole setup is no slip of the pen.
fn explained(message: &str) -> String {
    let unknown = |field: &&&str| message.contains(&format!("unknown field `{field}`"));
    match SETUP_FIELDS.iter().find(unknown) {
        Some(field) => format!(
            "`{field}`: expected a matrix alone, found a whole setup: open it in the console, \
             or leave out {}",
            SETUP_FIELDS.join(", ")
        ),
        None => message.to_owned(),
    }
}

/// A matrix with what it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatrixFile {
    pub ensemble: String,
    pub devices: Vec<String>,
    pub members: Vec<String>,
    pub matrix: Vec<Vec<i64>>,
}

/// Why a file gives no matrix for this ensemble.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum MatrixFileError {
    #[error("line {line}: {message}")]
    Syntax { line: usize, message: String },
    #[error(
        "ensemble: expected `{expected}`, found `{found}`: this matrix is for another ensemble"
    )]
    Ensemble { expected: String, found: String },
    #[error("members: expected [{expected}], found [{found}]")]
    Members { expected: String, found: String },
    #[error("devices: expected [{expected}], found [{found}]")]
    Devices { expected: String, found: String },
    #[error("matrix: {0}")]
    Matrix(InvalidMatrix),
}

impl MatrixFileError {
    /// What is wrong with `text`, with the line.
    pub(crate) fn of(error: &toml::de::Error, text: &str) -> Self {
        let offset = error.span().map_or(0, |s| s.start).min(text.len());
        let before = text.as_bytes()[..offset].iter();
        MatrixFileError::Syntax {
            line: 1 + before.filter(|&&b| b == b'\n').count(),
            message: words::plain(error.message()),
        }
    }
}

impl MatrixFile {
    /// The file for `matrix` of the ensemble called `ensemble`.
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
    /// The line where it is not a matrix file.
    pub fn parse(text: &str) -> Result<Self, MatrixFileError> {
        toml::from_str(text).map_err(|e| {
            let mut error = MatrixFileError::of(&e, text);
            if let MatrixFileError::Syntax { message, .. } = &mut error {
                *message = explained(message);
            }
            error
        })
    }

    /// The file's text: a line a row, so that it can be read and edited by hand.
    pub fn to_text(&self) -> String {
        let list = |items: &[String]| {
            let quoted: Vec<String> = items
                .iter()
                .map(|i| toml::Value::from(i.as_str()).to_string())
                .collect();
            quoted.join(", ")
        };
        let mut text = format!(
            "ensemble = {}\ndevices = [{}]\nmembers = [{}]\n# a row a device, a column a member; 0 is no worker\nmatrix = [\n",
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

    /// The matrix, if the file is about this ensemble and these devices.
    ///
    /// # Errors
    /// What belongs to something else, or the rule the matrix breaks.
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
