//! The rows of an ensemble, and what its tensors are of a row.

use divisi::tensor::{Dimension, TensorSpec};

use crate::batch::ModelRows;
use crate::config::{ModelConfig, TensorConfig};

/// Returns the rows of a request of an ensemble whose steps have those of `steps`, by the models'
/// names.
///
/// # Errors
/// They do not fit together: the line and the reason.
pub(super) fn batch(
    config: &ModelConfig,
    steps: &[(&str, ModelRows)],
) -> Result<ModelRows, (usize, String)> {
    let most = config.max_batch_size.unwrap_or(0);
    let least = steps
        .iter()
        .filter_map(|(name, batch)| Some((*name, batch.most()?)));
    let least = least.min_by_key(|(_, most)| *most);
    if most > 0 {
        return match least {
            Some((name, found)) if found < most || !is_rows(steps, name) => {
                let found = if is_rows(steps, name) { found } else { 0 };
                let why = format!(
                    "max_batch_size: expected at most {found}, as many rows as step `{name}` \
                     takes, found {most}"
                );
                Err((config.lines.max_batch_size, why))
            }
            _ => Ok(ModelRows::UpTo(most)),
        };
    }
    if steps.iter().all(|(_, batch)| *batch == ModelRows::Absent) {
        return Ok(ModelRows::Absent);
    }
    let firsts = config
        .inputs
        .iter()
        .map(|input| (input, input.dims.first()));
    let mut firsts = firsts.map(|(input, first)| (input, first.copied().unwrap_or(1)));
    let Some((_, first)) = firsts.next() else {
        return Ok(ModelRows::Open);
    };
    if let Some((other, found)) = firsts.find(|(_, other)| *other != first) {
        let why = format!(
            "input `{}`: dims: expected the rows of all inputs first, {first}, found {found}",
            other.name
        );
        return Err((other.line, why));
    }
    match usize::try_from(first) {
        Err(_) => Ok(least.map_or(ModelRows::Open, |(_, most)| ModelRows::UpTo(most))),
        Ok(rows) => match least.filter(|(_, most)| *most < rows) {
            None => Ok(ModelRows::Exactly(rows)),
            Some((name, _)) if !is_rows(steps, name) => {
                let why = format!(
                    "input.dims: step `{name}` does not split its tensors into rows and others do: \
                     expected 1 as the first dimension, found {rows}"
                );
                Err((config.inputs[0].line, why))
            }
            Some((name, most)) => {
                let line = config.inputs[0].line;
                let why = format!(
                    "input.dims: expected at most {most} rows, as many as step `{name}` takes, \
                     found {rows}"
                );
                Err((line, why))
            }
        },
    }
}

/// Whether the step of that name takes rows.
fn is_rows(steps: &[(&str, ModelRows)], name: &str) -> bool {
    let mut steps = steps.iter();
    steps.any(|(n, batch)| *n == name && *batch != ModelRows::Absent)
}

/// Returns a model's tensors as those of a row of an ensemble: without a first dimension of 1,
/// where the model has no rows and the ensemble does.
///
/// # Errors
/// There is another first dimension; in words.
pub(super) fn as_row(
    specs: &[TensorSpec],
    own: ModelRows,
    of_ensemble: ModelRows,
) -> Result<Vec<TensorSpec>, String> {
    if own != ModelRows::Absent || of_ensemble == ModelRows::Absent {
        return Ok(specs.to_vec());
    }
    let stripped = specs.iter().map(|spec| match &spec.dims[..] {
        [Dimension::Fixed(1), rest @ ..] => Ok(TensorSpec {
            dims: rest.to_vec(),
            ..spec.clone()
        }),
        _ => Err(format!(
            "`{}` is {spec} without rows, while other steps take rows",
            spec.name
        )),
    });
    stripped.collect()
}

/// Returns the dimensions of a tensor of an ensemble without its rows.
pub(super) fn row_dims<'t>(
    tensor: &'t TensorConfig,
    config: &ModelConfig,
    batch: ModelRows,
) -> &'t [i64] {
    let is_written = config.max_batch_size.unwrap_or(0) == 0 && batch != ModelRows::Absent;
    &tensor.dims[usize::from(is_written)..]
}

/// Whether dimensions as they are written are those of a tensor; -1 stands for any.
pub(super) fn fits(written: &[i64], spec: &TensorSpec) -> bool {
    let alike = |(dim, own): (&i64, &Dimension)| *dim == -1 || *dim == i64::from(*own);
    written.len() == spec.dims.len() && written.iter().zip(&spec.dims).all(alike)
}
