//! Predictors, with which workers answer batches on their devices, and rows of float32 in
//! tensors of host memory, which they read and write in place.
//!
//! A lowered network is one Candle operation. Candle's storage cannot be taken back from a
//! tensor, so a worker keeps its two tensors and the operation writes into them.

use std::sync::{Arc, Mutex};

use candle_core::{
    CpuStorage, CustomOp1, Device, InplaceOp1, InplaceOp2, Layout, Shape, Storage, Tensor,
};

use super::ComputeError;
use super::batch_arenas::BatchArenas;
use super::lowered::Lowered;
use crate::device::{MemberIndex, ThreadTeam};
use crate::lock::lock;

/// Answers batches: Candle tensors in, Candle tensors out, without allocating.
pub trait Predictor: Send {
    /// Writes the answers of the first `batch` rows of `input` (`[rows, inputs]`) into the
    /// first rows of `output` (`[rows, outputs]`).
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

/// A lowered network on a CPU partition, with its own arena.
pub struct CpuPredictor {
    op: NetworkOp,
}

impl CpuPredictor {
    /// Takes memory for batches of up to `batch` samples on the partition's threads.
    ///
    /// # Errors
    /// [`ComputeError::OutOfMemory`].
    pub fn new(
        network: Arc<Lowered>,
        batch: usize,
        team: Option<Arc<ThreadTeam>>,
    ) -> Result<Self, ComputeError> {
        Ok(CpuPredictor {
            op: NetworkOp::new(network, batch, team)?,
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

/// A lowered network with an arena, as one Candle operation for `Tensor::inplace_op2`, which writes
/// answers into a tensor, or `Tensor::apply_op1_no_bwd`, which makes a new one.
///
/// The threads of its team share the samples of a batch, or each step if there are few samples.
/// Without a team it runs on the caller's thread.
pub struct NetworkOp {
    network: Arc<Lowered>,
    // Candle shares an operation by reference. A worker runs one batch at a time, so the lock
    // is always free.
    arenas: Mutex<BatchArenas>,
    team: Option<Arc<ThreadTeam>>,
}

impl NetworkOp {
    /// Takes memory for batches of up to `batch` samples.
    ///
    /// # Errors
    /// [`ComputeError::OutOfMemory`].
    pub fn new(
        network: Arc<Lowered>,
        batch: usize,
        team: Option<Arc<ThreadTeam>>,
    ) -> Result<Self, ComputeError> {
        let threads = team.as_ref().map_or(1, |team| team.threads());
        Ok(NetworkOp {
            arenas: Mutex::new(BatchArenas::new(&network, batch, threads)?),
            network,
            team,
        })
    }

    fn run(&self, input: &[f32], output: &mut [f32]) -> Result<(), ComputeError> {
        let batch = input.len() / self.network.inputs().max(1);
        let team = self.team.as_deref();
        lock(&self.arenas).run(&self.network, team, batch, input, output)
    }
}

impl InplaceOp2 for NetworkOp {
    fn name(&self) -> &'static str {
        "divisi-network"
    }

    fn cpu_fwd(
        &self,
        output: &mut CpuStorage,
        output_layout: &Layout,
        input: &CpuStorage,
        input_layout: &Layout,
    ) -> candle_core::Result<()> {
        let input = contiguous(input.as_slice::<f32>()?, input_layout)?;
        let output = contiguous_mut(output, output_layout)?;
        self.run(input, output).map_err(candle_core::Error::wrap)
    }
}

impl CustomOp1 for NetworkOp {
    fn name(&self) -> &'static str {
        "divisi-network"
    }

    fn cpu_fwd(
        &self,
        storage: &CpuStorage,
        layout: &Layout,
    ) -> candle_core::Result<(CpuStorage, Shape)> {
        let input = contiguous(storage.as_slice::<f32>()?, layout)?;
        let batch = input.len() / self.network.inputs().max(1);
        let mut output = vec![0.0; batch * self.network.outputs()];
        self.run(input, &mut output)
            .map_err(candle_core::Error::wrap)?;
        Ok((
            CpuStorage::F32(output),
            Shape::from((batch, self.network.outputs())),
        ))
    }
}

/// A stand-in for a network, which answers every sample with one row of probabilities. With it
/// a run measures the system itself, and the combination can be checked.
pub struct FakePredictor {
    member: MemberIndex,
    row: Vec<f32>,
}

impl FakePredictor {
    /// Creates the stand-in for member number `member` of an ensemble of `classes`.
    pub fn new(member: MemberIndex, classes: usize) -> Self {
        FakePredictor {
            member,
            row: constant_row(member, classes),
        }
    }
}

/// Returns the answer of a stand-in for `member`: half on the member's own class, the rest evenly
/// spread.
pub fn constant_row(member: MemberIndex, classes: usize) -> Vec<f32> {
    let mut row = vec![0.5 / classes as f32; classes];
    row[member.get() % classes] += 0.5;
    row
}

impl Predictor for FakePredictor {
    /// Answers rows as wide as `output`: members' may differ.
    fn predict(&mut self, batch: usize, _: &Tensor, output: &Tensor) -> Result<(), ComputeError> {
        let width = output.dim(1)?;
        if width != self.row.len() {
            self.row = constant_row(self.member, width);
        }
        write_rows(&output.narrow(0, 0, batch)?, |rows| {
            for row in rows.chunks_exact_mut(self.row.len()) {
                row.copy_from_slice(&self.row);
            }
        })
    }
}

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
