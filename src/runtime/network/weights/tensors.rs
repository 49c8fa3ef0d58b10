//! The tensors of one file of safetensors, or of several files with an index that assigns tensors
//! to files (`model.safetensors.index.json`). Headers are checked against their files.
//!
//! The format has eight bytes with the header's length, the header as JSON, and the tensors' bytes
//! one after another (<https://huggingface.co/docs/safetensors>).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::ops::Range;
use std::path::{Component, Path};
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::reading::ReadError;

use super::error::{MAX_HEADER, MAX_SHARDS, MAX_TENSORS};
use super::foreign::Foreign;
use super::notes::{cut, quoted};
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

/// Returns whether a file could be an index: an object of JSON. Safetensors with a header of 123
/// bytes begin with the same byte, but continue with zeros.
pub(super) fn is_index(file: &[u8]) -> bool {
    let json = file.trim_ascii_start().starts_with(b"{");
    json && !file.iter().take(8).any(|byte| *byte == 0)
}

/// Opens the files that the index in `folder` names.
///
/// # Errors
/// It is not an index, or a file cannot be read or lacks a tensor that the index lists.
pub(super) fn open_shards(folder: &Path, index: &[u8]) -> Result<Shards, ReadError> {
    let index = parse(index)?;
    let mut shards: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (tensor, file) in &index.weight_map {
        shards.entry(file).or_default().push(tensor);
    }
    if shards.len() > MAX_SHARDS {
        let expected = format_args!("at most {MAX_SHARDS} files");
        return Err(no_index(ReadError::expected(expected, shards.len())));
    }
    let (mut maps, mut tensors) = (Vec::new(), BTreeMap::new());
    for (file, names) in shards {
        let shard = |error: ReadError| error.at(format_args!("shard {}", quoted(file)));
        let path = folder.join(plain(file)?);
        let map = Map::open(&path).map_err(|e| shard(ReadError::new(e)))?;
        let entries = entries(map.bytes()).map_err(|e| shard(unreadable(e)))?;
        let picked = pick(maps.len(), entries, names);
        tensors.extend(picked.map_err(|e| shard(unreadable(e)))?);
        maps.push(Arc::new(map));
    }
    Ok(Shards { maps, tensors })
}

fn parse(index: &[u8]) -> Result<Index, ReadError> {
    let index: Index = serde_json::from_slice(index).map_err(|e| no_index(cut(&e.to_string())))?;
    match index.weight_map.len() {
        0..=MAX_TENSORS => Ok(index),
        _ => Err(no_index(format_args!(
            "expected at most {MAX_TENSORS} tensors"
        ))),
    }
}

fn no_index(reason: impl Display) -> ReadError {
    ReadError::new(reason).at("not a readable index of shards")
}

fn unreadable(reason: ReadError) -> ReadError {
    reason.at("not a readable safetensors file")
}

/// Returns the path of a file in the index's folder.
///
/// # Errors
/// The name leads to another folder.
fn plain(file: &str) -> Result<&Path, ReadError> {
    let path = Path::new(file);
    let mut parts = path.components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(_)), None) => Ok(path),
        _ => Err(no_index(ReadError::expected(
            "files in the index's folder",
            quoted(file),
        ))),
    }
}

