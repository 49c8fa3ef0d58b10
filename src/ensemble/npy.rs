//! Samples from NumPy's `.npy` files.

use crate::network::Shape;

use super::samples::{Samples, SamplesError};

pub(super) fn parse_npy(bytes: &[u8], shape: Shape) -> Result<Samples, SamplesError> {
    let bad = |e: std::io::Error| SamplesError::Npy(e.to_string());
    // A header may claim more than the file holds, or than can be counted.
    if claimed_values(bytes).is_none_or(|values| values > bytes.len() as u64) {
        return Err(SamplesError::Npy("truncated".into()));
    }
    let mut rest = bytes;
    let header = npyz::NpyHeader::from_reader(&mut rest).map_err(bad)?;
    let dims: Vec<u64> = header.shape().to_vec();
    let expected: Vec<u64> = Vec::<usize>::from(shape)
        .iter()
        .map(|&d| d as u64)
        .collect();
    let flat = [shape.elements() as u64];
    let rows_then = |tail: &[u64]| dims.len() == tail.len() + 1 && dims[1..] == *tail;
    if !rows_then(&expected) && !rows_then(&flat) {
        return Err(SamplesError::Npy(format!(
            "expected the shape [n, {}] or [n, {}], found {dims:?}",
            join(&expected),
            flat[0]
        )));
    }
    let file = npyz::NpyFile::with_header(header, rest);
    if file.order() != npyz::Order::C {
        return Err(SamplesError::Npy("expected C order".into()));
    }
    let values = match file.dtype().descr().as_str() {
        text if text.contains("f4") => file.into_vec::<f32>().map_err(bad)?,
        text if text.contains("f8") => narrow(file.into_vec::<f64>().map_err(bad)?),
        text if text.contains("u1") => file
            .into_vec::<u8>()
            .map_err(bad)?
            .into_iter()
            .map(f32::from)
            .collect(),
        other => {
            let why = format!("expected float32, float64 or uint8, found {other}");
            return Err(SamplesError::Npy(why));
        }
    };
    let width = shape.elements();
    match values.iter().position(|v| !v.is_finite()) {
        None => Samples::new(values, width, None),
        Some(at) => Err(SamplesError::NotFinite {
            sample: at / width,
            value: at % width,
        }),
    }
}

fn narrow(values: Vec<f64>) -> Vec<f32> {
    values.into_iter().map(|v| v as f32).collect()
}

fn join(dims: &[u64]) -> String {
    dims.iter()
        .map(u64::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Values that the header's shape claims; none where they cannot be counted. The
/// reader multiplies without looking, so this looks first.
fn claimed_values(bytes: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]);
    let Some((_, after)) = text.split_once("'shape'") else {
        return Some(0); // Not a header at all: the reader says so.
    };
    let dims = after.split_once('(')?.1.split_once(')')?.0;
    let mut numbers = dims.split(',').map(str::trim).filter(|d| !d.is_empty());
    numbers.try_fold(1u64, |all, d| all.checked_mul(d.parse().ok()?))
}
