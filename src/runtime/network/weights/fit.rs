//! Checks a file's tensors against a graph, and collects everything that does not fit.

use std::collections::{BTreeMap, BTreeSet};

use super::error::{Mismatch, WeightsError};
use super::naming::Naming;
use super::notes::WeightsNote;
use super::notes::quoted;
use super::resolve::{Resolved, resolve};
use super::source::ByteSource;
use super::tensors::FileTensor;
use super::values::{ParameterValues, ValueType, read};
use crate::network::graph::Graph;
use crate::network::parameters::Parameter;

/// The values of all parameters, and the changes made to a file's tensors.
pub(super) struct Fitted {
    pub values: BTreeMap<String, ParameterValues>,
    pub notes: Vec<WeightsNote>,
}

/// Returns the values of every parameter of `graph`, in place where they can be read there.
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
        let Some(kind) = ValueType::named(&tensor.entry.dtype) else {
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
        let source = (tensor.file, self.sources[tensor.file]);
        match read(source, &tensor.entry, kind, parameter) {
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

/// Returns a hint at the prefix behind which most missing tensors are, or `None` if there is
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
        "{count} of those missing are there behind the prefix {prefix}"
    ))
}
