//! The requests of `model_warmup` as samples for an engine.

use std::fs;
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::sync::Arc;

use divisi_model::catalogue::WarmupRequest;
use divisi_runtime::reading;
use divisi_runtime::tensor::{DataType, IdRanges, Signature, TensorSpec, TensorValue};

use crate::batch::ModelRows;
use crate::config::{ModelConfig, Warmup, WarmupData, WarmupInput};
use crate::error::LoadFault;
use crate::folder::ModelFolder;

/// The folder with the data files of warm-up requests.
const FOLDER: &str = "warmup";

/// The maximum number of bytes of an input, and of all requests together.
const MOST_BYTES: u64 = 256 << 20;

/// The maximum number of requests of a model, including repetitions, and of rows of one request.
const MOST_REQUESTS: usize = 1 << 16;

/// Makes the requests that run before a model is reported ready. A warm-up with batch size 0 is
/// skipped.
///
/// # Errors
/// Tensors do not match the model, or a file is missing or too short.
pub(crate) fn requests(
    folder: &ModelFolder<'_>,
    config: &ModelConfig,
    signature: &Signature,
    rows: ModelRows,
) -> Result<Arc<[WarmupRequest]>, LoadFault> {
    let lines = config.lines.warmup.iter().copied();
    let lines = lines.chain(std::iter::repeat(1));
    let asked = config.warmup.iter().zip(lines);
    let maker = WarmupMaker {
        folder,
        signature,
        rows,
    };
    let (mut bytes, mut count) = (0_u64, 0_usize);
    let requests = asked
        .filter(|(warmup, _)| warmup.rows > 0)
        .map(|(warmup, line)| {
            let made = maker.request(warmup).and_then(|made| {
                bytes += made.values.len() as u64 * 4;
                count = count.saturating_add(made.count.get());
                within_bounds(bytes, count).map(|()| made)
            });
            made.map_err(|why| {
                let why = format!("model_warmup `{}`: {why}", warmup.name);
                folder.wrong(line, why)
            })
        });
    requests.collect()
}

/// Checks the total size and number of the requests.
fn within_bounds(bytes: u64, count: usize) -> Result<(), String> {
    if bytes > MOST_BYTES {
        return Err(format!(
            "expected at most {MOST_BYTES} bytes in all warm-ups"
        ));
    }
    if count > MOST_REQUESTS {
        return Err(format!(
            "count: expected at most {MOST_REQUESTS} requests in all warm-ups, found {count}"
        ));
    }
    Ok(())
}

/// The model whose warm-ups are made.
struct WarmupMaker<'m> {
    folder: &'m ModelFolder<'m>,
    signature: &'m Signature,
    rows: ModelRows,
}

/// The meaning of the dimensions of a warm-up's input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WrittenDims {
    /// The dimensions of a row. A batch repeats the row.
    Row,
    /// The dimensions of the whole tensor of a request.
    Whole,
}

