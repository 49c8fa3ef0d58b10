//! The predictor: what a worker holds to answer batches on its device.

use std::sync::Arc;

use candle_core::{CpuStorage, Device, InplaceOp1, Layout, Storage, Tensor};
use rayon::ThreadPool;

use super::error::ComputeError;
use super::lowered::Lowered;
use super::op::NetworkOp;

/// Answers batches. Candle tensors in, Candle tensors out, nothing allocated between.
pub trait Predictor: Send {
    /// Answers the first `batch` rows of `input` (`[rows, inputs]`) into the first
    /// rows of `output` (`[rows, outputs]`).
    ///
    /// # Errors
    /// The batch does not fit, or a tensor operation fails.
    fn predict(
        &mut self,
        batch: usize,
        input: &Tensor,
        output: &Tensor,
    ) -> Result<(), ComputeError>;
}

/// A lowered network on a CPU partition, with its own arena a thread.
pub struct CpuPredictor {
    op: NetworkOp,
}

impl CpuPredictor {
    /// Memory for batches of up to `batch` on the partition's threads.
    ///
    /// # Errors
    /// [`ComputeError::OutOfMemory`].
    pub fn new(
        network: Arc<Lowered>,
        batch: usize,
        pool: Option<Arc<ThreadPool>>,
    ) -> Result<Self, ComputeError> {
        Ok(CpuPredictor {
            op: NetworkOp::new(network, batch, pool)?,
        })
    }
}

impl Predictor for CpuPredictor {
    fn predict(
        &mut self,
        batch: usize,
        input: &Tensor,
        output: &Tensor,
    ) -> Result<(), ComputeError> {
        let (input, output) = (input.narrow(0, 0, batch)?, output.narrow(0, 0, batch)?);
        output.inplace_op2(&input, &self.op)?;
        Ok(())
    }
}

/// A zeroed tensor of `rows × columns` in host memory.
///
/// # Errors
/// [`ComputeError::OutOfMemory`].
pub fn host_rows(rows: usize, columns: usize) -> Result<Tensor, ComputeError> {
    let values = super::lowered::zeroed(rows * columns)?;
    Ok(Tensor::from_vec(values, (rows, columns), &Device::Cpu)?)
}

/// Lets `fill` write the rows of a host tensor.
///
/// # Errors
/// The tensor is not a contiguous float32 tensor in host memory.
pub fn write_rows(tensor: &Tensor, fill: impl Fn(&mut [f32])) -> Result<(), ComputeError> {
    Ok(tensor.inplace_op1(&Fill(fill))?)
}

/// Lets `look` read the rows of a host tensor.
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

/// The floats of a contiguous layout.
pub(super) fn contiguous<'a>(values: &'a [f32], layout: &Layout) -> candle_core::Result<&'a [f32]> {
    match layout.contiguous_offsets() {
        Some((start, end)) => Ok(&values[start..end]),
        None => Err(candle_core::Error::Msg(
            "expected a contiguous tensor".into(),
        )),
    }
}

/// The floats of a contiguous layout, to write.
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
