//! The header of a safetensors file, believed only as far as the file bears it out.
//!
//! Eight bytes with the header's length, the header as JSON, the tensors' bytes one after
//! another (<https://huggingface.co/docs/safetensors>).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::notes::{cut, quoted};

/// The format's own bound on the header's bytes.
const MAX_HEADER: usize = 100_000_000;

/// More tensors than this are taken for a mistake: a graph has 10 000 layers at most, a
/// norm four tensors and its counter.
pub(super) const MAX_TENSORS: usize = 50_000;

/// More dimensions than this are taken for a mistake.
const MAX_DIMENSIONS: usize = 8;

/// One tensor of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TensorEntry {
    pub dtype: String,
    pub shape: Vec<usize>,
    /// Where its bytes are in the file.
    pub place: Range<usize>,
}

/// The tensors of a file by name: each has as many bytes as its type and shape need,
/// inside of the file; together they leave no gap and share nothing.
pub(super) fn entries(file: &[u8]) -> Result<BTreeMap<String, TensorEntry>, String> {
    let (length, rest) = file
        .split_first_chunk::<8>()
        .ok_or("expected 8 bytes with the header's length, the file is shorter")?;
    let claimed = u64::from_le_bytes(*length);
    let length = usize::try_from(claimed)
        .ok()
        .filter(|&n| n <= MAX_HEADER)
        .ok_or_else(|| format!("a header has {MAX_HEADER} bytes at most, found {claimed}"))?;
    let (header, data) = rest
        .split_at_checked(length)
        .ok_or_else(|| format!("a header of {length} bytes, the file ends before that"))?;
    let Listed(listed) =
        serde_json::from_slice(header).map_err(|e| cut(&format!("in the header: {e}")))?;
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

/// Whether a file is meant to be safetensors: a length that can be, and a header where
/// it belongs.
pub(super) fn is_meant(file: &[u8]) -> bool {
    let length = file.first_chunk::<8>().map(|l| u64::from_le_bytes(*l));
    length.is_some_and(|n| n <= MAX_HEADER as u64) && file.get(8) == Some(&b'{')
}

/// Where one tensor must end the next begins, the first at 0, the last ends the file.
fn check_places(listed: &BTreeMap<String, HeaderTensor>, data: usize) -> Result<(), String> {
    let mut all: Vec<_> = listed.iter().collect();
    all.sort_by_key(|(_, tensor)| tensor.data_offsets);
    let mut end = 0;
    for (name, tensor) in all {
        let range = tensor.range();
        let wrong = |why: String| format!("tensor {}: {why}", quoted(name));
        if range.end > data {
            let last = range.end;
            return Err(wrong(format!("ends at byte {last}, the file has {data}")));
        }
        if range.start != end {
            let start = range.start;
            let why = format!(
                "expected to begin at byte {end}, where the one before ends, found {start}"
            );
            return Err(wrong(why));
        }
        let needed = tensor.bytes().map_err(wrong)?;
        if range.end.checked_sub(range.start) != Some(needed) {
            let found = &tensor.data_offsets;
            let why = format!("its type and shape take {needed} bytes, its place is {found:?}");
            return Err(wrong(why));
        }
        end = range.end;
    }
    if end == data {
        Ok(())
    } else {
        Err(format!(
            "the tensors end at byte {end}, the file has {data}"
        ))
    }
}

/// A tensor as the header has it.
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

    /// What its type and shape take.
    fn bytes(&self) -> Result<usize, String> {
        let bits =
            bits(&self.dtype).ok_or_else(|| format!("unknown type {}", quoted(&self.dtype)))?;
        let all = self
            .shape
            .0
            .iter()
            .try_fold(1usize, |n, &d| n.checked_mul(d));
        let bits = all.and_then(|n| n.checked_mul(bits));
        match bits {
            Some(bits) if bits.is_multiple_of(8) => Ok(bits / 8),
            _ => Err(format!(
                "shape {:?} is too large or splits a byte",
                self.shape.0
            )),
        }
    }
}

/// Bits of one value.
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

/// The header's object: no name twice, no more tensors than there can be.
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
                let why = format!("expected {MAX_TENSORS} tensors at most");
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

/// A shape, read no further than one can be.
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