impl WarmupMaker<'_> {
    fn request(&self, warmup: &Warmup) -> Result<WarmupRequest, String> {
        let tensors = warmup.inputs.iter().map(|input| {
            let value = self.value(input);
            let value = value.map_err(|why| format!("input `{}`: {why}", input.name))?;
            Ok((input.name.clone(), value))
        });
        let tensors = tensors.collect::<Result<Vec<_>, String>>()?;
        let (values, _) = self
            .signature
            .rows(&tensors)
            .map_err(|why| why.to_string())?;
        let first = warmup.inputs.first();
        let written = first.map_or(WrittenDims::Row, |input| self.written(input));
        let (rows, requests) = match written {
            WrittenDims::Row => (self.batch(warmup.rows)?, 1),
            // Each request is complete. The batch size is the number of repetitions.
            WrittenDims::Whole => (1, warmup.rows),
        };
        let count = warmup.count.max(1).saturating_mul(requests);
        let above_zero = |number| NonZeroUsize::new(number).unwrap_or(NonZeroUsize::MIN);
        Ok(WarmupRequest {
            name: warmup.name.clone(),
            count: above_zero(count),
            rows: above_zero(rows),
            values,
        })
    }

    /// Returns the rows of a batch, if the model takes that many rows.
    fn batch(&self, rows: usize) -> Result<usize, String> {
        match self.rows.takes(rows) && rows <= MOST_REQUESTS {
            true => Ok(rows),
            false => {
                let most = self.rows.most().unwrap_or(MOST_REQUESTS).min(MOST_REQUESTS);
                Err(format!(
                    "batch_size: expected at most {most}, the model's largest batch, found {rows}"
                ))
            }
        }
    }

    /// Returns the meaning of an input's dimensions. A model with `max_batch_size` leaves the batch
    /// out; a model without it includes all dimensions. Both are accepted if the model's file
    /// decides.
    fn written(&self, input: &WarmupInput) -> WrittenDims {
        let mut specs = self.signature.inputs.iter();
        let spec = specs.find(|spec| spec.name == input.name);
        match self.rows {
            ModelRows::UpTo(_) => WrittenDims::Row,
            ModelRows::Absent => WrittenDims::Whole,
            ModelRows::Open | ModelRows::Exactly(_) => match spec {
                Some(spec) if input.dims.len() == spec.dims.len() => WrittenDims::Row,
                _ => WrittenDims::Whole,
            },
        }
    }

    /// Returns an input with the row dimension first.
    fn value(&self, input: &WarmupInput) -> Result<TensorValue, String> {
        let dims = self.dims(input)?;
        let size = input.data_type.size();
        let size =
            size.ok_or("data_type: strings are not supported; expected a type of numbers")?;
        let count = dims.iter().try_fold(1_usize, |all, d| all.checked_mul(*d));
        let bytes = count.and_then(|count| count.checked_mul(size));
        let bytes = bytes.filter(|bytes| *bytes as u64 <= MOST_BYTES);
        let bytes = bytes.ok_or_else(|| format!("dims: expected at most {MOST_BYTES} bytes"))?;
        let made = match &input.data {
            None => {
                return Err("expected `zero_data`, `random_data` or `input_data_file`".into());
            }
            Some(WarmupData::Zeros) => TensorValue::new(input.data_type, dims, vec![0; bytes]),
            Some(WarmupData::File(name)) => {
                let read = self.file(name, bytes);
                let read = read.map_err(|why| format!("input_data_file: {why}"))?;
                TensorValue::new(input.data_type, dims, read)
            }
            Some(WarmupData::Random) => {
                let mut specs = self.signature.inputs.iter();
                let spec = specs.find(|spec| spec.name == input.name);
                let values = random(bytes / size, input.data_type, spec);
                TensorValue::of_floats(input.data_type, dims, &values)
            }
        };
        made.map_err(|why| why.to_string())
    }

    /// Returns the dimensions of an input with the row dimension first.
    fn dims(&self, input: &WarmupInput) -> Result<Vec<usize>, String> {
        let written = input.dims.iter().map(|dim| usize::try_from(*dim).ok());
        let written: Option<Vec<usize>> = written.collect();
        let written = written.ok_or("dims: expected numbers above 0, found -1")?;
        let is_whole = self.written(input) == WrittenDims::Whole;
        if !is_whole || self.rows == ModelRows::Absent {
            return Ok(std::iter::once(1).chain(written).collect());
        }
        match written.first() {
            Some(first) if !self.rows.takes(*first) => {
                let expected = self.rows;
                Err(format!(
                    "dims: expected a {expected} as the first dimension, found {first}"
                ))
            }
            _ => Ok(written),
        }
    }

    /// Reads the first `expected` bytes of a file. Later bytes are ignored.
    fn file(&self, name: &str, expected: usize) -> Result<Vec<u8>, String> {
        let name = format!("{FOLDER}/{name}");
        let path = self.folder.inside(&name);
        let path = path.map_err(|fault| fault.to_string())?;
        let shown = self.folder.display(&name);
        let failed = |error: io::Error| format!("{shown}: {error}");
        // A file that is too short is not read.
        let found = fs::metadata(&path).map_err(failed)?.len();
        let file = reading::open(&path).map_err(failed)?;
        let mut bytes = Vec::new();
        if found >= expected as u64 {
            let mut first = file.take(expected as u64);
            first.read_to_end(&mut bytes).map_err(failed)?;
        }
        match bytes.len() == expected {
            true => Ok(bytes),
            false => Err(format!(
                "{shown}: expected at least {expected} bytes, found {found}"
            )),
        }
    }
}

/// Returns reproducible pseudo-random numbers: from 0 up to 1, or valid ids of the model.
fn random(count: usize, data_type: DataType, spec: Option<&TensorSpec>) -> Vec<f32> {
    let ids = spec.and_then(|spec| spec.ids.as_ref());
    let most = ids.map_or(1, IdRanges::most);
    let is_float = !data_type.is_integer() && data_type != DataType::Bool;
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let next = || {
        // Xorshift64*, by Marsaglia and Vigna.
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        let random = state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 40;
        match is_float {
            true => random as f32 / (1 << 24) as f32,
            false => (random as i64 % most.saturating_add(1).max(1)) as f32,
        }
    };
    std::iter::repeat_with(next).take(count).collect()
}
