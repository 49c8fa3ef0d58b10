//! The tensors of one file, or of several with an index that says which tensor is in which
//! (`model.safetensors.index.json`).

use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::sync::Arc;

use serde::Deserialize;

use super::error::{HeaderError, IndexError, MAX_SHARDS, MAX_TENSORS, WeightsError};
use super::foreign::Foreign;
use super::header::{TensorEntry, entries, is_meant};
use super::source::Map;

/// The part of an index that is needed.
#[derive(Deserialize)]
struct Index {
    /// The file of each tensor.
    weight_map: BTreeMap<String, String>,
}

/// The files that an index names, and the tensors in them.
pub(super) struct Shards {
    pub maps: Vec<Arc<Map>>,
    pub tensors: BTreeMap<String, FileTensor>,
}

/// Whether a file could be an index: an object of JSON. Safetensors with a header of 123 bytes
/// begin with the same byte, but have zeros behind it.
pub(super) fn is_index(file: &[u8]) -> bool {
    let json = file.trim_ascii_start().starts_with(b"{");
    json && !file.iter().take(8).any(|byte| *byte == 0)
}

/// Opens the files that the index in `folder` names.
///
/// # Errors
/// It is no index, or a file cannot be read or lacks a tensor that the index says is there.
pub(super) fn open_shards(folder: &Path, index: &[u8]) -> Result<Shards, WeightsError> {
    let index = parse(index)?;
    let mut shards: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (tensor, file) in &index.weight_map {
        shards.entry(file).or_default().push(tensor);
    }
    if shards.len() > MAX_SHARDS {
        let found = shards.len();
        return Err(WeightsError::Index(IndexError::TooManyFiles { found }));
    }
    let (mut maps, mut tensors) = (Vec::new(), BTreeMap::new());
    for (file, names) in shards {
        let shard = |error| WeightsError::Shard {
            file: file.to_owned(),
            error: Box::new(error),
        };
        let path = folder.join(plain(file)?);
        let map = Map::open(&path).map_err(shard)?;
        let entries = entries(map.bytes()).map_err(|e| shard(WeightsError::Unreadable(e)))?;
        tensors.extend(pick(maps.len(), entries, names).map_err(shard)?);
        maps.push(Arc::new(map));
    }
    Ok(Shards { maps, tensors })
}

fn parse(index: &[u8]) -> Result<Index, WeightsError> {
    let index: Index = serde_json::from_slice(index)
        .map_err(IndexError::Json)
        .map_err(WeightsError::Index)?;
    match index.weight_map.len() {
        0..=MAX_TENSORS => Ok(index),
        _ => Err(WeightsError::Index(IndexError::TooManyTensors)),
    }
}

/// Returns the path of a file beside the index.
///
/// # Errors
/// The name leads elsewhere.
fn plain(file: &str) -> Result<&Path, WeightsError> {
    let path = Path::new(file);
    let mut parts = path.components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(_)), None) => Ok(path),
        _ => Err(WeightsError::Index(IndexError::NotBeside {
            file: file.to_owned(),
        })),
    }
}

/// Returns the tensors of a file that the index says are in it.
fn pick(
    file: usize,
    mut entries: BTreeMap<String, TensorEntry>,
    names: Vec<&str>,
) -> Result<Vec<(String, FileTensor)>, WeightsError> {
    let picked = names.into_iter().map(|name| match entries.remove(name) {
        Some(entry) => Ok((name.to_owned(), FileTensor { file, entry })),
        None => Err(WeightsError::Unreadable(HeaderError::NotInShard {
            name: name.to_owned(),
        })),
    });
    picked.collect()
}

/// A tensor, with the number of its file.
#[derive(Clone, Debug)]
pub(super) struct FileTensor {
    pub file: usize,
    pub entry: TensorEntry,
}

/// Returns the tensors of one file.
///
/// # Errors
/// The file is not whole safetensors, or of another format, which the error names.
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
