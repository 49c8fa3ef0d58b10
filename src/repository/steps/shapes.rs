//! The rows of an ensemble, and its tensors per row.

use divisi_runtime::tensor::{Dimension, TensorSpec};

use crate::batch::ModelRows;
use crate::config::{ModelConfig, TensorConfig};

/// A step's name and the rows that its model takes.
type RowsOfStep<'s> = (&'s str, ModelRows);

/// Returns the rows of a request of an ensemble over `steps`. A step with a smaller
/// `max_batch_size` than the ensemble runs the rows in several batches.
///
/// # Errors
/// The rows conflict. The error holds the line and the reason.
pub(super) fn batch(
    config: &ModelConfig,
    steps: &[RowsOfStep<'_>],
) -> Result<ModelRows, (usize, String)> {
    let most = config.max_batch_size.unwrap_or(0);
    if most > 0 {
        return match whole_step(steps, most) {
            None => Ok(ModelRows::UpTo(most)),
            Some((name, rows)) => {
                let least = rows.most().unwrap_or(1);
                let why = format!(
                    "max_batch_size: expected at most {least}, the limit of step `{name}`, found \
                     {most}"
                );
                Err((config.lines.max_batch_size, why))
            }
        };
    }
    if steps.iter().all(|(_, batch)| *batch == ModelRows::Absent) {
        return Ok(ModelRows::Absent);
    }
    match written_rows(config)? {
        None => Ok(ModelRows::Open),
        Some(-1) => Ok(most_of(steps).map_or(ModelRows::Open, ModelRows::UpTo)),
        Some(first) => {
            let rows = usize::try_from(first).unwrap_or(1);
            match whole_step(steps, rows) {
                None => Ok(ModelRows::Exactly(rows)),
                Some(step) => Err((config.inputs[0].line, too_many(step, rows))),
            }
        }
    }
}

/// Returns the maximum number of rows that all steps run in one batch, or `None` without a bound.
fn most_of(steps: &[RowsOfStep<'_>]) -> Option<usize> {
    steps.iter().filter_map(|(_, batch)| batch.most()).min()
}

/// Returns the first dimension of all inputs, or `None` if there are no inputs.
fn written_rows(config: &ModelConfig) -> Result<Option<i64>, (usize, String)> {
    let first_of = |input: &TensorConfig| input.dims.first().copied().unwrap_or(1);
    let mut inputs = config.inputs.iter();
    let Some(first) = inputs.next().map(first_of) else {
        return Ok(None);
    };
    match inputs.find(|input| first_of(input) != first) {
        None => Ok(Some(first)),
        Some(other) => {
            let (name, found) = (&other.name, first_of(other));
            let why = format!(
                "input `{name}`: dims: expected {first} as the first dimension, as in the other \
                 inputs, found {found}"
            );
            Err((other.line, why))
        }
    }
}

/// Returns a step whose model takes fewer rows than `rows` and cannot split them into batches, or
/// `None` if there is no such step.
fn whole_step<'s>(steps: &[RowsOfStep<'s>], rows: usize) -> Option<RowsOfStep<'s>> {
    let is_less = |(_, batch): &&RowsOfStep<'_>| match batch {
        ModelRows::Absent => rows > 1,
        ModelRows::Exactly(size) => *size < rows,
        ModelRows::UpTo(_) | ModelRows::Open => false,
    };
    steps.iter().find(is_less).copied()
}

/// Returns the error of an ensemble whose tensors have too many rows.
fn too_many((name, batch): RowsOfStep<'_>, rows: usize) -> String {
    match batch {
        ModelRows::Absent => format!(
            "input.dims: expected 1 as the first dimension, since step `{name}` does not split \
             its tensors into rows, found {rows}"
        ),
        _ => {
            let most = batch.most().unwrap_or(0);
            format!(
                "input.dims: expected at most {most} rows, the limit of step `{name}`, found \
                 {rows}"
            )
        }
    }
}

/// Returns a model's tensors per row of an ensemble. Drops a first dimension of 1 if the ensemble
/// has rows and the model does not.
///
/// # Errors
/// The first dimension is not 1. The error is a text.
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
            "`{}` is {spec} without rows, but other steps take rows",
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

/// Returns whether configured dimensions match a tensor. -1 matches any dimension.
pub(super) fn fits(written: &[i64], spec: &TensorSpec) -> bool {
    let alike = |(dim, own): (&i64, &Dimension)| *dim == -1 || *dim == i64::from(*own);
    written.len() == spec.dims.len() && written.iter().zip(&spec.dims).all(alike)
}
