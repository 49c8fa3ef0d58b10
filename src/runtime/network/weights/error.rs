//! Why weights do not belong to a network.

use std::fmt;

use thiserror::Error;

use super::foreign::Foreign;
use super::notes::Handful;

/// Why weights do not belong to a network.
#[derive(Debug, Error)]
pub enum WeightsError {
    /// The file itself cannot be had.
    #[error("{0}")]
    Io(String),
    /// The file is of another kind.
    #[error("{0}")]
    Foreign(Foreign),
    #[error("not a readable safetensors file: {0}")]
    Unreadable(String),
    #[error("not a readable index of shards: {0}")]
    Index(String),
    #[error("shard {file}: {error}")]
    Shard {
        file: String,
        error: Box<WeightsError>,
    },
    /// What was said about names has no sense for this file.
    #[error("{0}")]
    Naming(String),
    #[error("does not fit the network: {0}")]
    Mismatch(Box<Mismatch>),
    #[error("weights {0} changed since they were read")]
    Changed(String),
    #[error("cannot be written: {0}")]
    Unwritable(String),
}

/// Everything that does not fit, by what is wrong with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mismatch {
    /// Parameters that the file has no tensor for.
    pub missing: Handful,
    /// Tensors of another shape, type or with values that cannot be.
    pub shapes: Handful,
    pub types: Handful,
    pub values: Handful,
    /// Tensors that belong to no layer.
    pub unknown: Handful,
    /// What could be said in the manifest to make it fit.
    pub hint: Option<String>,
}

impl Mismatch {
    /// Returns an error where anything is wrong.
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
