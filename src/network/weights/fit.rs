//! A safetensors file against a graph: everything that does not fit, all at once.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::header::{Entry, entries};
use super::map::Map;
use super::{Values, WeightsError};
use crate::network::graph::Graph;
use crate::network::parameters::Parameter;

/// Where a file's bytes are.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    Bytes(&'a [u8]),
    Mapped(&'a Map),
}

/// Bytes that are checked at once, before their pages may be let go.
const PIECE: usize = 4 << 20;

impl<'a> Source<'a> {
    fn all(self) -> &'a [u8] {
        match self {
            Source::Bytes(bytes) => bytes,
            Source::Mapped(map) => map.bytes(),
        }
    }

    fn look(self, place: Range<usize>) -> &'a [u8] {
        match self {
            Source::Bytes(bytes) => bytes.get(place).unwrap_or_default(),
            Source::Mapped(map) => map.look(place),
        }
    }

    /// A place in pieces.
    fn pieces(self, place: &Range<usize>) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let end = place.end;
        let starts = place.clone().step_by(PIECE);
        starts.map(move |start| self.look(start..end.min(start + PIECE)))
    }
}

/// The values of every parameter of `graph`, in place where they can be read there.
pub(super) fn fit(
    source: Source<'_>,
    graph: &Graph,
) -> Result<BTreeMap<String, Values>, WeightsError> {
    let entries = entries(source.all()).map_err(WeightsError::Unreadable)?;
    let wanted = graph.parameters();
    let mut wrong = Vec::new();
    let mut tensors = BTreeMap::new();
    for parameter in &wanted {
        let found = entries.get(&parameter.name);
        match read(source, parameter, found) {
            Ok(values) => {
                tensors.insert(parameter.name.clone(), values);
            }
            Err(why) => wrong.push(format!("tensor `{}`{why}", parameter.name)),
        }
    }
    wrong.extend(strangers(&entries, &wanted));
    if wrong.is_empty() {
        Ok(tensors)
    } else {
        Err(WeightsError::Mismatch(wrong))
    }
}

/// Tensors that the graph has no place for.
fn strangers(entries: &BTreeMap<String, Entry>, wanted: &[Parameter]) -> Vec<String> {
    let wanted: BTreeSet<&str> = wanted.iter().map(|p| p.name.as_str()).collect();
    // PyTorch counts the batches a norm has seen; nobody needs that to serve.
    let counts = |name: &str| name.ends_with(".num_batches_tracked");
    let names = entries.keys().map(String::as_str);
    names
        .filter(|name| !wanted.contains(name) && !counts(name))
        .map(|name| format!("tensor `{name}` belongs to no layer"))
        .collect()
}

fn read(
    source: Source<'_>,
    parameter: &Parameter,
    found: Option<&Entry>,
) -> Result<Values, String> {
    let entry = found.ok_or(" is missing")?;
    if entry.dtype != "F32" {
        return Err(format!(": expected type F32, found {}", entry.dtype));
    }
    if entry.shape != parameter.shape {
        let (expected, found) = (&parameter.shape, &entry.shape);
        return Err(format!(": expected shape {expected:?}, found {found:?}"));
    }
    if let Some(at) = not_finite(source, &entry.place) {
        return Err(format!(": value {at} is not a finite number"));
    }
    match source {
        Source::Mapped(_) if is_readable_in_place(&entry.place) => {
            Ok(Values::InPlace(entry.place.clone()))
        }
        _ => Ok(Values::Owned(copied(source, &entry.place))),
    }
}

/// A mapping begins at a page, so a place in it is as aligned as its offset.
fn is_readable_in_place(place: &Range<usize>) -> bool {
    cfg!(target_endian = "little") && place.start.is_multiple_of(align_of::<f32>())
}

fn copied(source: Source<'_>, place: &Range<usize>) -> Vec<f32> {
    let mut values = Vec::with_capacity(place.len() / size_of::<f32>());
    for piece in source.pieces(place) {
        values.extend(floats(piece));
    }
    values
}

/// The first value that is no finite number.
fn not_finite(source: Source<'_>, place: &Range<usize>) -> Option<usize> {
    let mut before = 0;
    for piece in source.pieces(place) {
        // Without leaving early the test takes several values at once.
        if floats(piece).fold(false, |any, v| any | !v.is_finite()) {
            return floats(piece)
                .position(|v| !v.is_finite())
                .map(|at| before + at);
        }
        before += piece.len() / size_of::<f32>();
    }
    None
}

fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> {
    let (floats, _) = bytes.as_chunks::<4>();
    floats.iter().map(|b| f32::from_le_bytes(*b))
}
