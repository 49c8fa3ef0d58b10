//! Checks a file's tensors against a graph, converts their values to float32, and collects
//! everything that does not fit.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use half::{bf16, f16};

use super::encoded::EncodedValues;
use super::error::{Mismatch, WeightsError};
use super::naming::{Naming, Resolved, resolve};
use super::notes::{WeightsNote, quoted};
use super::source::ByteSource;
use super::tensors::FileTensor;
use crate::named::named;
use crate::network::graph::Graph;
use crate::network::parameters::{Parameter, ParameterRole};
use crate::reading::ReadError;

/// The values of all parameters, and the changes made to a file's tensors.
pub(super) struct Fitted {
    pub values: BTreeMap<String, ParameterValues>,
    pub notes: Vec<WeightsNote>,
}

/// Returns the values of every parameter of `graph`, read in place if possible.
pub(super) fn fit(
    sources: &[ByteSource<'_>],
    tensors: &BTreeMap<String, FileTensor>,
    graph: &Graph,
    naming: &Naming,
) -> Result<Fitted, WeightsError> {
    let parameters = graph.parameters();
    let wanted: BTreeSet<&str> = parameters.iter().map(|p| p.name.as_str()).collect();
    let entries = tensors.iter().map(|(name, t)| (name.as_str(), &t.entry));
    let resolved = resolve(entries, &wanted, naming)?;
    let mut fitting = Fitting {
        sources,
        tensors,
        resolved: &resolved,
        wrong: Mismatch::default(),
        converted: BTreeMap::new(),
        values: BTreeMap::new(),
    };
    parameters.iter().for_each(|p| fitting.take(p));
    fitting.wrong.unknown = resolved.unknown.iter().collect();
    fitting.wrong.hint = hint(&resolved, &wanted);
    fitting.wrong.result()?;
    let converted = fitting.converted.into_iter();
    let mut notes: Vec<WeightsNote> = converted
        .map(|(from, tensors)| note(from, tensors))
        .collect();
    let values = fitting.values;
    notes.extend(resolved.notes);
    Ok(Fitted { values, notes })
}

fn note(from: ValueType, tensors: usize) -> WeightsNote {
    WeightsNote::Converted {
        from: from.name(),
        tensors,
    }
}

struct Fitting<'a> {
    sources: &'a [ByteSource<'a>],
    tensors: &'a BTreeMap<String, FileTensor>,
    resolved: &'a Resolved<'a>,
    wrong: Mismatch,
    converted: BTreeMap<ValueType, usize>,
    values: BTreeMap<String, ParameterValues>,
}

impl Fitting<'_> {
    fn take(&mut self, parameter: &Parameter) {
        let found = self.resolved.tensors.get(&parameter.name);
        let Some(tensor) = found.and_then(|name| self.tensors.get(*name)) else {
            self.wrong.missing.push(|| quoted(&parameter.name));
            return;
        };
        let name = quoted(&parameter.name);
        let Some(kind) = ValueType::from_name(&tensor.entry.dtype) else {
            let found = &tensor.entry.dtype;
            let said =
                || format!("tensor {name}: expected type F32, F64, F16 or BF16, found {found}");
            self.wrong.types.push(said);
            return;
        };
        let (expected, found) = (&parameter.shape, &tensor.entry.shape);
        if found != expected {
            let said = || format!("tensor {name}: expected shape {expected:?}, found {found:?}");
            self.wrong.shapes.push(said);
            return;
        }
        match read(tensor, self.sources[tensor.file], kind, parameter) {
            Err(why) => self.wrong.values.push(|| format!("tensor {name}: {why}")),
            Ok(values) => {
                if kind != ValueType::F32 {
                    *self.converted.entry(kind).or_default() += 1;
                }
                self.values.insert(parameter.name.clone(), values);
            }
        }
    }
}

/// Returns a hint at the prefix that most missing tensors have in the file, or `None` if there is
/// no such prefix.
fn hint(resolved: &Resolved<'_>, wanted: &BTreeSet<&str>) -> Option<String> {
    let mut hits: BTreeMap<&str, usize> = BTreeMap::new();
    for name in &resolved.unknown {
        let ends = name.match_indices('.').map(|(at, _)| at + 1).take(8);
        let missing = |rest: &str| wanted.contains(rest) && !resolved.tensors.contains_key(rest);
        for end in ends.filter(|&end| missing(&name[end..])) {
            *hits.entry(&name[..end]).or_default() += 1;
        }
    }
    let (prefix, count) = hits.into_iter().max_by_key(|(_, n)| *n)?;
    let prefix = quoted(prefix);
    Some(format!(
        "{count} of the missing tensors have the prefix {prefix} in the file"
    ))
}

