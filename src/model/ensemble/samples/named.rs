//! Samples of several named tensors: JSON requests of the Open Inference Protocol, one document or
//! one request per line, or an `.npz` file with an array for each tensor.

use serde::Deserialize;
use serde::de::IgnoredAny;

use divisi_runtime::network::{Dims, Shape};
use divisi_runtime::reading::ReadError;
use divisi_runtime::tensor::{
    MOST_EXACT, Signature, TensorSpec, TensorValue, WrittenInputs, WrittenTensor,
};

use super::error::many_samples;
use super::form::{MOST_BYTES, SampleForm};
use super::json::placed;
use super::npy;
use super::rows::Samples;

/// The field of a request.
#[derive(Deserialize)]
struct RequestField {
    inputs: Option<IgnoredAny>,
}

/// Returns whether a document is an object with `inputs`.
pub(super) fn is_request(bytes: &[u8]) -> bool {
    // An array of one text would also be accepted as the fields of a struct.
    let is_object = bytes.trim_ascii_start().starts_with(b"{");
    let has_inputs = |document: RequestField| document.inputs.is_some();
    is_object && serde_json::from_slice(bytes).is_ok_and(has_inputs)
}

/// Reads `{"inputs": [{"name", "datatype", "shape", "data"}, …]}`.
pub(super) fn of_json(bytes: &[u8], signature: &Signature) -> Result<Samples, ReadError> {
    let (rows, samples) = request(bytes, 1, signature)?;
    let width = rows.len() / samples.max(1);
    Samples::new(rows, width, None)
}

/// Reads such an object from each line that is not empty. Samples of different lines may have
/// different lengths.
pub(super) fn of_lines(bytes: &[u8], signature: &Signature) -> Result<Samples, ReadError> {
    let width = signature.input_width(signature.largest_length());
    let mut rows = Vec::new();
    for (before, line) in bytes.split(|b| *b == b'\n').enumerate() {
        if !line.trim_ascii().is_empty() {
            let read = request(line, before + 1, signature);
            let read = read.map_err(|e| e.at(format_args!("line {}", before + 1)))?;
            check_size(rows.len() / width + read.1, width)?;
            rows.extend(read.0);
        }
    }
    Samples::new(rows, width, None)
}

/// Returns the rows of a request, and the number of samples.
fn request(
    bytes: &[u8],
    line: usize,
    signature: &Signature,
) -> Result<(Vec<f32>, usize), ReadError> {
    let written: WrittenInputs = serde_json::from_slice(bytes).map_err(|e| placed(line, &e))?;
    let read = written.inputs.into_iter().map(WrittenTensor::read);
    let read: Vec<(String, TensorValue)> = read.collect::<Result<_, _>>()?;
    signature.rows(&read).map_err(ReadError::new)
}

/// Refuses samples that do not fit in memory at the length of the longest sample.
fn check_size(samples: usize, width: usize) -> Result<(), ReadError> {
    let most = (MOST_BYTES as usize / 4 / width.max(1)).max(1);
    match samples <= most {
        true => Ok(()),
        false => Err(many_samples(most, samples)),
    }
}

/// Reads a file with one array as the samples of a signature's only tensor.
pub(super) fn of_array(bytes: Vec<u8>, signature: &Signature) -> Result<Samples, ReadError> {
    let mut bytes = Some(bytes);
    let read = |spec: &TensorSpec| {
        let array_of_one = bytes.take().unwrap_or_default();
        array(array_of_one, spec, signature.largest_length())
    };
    joined(signature, read, None)
}

/// Reads the array of a tensor whose length varies up to `most`.
pub(super) fn array(
    bytes: Vec<u8>,
    spec: &TensorSpec,
    most: usize,
) -> Result<TensorArray, ReadError> {
    let dims = npy::sample_dims(&bytes)?;
    // If the array has other dimensions, the error names the dimensions of the longest sample.
    let dims = match spec.fits(&dims) && dims.iter().all(|size| *size > 0) {
        true => dims,
        false => spec.dims_at(most),
    };
    let shape = Dims::new(&dims).map_or(Shape::vector(1), Shape::tensor);
    let samples = npy::samples(bytes, &SampleForm::new(shape))?;
    Ok(TensorArray { samples, dims })
}

/// The samples of one tensor, and its dimensions in each.
pub(super) struct TensorArray {
    pub samples: Samples,
    pub dims: Vec<usize>,
}