/// Returns the tensors that the index lists for a file.
fn pick(
    file: usize,
    mut entries: BTreeMap<String, TensorEntry>,
    names: Vec<&str>,
) -> Result<Vec<(String, FileTensor)>, ReadError> {
    let picked = names.into_iter().map(|name| match entries.remove(name) {
        Some(entry) => Ok((name.to_owned(), FileTensor { file, entry })),
        None => Err(ReadError::new(format_args!(
            "tensor {} is missing; the index lists it in this file",
            quoted(name)
        ))),
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
pub(super) fn of_file(file: &[u8]) -> Result<BTreeMap<String, FileTensor>, ReadError> {
    match entries(file) {
        Ok(entries) => {
            let tensors = entries.into_iter();
            let tensors = tensors.map(|(name, entry)| (name, FileTensor { file: 0, entry }));
            Ok(tensors.collect())
        }
        Err(why) => Err(match Foreign::recognise(file) {
            Some(foreign) if !is_meant(file) => ReadError::new(foreign),
            None if is_index(file) => ReadError::new(Foreign::Index),
            _ => unreadable(why),
        }),
    }
}

/// The most dimensions; more are taken for a mistake.
const MAX_DIMENSIONS: usize = 8;

/// One tensor of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TensorEntry {
    /// Type of the values, as the header names it.
    pub dtype: String,
    pub shape: Vec<usize>,
    /// Range of its bytes in the file.
    pub place: Range<usize>,
}

/// Returns the tensors of a file by name. Each has as many bytes as its type and shape need,
/// inside the file; together they leave no gap and do not overlap.
fn entries(file: &[u8]) -> Result<BTreeMap<String, TensorEntry>, ReadError> {
    let (length, rest) = file.split_first_chunk::<8>().ok_or_else(|| {
        ReadError::new("expected 8 bytes with the header's length, the file is shorter")
    })?;
    let claimed = u64::from_le_bytes(*length);
    let length = usize::try_from(claimed).ok().filter(|&n| n <= MAX_HEADER);
    let length = length.ok_or_else(|| {
        ReadError::expected(
            format_args!("a header of at most {MAX_HEADER} bytes"),
            claimed,
        )
    })?;
    let (header, data) = rest.split_at_checked(length).ok_or_else(|| {
        ReadError::new(format_args!(
            "the file ends within its header of {length} bytes"
        ))
    })?;
    let listed = serde_json::from_slice(header);
    let Listed(listed) = listed.map_err(|e| ReadError::new(cut(&format!("in the header: {e}"))))?;
    check_places(&listed, data.len())?;
    let begin = 8 + length;
    let entries = listed.into_iter().map(|(name, tensor)| {
        let Range { start, end } = tensor.range();
        let entry = TensorEntry {
            place: begin + start..begin + end,
            shape: tensor.shape.0,
            dtype: tensor.dtype,
        };
        (name, entry)
    });
    Ok(entries.collect())
}

/// Returns whether a file seems to be safetensors: it begins with a possible length and the first
/// byte of a header.
fn is_meant(file: &[u8]) -> bool {
    let length = file.first_chunk::<8>().map(|l| u64::from_le_bytes(*l));
    length.is_some_and(|n| n <= MAX_HEADER as u64) && file.get(8) == Some(&b'{')
}

/// Checks that the first tensor begins at 0, that each other tensor begins at the end of the
/// previous one, and that the last one ends with the file.
fn check_places(listed: &BTreeMap<String, HeaderTensor>, data: usize) -> Result<(), ReadError> {
    let mut all: Vec<_> = listed.iter().collect();
    all.sort_by_key(|(_, tensor)| tensor.data_offsets);
    let mut end = 0;
    for (name, tensor) in all {
        end = tensor.check(name, end, data)?;
    }
    match end == data {
        true => Ok(()),
        false => Err(ReadError::new(format_args!(
            "the tensors end at byte {end}, the file has {data}"
        ))),
    }
}

/// A tensor as the header describes it.
#[derive(Deserialize)]
struct HeaderTensor {
    dtype: String,
    shape: Dimensions,
    data_offsets: (usize, usize),
}

impl HeaderTensor {
    fn range(&self) -> Range<usize> {
        self.data_offsets.0..self.data_offsets.1
    }

    /// Checks that the tensor begins at byte `expected`, has as many bytes as its type and
    /// shape need, and ends within `data` bytes; returns the byte at which it ends.
    fn check(&self, name: &str, expected: usize, data: usize) -> Result<usize, ReadError> {
        let Range { start, end } = self.range();
        let (shape, offsets) = (&self.shape.0, self.data_offsets);
        let wrong = |why: String| ReadError::new(why).at(format_args!("tensor {}", quoted(name)));
        if end > data {
            return Err(wrong(format!("ends at byte {end}, the file has {data}")));
        }
        if start != expected {
            return Err(wrong(format!(
                "expected to begin at byte {expected}, the end of the one before, found {start}"
            )));
        }
        let bits = bits(&self.dtype);
        let bits = bits.ok_or_else(|| wrong(format!("unknown type {}", quoted(&self.dtype))))?;
        let needed = self
            .bytes(bits)
            .ok_or_else(|| wrong(format!("shape {shape:?} is too large or splits a byte")))?;
        if end.checked_sub(start) != Some(needed) {
            return Err(wrong(format!(
                "its type and shape need {needed} bytes, its offsets are {offsets:?}"
            )));
        }
        Ok(end)
    }

    /// Returns the bytes of the tensor for values of `bits`, or `None` if the number is too large
    /// or not whole.
    fn bytes(&self, bits: usize) -> Option<usize> {
        let mut dims = self.shape.0.iter();
        let values = dims.try_fold(1usize, |n, &d| n.checked_mul(d))?;
        let bits = values.checked_mul(bits)?;
        bits.is_multiple_of(8).then_some(bits / 8)
    }
}

/// Returns the bits of one value of a type, or `None` if the format has no such type.
fn bits(dtype: &str) -> Option<usize> {
    Some(match dtype {
        "F4" => 4,
        "F6_E2M3" | "F6_E3M2" => 6,
        "BOOL" | "U8" | "I8" | "F8_E4M3" | "F8_E5M2" | "F8_E8M0" => 8,
        "U16" | "I16" | "F16" | "BF16" => 16,
        "U32" | "I32" | "F32" => 32,
        "U64" | "I64" | "F64" | "C64" => 64,
        _ => return None,
    })
}

/// The object of a header, without a name twice and with at most [`MAX_TENSORS`].
struct Listed(BTreeMap<String, HeaderTensor>);

impl<'de> Deserialize<'de> for Listed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ListedVisitor).map(Listed)
    }
}

struct ListedVisitor;

impl<'de> Visitor<'de> for ListedVisitor {
    type Value = BTreeMap<String, HeaderTensor>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tensors by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut tensors = BTreeMap::new();
        while let Some(name) = map.next_key::<Cow<'de, str>>()? {
            if name == "__metadata__" {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            if tensors.len() == MAX_TENSORS {
                let why = format!("expected at most {MAX_TENSORS} tensors");
                return Err(A::Error::custom(why));
            }
            let tensor = map.next_value()?;
            if tensors.insert(name.clone().into_owned(), tensor).is_some() {
                return Err(A::Error::custom(format!(
                    "tensor {} appears twice",
                    quoted(&name)
                )));
            }
        }
        Ok(tensors)
    }
}

/// A shape of at most [`MAX_DIMENSIONS`].
struct Dimensions(Vec<usize>);

impl<'de> Deserialize<'de> for Dimensions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_seq(DimensionsVisitor)
            .map(Dimensions)
    }
}

struct DimensionsVisitor;

impl<'de> Visitor<'de> for DimensionsVisitor {
    type Value = Vec<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {MAX_DIMENSIONS} dimensions, as whole numbers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut dims = Vec::new();
        while let Some(dim) = seq.next_element()? {
            if dims.len() == MAX_DIMENSIONS {
                return Err(A::Error::invalid_length(dims.len() + 1, &self));
            }
            dims.push(dim);
        }
        Ok(dims)
    }
}
