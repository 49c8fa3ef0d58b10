//! The classification extension: returns the largest values of an output with their indices and
//! names instead of all values.

use std::cmp::Ordering;
use std::num::NonZeroUsize;

use divisi_runtime::tensor::DataType;

use crate::error::ServiceError;

use super::elements::numbers;
use super::tensor::WireTensor;

/// Returns the `most` largest values of each sample as strings `value:index[:label]`, the largest
/// first. With `batched`, the first dimension is the batch.
///
/// # Errors
/// Returns an error if the output has strings.
pub fn classified(
    name: &str,
    tensor: &WireTensor,
    most: NonZeroUsize,
    batched: bool,
    labels: Option<&[String]>,
) -> Result<WireTensor, ServiceError> {
    let Some(size) = tensor.data_type().size() else {
        let why = format!("output `{name}`: strings have no classes");
        return Err(ServiceError::bad(why));
    };
    let samples = match (batched, tensor.dims()) {
        (true, [samples, ..]) => *samples,
        _ => 1,
    };
    let bytes = tensor.bytes();
    let each = bytes.len() / size / samples.max(1);
    let count = most.get().min(each);
    let strings = bytes.chunks_exact((each * size).max(1)).flat_map(|row| {
        let row = numbers(tensor.data_type(), row);
        let classes = largest(&row, count).map(|at| written(row[at], tensor, at, labels));
        classes.collect::<Vec<String>>()
    });
    let strings: Vec<String> = strings.collect();
    let dims = match batched {
        true => vec![samples, count],
        false => vec![count],
    };
    let bytes = strings.iter().map(|string| string.as_bytes());
    Ok(WireTensor::of_strings(dims, bytes))
}

/// Returns the indices of the `count` largest values, the largest first; of equal ones the first.
/// NaN sorts after all numbers.
fn largest(row: &[f64], count: usize) -> impl Iterator<Item = usize> {
    let order = |a: &usize, b: &usize| -> Ordering {
        let (one, other) = (row[*a], row[*b]);
        let by_value = match other.partial_cmp(&one) {
            Some(order) => order,
            None => one.is_nan().cmp(&other.is_nan()),
        };
        by_value.then_with(|| a.cmp(b))
    };
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
        // As in C, and so in Triton.
        (false, true) if value.is_sign_negative() => "-nan".to_owned(),
        (false, true) => "nan".to_owned(),
    };
    let label = labels.and_then(|labels| labels.get(at));
    match label.filter(|label| !label.is_empty()) {
        Some(label) => format!("{number}:{at}:{label}"),
        None => format!("{number}:{at}"),
    }
}
