//! Tensors with typed value fields.

use bytes::Bytes;
use divisi_runtime::tensor::DataType;

use crate::proto::inference::InferTensorContents;
use divisi_inference::error::ServiceError;
use divisi_inference::protocol::{ElementFault, ElementSink, beyond_range};

/// Returns the values of a tensor as bytes.
///
/// # Errors
/// Returns an error if the values are in another field or have another type.
pub(super) fn bytes_of(
    of: &str,
    data_type: DataType,
    contents: &InferTensorContents,
    most: usize,
) -> Result<Bytes, ServiceError> {
    let mut sink = ElementSink::new(data_type, most);
    put(&mut sink, data_type, contents).map_err(|fault| {
        let at = sink.count();
        ServiceError::bad(match fault {
            ElementFault::Type(data_type) => format!("{of}: value {at} is not of type {data_type}"),
            ElementFault::Range { value, data_type } => {
                format!("{of}: {}", beyond_range(at, value, data_type))
            }
            ElementFault::TooMany(most) => format!("{of}: expected at most {most} values"),
        })
    })?;
    let expected = sink.count();
    let found = count(contents);
    match expected == found {
        true => Ok(sink.into_bytes()),
        false => Err(ServiceError::bad(format!(
            "{of}: expected `contents` of type {data_type}, found another type"
        ))),
    }
}

/// Returns the total number of values in all fields.
fn count(contents: &InferTensorContents) -> usize {
    [
        contents.bool_contents.len(),
        contents.int_contents.len(),
        contents.int64_contents.len(),
        contents.uint_contents.len(),
        contents.uint64_contents.len(),
        contents.fp32_contents.len(),
        contents.fp64_contents.len(),
        contents.bytes_contents.len(),
    ]
    .iter()
    .sum()
}

fn put(
    sink: &mut ElementSink,
    data_type: DataType,
    from: &InferTensorContents,
) -> Result<(), ElementFault> {
    match data_type {
        DataType::Bool => from.bool_contents.iter().try_for_each(|v| sink.bool(*v)),
        DataType::Int8 | DataType::Int16 | DataType::Int32 => {
            let mut values = from.int_contents.iter();
            values.try_for_each(|v| sink.integer((*v).into()))
        }
        DataType::Int64 => {
            let mut values = from.int64_contents.iter();
            values.try_for_each(|v| sink.integer((*v).into()))
        }
        DataType::Uint8 | DataType::Uint16 | DataType::Uint32 => {
            let mut values = from.uint_contents.iter();
            values.try_for_each(|v| sink.integer((*v).into()))
        }
        DataType::Uint64 => {
            let mut values = from.uint64_contents.iter();
            values.try_for_each(|v| sink.integer((*v).into()))
        }
        DataType::Fp16 | DataType::Bf16 | DataType::Fp32 => {
            let mut values = from.fp32_contents.iter();
            values.try_for_each(|v| sink.float((*v).into()))
        }
        DataType::Fp64 => from.fp64_contents.iter().try_for_each(|v| sink.float(*v)),
        DataType::Bytes => from.bytes_contents.iter().try_for_each(|v| sink.string(v)),
    }
}
