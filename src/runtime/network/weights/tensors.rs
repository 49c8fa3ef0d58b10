//! The tensors of one or more files.

use std::collections::BTreeMap;

use super::error::WeightsError;
use super::foreign::Foreign;
use super::header::{TensorEntry, entries, is_meant};
use super::shards::is_index;

/// A tensor and which of the files it is in.
#[derive(Clone, Debug)]
pub(super) struct FileTensor {
    pub file: usize,
    pub entry: TensorEntry,
}

/// The tensors of one file.
///
/// # Errors
/// It is not whole safetensors; where it is something else, what that is.
pub(super) fn of_file(file: &[u8]) -> Result<BTreeMap<String, FileTensor>, WeightsError> {
    match entries(file) {
        Ok(entries) => {
            let tensors = entries.into_iter();
            let tensors = tensors.map(|(name, entry)| (name, FileTensor { file: 0, entry }));
            Ok(tensors.collect())
        }
        Err(why) => Err(match Foreign::recognise(file) {
            Some(foreign) if !is_meant(file) => WeightsError::Foreign(foreign),
            None if is_index(file) => WeightsError::Foreign(Foreign::Index),
            _ => WeightsError::Unreadable(why),
        }),
    }
}
