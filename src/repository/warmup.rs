//! The requests of `model_warmup`, as samples that an engine can be asked.

use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;

use divisi::catalogue::WarmupRequest;
use divisi::reading;
use divisi::tensor::{DataType, IdRanges, Signature, TensorSpec, TensorValue};

use crate::batch::ModelRows;
use crate::config::{ModelConfig, Warmup, WarmupData, WarmupInput};
use crate::error::LoadFault;
use crate::folder::CONFIG;
use crate::folder::ModelFolder;

/// The folder of a model that has the files of such requests.
const FOLDER: &str = "warmup";

/// The most bytes of an input, and of all requests together.
const MOST_BYTES: u64 = 256 << 20;

/// The most requests of a model, each counted as often as it is asked.
const MOST_REQUESTS: usize = 4096;

/// Makes the requests that a model is asked before it is told to be ready.
///
/// # Errors
/// Their tensors are not those of the model, or a file is not there or of another size.
pub(crate) fn requests(
    folder: &ModelFolder<'_>,
    config: &ModelConfig,
    signature: &Signature,
    rows: ModelRows,
) -> Result<Arc<[WarmupRequest]>, LoadFault> {
    let written = &config.warmup;
    let lines = config.lines.warmup.iter().copied();
    let lines = lines.chain(std::iter::repeat(1));
    let count: usize = written.iter().map(|warmup| warmup.count.max(1)).sum();
    let mut held = 0_u64;
    let requests = written.iter().zip(lines).map(|(warmup, line)| {
        let made = request(folder, warmup, signature, rows).and_then(|made| {
            held += made.values.len() as u64 * 4;
            match held <= MOST_BYTES {
                true => Ok(made),
                false => Err(format!("expected at most {MOST_BYTES} bytes in all")),
            }
        });
        made.map_err(|why| {
            let why = format!("model_warmup `{}`: {why}", warmup.name);
            folder.wrong(line, why)
        })
    });
    if count > MOST_REQUESTS {
        let why = format!("model_warmup: expected at most {MOST_REQUESTS} requests, found {count}");
        return Err(folder.failed(CONFIG, &why));
    }
    requests.collect()
}

fn request(
    folder: &ModelFolder<'_>,
    warmup: &Warmup,
    signature: &Signature,
    rows: ModelRows,
) -> Result<WarmupRequest, String> {
    let tensors = warmup.inputs.iter().map(|input| {
        let spec = signature.inputs.iter().find(|spec| spec.name == input.name);
        let value = value(folder, warmup, input, (spec, rows));
        let value = value.map_err(|why| format!("input `{}`: {why}", input.name))?;
        Ok((input.name.clone(), value))
    });
    let tensors = tensors.collect::<Result<Vec<_>, String>>()?;
    let (values, _) = signature.rows(&tensors).map_err(|why| why.to_string())?;
    Ok(WarmupRequest {
        name: warmup.name.clone(),
        count: NonZeroUsize::new(warmup.count).unwrap_or(NonZeroUsize::MIN),
        values,
    })
}

/// Returns an input, the dimension of its rows first.
fn value(
    folder: &ModelFolder<'_>,
    warmup: &Warmup,
    input: &WarmupInput,
    (spec, rows): (Option<&TensorSpec>, ModelRows),
) -> Result<TensorValue, String> {
    let written = input.dims.iter().map(|dim| usize::try_from(*dim).ok());
    let written: Option<Vec<usize>> = written.collect();
    let written = written.ok_or("dims: expected numbers above 0, found -1")?;
    let lead = match (rows, warmup.rows) {
        (ModelRows::Absent, _) => Some(1),
        (ModelRows::UpTo(_), rows) => Some(rows.max(1)),
        // The first of the dimensions is that of the rows already.
        (ModelRows::Open | ModelRows::Exactly(_), 0) => None,
        (ModelRows::Open | ModelRows::Exactly(_), rows) => Some(rows),
    };
    let dims: Vec<usize> = lead.into_iter().chain(written).collect();
    let found = dims.first().copied().unwrap_or_default();
    if !rows.takes(found) {
        return Err(format!("expected a {rows}, found {found} rows"));
    }
    let size = input.data_type.size().ok_or("strings are not taken")?;
    let count = dims.iter().try_fold(1_usize, |all, d| all.checked_mul(*d));
    let bytes = count.and_then(|count| count.checked_mul(size));
    let bytes = bytes.filter(|bytes| *bytes as u64 <= MOST_BYTES);
    let bytes = bytes.ok_or_else(|| format!("expected at most {MOST_BYTES} bytes"))?;
    let made = match &input.data {
        WarmupData::Zeros => TensorValue::new(input.data_type, dims, vec![0; bytes]),
        WarmupData::File(name) => {
            let held = file(folder, name, bytes)?;
            TensorValue::new(input.data_type, dims, held)
        }
        WarmupData::Random => {
            let values = random(bytes / size, input.data_type, spec);
            TensorValue::of_floats(input.data_type, dims, &values)
        }
    };
    made.map_err(|why| why.to_string())
}

/// Reads the bytes of an input.
fn file(folder: &ModelFolder<'_>, name: &str, expected: usize) -> Result<Vec<u8>, String> {
    let name = format!("{FOLDER}/{name}");
    let path = folder.inside(&name).map_err(|fault| fault.to_string())?;
    let shown = folder.shown(&name);
    let failed = |error: io::Error| format!("{shown}: {error}");
    // Nothing of another size is read.
    let found = fs::metadata(&path).map_err(failed)?.len();
    if found != expected as u64 {
        return Err(format!("{shown}: expected {expected} bytes, found {found}"));
    }
    reading::bytes(&path).map_err(failed)
}

/// Returns made-up numbers, the same ones each time: from 0 up to 1, or ids that the model has.
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
