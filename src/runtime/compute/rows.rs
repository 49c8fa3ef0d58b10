//! Rows of float32 in tensors of host memory: creates, writes and reads them in place.

use candle_core::{CpuStorage, Device, InplaceOp1, Layout, Storage, Tensor};

use super::error::ComputeError;

/// Creates a tensor of `rows × columns` zeros in host memory.
///
/// # Errors
/// [`ComputeError::OutOfMemory`].
pub fn host_rows(rows: usize, columns: usize) -> Result<Tensor, ComputeError> {
    let values = zeroed(rows * columns)?;
    Ok(Tensor::from_vec(values, (rows, columns), &Device::Cpu)?)
}

/// Calls `fill` with the values of a host tensor, to write.
///
/// # Errors
/// The tensor is not a contiguous float32 tensor in host memory.
pub fn write_rows(tensor: &Tensor, fill: impl Fn(&mut [f32])) -> Result<(), ComputeError> {
    Ok(tensor.inplace_op1(&Fill(fill))?)
}

/// Calls `look` with the values of a host tensor, and returns its result.
///
/// # Errors
/// The tensor is not a contiguous float32 tensor in host memory.
pub fn read_rows<R>(tensor: &Tensor, look: impl FnOnce(&[f32]) -> R) -> Result<R, ComputeError> {
    let (storage, layout) = tensor.storage_and_layout();
    match &*storage {
        Storage::Cpu(storage) => {
            let values = storage.as_slice::<f32>()?;
            Ok(look(contiguous(values, layout)?))
        }
        _ => Err(candle_core::Error::Msg("expected a tensor in host memory".into()).into()),
    }
}

/// Returns the values of a contiguous layout.
pub(super) fn contiguous<'a>(values: &'a [f32], layout: &Layout) -> candle_core::Result<&'a [f32]> {
    match layout.contiguous_offsets() {
        Some((start, end)) => Ok(&values[start..end]),
        None => Err(candle_core::Error::Msg(
            "expected a contiguous tensor".into(),
        )),
    }
}

/// Returns the values of a contiguous layout, to write.
pub(super) fn contiguous_mut<'a>(
    storage: &'a mut CpuStorage,
    layout: &Layout,
) -> candle_core::Result<&'a mut [f32]> {
    let CpuStorage::F32(values) = storage else {
        return Err(candle_core::Error::Msg("expected float32".into()));
    };
    match layout.contiguous_offsets() {
        Some((start, end)) => Ok(&mut values[start..end]),
        None => Err(candle_core::Error::Msg(
            "expected a contiguous tensor".into(),
        )),
    }
}

struct Fill<F>(F);

impl<F: Fn(&mut [f32])> InplaceOp1 for Fill<F> {
    fn name(&self) -> &'static str {
        "write-rows"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> candle_core::Result<()> {
        (self.0)(contiguous_mut(storage, layout)?);
        Ok(())
    }
}

/// Returns zeros, or an error instead of an abort if memory runs out.
pub(super) fn zeroed(floats: usize) -> Result<Vec<f32>, ComputeError> {
    let mut values = Vec::new();
    values
        .try_reserve_exact(floats)
        .map_err(|_| ComputeError::OutOfMemory { bytes: 4 * floats })?;
    values.resize(floats, 0.0);
    Ok(values)
}
