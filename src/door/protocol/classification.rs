//! The classification extension: the largest values of an output with their numbers and names, in
//! place of all values.

use std::cmp::Ordering;
use std::num::NonZeroUsize;

use divisi::tensor::{DataType, TensorValue};

use crate::error::ServiceError;

use super::tensor::WireTensor;

/// Returns the `most` largest values of each sample as strings `value:index[:label]`, the largest
/// first. The first dimension is that of the batch where `batched` is true.
///
/// # Errors
/// The output consists of strings.
pub fn classified(
    name: &str,
    tensor: &WireTensor,
    most: NonZeroUsize,
    batched: bool,
    labels: Option<&[String]>,
) -> Result<WireTensor, ServiceError> {
    let values = numbers(name, tensor)?;
    let samples = match (batched, tensor.dims()) {
        (true, [samples, ..]) => *samples,
        _ => 1,
    };
    let each = values.len() / samples.max(1);
    let count = most.get().min(each);
    let rows = values.chunks_exact(each.max(1));
    let strings: Vec<String> = rows
        .flat_map(|row| largest(row, count).map(|at| written(row[at], tensor, at, labels)))
        .collect();
    let dims = match batched {
        true => vec![samples, count],
        false => vec![count],
    };
    let bytes = strings.iter().map(|string| string.as_bytes());
    Ok(WireTensor::of_strings(dims, bytes))
}

fn numbers(name: &str, tensor: &WireTensor) -> Result<Vec<f64>, ServiceError> {
    let wrong = |why: String| ServiceError::bad(format!("output `{name}`: {why}"));
    if tensor.data_type() == DataType::Bytes {
        return Err(wrong("strings have no classes".into()));
    }
    let bytes = tensor.bytes().to_vec();
    let value = TensorValue::new(tensor.data_type(), tensor.dims().to_vec(), bytes);
    let floats = value.and_then(|value| value.floats());
    let floats = floats.map_err(|e| wrong(e.to_string()))?;
    Ok(floats.into_iter().map(f64::from).collect())
}

/// Returns the places of the `count` largest values, the largest first; of equal ones the first.
fn largest(row: &[f64], count: usize) -> impl Iterator<Item = usize> {
    let order =
        |a: &usize, b: &usize| -> Ordering { row[*b].total_cmp(&row[*a]).then_with(|| a.cmp(b)) };
    let mut places: Vec<usize> = (0..row.len()).collect();
    if count > 0 && count < places.len() {
        places.select_nth_unstable_by(count - 1, order);
    }
    places.truncate(count);
    places.sort_unstable_by(order);
    places.into_iter()
}

fn written(value: f64, tensor: &WireTensor, at: usize, labels: Option<&[String]>) -> String {
    let is_whole = tensor.data_type().is_integer() || tensor.data_type() == DataType::Bool;
    let number = match (is_whole, value.is_nan()) {
        (true, _) => format!("{value:.0}"),
        (false, false) => format!("{value:.6}"),
        // As C writes it, and so Triton.
        (false, true) if value.is_sign_negative() => "-nan".to_owned(),
        (false, true) => "nan".to_owned(),
    };
    let label = labels.and_then(|labels| labels.get(at));
    match label.filter(|label| !label.is_empty()) {
        Some(label) => format!("{number}:{at}:{label}"),
        None => format!("{number}:{at}"),
    }
}