/// The values of one parameter.
#[derive(Clone, Debug)]
pub(super) enum ParameterValues {
    /// Shared by the networks of several lengths that have the same.
    Owned(Arc<Vec<f32>>),
    /// Values that are decoded when they are read.
    Encoded(EncodedValues),
    /// The number of a mapped file and a range of its bytes, aligned for float32.
    InPlace(usize, Range<usize>),
}

named! {
    /// The types whose values convert to float32.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    enum ValueType {
        F32 = "F32",
        F64 = "F64",
        F16 = "F16",
        Bf16 = "BF16",
    }
}

impl ValueType {
    /// Returns the type of this name in a header, or `None` if it does not convert.
    fn from_name(name: &str) -> Option<Self> {
        ValueType::ALL.into_iter().find(|t| t.name() == name)
    }

    /// Appends the values of `bytes` to `to`.
    fn decode(self, bytes: &[u8], to: &mut Vec<f32>) {
        match self {
            ValueType::F32 => to.extend(floats(bytes)),
            ValueType::F64 => to.extend(chunks(bytes).map(|b| f64::from_le_bytes(b) as f32)),
            ValueType::F16 => to.extend(chunks(bytes).map(|b| f16::from_le_bytes(b).to_f32())),
            ValueType::Bf16 => to.extend(chunks(bytes).map(|b| bf16::from_le_bytes(b).to_f32())),
        }
    }
}

fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> + Clone {
    chunks(bytes).map(f32::from_le_bytes)
}

fn chunks<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> + Clone {
    let (chunks, _) = bytes.as_chunks::<N>();
    chunks.iter().copied()
}

/// Returns the values of a tensor of type `kind`, read in place if possible.
///
/// # Errors
/// Values are not finite in float32, or variances are below 0.
fn read(
    tensor: &FileTensor,
    source: ByteSource<'_>,
    kind: ValueType,
    parameter: &Parameter,
) -> Result<ParameterValues, ReadError> {
    let place = &tensor.entry.place;
    let in_place = kind == ValueType::F32 && source.is_readable_in_place(place);
    let mut owned = Vec::with_capacity(if in_place { 0 } else { parameter.elements() });
    let mut faults = Faults::new(parameter.role);
    for piece in source.pieces(place) {
        if in_place {
            faults.count(floats(piece));
        } else {
            let before = owned.len();
            kind.decode(piece, &mut owned);
            faults.count(owned[before..].iter().copied());
        }
    }
    faults.result(parameter.elements())?;
    Ok(match in_place {
        true => ParameterValues::InPlace(tensor.file, place.clone()),
        false => ParameterValues::Owned(Arc::new(owned)),
    })
}

/// Counts values that do not fit a parameter.
struct Faults {
    /// Whether values below 0 are also faults.
    variance: bool,
    /// Whether infinities are allowed.
    infinities: bool,
    seen: usize,
    not_finite: FaultCount,
    negative: FaultCount,
}

/// The number of faults, and the first with its position.
#[derive(Default)]
struct FaultCount {
    count: usize,
    first: Option<(usize, f32)>,
}

impl FaultCount {
    fn add(&mut self, at: usize, value: f32) {
        self.count += 1;
        self.first.get_or_insert((at, value));
    }
}

impl Faults {
    fn new(role: ParameterRole) -> Self {
        Faults {
            variance: role == ParameterRole::RunningVariance,
            infinities: role == ParameterRole::Operand,
            seen: 0,
            not_finite: FaultCount::default(),
            negative: FaultCount::default(),
        }
    }

    fn count(&mut self, values: impl Iterator<Item = f32> + Clone) {
        let (variance, infinities) = (self.variance, self.infinities);
        let is_wrong = |v: f32| {
            let infinite = !infinities | v.is_nan();
            (!v.is_finite() & infinite) | (variance & (v < 0.0))
        };
        let mut count = 0;
        // Without an early exit the test processes several values at once.
        let any = values.clone().fold(false, |any, v| {
            count += 1;
            any | is_wrong(v)
        });
        if any {
            let numbered = values.enumerate().filter(|(_, v)| is_wrong(*v));
            numbered.for_each(|(i, v)| self.add(self.seen + i, v));
        }
        self.seen += count;
    }

    fn add(&mut self, at: usize, value: f32) {
        match value.is_finite() {
            true => self.negative.add(at, value),
            false => self.not_finite.add(at, value),
        }
    }

    fn result(&self, elements: usize) -> Result<(), ReadError> {
        let (not_finite, negative) = (&self.not_finite, &self.negative);
        let wrong = match (not_finite.first, negative.first) {
            (Some((at, value)), _) => format!(
                "value {at} is not a finite number ({value} in float32), {} of {elements} are not",
                not_finite.count
            ),
            (None, Some((at, value))) => format!(
                "value {at} is {value}: a running variance cannot be below 0, {} of {elements} are",
                negative.count
            ),
            (None, None) => return Ok(()),
        };
        Err(ReadError::new(wrong))
    }
}