impl TensorArray {
    /// Returns the length of the samples as a tensor of `spec`, if it varies.
    fn length(&self, spec: &TensorSpec) -> Option<usize> {
        let at = spec.dims.iter().position(|d| d.size().is_none())?;
        self.dims.get(at).copied()
    }
}

/// Joins the samples of one array per tensor, which `read` reads. If lengths vary, `lengths` holds
/// the length of each sample. Without it, all values of a sample count.
pub(super) fn joined(
    signature: &Signature,
    mut read: impl FnMut(&TensorSpec) -> Result<TensorArray, ReadError>,
    lengths: Option<Vec<f32>>,
) -> Result<Samples, ReadError> {
    let tensors = &signature.inputs;
    let parts = tensors.iter().map(|spec| {
        let part = read(spec)?;
        check_integers(spec, &part.samples).map(|()| part)
    });
    let parts: Vec<TensorArray> = parts.collect::<Result<_, _>>()?;
    let samples = parts.first().map_or(0, |part| part.samples.len());
    let mut each = tensors.iter().zip(&parts);
    if let Some((spec, part)) = each.find(|(_, part)| part.samples.len() != samples) {
        let (found, first) = (part.samples.len(), &tensors[0]);
        return Err(spec.other_batch(found, first, samples));
    }
    let held = held_length(signature, &parts)?;
    let lengths = lengths_of(lengths, held, samples)?;
    let width = signature.input_width(signature.largest_length());
    check_size(samples, width)?;
    let mut rows = vec![0.0; samples * width];
    for (at, row) in rows.chunks_exact_mut(width.max(1)).enumerate() {
        signature.fill(row, lengths[at], held, |input| parts[input].samples.row(at));
    }
    Samples::new(rows, width, None)
}

fn check_integers(spec: &TensorSpec, samples: &Samples) -> Result<(), ReadError> {
    // A float of this magnitude may be rounded from a larger integer.
    let wrong = |v: f32| v.abs() >= MOST_EXACT as f32 || v.fract() != 0.0;
    // The samples' own check names the table without a row for an id.
    let has_no_row = |at: usize, v: f32| {
        let range = spec
            .ids
            .as_ref()
            .and_then(|ids| ids.at(at % samples.width()));
        range.is_some_and(|range| !range.contains(v))
    };
    let mut values = samples.values().iter().enumerate();
    let first = values.find(|(at, v)| wrong(**v) && !has_no_row(*at, **v));
    match first.filter(|_| spec.data_type.is_integer()) {
        None => Ok(()),
        Some((at, _)) => {
            let (sample, most) = (at / samples.width(), MOST_EXACT - 1);
            let wrong = format_args!("expected integers from -{most} to {most}");
            let place = format_args!("`{}`, sample {sample}", spec.name);
            Err(ReadError::new(wrong).at(place))
        }
    }
}

/// Returns the common length of all arrays, or the largest length if no length varies.
fn held_length(signature: &Signature, parts: &[TensorArray]) -> Result<usize, ReadError> {
    let tensors = signature.inputs.iter().zip(parts);
    let mut known = tensors.filter_map(|(spec, part)| Some((spec, part.length(spec)?)));
    let Some((first, length)) = known.next() else {
        return Ok(signature.largest_length());
    };
    match known.find(|(_, other)| *other != length) {
        Some((spec, found)) => Err(spec.other_length(found, first, length)),
        None if (1..=signature.largest_length()).contains(&length) => Ok(length),
        None => Err(first.wrong_length(length, signature.largest_length())),
    }
}

/// Returns the length of each sample.
fn lengths_of(
    written: Option<Vec<f32>>,
    held: usize,
    samples: usize,
) -> Result<Vec<usize>, ReadError> {
    let Some(written) = written else {
        return Ok(vec![held; samples]);
    };
    if written.len() != samples {
        let expected = format_args!("{samples} lengths, one per sample");
        return Err(ReadError::expected(expected, written.len()).at("`lengths`"));
    }
    let whole = written.iter().enumerate().map(|(sample, &length)| {
        let fits = length.fract() == 0.0 && (1.0..=held as f32).contains(&length);
        fits.then_some(length as usize).ok_or_else(|| {
            let wrong = format_args!("expected a whole number from 1 to {held}");
            ReadError::new(wrong).at(format_args!("`lengths`, sample {sample}"))
        })
    });
    whole.collect()
}
