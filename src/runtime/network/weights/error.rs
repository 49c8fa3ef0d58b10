//! Reasons why weights do not belong to a network.

use std::fmt;
use std::io;
use std::path::PathBuf;

use safetensors::SafeTensorError;
use thiserror::Error;

use crate::reading::ReadError;

use super::notes::Handful;

/// The most bytes of a header, by the format.
pub(super) const MAX_HEADER: usize = 100_000_000;

/// The most tensors; more are taken for a mistake. A graph has at most 10 000 layers, a norm
/// four tensors and a counter.
pub(super) const MAX_TENSORS: usize = 50_000;

/// The most files; more are taken for a mistake.
pub(super) const MAX_SHARDS: usize = 256;

/// The reason why weights do not belong to a network.
#[derive(Debug, Error)]
pub enum WeightsError {
    /// The file cannot be opened.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is of another kind or damaged, or a [`Naming`](super::Naming) does not fit it.
    #[error(transparent)]
    Unreadable(#[from] ReadError),
    /// Tensors do not fit the network's parameters.
    #[error("does not fit the network: {0}")]
    Mismatch(Box<Mismatch>),
    /// The file was written to since it was opened.
    #[error("weights {} changed since they were read", .0.display())]
    Changed(PathBuf),
    /// The file cannot be written.
    #[error("cannot be written: {0}")]
    Unwritable(SafeTensorError),
}

/// All tensors and parameters that do not fit each other, by the reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mismatch {
    /// Parameters without a tensor in the file.
    pub missing: Handful,
    /// Tensors of another shape than their parameter.
    pub shapes: Handful,
    /// Tensors of a type that does not convert to float32.
    pub types: Handful,
    /// Tensors with values that are not finite, or variances below 0.
    pub values: Handful,
    /// Tensors that belong to no layer.
    pub unknown: Handful,
    /// A setting of the manifest that would make more of them fit.
    pub hint: Option<String>,
}

impl Mismatch {
    /// Returns an error unless everything fits.
    pub(super) fn result(self) -> Result<(), WeightsError> {
        let groups = [
            &self.missing,
            &self.shapes,
            &self.types,
            &self.values,
            &self.unknown,
        ];
        match groups.iter().all(|g| g.is_empty()) {
            true => Ok(()),
            false => Err(WeightsError::Mismatch(Box::new(self))),
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |group: &Handful, one: &str, several: &str| match group.count() {
            1 => format!("tensor {group} {one}"),
            n => format!("{n} tensors {several}: {group}"),
        };
        let told = |group: &Handful| group.separated("; ");
        let said = [
            (
                &self.missing,
                named(&self.missing, "is missing", "are missing"),
            ),
            (&self.shapes, told(&self.shapes)),
            (&self.types, told(&self.types)),
            (&self.values, told(&self.values)),
            (
                &self.unknown,
                named(&self.unknown, "belongs to no layer", "belong to no layer"),
            ),
        ];
        let said = said.into_iter().filter(|(group, _)| !group.is_empty());
        let said: Vec<String> = said.map(|(_, text)| text).collect();
        f.write_str(&said.join("; "))?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}
